"""The spec of a model of nodes (ONNX, a TensorFlow graph, ...): canonical values without framework
types, stored as `spec.json`.

Inputs and outputs of the model keep their names. Every other tensor is named by the position of the
node that writes it, since exporters number tensors arbitrarily. The spec does not depend on
producers, doc strings or the order of initialisers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from webkiln.errors import InternalError
from webkiln.frontends.core.arrays import Literal, Weight

SCHEMA = "webkiln.nodes/1"
MAX_BYTES = 8 << 30
"""Limit for one array."""


@dataclass(frozen=True, slots=True)
class Declared:
    """An input or output. A size is an integer, a name, or None if it is unknown; without a shape
    the rank is unknown.
    """

    name: str
    tensor: str
    dtype: str
    shape: tuple[int | str | None, ...] | None


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One application of an operator. An absent optional operand is ''. Attributes are numbers,
    strings, Literal, GraphSpec, and tuples of these. `version` is its opset, if it differs from the
    model's.
    """

    name: str
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, Any]
    version: int | None = None


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """Nodes in topological order. A nested graph may also read tensors of the enclosing graphs."""

    inputs: tuple[Declared, ...]
    outputs: tuple[Declared, ...]
    tensors: Mapping[str, Weight | Literal]
    nodes: tuple[NodeSpec, ...]


@dataclass(frozen=True, slots=True)
class NodeModel:
    """A model without functions. `opsets` has the version of each operator domain, the format's own
    as ''. `texts` is the table of strings that integers in the model index, `labels` the names of
    the columns of outputs. `sizes` are the inputs whose elements decide sizes. `settings` are the
    names of arguments whose values `load` has built in. `strings` describes how strings become the
    indices of inputs.
    """

    name: str
    opsets: Mapping[str, int]
    graph: GraphSpec
    texts: tuple[str, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sizes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    strings: tuple[Mapping[str, Any], ...] = ()


def to_json(model: NodeModel) -> dict[str, Any]:
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "name": model.name,
        "opsets": dict(model.opsets),
        "graph": _graph(model.graph),
    }
    tables = {
        "texts": list(model.texts),
        "labels": {name: list(names) for name, names in model.labels.items()},
        "sizes": list(model.sizes),
        "settings": list(model.settings),
        "strings": list(model.strings),
    }
    return data | {name: items for name, items in tables.items() if items}


def from_json(data: Mapping[str, Any]) -> NodeModel:
    if data.get("schema") != SCHEMA:
        raise InternalError(f"spec.json: schema is {data.get('schema')!r}, expected {SCHEMA!r}")
    return NodeModel(
        data["name"],
        data["opsets"],
        _read_graph(data["graph"]),
        tuple(data.get("texts", ())),
        {name: tuple(names) for name, names in data.get("labels", {}).items()},
        tuple(data.get("sizes", ())),
        tuple(data.get("settings", ())),
        tuple(data.get("strings", ())),
    )


def _graph(graph: GraphSpec) -> dict[str, Any]:
    return {
        "inputs": [_declared(item) for item in graph.inputs],
        "outputs": [_declared(item) for item in graph.outputs],
        "tensors": {name: _value(tensor) for name, tensor in graph.tensors.items()},
        "nodes": [
            [
                node.name,
                node.op,
                node.domain,
                list(node.inputs),
                list(node.outputs),
                {key: _value(v) for key, v in node.attrs.items()},
                *([] if node.version is None else [node.version]),
            ]
            for node in graph.nodes
        ],
    }


def _declared(item: Declared) -> list[Any]:
    return [item.name, item.tensor, item.dtype, None if item.shape is None else list(item.shape)]


def _value(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, Weight):
        return {"weight": [value.slot, value.digest, value.dtype, list(value.shape)]}
    if isinstance(value, Literal):
        return {"literal": [value.dtype, list(value.shape), _value(value.values)]}
    if isinstance(value, GraphSpec):
        return {"graph": _graph(value)}
    return [_value(item) for item in value] if isinstance(value, tuple) else value


def _read_graph(data: Mapping[str, Any]) -> GraphSpec:
    return GraphSpec(
        tuple(map(_read_declared, data["inputs"])),
        tuple(map(_read_declared, data["outputs"])),
        {name: _read_value(value) for name, value in data["tensors"].items()},
        tuple(
            NodeSpec(
                name,
                op,
                domain,
                tuple(inputs),
                tuple(outputs),
                {key: _read_value(value) for key, value in attrs.items()},
                *version,
            )
            for name, op, domain, inputs, outputs, attrs, *version in data["nodes"]
        ),
    )


def _read_declared(item: list[Any]) -> Declared:
    name, tensor, dtype, shape = item
    return Declared(name, tensor, dtype, None if shape is None else tuple(shape))


def _read_value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_read_value, value))
    if not isinstance(value, dict):
        return value
    ((kind, item),) = value.items()
    if kind == "float":
        return float(item)
    if kind == "weight":
        return Weight(item[0], item[1], item[2], tuple(item[3]))
    if kind == "literal":
        return Literal(item[0], tuple(item[1]), _read_value(item[2]))
    return _read_graph(item)
