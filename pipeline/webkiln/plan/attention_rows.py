"""The rows of attention that a workgroup computes, and their indices in the loops of its calls."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import prod

from webkiln.ir import dim
from webkiln.ir.dim import Size
from webkiln.lower.canonicalize import rename_axes, without_unused_inputs
from webkiln.nest.affine import depends
from webkiln.nest.expr import INT, Expr, apply, arg, axis, const, rebuild, walk
from webkiln.nest.nest import Accumulator, Loop, Nest, Operand, load_index, make_output
from webkiln.nest.steps import NestCall, View
from webkiln.plan.attention_calls import Attention, loops_along, sizes_of
from webkiln.plan.vectors import contiguous

ROWS = 16
"""The rows of a workgroup, at most."""
LEADING = 4
"""The rows along all loops but the last, where a workgroup has a block of the last one."""

VECTOR = 4
Store = tuple[View, Expr, Sequence[Expr]]
"""An output, the value that is stored, and its index."""


@dataclass
class Arguments:
    """The values of arguments of nests, by name."""

    values: dict[str, Size] = field(default_factory=dict)

    def value(self, size: Size) -> Expr:
        """A constant for a known size, or else an argument."""
        return self.extent(size) if dim.is_symbolic(size) else const(size, INT)

    def extent(self, size: Size) -> Expr:
        """An argument."""
        name = f"size {size}"
        self.values[name] = size
        return arg(name)


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows of a workgroup: one index along each of the first `outer` loops over rows, all along
    the others, or blocks of `block` rows along the last one, if that is not 0.
    """

    sizes: tuple[Size, ...]
    outer: int
    block: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The rows of a workgroup along its own loops."""
        inner = [*self.sizes[self.outer :]]
        if self.block:
            inner[-1] = self.block
        return tuple(dim.known(size, "rows") for size in inner)

    @property
    def blocks(self) -> Size:
        """The number of blocks of rows."""
        along = dim.floordiv(self.sizes[-1] + (self.block - 1), self.block) if self.block else 1
        return prod(self.sizes[: self.outer]) * along

    def first(self, number: Size) -> tuple[list[Size], Size]:
        """The indices along the outer loops of a block, and its first row along the last one."""
        start: Size = 0
        if self.block:
            along = dim.floordiv(self.sizes[-1] + (self.block - 1), self.block)
            rest = dim.floordiv(number, along)
            start, number = (number - rest * along) * self.block, rest
        return unravelled(number, self.sizes[: self.outer]), start


def unravelled(number: Size, sizes: Sequence[Size]) -> list[Size]:
    """The indices of an element of a row-major array of `sizes`."""
    found: list[Size] = []
    for size in reversed(sizes[1:]):
        rest = dim.floordiv(number, size)
        found.append(number - rest * size)
        number = rest
    return [*([number] if sizes else []), *reversed(found)]


def layout_of(found: Attention) -> Layout:
    """A workgroup has all rows that multiply the same keys and values, if these are few."""
    sizes, outer = found.sizes, _own_loops(found)
    inner = sizes[outer:]
    if not any(map(dim.is_symbolic, inner)) and prod(inner) <= ROWS:
        return Layout(sizes, outer, 0)
    while dim.is_symbolic(lead := prod(sizes[outer:-1])) or lead > LEADING:
        outer += 1
    last, most = sizes[-1], ROWS // dim.known(lead, "rows")
    return Layout(sizes, outer, most if dim.is_symbolic(last) else min(most, last))


def _own_loops(found: Attention) -> int:
    """The number of loops over rows up to the last one along which keys or values move."""
    names = [f"x{d}" for d, _ in enumerate(found.sizes)]
    axes, arguments = list(map(axis, names)), Arguments()
    places = [
        dict(zip(found.rows, axes, strict=True)),
        regrouped(found.sizes, axes, product_rows(found), arguments),
    ]
    bodies = [call.nest.accumulators[0].body for call in (found.scores, found.product)]
    keys = (found.key, found.product.nest.reduce[0].axis)
    weights = found.weights.outputs[0].name
    count = 0
    for body, place, key, call in zip(
        bodies, places, keys, (found.scores, found.product), strict=True
    ):
        for expr in walk([body]):
            if expr.op != "load" or call.inputs[expr.value[0]].name == weights:
                continue
            if not any(depends(item, key) for item in load_index(expr)):
                continue
            moved = rebuild(expr, partial(_placed, place))
            used = [d + 1 for d, name in enumerate(names) if depends(moved, name)]
            count = max([count, *used])
    return count


def _placed(places: Mapping[str, Expr], expr: Expr) -> Expr | None:
    """What replaces a loop."""
    return places.get(expr.value) if expr.op == "axis" else None


def product_rows(found: Attention) -> dict[str, Size]:
    """The loops of the last call over rows, with their sizes, outermost first."""
    call, weights = found.product, found.weights.outputs[0].name
    (expr,) = (e for e in call.nest.loads if call.inputs[e.value[0]].name == weights)
    sizes = sizes_of(call)
    return {str(item.value): sizes[item.value] for item in load_index(expr)[:-1]}


def weight_rows(found: Attention) -> dict[str, Size]:
    """The loops of the weights over rows, with their sizes, outermost first."""
    call = found.weights
    names = loops_along(call, call.nest.outputs[0].index, call.outputs[0].shape)
    assert names is not None
    sizes = sizes_of(call)
    return {name: sizes[name] for name in names[:-1]}


def regrouped(
    sizes: Sequence[Size], indices: Sequence[Expr], loops: dict[str, Size], arguments: Arguments
) -> dict[str, Expr]:
    """The index along each of `loops` of the row at `indices` of an array of `sizes`. Loops and
    dimensions have the same rows, in the same order, and `arguments` get what the indices need.
    """
    found: dict[str, Expr] = {}
    names, first, start = list(loops), 0, 0
    while start < len(names):
        count, width = next(_equal_spans(sizes[first:], list(loops.values())[start:]))
        flat: Expr = const(0, INT)
        for index, size in zip(indices[first:], sizes[first : first + count], strict=False):
            flat = flat * arguments.value(size) + index
        inner = names[start : start + width]
        for number, name in reversed(list(enumerate(inner))):
            along = arguments.value(loops[name])
            found[name] = apply("irem", flat, along) if number else flat
            flat = apply("idiv", flat, along) if number else flat
        first, start = first + count, start + width
    return found


def _equal_spans(sizes: Sequence[Size], others: Sequence[Size]) -> Iterator[tuple[int, int]]:
    """How many first sizes have the same product as how many first other ones, fewest first."""
    spans: Iterable[tuple[int, int]] = product(range(len(sizes) + 1), range(1, len(others) + 1))
    for count, width in sorted(spans, key=sum):
        if prod(sizes[:count]) == prod(others[:width]):
            yield count, width


def column_of(found: Attention) -> tuple[Loop, int] | None:
    """The loop of the last call over columns of values, and its extent, if these are whole vectors
    in memory.
    """
    call, rows = found.product, product_rows(found)
    loops = [loop for loop in call.nest.axes if loop.axis not in rows]
    size = call.args[loops[0].extent.value] if len(loops) == 1 else 0
    if dim.is_symbolic(size) or size == 0 or size % VECTOR:
        return None
    name = loops[0].axis
    indices = [load_index(e) for e in walk([call.nest.accumulators[0].body]) if e.op == "load"]
    moving = [index for index in indices if any(depends(item, name) for item in index)]
    return (loops[0], size) if all(contiguous(index, name) for index in moving) else None


def changed_call(
    source: NestCall,
    arguments: Arguments,
    axes: Sequence[Loop],
    reduce: Sequence[Loop],
    accumulators: Sequence[tuple[str, Expr]],
    stores: Sequence[Store],
) -> NestCall:
    """A call with other loops, sums and stores, which reads the operands of `source`."""
    inputs = tuple(Operand(view.type.dtype, view.type.rank) for view in source.inputs)
    outputs = tuple(
        make_output(Operand(view.type.dtype, view.type.rank), [(value, tuple(index))])
        for view, value, index in stores
    )
    sums = tuple(Accumulator(combiner, body) for combiner, body in accumulators)
    call = replace(
        source,
        nest=Nest(inputs, outputs, tuple(axes), tuple(reduce), sums),
        outputs=tuple(view for view, _, _ in stores),
        args={**source.args, **arguments.values},
        choice=None,
    )
    return rename_axes(without_unused_inputs(call))
