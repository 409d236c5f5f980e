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

from collections.abc import Sequence

from webkiln.ir import rewrite
from webkiln.ir.attributes import Attributes
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ops.operator import Perm
from webkiln.ops.shape import Reshape, Transpose
from webkiln.ops.table import find, infer


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
    rank = view.type(node.name).rank
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
    if len(perm) != rank:
        return None
    transposed = range(len(node.inputs))[: traits.transposed_inputs]
    nodes: list[Node] = []
    types = {name: view.type(name) for name in node.inputs}

    def add(op: str, inputs: Sequence[str], name: str, attrs: Attributes) -> str:
        added = Node(op, tuple(inputs), (name,), attrs, node.layer)
        types[name] = infer(added, [types.get(item) or view.type(item) for item in inputs])[0]
        nodes.append(added)
        return name

    def untransposed(position: int, name: str) -> str | None:
        """The operand with the axis order before the transpose, or None if it has to be computed at
        run time.
        """
        if name in sources and name not in view.constant_names:
            return sources[name].inputs[0]
        if view.type(name).size == 1 or position not in transposed:
            return name
        if not traits.elementwise or name not in view.constant_names:
            return None
        shape = view.type(name).shape
        wide = (
            name
            if len(shape) == rank
            else add(
                "Reshape",
                [name],
                f"{node.name}/wide_{position}",
                Reshape((*(1,) * (rank - len(shape)), *shape)),
            )
        )
        return add(
            "Transpose",
            [wide],
            f"{node.name}/turned_{position}",
            Transpose(_inverse(perm)),
        )

    operands = [untransposed(position, name) for position, name in enumerate(node.inputs)]
    inputs = [name for name in operands if name is not None]
    if len(inputs) != len(operands):
        return None
    moved = add(node.op, inputs, f"{node.name}/straight", traits.before_transpose(node.attrs, perm))
    variables = [Variable(name, type_) for name, type_ in types.items() if name not in node.inputs]
    return Edit(
        nodes=[*nodes, Node("Transpose", (moved,), node.outputs, Transpose(perm), node.layer)],
        variables=variables,
    )
