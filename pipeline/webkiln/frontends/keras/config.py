"""Canonical configs: only what affects inference, in one form for Keras 2 and 3."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from webkiln.frontends.core.arrays import Literal
from webkiln.frontends.keras.parts import snake_case
from webkiln.frontends.keras.spec import LayerCall, Ref

DROPPED = frozenset(
    {
        "name",
        "trainable",
        "build_config",
        "compile_config",
        "quantization_config",
        "registered_name",
        "module",
        "seed",
        "momentum",
        "synchronized",
        "renorm",
        "renorm_clipping",
        "renorm_momentum",
        "autocast",
        "sparse",
        "ragged",
        "optional",
        "shared_object_id",
        "inbound_nodes",
        "dynamic",
        "build_input_shape",
        "noise_shape",
    }
)
NO_OPERATIONS = frozenset({"InputLayer", "Functional", "Model", "Pipeline", "Sequential"})
DROPPED_ENDINGS = ("_initializer", "_regularizer", "_constraint")
RENAMED = {"batch_input_shape": "batch_shape"}

PUBLISHED_AS = {"GroupQueryAttention": "GroupedQueryAttention"}
"""Keras classes whose public name, which files contain, differs from the class name, which names
weights.
"""


def is_old(version: str) -> bool:
    """Whether a version is Keras 1 or 2. Masks, names and functions differ in Keras 3."""
    return version.partition(".")[0] in {"0", "1", "2"}


def layer_name(entry: Mapping[str, Any]) -> str:
    """The name of a layer. The config of a user-defined class may omit it."""
    return str(
        entry["name"]
        if "name" in entry
        else entry["config"].get("name") or snake_case(str(entry["class_name"]))
    )


def class_name(layer: Mapping[str, Any]) -> str:
    name = str(layer["class_name"])
    return PUBLISHED_AS.get(name, name) if is_own(layer) else name


def is_own(layer: Mapping[str, Any]) -> bool:
    """Whether a layer's class is one of Keras. Old files have no modules; registered classes have
    their package as a prefix.
    """
    module = layer.get("module")
    if module is None:
        return ">" not in str(layer["class_name"]) and layer.get("registered_name") in (
            None,
            layer["class_name"],
        )
    return str(module).split(".")[0] in {"keras", "tf_keras"} and layer.get("registered_name") in (
        None,
        layer["class_name"],
    )


def is_operation(layer: Mapping[str, Any]) -> bool:
    """Whether a node of a Functional model is a keras.ops operation: these have no `trainable`, and
    possibly no policy.
    """
    if "module" in layer:
        return str(layer["module"]).startswith("keras.src.ops")
    return (
        layer["config"].keys().isdisjoint(("trainable", "dtype"))
        and layer["class_name"] not in NO_OPERATIONS
    )


def clean(config: Mapping[str, Any], version: str = "3") -> dict[str, Any]:
    """A layer's config without initializers, training options, dates and object ids. Policies and
    functions become names.
    """
    result = {}
    for key, value in config.items():
        if key not in DROPPED and not key.endswith(DROPPED_ENDINGS):
            result[RENAMED.get(key, key)] = _plain(value, key)
    for argument in ("activation", "recurrent_activation") if is_old(version) else ():
        if result.get(argument) == "hard_sigmoid":
            result[argument] = "hard_sigmoid_2"
    return result


def _plain(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        inner = value.get("config")
        if key == "dtype" and isinstance(inner, Mapping):
            return _policy(str(value.get("class_name")), inner)
        if set(value) <= {"class_name", "items"} and value.get("class_name") == "__tuple__":
            return [_plain(item) for item in value["items"]]
        if "class_name" in value and isinstance(inner, str):
            return inner
        if "class_name" in value and isinstance(inner, Mapping):
            return {"class_name": value["class_name"], "config": clean(inner)}
        return {
            str(name): _plain(item) for name, item in value.items() if name != "shared_object_id"
        }
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _policy(class_name: str, config: Mapping[str, Any]) -> str:
    """The name of a serialized dtype policy. A quantized policy is `MODE_from_SOURCE`, a map of
    policies has its class name.
    """
    if "mode" in config:
        return f"{config['mode']}_from_{config.get('source_name', 'float32')}"
    return str(config["name"]) if "name" in config else class_name


def read_calls(nodes: list[Any]) -> tuple[LayerCall, ...]:
    """The calls of a layer, from Keras 3's {args, kwargs}, or Keras 2's [[layer, node, tensor,
    kwargs], ...] or {input: [layer, ...], ...}.
    """
    return tuple(_read_call(node) for node in nodes)


def declared_dtype(nodes: list[Any]) -> str:
    """The declared dtype of the first operand of a layer's first call, in Keras 3 files."""
    return str(nodes[0]["args"][0]["config"]["dtype"])


def declared_operands(value: Any) -> list[tuple[list[int | None] | None, str | None]]:
    """The shapes and dtypes of a Keras 3 node's tensors, in argument order."""
    if isinstance(value, Mapping):
        inner = value.get("config")
        if value.get("class_name") == "__keras_tensor__" and isinstance(inner, Mapping):
            return [
                (
                    shape_of(inner.get("shape")),
                    None if inner.get("dtype") is None else str(inner["dtype"]),
                )
            ]
        return [item for part in value.values() for item in declared_operands(part)]
    return (
        [item for part in value for item in declared_operands(part)]
        if isinstance(value, list | tuple)
        else []
    )


def shape_of(value: Any) -> list[int | None] | None:
    """A valid shape from a file, or None."""
    sizes = value.get("items") if isinstance(value, Mapping) else value
    known = isinstance(sizes, list) and all(size is None or type(size) is int for size in sizes)
    return sizes if known else None


def _read_call(node: Any) -> LayerCall:
    if isinstance(node, Mapping) and node.keys() != {"args", "kwargs"}:
        return LayerCall(({name: Ref(*entry[:3]) for name, entry in node.items()},), {})
    if isinstance(node, Mapping):
        return LayerCall(
            tuple(_argument(arg) for arg in node["args"]),
            {key: _argument(value) for key, value in node["kwargs"].items()},
        )
    if len(node) == 4 and isinstance(node[0], str):
        node = [node]
    refs = [Ref(*entry[:3]) for entry in node]
    kwargs = {
        key: _argument(value)
        for entry in node
        for key, value in (entry[3] if len(entry) > 3 else {}).items()
    }
    return LayerCall((refs[0],) if len(refs) == 1 else (refs,), kwargs)


def _argument(value: Any) -> Any:
    if isinstance(value, Mapping):
        inner = value.get("config")
        match value.get("class_name"):
            case "__keras_tensor__":
                return Ref(*value["config"]["keras_history"])
            case "__slice__" if isinstance(inner, Mapping):
                return slice(inner.get("start"), inner.get("stop"), inner.get("step"))
            case "__ellipsis__":
                return Ellipsis
            case "__tuple__":
                return [_argument(item) for item in value["items"]]
            case "__numpy__" | "__tensor__" if isinstance(inner, Mapping):
                array = np.asarray(inner["value"], dtype=str(inner["dtype"]))
                return Literal(str(array.dtype), array.shape, tuple(array.ravel().tolist()))
        return {key: _argument(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if (
            len(value) in {3, 4}
            and isinstance(value[0], str)
            and all(isinstance(item, int) for item in value[1:3])
        ):
            return Ref(*value[:3])
        return [_argument(item) for item in value]
    return value


def named_refs(structure: Any, *, counted: bool = False) -> list[tuple[str, Ref]]:
    """The inputs or outputs of a model with their names: dict keys, or unique layer names.
    `counted` ones are in Keras's order, which sorts keys.
    """
    if isinstance(structure, Mapping):
        items = sorted(structure.items()) if counted else structure.items()
        return [
            (f"{key}", ref) for key, value in items for _, ref in named_refs(value, counted=counted)
        ]
    if len(structure) == 3 and isinstance(structure[0], str):
        return [(structure[0], Ref(*structure))]
    result: list[tuple[str, Ref]] = []
    for item in structure:
        for name, ref in named_refs(item, counted=counted):
            count = sum(
                1
                for other, _ in result
                if other == name or re.fullmatch(rf"{re.escape(name)}_\d+", other)
            )
            result.append((f"{name}_{count}" if count else name, ref))
    return result
