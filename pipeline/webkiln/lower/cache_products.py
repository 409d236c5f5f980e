"""Products of caches: whether the scales of rows multiply the other factor or the result."""

from dataclasses import dataclass

from webkiln.ir.graph import Graph, Node
from webkiln.ops.linear import Einsum, MatMul


@dataclass(frozen=True, slots=True)
class Scaled:
    """A product that reads a cache as its factor `position`. The scales, with their axes in the
    order `perm` and then axes of size 1 at the places where `shape` is None, multiply the result,
    or, if it is not `after`, the other factor. Other entries of `shape` are axes of the scales.
    """

    position: int
    perm: tuple[int, ...]
    shape: tuple[int | None, ...]
    after: bool


def scaled_product(graph: Graph, node: Node, position: int, row: int) -> Scaled | None:
    """How a product reads a cache whose row axis is `row`. None if it is no product, or if scales
    of rows can be moved to neither side.
    """
    if len(node.inputs) != 2 or node.inputs[0] == node.inputs[1]:
        return None
    if node.op == "MatMul":
        return _scaled_matmul(graph, node, position, row)
    return _scaled_einsum(node, position, row) if node.op == "Einsum" else None


def _scaled_matmul(graph: Graph, node: Node, position: int, row: int) -> Scaled | None:
    """Of the last two axes, one is that of rows; scales lie along the other one."""
    attrs, rank = node.attrs_as(MatMul), graph.type(node.inputs[position]).rank
    turned = (attrs.transpose_a, attrs.transpose_b)
    if row < rank - 2:
        return None
    batch, along = tuple(range(rank - 2)), 2 * rank - 3 - row
    summed = rank - 1 if turned[position] == bool(position) else rank - 2
    after = row == summed
    vertical = (position == 0) if after else (turned[0] if position else not turned[1])
    shape: tuple[int | None, ...] = (*batch, *((along, None) if vertical else (None, along)))
    return Scaled(position, (*batch, along, row), shape, after)


def _scaled_einsum(node: Node, position: int, row: int) -> Scaled | None:
    left, _, result = node.attrs_as(Einsum).equation.partition("->")
    terms = left.split(",")
    term, other = terms[position], terms[1 - position]
    letters = [letter for axis, letter in enumerate(term) if axis != row]
    if len(set(term)) != len(term) or len(set(other)) != len(other):
        return None
    target = next((item for item in (result, other) if set(letters) <= set(item)), None)
    if target is None:
        return None
    shape = tuple(term.index(item) if item in letters else None for item in target)
    order = tuple(axis for axis in shape if axis is not None)
    return Scaled(position, (*order, row), shape, after=target is result)
