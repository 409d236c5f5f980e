"""Constant folding: evaluate nodes whose inputs are all inline constants, if the outputs are small
enough to be inline, too.

before:
    graph g
    input x: float32[2]
    const a: float32[] = [2.0]
    const b: float32[] = [3.0]
    c: float32[] = Mul(a, b)
    y: float32[2] = Add(x, c)
    output out = y

after:
    graph g
    input x: float32[2]
    const c: float32[] = [6.0]
    y: float32[2] = Add(x, c)
    output out = y
"""

from webkiln.ir import rewrite
from webkiln.ir.dim import is_symbolic
from webkiln.ir.graph import INLINE_ELEMENTS, Graph, Node, make_constant
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ops.table import evaluate


def run(graph: Graph) -> Graph:
    return rewrite.apply(graph, fold)


def fold(view: GraphView, node: Node) -> Edit | None:
    values = [view.constant(name) for name in node.inputs]
    constant_values = [value for value in values if value is not None]
    sizes = [view.type(name).size for name in node.outputs]
    if (
        not node.inputs
        or len(constant_values) != len(values)
        or any(is_symbolic(size) or size > INLINE_ELEMENTS for size in sizes)
    ):
        return None
    results = evaluate(node, constant_values)
    constants = {
        name: make_constant(value) for name, value in zip(node.outputs, results, strict=True)
    }
    return Edit(constants=constants)
