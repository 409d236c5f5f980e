"""Remove operations without an effect: Identity, x + 0, x - 0, x * 1, x / 1, x ** 1, casts to the
same dtype, reshapes to the same shape, empty pads, transposes that cancel each other.

before:
    graph g
    input x: float32[2,3]
    const one: float32[] = [1.0]
    a: float32[2,3] = Mul(x, one)
    b: float32[3,2] = Transpose(a) {"perm":[1,0]}
    c: float32[2,3] = Transpose(b) {"perm":[1,0]}
    y: float32[2,3] = Div(one, c)
    output out = y

after:
    graph g
    input x: float32[2,3]
    const one: float32[] = [1.0]
    y: float32[2,3] = Div(one, x)
    output out = y
"""

from collections.abc import Callable
from dataclasses import replace

from webkiln.ir import rewrite
from webkiln.ir.graph import Graph, Node
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ops.operator import Perm
from webkiln.ops.shape import Pad, Slice, Transpose

NEUTRAL = {
    "Add": (0, (0, 1)),
    "Sub": (0, (1,)),
    "Mul": (1, (0, 1)),
    "Div": (1, (1,)),
    "Pow": (1, (1,)),
}
"""Operator -> (its neutral element, the positions of operands where it is neutral)."""


def _is_identity_permutation(perm: Perm) -> bool:
    return perm == tuple(range(len(perm)))


def _is_empty_padding(attrs: Pad) -> bool:
    return not any((*attrs.low, *attrs.high))


def _is_prefix(attrs: Slice) -> bool:
    return not any(attrs.starts) and all(step == 1 for step in attrs.steps)


IDENTITIES: dict[str, Callable[[Node], bool]] = {
    "Identity": lambda node: True,
    "Cast": lambda node: True,
    "Reshape": lambda node: True,
    "Broadcast": lambda node: True,
    "Transpose": lambda node: _is_identity_permutation(node.attrs_as(Transpose).perm),
    "Pad": lambda node: _is_empty_padding(node.attrs_as(Pad)),
    "Concat": lambda node: len(node.inputs) == 1,
    "Slice": lambda node: _is_prefix(node.attrs_as(Slice)),
}
"""Operator -> whether a node is the identity, provided that its input and output have one type."""


def run(graph: Graph) -> Graph:
    return rewrite.apply(graph, simplify)


def simplify(view: GraphView, node: Node) -> Edit | None:
    source = _forwarded_input(view, node)
    if source is not None and view.type(source) == view.type(node.outputs[0]):
        return Edit(redirect={node.outputs[0]: source})
    return _merge_with_producer(view, node)


def _forwarded_input(view: GraphView, node: Node) -> str | None:
    """The input whose elements the node returns unchanged, or None."""
    if node.op in NEUTRAL:
        neutral, positions = NEUTRAL[node.op]
        return next(
            (
                node.inputs[1 - position]
                for position in positions
                if view.scalar(node.inputs[position]) == neutral
            ),
            None,
        )
    is_identity = IDENTITIES.get(node.op)
    return node.inputs[0] if is_identity is not None and is_identity(node) else None


def _merge_with_producer(view: GraphView, node: Node) -> Edit | None:
    """Merge a reshape of a reshape, or a transpose of a transpose, into one node."""
    if node.op not in ("Reshape", "Transpose"):
        return None
    inner = view.producer(node.inputs[0], node.op, only_use=False)
    if inner is None:
        return None
    attrs = node.attrs
    if node.op == "Transpose":
        perm = inner.attrs_as(Transpose).perm
        attrs = Transpose(tuple(perm[axis] for axis in node.attrs_as(Transpose).perm))
    return Edit(nodes=[replace(node, inputs=inner.inputs, attrs=attrs)])
