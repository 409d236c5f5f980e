"""Lambda layers as models of operations, if their code is a straight-line expression."""

import re
from collections.abc import Mapping
from typing import Any

from webkiln.frontends.keras.lambdas.expressions import All, Call, Given, Items, Name, expression
from webkiln.frontends.keras.lambdas.functions import (
    ACTIVATIONS,
    BACKEND,
    BACKENDS,
    CHANGED,
    CURRENT,
    DTYPES,
    MORE,
    OPERATORS,
    TENSORFLOWS,
    Function,
    tensorflow_name,
    without_prefix,
)
from webkiln.frontends.keras.lambdas.opcodes import Unrecognised
from webkiln.frontends.keras.lambdas.source import stored_function
from webkiln.frontends.keras.spec import FUNCTION, LayerCall, LayerSpec, ModelSpec, Ref

ARRAYS = frozenset(
    {
        *("np.array", "np.asarray", "numpy.array", "tf.constant", "tf.convert_to_tensor"),
        *("K.constant", "K.variable", "np.float32", "numpy.float32", "float"),
    }
)
PASSED_BY_KERAS = frozenset({"mask", "training"})
EPSILON = 1e-7


def recognised(
    name: str, config: Mapping[str, Any], count: int, version: str, backend: str
) -> ModelSpec | None:
    """The model of a Lambda layer that is called with `count` tensors, or None.

    `version` and `backend` are those of the Keras that wrote the file: functions of
    `keras.backend` are those of TensorFlow, and some functions of TensorFlow 1 differ.
    """
    function = stored_function(config)
    if function is None or config.get("mask") is not None or backend not in ("", "tensorflow"):
        return None
    names, given = function.code.arguments, config.get("arguments") or {}
    if not names or not isinstance(given, Mapping) or set(names) & PASSED_BY_KERAS:
        return None
    if not set(given) <= set(names[1:]) or len(function.defaults) >= len(names):
        return None
    values = dict(zip(names[len(names) - len(function.defaults) :], function.defaults, strict=True))
    values |= given
    if set(values) != set(names[1:]):
        return None
    values = {key: _plain(value) for key, value in values.items()}
    values[names[0]] = Given(0) if count == 1 else All(count)
    try:
        return _Writer(name, count, version).model(expression(function.code, values))
    except Unrecognised:
        return None


def _plain(value: Any) -> Any:
    """An argument from JSON: numbers, texts, and lists or arrays of these."""
    if isinstance(value, Mapping) and value.get("type") == "ndarray":
        value = value.get("value")
    return tuple(_plain(item) for item in value) if isinstance(value, list) else value


class _Writer:
    """Writes an expression as operations."""

    def __init__(self, name: str, count: int, version: str) -> None:
        self.name, self.count = name, count
        numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
        self.current = numbers[:1] >= [3]
        self.second = numbers >= [2, 4] or (numbers >= [2, 3] and version.endswith("-tf"))
        self.layers: list[LayerSpec] = []
        self.known: dict[int, Ref] = {}

    def model(self, value: Any) -> ModelSpec:
        results = value.values if isinstance(value, Items) else [value]
        inputs = [Ref(f"input_{number}") for number in range(self.count)]
        outputs = [self.tensor(item) for item in results]
        return ModelSpec(
            self.name,
            tuple(self.layers),
            tuple((ref.layer, ref) for ref in inputs),
            tuple((f"output_{number}", ref) for number, ref in enumerate(outputs)),
        )

    def tensor(self, value: Any) -> Ref:
        result = self.value(value)
        if not isinstance(result, Ref):
            raise Unrecognised
        return result

    def value(self, value: Any) -> Any:
        """A reference for a tensor, or a constant as JSON."""
        if isinstance(value, Given):
            return Ref(f"input_{value.index}")
        if isinstance(value, All):
            return [Ref(f"input_{number}") for number in range(value.count)]
        if isinstance(value, Items):
            return [self.value(item) for item in value.values]
        if isinstance(value, Name):
            return _named(value.path)
        if isinstance(value, Call):
            if id(value) not in self.known:
                self.known[id(value)] = self.call(value)
            return self.known[id(value)]
        if isinstance(value, tuple | list):
            return [self.value(item) for item in value]
        if isinstance(value, bytes):
            return value.decode("ascii", "replace")
        if (
            value is None
            or value is Ellipsis
            or isinstance(value, bool | int | float | str | slice)
        ):
            return value
        raise Unrecognised

    def call(self, call: Call) -> Any:
        args = [self.value(arg) for arg in call.args]
        kwargs = {str(self.value(key)): self.value(value) for key, value in call.kwargs}
        name = call.function
        if name in ARRAYS and len(args) == 1 and not kwargs and not _has_tensor(args):
            return args[0]
        if without_prefix(name, BACKENDS) == "epsilon" and not args:
            return EPSILON
        if without_prefix(name, BACKENDS) == "floatx" and not args:
            return "float32"
        if not _has_tensor([args, kwargs]):
            raise Unrecognised
        if name == "[]":
            if self.current:
                return self.operation("GetItem", args, {})
            return self.operation(
                f"{FUNCTION}__operators__.getitem", args[:1], {"slice_spec": args[1]}
            )
        if name == "neg":
            return self.operation(f"{FUNCTION}math.negative", args, {})
        if name in OPERATORS:
            return self.operator(name, args)
        if name == "abs":
            return self.operation(f"{FUNCTION}math.abs", args, kwargs)
        activation = without_prefix(name, ACTIVATIONS)
        function = without_prefix(name, BACKENDS) or activation
        if function is not None:
            if activation is not None and activation not in ACTIVATION_NAMES:
                raise Unrecognised
            return self.backend(BACKEND.get(function), args, kwargs)
        return self.tensorflow(name, args, kwargs)

    def operator(self, sign: str, args: list[Any]) -> Ref:
        if self.current:
            return self.operation(CURRENT[sign], args, {})
        return self.operation(f"{FUNCTION}{OPERATORS[sign]}", args, {})

    def backend(self, function: Function | None, args: list[Any], kwargs: dict[str, Any]) -> Ref:
        if function is None or len(args) > len(function.parameters):
            raise Unrecognised
        pairs = [name.partition("=") for name in function.parameters]
        parameters = {name: own or name for name, _, own in pairs}
        arguments = dict(zip(parameters, args, strict=False)) | kwargs
        first = next(iter(parameters))
        if not set(arguments) <= set(parameters) or first not in arguments:
            raise Unrecognised
        options = dict(function.fixed) | {
            parameters[name]: value for name, value in arguments.items()
        }
        data = options.pop(parameters[first])
        return self.operation(f"{FUNCTION}{function.name}", [data], options)

    def tensorflow(self, path: str, args: list[Any], kwargs: dict[str, Any]) -> Ref:
        rest = without_prefix(path, TENSORFLOWS)
        name = None if rest is None else tensorflow_name(rest)
        if name is None or (len(args) > 2 and name not in MORE):
            raise Unrecognised
        if name in CHANGED and not (self.second or self.current):
            raise Unrecognised
        if name == "math.l2_normalize" and "dim" in kwargs:
            kwargs["axis"] = kwargs.pop("dim")
        kwargs.pop("name", None)
        return self.operation(f"{FUNCTION}{name}", args, kwargs)

    def operation(self, class_name: str, args: list[Any], kwargs: dict[str, Any]) -> Ref:
        name = f"{class_name.rpartition('.')[2].lower()}_{len(self.layers)}"
        call = LayerCall(tuple(args), kwargs)
        self.layers.append(LayerSpec(name, class_name, {}, kind="operation", calls=(call,)))
        return Ref(name)


ACTIVATION_NAMES = frozenset({"relu", "sigmoid", "tanh", "softplus", "softsign", "elu", "softmax"})


def _has_tensor(value: Any) -> bool:
    if isinstance(value, Mapping):
        value = list(value.values())
    return isinstance(value, Ref) or (
        isinstance(value, list | tuple) and any(map(_has_tensor, value))
    )


def _named(path: str) -> Any:
    """The value of a global name: a dtype, or an axis that is added."""
    last = path.rpartition(".")[2]
    if path.partition(".")[0] in {"tf", "tensorflow", "np", "numpy"}:
        if last == "newaxis":
            return None
        if last in DTYPES:
            return last
    raise Unrecognised
