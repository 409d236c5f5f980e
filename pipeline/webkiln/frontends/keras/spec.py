"""The spec of a Keras model: canonical values without the framework, written to `spec.json`.

A Sequential becomes a chain of calls; a traced custom layer becomes the model of operations in its
`call`. Specs do not depend on dates, object ids or the order of dictionaries.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from webkiln.errors import InternalError
from webkiln.frontends.core.arrays import Literal, Weight

SCHEMA = "webkiln.keras/1"
NO_SHAPE = "the model does not say its shape; give it with --input-shape"
CALLING = frozenset(
    {"AssociativeScan", "Cond", "ForiLoop", "Map", "Scan", "Switch", "VectorizedMap", "WhileLoop"}
)
"""keras.ops operations that take functions."""

FUNCTION = "tf."
"""The prefix of operations that are TensorFlow functions, as tf.keras wrote them into models."""

INITIAL = "initial"
"""The inner function of a cell that returns its initial states for the batch size of a tensor."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Output `index` of call number `call` of a layer."""

    layer: str
    call: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True)
class WeightRef:
    """A weight that an operation of a traced layer reads, by its name in that layer."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A function argument of an operation: the model of its operations. The inputs are its
    parameters, then its captures.
    """

    model: "ModelSpec"
    captured: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class LayerCall:
    """The arguments of one call: plain values, Ref, WeightRef, Literal, FunctionSpec, slice,
    Ellipsis, and lists and dicts of these.
    """

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def refs(self) -> list[Ref]:
        return list(_refs([list(self.args), dict(self.kwargs)]))


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """A layer; or a keras.ops operation (`kind` is "operation"); or random numbers (`kind` is
    "noise", named like their input, with `distribution`, `parameters`, `shape` and `dtype`). `own`
    distinguishes Keras's classes from user-defined ones of the same name.
    """

    name: str
    class_name: str
    config: Mapping[str, Any]
    kind: str = "layer"
    own: bool = True
    calls: tuple[LayerCall, ...] = ()
    weights: Mapping[str, Weight] = field(default_factory=dict)
    model: "ModelSpec | None" = None
    traced: bool = False
    parts: Mapping[str, "LayerSpec"] = field(default_factory=dict)
    """Inner layers, by the path of their weights relative to this layer's: `cell`, `forward_layer`,
    `cells/lstm_cell`.
    """


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Layers with their calls.

    `states` maps a weight of a traced layer to its next value. `batch` is set if the trace is only
    valid for one batch size. `ends` are the types of a subgraph's inputs and outputs; files do not
    have them.
    """

    name: str
    layers: tuple[LayerSpec, ...]
    inputs: tuple[tuple[str, Ref], ...]
    outputs: tuple[tuple[str, Ref], ...]
    states: tuple[tuple[str, Ref], ...] = ()
    batch: int | None = None
    ends: tuple[tuple[Ref, ...], tuple[Ref, ...]] | None = None


def noises(model: ModelSpec) -> list[LayerSpec]:
    """The random inputs of a model and its nested models."""
    found = [layer for layer in model.layers if layer.kind == "noise"]
    return found + [
        noise for layer in model.layers if layer.model is not None for noise in noises(layer.model)
    ]


def to_json(model: ModelSpec) -> dict[str, Any]:
    return {"schema": SCHEMA, "model": _model(model)}


def from_json(data: Mapping[str, Any]) -> ModelSpec:
    if data.get("schema") != SCHEMA:
        raise InternalError(f"spec.json: schema is {data.get('schema')!r}, expected {SCHEMA!r}")
    return _read_model(data["model"])


def encode(value: Any) -> Any:
    """An argument or config value as JSON. A value that JSON lacks becomes a dict with one key that
    starts with `$`.
    """
    match value:
        case Ref(layer, call, index):
            return {"$ref": [layer, call, index]}
        case WeightRef(name):
            return {"$weight": name}
        case Literal(dtype, shape, values):
            return {"$literal": [dtype, list(shape), [encode(v) for v in values]]}
        case FunctionSpec(model, captured):
            return {"$function": [_model(model), encode(captured)]}
        case slice():
            return {"$slice": [encode(value.start), encode(value.stop), encode(value.step)]}
        case float() if not isfinite(value):
            return {"$float": repr(value)}
        case list() | tuple():
            return [encode(item) for item in value]
        case dict():
            return {str(key): encode(item) for key, item in value.items()}
    return {"$ellipsis": True} if value is Ellipsis else value


def decode(value: Any) -> Any:
    """The inverse of `encode`. Tuples become lists."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$ref": [layer, call, index]}:
            return Ref(layer, call, index)
        case {"$weight": name}:
            return WeightRef(name)
        case {"$literal": [dtype, shape, values]}:
            return Literal(dtype, tuple(shape), tuple(decode(v) for v in values))
        case {"$function": [model, captured]}:
            return FunctionSpec(_read_model(model), tuple(decode(captured)))
        case {"$slice": [start, stop, step]}:
            return slice(decode(start), decode(stop), decode(step))
        case {"$float": text}:
            return float(text)
        case {"$ellipsis": True}:
            return Ellipsis
    return {key: decode(item) for key, item in value.items()}


def _refs(value: Any) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, FunctionSpec):
        yield from _refs(value.captured)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _refs(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _refs(item)


def renamed(value: Any, mapping: Callable[[Ref], Ref]) -> Any:
    """A call or argument with replaced tensors."""
    if isinstance(value, Ref):
        return mapping(value)
    if isinstance(value, LayerCall):
        return LayerCall(
            tuple(renamed(list(value.args), mapping)), renamed(dict(value.kwargs), mapping)
        )
    if isinstance(value, FunctionSpec):
        return replace(value, captured=tuple(renamed(list(value.captured), mapping)))
    if isinstance(value, list | tuple):
        return [renamed(item, mapping) for item in value]
    if isinstance(value, dict):
        return {key: renamed(item, mapping) for key, item in value.items()}
    return value


def functions(call: LayerCall) -> list[ModelSpec]:
    """The models of a call's function arguments."""
    return [value.model for value in call.kwargs.get("functions", {}).values()]


def _model(model: ModelSpec) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": model.name,
        "layers": [_layer(layer) for layer in model.layers],
        "inputs": [[name, encode(ref)] for name, ref in model.inputs],
        "outputs": [[name, encode(ref)] for name, ref in model.outputs],
    }
    if model.states:
        data["states"] = [[name, encode(ref)] for name, ref in model.states]
    if model.batch is not None:
        data["batch"] = model.batch
    return data


def _layer(layer: LayerSpec) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": layer.name,
        "class_name": layer.class_name,
        "kind": layer.kind,
        "own": layer.own,
        "config": encode(dict(layer.config)),
        "calls": [
            {"args": encode(call.args), "kwargs": encode(dict(call.kwargs))} for call in layer.calls
        ],
        "weights": [
            [name, w.slot, w.digest, w.dtype, list(w.shape)] for name, w in layer.weights.items()
        ],
    }
    if layer.model is not None:
        data |= {"model": _model(layer.model), "traced": layer.traced}
    if layer.parts:
        data["parts"] = [[name, _layer(part)] for name, part in layer.parts.items()]
    return data


def _read_model(data: Mapping[str, Any]) -> ModelSpec:
    def named(pairs: Any) -> tuple[tuple[str, Ref], ...]:
        return tuple((name, decode(ref)) for name, ref in pairs)

    layers = tuple(_read_layer(layer) for layer in data["layers"])
    return ModelSpec(
        data["name"],
        layers,
        named(data["inputs"]),
        named(data["outputs"]),
        named(data.get("states", ())),
        data.get("batch"),
    )


def _read_layer(data: Mapping[str, Any]) -> LayerSpec:
    return LayerSpec(
        name=data["name"],
        class_name=data["class_name"],
        config=decode(data["config"]),
        kind=data["kind"],
        own=data["own"],
        calls=tuple(
            LayerCall(tuple(decode(call["args"])), decode(call["kwargs"])) for call in data["calls"]
        ),
        weights={
            name: Weight(slot, digest, dtype, tuple(shape))
            for name, slot, digest, dtype, shape in data["weights"]
        },
        model=_read_model(data["model"]) if "model" in data else None,
        traced=data.get("traced", False),
        parts={name: _read_layer(part) for name, part in data.get("parts", ())},
    )
