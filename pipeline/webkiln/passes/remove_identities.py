"""Drop what changes nothing: Identity, x + 0, x - 0, x * 1, x / 1, x ** 1, equal casts and
reshapes,
empty pads, transposes that undo each other.

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

NEUTRAL = {
    "Add": (0, (0, 1)),
    "Sub": (0, (1,)),
    "Mul": (1, (0, 1)),
    "Div": (1, (1,)),
    "Pow": (1, (1,)),
}
"""Operator -> (its neutral scalar, the operands that may be it)."""

UNCHANGED: dict[str, Callable[[Node], bool]] = {
    "Identity": lambda node: True,
    "Cast": lambda node: True,
    "Reshape": lambda node: True,
    "Broadcast": lambda node: True,
    "Transpose": lambda node: tuple(node.attrs["perm"]) == tuple(range(len(node.attrs["perm"]))),
    "Pad": lambda node: not any((*node.attrs["low"], *node.attrs["high"])),
    "Concat": lambda node: len(node.inputs) == 1,
    "Slice": lambda node: (
        not any(node.attrs["starts"]) and all(step == 1 for step in node.attrs["steps"])
    ),
}
"""Operator -> whether a node whose output has its input's type hands the input on."""


def run(graph: Graph) -> Graph:
    return rewrite.apply(graph, simplify)


def simplify(view: GraphView, node: Node) -> Edit | None:
    kept = _unchanged(view, node)
    if kept is not None and view.type(kept) == view.type(node.outputs[0]):
        return Edit(redirect={node.outputs[0]: kept})
    return _joined(view, node)


def _unchanged(view: GraphView, node: Node) -> str | None:
    """The input that the node hands on, if it changes nothing."""
    if node.op in NEUTRAL:
        neutral, operands = NEUTRAL[node.op]
        return next(
            (
                node.inputs[1 - place]
                for place in operands
                if view.scalar(node.inputs[place]) == neutral
            ),
            None,
        )
    unchanged = UNCHANGED.get(node.op)
    return node.inputs[0] if unchanged is not None and unchanged(node) else None


def _joined(view: GraphView, node: Node) -> Edit | None:
    """Reshape of a reshape, transpose of a transpose: one is enough."""
    if node.op not in ("Reshape", "Transpose"):
        return None
    inner = view.producer(node.inputs[0], node.op, only_use=False)
    if inner is None:
        return None
    attrs = dict(node.attrs)
    if node.op == "Transpose":
        attrs["perm"] = tuple(inner.attrs["perm"][axis] for axis in node.attrs["perm"])
    return Edit(nodes=[replace(node, inputs=inner.inputs, attrs=attrs)])
