"""Common subexpression elimination: merge nodes with equal operators, attributes and inputs.

before:
    graph g
    input x: float32[2]
    a: float32[2] = Exp(x) @left
    b: float32[2] = Exp(x) @right
    y: float32[2] = Add(a, b)
    output out = y

after:
    graph g
    input x: float32[2]
    a: float32[2] = Exp(x) @left
    y: float32[2] = Add(a, a)
    output out = y
"""

from webkiln import canonical
from webkiln.ir import rewrite
from webkiln.ir.graph import Graph
from webkiln.ir.serial import constant_json, encode


def run(graph: Graph) -> Graph:
    first: dict[bytes, tuple[str, ...]] = {}
    renames: dict[str, str] = {}
    for name, constant in graph.constants.items():
        type_ = graph.type(name)
        representative = first.setdefault(
            canonical.dumps(["constant", constant_json(constant), str(type_)]), (name,)
        )
        if representative != (name,):
            renames[name] = representative[0]
    for node in graph.nodes:
        inputs = [renames.get(name, name) for name in node.inputs]
        representative = first.setdefault(
            canonical.dumps([node.op, inputs, encode(node.attrs.as_dict())]), node.outputs
        )
        if representative != node.outputs:
            renames.update(zip(node.outputs, representative, strict=True))
    return rewrite.remove_unused(rewrite.redirect(graph, renames)) if renames else graph
