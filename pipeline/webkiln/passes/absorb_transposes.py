"""Fold transposes of operands into matrix products, as Einsum, and into convolutions of 8-bit
integers. The untransposed operand of a matrix product must have the contracted axis, or for the
right operand a column axis, innermost. A matrix product reads a constant untransposed if something
else does, so that it is stored once.

before:
    graph g
    input q: float32[2,5,4]
    input k: float32[7,2,4]
    t: float32[2,4,7] = Transpose(k) {"perm":[1,2,0]} @keys
    y: float32[2,5,7] = MatMul(q, t) @scores
    output out = y

after:
    graph g
    input q: float32[2,5,4]
    input k: float32[7,2,4]
    y: float32[2,5,7] = Einsum(q, k) {"equation":"abd,cad->abc"} @scores
    output out = y
"""

from dataclasses import replace
from string import ascii_lowercase

from webkiln.ir import rewrite
from webkiln.ir.graph import Graph, Node
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ops.conv_loops import Conv
from webkiln.ops.linear import Einsum, MatMul
from webkiln.ops.shape import Transpose


def run(graph: Graph) -> Graph:
    return rewrite.apply(graph, absorb)


def absorb(view: GraphView, node: Node) -> Edit | None:
    if node.op == "ConvInteger":
        return _absorb_into_convolution(view, node)
    if node.op == "MatMul" and (shared := _read_as_shared(view, node)) is not None:
        return shared
    letters = _letters(view, node)
    if letters is None or node.name in view.constant_names:
        return None
    terms, result = letters
    contracted = set("".join(terms)) - set(result)
    columns = set(result) - set(terms[0])
    inputs, absorbed = list(node.inputs), False
    for position, innermost in ((0, contracted), (1, contracted | columns)):
        source = view.producer(inputs[position], "Transpose")
        if source is None or source.name in view.constant_names:
            continue
        perm = source.attrs_as(Transpose).perm
        term = "".join(terms[position][perm.index(dim)] for dim in range(len(perm)))
        if term[-1] in innermost:
            inputs[position], terms[position], absorbed = source.inputs[0], term, True
    if not absorbed:
        return None
    return Edit(
        nodes=[
            Node(
                "Einsum",
                tuple(inputs),
                node.outputs,
                Einsum(f"{','.join(terms)}->{result}"),
                node.layer,
            )
        ]
    )


def _read_as_shared(view: GraphView, node: Node) -> Edit | None:
    """A product with the constant matrix whose transpose it reads, if others read it as it is."""
    source = view.producer(node.inputs[1], "Transpose", only_use=False)
    if (
        source is None
        or source.inputs[0] not in view.constant_names
        or source.attrs_as(Transpose).perm != (1, 0)
        or source.inputs[0] not in view.running_reads
    ):
        return None
    attrs = node.attrs_as(MatMul)
    turned = replace(attrs, transpose_b=not attrs.transpose_b)
    inputs = (node.inputs[0], source.inputs[0])
    return Edit(nodes=[replace(node, inputs=inputs, attrs=turned)])


def _absorb_into_convolution(view: GraphView, node: Node) -> Edit | None:
    """Integers of 8 bits are read in any order: a kernel copies them anyway."""
    source = view.producer(node.inputs[0], "Transpose", only_use=False)
    if source is None:
        return None
    perm, attrs = source.attrs_as(Transpose).perm, node.attrs_as(Conv)
    moved = replace(attrs, x_dims=tuple(perm[dim] for dim in attrs.x_dims))
    return Edit(nodes=[replace(node, inputs=(source.inputs[0], *node.inputs[1:]), attrs=moved)])


def _letters(view: GraphView, node: Node) -> tuple[list[str], str] | None:
    """The Einsum letters of both operands, and of the result, of a product without broadcasting;
    None for other nodes.
    """
    if len(node.inputs) != 2:
        return None
    if node.op == "Einsum":
        left, _, result = node.attrs_as(Einsum).equation.partition("->")
        return left.split(","), result
    shapes = [view.type(name).shape for name in (*node.inputs, node.outputs[0])]
    if (
        node.op != "MatMul"
        or len({len(shape) for shape in shapes}) != 1
        or len({shape[:-2] for shape in shapes}) != 1
    ):
        return None
    attrs = node.attrs_as(MatMul)
    *batch, row, column, inner = list(ascii_lowercase[: len(shapes[0]) + 1])
    terms = [
        [*batch, *pair[:: -1 if swapped else 1]]
        for swapped, pair in (
            (attrs.transpose_a, (row, inner)),
            (attrs.transpose_b, (inner, column)),
        )
    ]
    return ["".join(term) for term in terms], "".join([*batch, row, column])
