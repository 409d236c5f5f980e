"""TensorFlow functions that tf.keras 2.4 to 2.15 made layers, as operations with arguments."""

import re
from collections.abc import Mapping
from typing import Any

from webkiln.frontends.keras.spec import FUNCTION

CLASSES = frozenset({"TFOpLambda", "SlicingOpLambda"})
CONSTANT = "_CONSTANT_VALUE"
DTYPE = re.compile(r"<dtype: '(\w+)'>")


def operation(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The layer as Keras 3 writes an operation's call. It is named after the function."""
    config = entry["config"]
    nodes = [_node(node) for node in entry.get("inbound_nodes", [])]
    return {
        "class_name": f"{FUNCTION}{config['function']}",
        "config": {"name": config["name"]},
        "name": config["name"],
        "inbound_nodes": nodes,
    }


def _node(node: Any) -> dict[str, Any]:
    """The first argument is [layer, node, tensor, kwargs], or a list of these; the others are in
    kwargs.
    """
    if isinstance(node, list) and len(node) == 1 and _is_leaf(node[0]):
        node = node[0]
    return {
        "args": [_first(node)],
        "kwargs": {key: _value(key, value) for key, value in _options(node).items()},
    }


def _is_leaf(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) in {3, 4}
        and isinstance(value[0], str)
        and isinstance(value[1], int)
    )


def _first(value: Any) -> Any:
    if _is_leaf(value):
        return value[2] if value[0] == CONSTANT else value[:3]
    return [_first(item) for item in value]


def _options(value: Any) -> Mapping[str, Any]:
    while not _is_leaf(value):
        value = value[0]
    return value[3] if len(value) == 4 else {}


def _value(key: str, value: Any) -> Any:
    if key == "slice_spec":
        return (
            [_index(item) for item in value]
            if isinstance(value, list) and not _is_leaf(value)
            else _index(value)
        )
    match = DTYPE.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match is not None else value


def _index(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {"class_name": "__slice__", "config": dict(value)}
    return {"class_name": "__ellipsis__", "config": {}} if value == "Ellipsis" else value
