"""What only moves or replaces whole rows of a cache: for each operator, where the row axis of a
value is afterwards, and how the scales of the rows move along.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Shape, is_symbolic
from webkiln.ir.graph import Graph, Node
from webkiln.ops.codes import Repeat
from webkiln.ops.scatter import ScatterElements, ScatterND
from webkiln.ops.shape import Broadcast, Concat, Gather, Reshape, Slice, Transpose


def _same(graph: Graph, node: Node, row: int) -> int | None:
    return row


def _unscaled(attrs: Attributes, row: int) -> Attributes:
    return attrs


@dataclass(frozen=True, slots=True)
class Move:
    """`row`: the row axis of the result, given that of the first operand of elements; None if rows
    do not stay whole. `scaled`: the attributes with which scales move, which have the size 1 along
    the row axis of the result. `elements`: the positions of operands with elements; default: all.
    """

    row: Callable[[Graph, Node, int], int | None] = _same
    scaled: Callable[[Any, int], Attributes] = _unscaled
    elements: tuple[int, ...] | None = (0,)

    def operands(self, node: Node) -> tuple[int, ...]:
        return tuple(range(len(node.inputs))) if self.elements is None else self.elements


def with_row(shape: Shape, row: int) -> Shape:
    """A shape whose row axis has the size 1."""
    return (*shape[:row], 1, *shape[row + 1 :])


def _reshaped_row(graph: Graph, node: Node, row: int) -> int | None:
    """An axis of the same size with as many elements before it."""
    before, after = graph.type(node.inputs[0]).shape, graph.type(node.name).shape
    fits = (
        axis
        for axis, size in enumerate(after)
        if size == before[row] and prod(after[:axis]) == prod(before[:row])
    )
    return next(fits, None)


def _sliced_row(graph: Graph, node: Node, row: int) -> int | None:
    attrs, size = node.attrs_as(Slice), graph.type(node.inputs[0]).shape[row]
    return row if (attrs.starts[row], attrs.sizes[row], attrs.steps[row]) == (0, size, 1) else None


def _widened_row(graph: Graph, node: Node, row: int) -> int | None:
    before, after = graph.type(node.inputs[0]).shape, graph.type(node.name).shape
    moved = row + len(after) - len(before)
    return moved if after[moved] == before[row] else None


def _gathered_row(graph: Graph, node: Node, row: int) -> int | None:
    axis, indices = node.attrs_as(Gather).axis, graph.type(node.inputs[1])
    return None if axis == row else row + (indices.rank - 1 if axis < row else 0)


def _chosen_row(graph: Graph, node: Node, row: int) -> int | None:
    """The condition has one element for a row. What is chosen from has the shape of the result."""
    condition, *others = (graph.type(name) for name in node.inputs)
    rank = graph.type(node.name).rank
    axis = row - (rank - condition.rank)
    whole = all(item.shape == graph.type(node.name).shape for item in others)
    return row if whole and (axis < 0 or condition.shape[axis] == 1) else None


def _scattered_row(graph: Graph, node: Node, row: int) -> int | None:
    return None if replaced_rows(graph, node, row) is None else row


@dataclass(frozen=True, slots=True)
class Replaced:
    """The rows of an axis that a node replaces: those with the `indices`, a vector in another
    shape.
    """

    axis: int
    indices: str


def replaced_rows(graph: Graph, node: Node, row: int) -> Replaced | None:
    """The rows that a scattering node replaces. None for other nodes, and unless an index stands
    for everything at its place on an axis.
    """
    if node.op not in ("ScatterElements", "ScatterND"):
        return None
    x, indices, new = (graph.type(name) for name in node.inputs)
    if isinstance(node.attrs, ScatterND):
        found = Replaced(0, node.inputs[1])
        fits = (
            indices.rank == 2 and indices.shape[1] == 1 and row > 0 and not is_symbolic(x.shape[0])
        )
        return found if node.attrs.reduction == "none" and fits else None
    attrs, source = node.attrs_as(ScatterElements), graph.producers().get(node.inputs[1])
    if attrs.reduction != "none" or attrs.axis == row or source is None or source.op != "Broadcast":
        return None
    axis = attrs.axis
    if (*x.shape[:axis], *x.shape[axis + 1 :]) != (*new.shape[:axis], *new.shape[axis + 1 :]):
        return None
    (vector,) = source.inputs
    fits = graph.type(vector).size == new.shape[axis] and not is_symbolic(x.shape[axis])
    return Replaced(axis, vector) if fits else None


MOVES: Mapping[str, Move] = {
    "Identity": Move(),
    "Reshape": Move(_reshaped_row, lambda attrs, row: Reshape(with_row(attrs.shape, row))),
    "Transpose": Move(lambda graph, node, row: node.attrs_as(Transpose).perm.index(row)),
    "Broadcast": Move(_widened_row, lambda attrs, row: Broadcast(with_row(attrs.shape, row))),
    "Slice": Move(_sliced_row, lambda attrs, row: replace(attrs, sizes=with_row(attrs.sizes, row))),
    "Repeat": Move(lambda graph, node, row: None if node.attrs_as(Repeat).axis == row else row),
    "Gather": Move(_gathered_row),
    "Concat": Move(
        lambda graph, node, row: None if node.attrs_as(Concat).axis == row else row, elements=None
    ),
    "Where": Move(_chosen_row, elements=(1, 2)),
    "ScatterElements": Move(_scattered_row, elements=(0, 2)),
    "ScatterND": Move(_scattered_row, elements=(0, 2)),
}


def moved_row(graph: Graph, node: Node, rows: Mapping[str, int]) -> int | None:
    """The row axis of the result of a node some operands of which are caches, with the row axes
    `rows`; None if the node does not keep their rows whole.
    """
    move = MOVES.get(node.op)
    if move is None:
        return None
    positions = move.operands(node)
    known = [node.inputs[n] for n in positions if node.inputs[n] in rows]
    if len([name for name in node.inputs if name in rows]) != len(known):
        return None
    axes = {rows[name] for name in known}
    if len(axes) != 1 or (move.elements == (0, 2) and node.inputs[0] not in rows):
        return None
    return move.row(graph, node, axes.pop())
