"""Move transposes after elementwise operators, normalisations, pads and concatenations. There they
may cancel other transposes, and no longer separate a convolution or a matrix product from
operations that can be fused into its epilogue.

before:
    graph g
    input x: float32[2,3,4]
    slot b: float32[3]
    t: float32[4,2,3] = Transpose(x) {"perm":[2,0,1]} @permute
    u: float32[4,2,3] = Add(t, b) @bias
    y: float32[4,2,3] = Relu(u) @relu
    output out = y

after:
    graph g
    input x: float32[2,3,4]
    slot b: float32[3]
    u/wide_1: float32[1,1,3] = Reshape(b) {"shape":[1,1,3]} @bias
    u/turned_1: float32[1,3,1] = Transpose(u/wide_1) {"perm":[1,2,0]} @bias
    u/straight: float32[2,3,4] = Add(x, u/turned_1) @bias
    y/straight: float32[2,3,4] = Relu(u/straight) @relu
    y: float32[4,2,3] = Transpose(y/straight) {"perm":[2,0,1]} @relu
    output out = y
"""

from webkiln.ir import rewrite
from webkiln.ir.graph import Graph, Node
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ops.operator import Perm
from webkiln.ops.replacement import Replacement
from webkiln.ops.shape import Reshape, Transpose
from webkiln.ops.table import find


def _inverse(perm: Perm) -> Perm:
    return tuple(map(perm.index, range(len(perm))))


def run(graph: Graph) -> Graph:
    return rewrite.apply(graph, sink)


def sink(view: GraphView, node: Node) -> Edit | None:
    traits = find(node.op).traits
    if (
        traits.before_transpose is None
        or len(node.outputs) != 1
        or node.outputs[0] in view.constant_names
    ):
        return None
    sources = {
        name: source
        for name in node.inputs
        if (source := view.producer(name, "Transpose", only_use=False)) is not None
    }
    perms = {
        source.attrs_as(Transpose).perm
        for source in sources.values()
        if source.name not in view.constant_names
    }
    if len(perms) != 1:
        return None
    (perm,) = perms
    if len(perm) != view.type(node.name).rank:
        return None
    added = Replacement(view, node)
    operands = [
        _untransposed(view, added, position, sources.get(name), perm)
        for position, name in enumerate(node.inputs)
    ]
    inputs = [name for name in operands if name is not None]
    if len(inputs) != len(operands):
        return None
    moved = added.add("straight", node.op, inputs, traits.before_transpose(node.attrs, perm))
    return added.finish("Transpose", [moved], Transpose(perm))


def _untransposed(
    view: GraphView, added: Replacement, position: int, source: Node | None, perm: Perm
) -> str | None:
    """An operand with the axis order before the transpose, or None if it has to be computed at run
    time. `source`: the transpose that computes it, if any.
    """
    node, traits = added.node, find(added.node.op).traits
    name = node.inputs[position]
    if source is not None and name not in view.constant_names:
        return source.inputs[0]
    transposed = range(len(node.inputs))[: traits.transposed_inputs]
    if view.type(name).size == 1 or position not in transposed:
        return name
    if not traits.elementwise or name not in view.constant_names:
        return None
    shape = view.type(name).shape
    if len(shape) < len(perm):
        wide = Reshape((*(1,) * (len(perm) - len(shape)), *shape))
        name = added.add(f"wide_{position}", "Reshape", [name], wide)
    return added.add(f"turned_{position}", "Transpose", [name], Transpose(_inverse(perm)))
