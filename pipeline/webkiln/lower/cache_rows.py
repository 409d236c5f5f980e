"""Rows of caches in float16, or as codes with a scale for each row, and the nodes that round,
select and replace them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Size
from webkiln.ir.graph import NO_ATTRIBUTES, Graph, Node
from webkiln.ir.types import Type
from webkiln.lower.added_nodes import AddedNodes
from webkiln.lower.cache_moves import Replaced, with_row
from webkiln.nest.float16 import LARGEST
from webkiln.ops.block_products import QuantizeBlocks
from webkiln.ops.conversion import Cast
from webkiln.ops.index import Iota
from webkiln.ops.reduce import Reduction
from webkiln.ops.shape import Gather, Reshape, Transpose

KINDS = ("elements", "scales")


@dataclass(frozen=True, slots=True)
class Rows:
    """`parts`: the elements and, if these are codes, the scales, which have the size 1 along the
    row axis `row`.
    """

    parts: tuple[str, ...]
    row: int

    @property
    def named(self) -> Iterator[tuple[str, str]]:
        """The parts, with the kind of each."""
        return zip(KINDS, self.parts, strict=False)


class RowWriter:
    """Appends the nodes of rows of `dtype`, float16 or int8, to those of a graph."""

    def __init__(self, graph: Graph, dtype: str) -> None:
        self.graph, self.dtype = graph, dtype
        self.made = AddedNodes(graph)
        self._producers = graph.producers()
        self._rounded: dict[tuple[str, int], Rows] = {}
        self._sources: dict[tuple[str, Size], tuple[str, str]] = {}

    @property
    def elements(self) -> frozenset[str]:
        """Those of new rows."""
        return frozenset(rows.parts[0] for rows in self._rounded.values())

    def types(self, type_: Type, row: int) -> tuple[Type, ...]:
        """Those of the parts of a value."""
        elements = Type(self.dtype, type_.shape)
        scales = Type("float32", with_row(type_.shape, row))
        return (elements, scales) if self.dtype == "int8" else (elements,)

    def entered(self, name: str, row: int, layer: str) -> Rows:
        """New rows along the axis `row`, rounded. Where a node selects them from others, it selects
        from rounded ones.
        """
        key = (name, row)
        if key not in self._rounded:
            self._rounded[key] = self._entered(name, row, layer)
        return self._rounded[key]

    def _entered(self, name: str, row: int, layer: str) -> Rows:
        source, rank = self._producers.get(name), self.made.type(name).rank
        if source is not None and source.op == "Gather":
            attrs, (table, indices) = source.attrs_as(Gather), source.inputs
            before = row - self.graph.type(indices).rank + 1
            if attrs.axis < before:
                selected = self.entered(table, before, layer)
                return self.each(f"{name}/selected", "Gather", selected, row, attrs, layer, indices)
        if row == rank - 1:
            return self._round(name, layer)
        perm = (*(axis for axis in range(rank) if axis != row), row)
        turned = self.made.add(f"{name}/turned", "Transpose", [name], Transpose(perm), layer)
        back = Transpose(tuple(map(perm.index, range(rank))))
        return self.each(name, "Transpose", self._round(turned, layer), row, back, layer)

    def _round(self, name: str, layer: str) -> Rows:
        """Rows along the last axis, rounded."""
        shape = self.made.type(name).shape
        row = len(shape) - 1
        if self.dtype == "int8":
            names, attrs = [f"{name}/codes", f"{name}/scales"], QuantizeBlocks(int(str(shape[row])))
            return Rows(self.made.add_all(names, "QuantizeBlocks", [name], attrs, layer), row)
        value = name
        for op, bound in (("Max", -LARGEST.value), ("Min", LARGEST.value)):
            limit = self.made.scalar(bound, "float32")
            value = self.made.add(f"{name}/{op}", op, [value, limit], layer=layer)
        return Rows((self.made.add(f"{name}/half", "Cast", [value], Cast("float16"), layer),), row)

    def each(
        self,
        name: str,
        op: str,
        rows: Rows,
        row: int,
        attrs: Attributes,
        layer: str,
        *others: str,
    ) -> Rows:
        """What a node makes of the elements, and of the scales."""
        parts = (
            self.made.add(f"{name}/{kind}", op, [part, *others], attrs, layer)
            for kind, part in rows.named
        )
        return Rows(tuple(parts), row)

    def replaced(self, node: Node, old: Rows, new: Rows, where: Replaced) -> Rows:
        """Each row is the last of the new ones that go there, or the old one."""
        shape = self.graph.type(node.name).shape
        hit, source = self._source(where.indices, shape[where.axis], node.layer)
        column = Reshape((shape[where.axis], *[1] * (len(shape) - where.axis - 1)))
        hit = self.made.add(f"{node.name}/hit", "Reshape", [hit], column, node.layer)
        taken = self.each(
            f"{node.name}/new", "Gather", new, old.row, Gather(where.axis), node.layer, source
        )
        parts = (
            self.made.add(f"{node.name}/{kind}", "Where", [hit, after, before], layer=node.layer)
            for (kind, before), after in zip(old.named, taken.parts, strict=True)
        )
        return Rows(tuple(parts), old.row)

    def _source(self, indices: str, size: Size, layer: str) -> tuple[str, str]:
        """For each place of an axis: whether an index names it, and the position of the last index
        that does. Negative indices count from the end.
        """
        key = (indices, size)
        if key in self._sources:
            return self._sources[key]
        count = self.graph.type(indices).size

        def add(op: str, *inputs: str, attrs: Attributes = NO_ATTRIBUTES) -> str:
            return self.made.add(f"{indices}/{op}", op, inputs, attrs, layer)

        zero, none = (self.made.scalar(value, "int32") for value in (0, -1))
        length, column = self.made.scalar(int(str(size)), "int32"), Reshape((count, 1))
        numbers = add("Reshape", indices, attrs=column)
        if self.made.type(numbers).dtype != "int32":
            numbers = add("Cast", numbers, attrs=Cast("int32"))
        numbers = add("Where", add("Less", numbers, zero), add("Add", numbers, length), numbers)
        order = add("Reshape", add("Iota", attrs=Iota(count, "int32")), attrs=column)
        equal = add("Equal", numbers, add("Iota", attrs=Iota(size, "int32")))
        last = add("ReduceMax", add("Where", equal, order, none), attrs=Reduction((0,)))
        found = add("GreaterEqual", last, zero), add("Max", last, zero)
        self._sources[key] = found
        return found
