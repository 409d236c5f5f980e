"""Graph <-> JSON (`graph.json`). Attributes that have their default values are left out.

Values that JSON lacks are tagged: {"float": "inf"}, {"size": "2*T"}, and {"graph": ...} for a graph
in an attribute.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from math import isfinite
from typing import Any

from webkiln.errors import InternalError
from webkiln.ir import dim
from webkiln.ir.attributes import Attributes, AttributesOf
from webkiln.ir.axis import parse_order
from webkiln.ir.graph import (
    Constant,
    Distribution,
    Divisibility,
    Graph,
    Guard,
    Node,
    SizeConstraints,
    State,
    Variable,
)
from webkiln.ir.notation import parse_size, size_from_json, size_to_json
from webkiln.ir.types import Type

SCHEMA = "webkiln.graph/2"


def to_json(graph: Graph) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "name": graph.name,
        "inputs": list(graph.inputs),
        "outputs": [[name, variable] for name, variable in graph.outputs.items()],
        "slots": sorted(graph.slots),
        "constants": {name: constant_json(constant) for name, constant in graph.constants.items()},
        "blobs": {
            constant.digest: b64encode(constant.data).decode()
            for _, constant in sorted(graph.constants.items())
            if constant.digest
        },
        "states": [[s.name, s.initial, s.input, s.output] for s in graph.states],
        "variables": {name: _variable(variable) for name, variable in graph.variables.items()},
        "nodes": [
            {
                "op": n.op,
                "inputs": list(n.inputs),
                "outputs": list(n.outputs),
                "attrs": encode(n.attrs.non_default()),
                "layer": n.layer,
            }
            for n in graph.nodes
        ],
        "guards": [
            [guard.layer, size_to_json(guard.a), size_to_json(guard.b)]
            for guard in graph.constraints.guards
        ],
        "divisibility": [
            [item.name, item.modulus, list(item.remainders), item.quotient, list(item.layers)]
            for item in graph.constraints.divisibility
        ],
    }


def from_json(data: dict[str, Any], attributes_of: AttributesOf) -> Graph:
    """Read a graph, whose operators are those of `attributes_of`."""
    if data.get("schema") != SCHEMA:
        raise InternalError(f"graph.json: schema is {data.get('schema')!r}, expected {SCHEMA!r}")
    return Graph(
        name=data["name"],
        inputs=tuple(data["inputs"]),
        outputs=dict(data["outputs"]),
        slots=frozenset(data["slots"]),
        constants={
            name: read_constant(value, data["blobs"]) for name, value in data["constants"].items()
        },
        states=tuple(State(*state) for state in data["states"]),
        variables={name: _read_variable(name, value) for name, value in data["variables"].items()},
        nodes=tuple(
            Node(
                n["op"],
                tuple(n["inputs"]),
                tuple(n["outputs"]),
                _read_attributes(n, attributes_of),
                n["layer"],
            )
            for n in data["nodes"]
        ),
        constraints=SizeConstraints(
            tuple(
                Guard(layer, size_from_json(a), size_from_json(b)) for layer, a, b in data["guards"]
            ),
            tuple(
                Divisibility(name, modulus, tuple(remainders), quotient, tuple(layers))
                for name, modulus, remainders, quotient, layers in data["divisibility"]
            ),
        ),
    )


def _read_attributes(node: dict[str, Any], attributes_of: AttributesOf) -> Attributes:
    values = {
        name: from_json(value["graph"], attributes_of)
        if isinstance(value, dict) and "graph" in value
        else decode(value)
        for name, value in node["attrs"].items()
    }
    return attributes_of(node["op"], values, node["layer"])


def constant_json(constant: Constant) -> Any:
    """The inline values, or {"blob": digest}."""
    return {"blob": constant.digest} if constant.digest else encode(constant.values)


def read_constant(value: Any, blobs: Mapping[str, str]) -> Constant:
    if isinstance(value, dict):
        digest = value["blob"]
        return Constant(digest=digest, data=b64decode(blobs.get(digest, "")))
    return Constant(decode(value))


def encode(value: Any) -> Any:
    """Encode attributes as JSON. Tuples become lists; non-finite floats, symbolic sizes and graphs
    are tagged.
    """
    if isinstance(value, float) and not isfinite(value):
        return {"float": repr(value)}
    if dim.is_symbolic(value):
        return {"size": str(value)}
    if isinstance(value, Graph):
        return {"graph": to_json(value)}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    return value


def decode(value: Any) -> Any:
    """The inverse of `encode`, except for graphs. Lists become tuples."""
    if isinstance(value, dict):
        if set(value) == {"float"}:
            return float(value["float"])
        if set(value) == {"size"}:
            return parse_size(value["size"])
        return {key: decode(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(decode(item) for item in value)
    return value


def _variable(variable: Variable) -> dict[str, Any]:
    data: dict[str, Any] = {
        "dtype": variable.dtype,
        "shape": list(map(size_to_json, variable.shape)),
    }
    if variable.order is not None:
        data["order"] = str(variable.order)
    if variable.distribution is not None:
        data["distribution"] = distribution_json(variable.distribution)
    if variable.sizes:
        data["sizes"] = list(map(size_to_json, variable.sizes))
    return data


def distribution_json(distribution: Distribution) -> dict[str, Any]:
    return {"name": distribution.name, **dict(distribution.parameters)}


def _read_distribution(data: dict[str, Any]) -> Distribution:
    return Distribution(
        data["name"], tuple((name, value) for name, value in data.items() if name != "name")
    )


def _read_variable(name: str, data: dict[str, Any]) -> Variable:
    order = parse_order(data["order"]) if "order" in data else None
    distribution = _read_distribution(data["distribution"]) if "distribution" in data else None
    return Variable(
        name,
        Type(data["dtype"], tuple(map(size_from_json, data["shape"]))),
        order,
        distribution,
        tuple(map(size_from_json, data.get("sizes", ()))),
    )
