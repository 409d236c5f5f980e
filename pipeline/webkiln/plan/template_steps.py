"""The patterns over nests that kernel templates implement, and the loops around a template."""

from dataclasses import dataclass
from functools import reduce

from webkiln.nest.affine import step
from webkiln.nest.expr import (
    INT,
    UINT,
    Expr,
    apply,
    arg,
    axis,
    cast,
    const,
    load,
    mul,
    select,
    walk,
)
from webkiln.nest.nest import (
    COMPUTE,
    Loop,
    Nest,
    Operand,
    Output,
    load_guard,
    load_index,
    make_output,
)
from webkiln.nest.wrap import WRAPPERS
from webkiln.plan.template_blocks import (
    COLUMN,
    GROUP,
    ROW,
    block_of,
    indices_of,
    place_of,
    stored_block,
    strides_of,
    with_indices,
)

NARROW = ("int8", "uint8")
ZERO = const(0, INT)
SIGN = 128
"""What turns a uint8 into an int8, and back."""
MOST_RUNS = 512
"""The most runs of a row that a template reads in place."""
TOGETHER = 4
"""Elements of 8 bits in a word."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of a product: an element of `dtype`, converted to int32, minus a zero point. It is 0
    where `guard` is false.
    """

    element: Expr
    dtype: str
    zero: Expr | None
    guard: Expr | None = None

    @property
    def source(self) -> int:
        """The position of the input."""
        position: int = self.element.value[0]
        return position

    @property
    def axes(self) -> set[str]:
        """The loops on which the element depends."""
        return {item.value for item in walk([self.element]) if item.op == "axis"}


@dataclass(frozen=True, slots=True)
class Product:
    """out[m, n] = f(sum over k of rows[m, k] * columns[k, n]), where f may read other inputs. Rows
    and sums may have several loops, such as those of a convolution: `row`, `column` and `depth` are
    the loops of m, n and k. There is no loop of m if there is one row. In a depthwise convolution,
    rows also depend on n.
    """

    rows: Factor
    columns: Factor
    row: tuple[Loop, ...]
    column: Loop
    depth: tuple[Loop, ...]

    @property
    def is_depthwise(self) -> bool:
        return self.column.axis in self.rows.axes

    @property
    def run(self) -> Loop | None:
        """The loop along which elements of a row are neighbours that are all inside of the input or
        all outside: the columns of a depthwise convolution, or the innermost loop of the sum.
        """
        if not self.is_depthwise and not self.depth:
            return None
        loop = self.column if self.is_depthwise else self.depth[-1]
        *outer, last = load_index(self.rows.element)
        others = _axes_of(self.rows.guard).union(*map(_axes_of, outer))
        return None if loop.axis in others or step(last, loop.axis) != 1 else loop


def match_step(nest: Nest, step: str) -> Product | None:
    """The product of int32 factors that a nest computes, if it computes one of a step."""
    if not nest.is_contraction or not nest.reduce:
        return None
    match = MATCHES[step]
    factors = [_factor(item, nest) for item in nest.accumulators[0].body.args]
    for first, second in (factors, factors[::-1]):
        if first is not None and second is not None:
            found = match(nest, first, second)
            if found is not None:
                return found
    return None


def _product(nest: Nest, rows: Factor, columns: Factor) -> Product | None:
    """The product with these factors. The columns must be an array of one loop per dimension; the
    zero point of the rows is the same for all.
    """
    row = tuple(loop for loop in nest.axes if loop.axis in rows.axes)
    others = [loop for loop in nest.axes if loop not in row]
    index = load_index(columns.element)
    names = [item.value for item in index if item.op == "axis"]
    if (
        len(others) != 1
        or not load_index(rows.element)
        or columns.guard is not None
        or sorted(names) != sorted(loop.axis for loop in (others[0], *nest.reduce))
        or len(names) != len(index)
        or _axes_of(rows.zero)
        or _axes_of(columns.zero) - {others[0].axis}
    ):
        return None
    return Product(rows, columns, row, others[0], _contiguous_last(nest.reduce, rows))


def _depthwise(nest: Nest, rows: Factor, columns: Factor) -> Product | None:
    """The depthwise convolution with these factors: rows are contiguous along the columns, which
    are signed, without a zero point, and an array of one loop per dimension.
    """
    index = load_index(columns.element)
    names = [item.value for item in index if item.op == "axis"]
    shared = [loop for loop in nest.axes if loop.axis in names]
    row = tuple(loop for loop in nest.axes if loop not in shared)
    if (
        len(shared) != 1
        or not row
        or not {loop.axis for loop in nest.axes} <= rows.axes
        or columns.guard is not None
        or columns.zero is not None
        or columns.dtype != "int8"
        or sorted(names) != sorted(loop.axis for loop in (shared[0], *nest.reduce))
        or len(names) != len(index)
        or _axes_of(rows.zero)
    ):
        return None
    found = Product(rows, columns, row, shared[0], nest.reduce)
    return None if found.run is None else found


MATCHES = {"product": _product, "depthwise": _depthwise}


def _axes_of(expr: Expr | None) -> set[str]:
    return set() if expr is None else {item.value for item in walk([expr]) if item.op == "axis"}


def _contiguous_last(loops: tuple[Loop, ...], rows: Factor) -> tuple[Loop, ...]:
    """The loops of a sum, with the one along which a row is contiguous last."""
    *_, last = load_index(rows.element)
    return tuple(sorted(loops, key=lambda loop: step(last, loop.axis) == 1))


def _factor(expr: Expr, nest: Nest) -> Factor | None:
    """A factor over an 8-bit element, and an 8-bit zero point, so that it has 9 bits."""
    guard = zero = None
    if expr.op == "select" and expr.args[2] is ZERO:
        guard, expr, _ = expr.args
    if expr.op == "sub":
        expr, zero = expr.args
        if not _is_narrow(zero, nest):
            return None
    found = _element(expr, nest)
    if found is None:
        return None
    element, dtype = found
    own = load_guard(element)
    if own is not None:
        if guard is None and zero is None and own[1] is ZERO:
            guard = own[0]
        if own[0] is not guard:
            return None
        element = load(element.value[0], element.type, load_index(element))
    reads = sum(item.op == "load" and item.value[0] == element.value[0] for item in nest.nodes)
    return Factor(element, dtype, zero, guard) if reads == 1 else None


def _element(expr: Expr, nest: Nest) -> tuple[Expr, str] | None:
    """The load of an int32 that is an element of 8 bits, and its dtype. In memory that consists of
    words, the element is wrapped after the load.
    """
    value = expr.args[0] if expr.op == "cast" else expr
    loads = [item for item in walk([value], leaves=("load",)) if item.op == "load"]
    if expr.type != INT or len(loads) != 1:
        return None
    dtype = nest.inputs[loads[0].value[0]].dtype
    if value is loads[0]:
        return (value, dtype) if dtype in NARROW else None
    wrapped = (name for name in NARROW if loads[0].type == COMPUTE[name])
    return next(((loads[0], name) for name in wrapped if WRAPPERS[name](loads[0]) is value), None)


def _is_narrow(expr: Expr, nest: Nest) -> bool:
    """Whether an int32 is an element of 8 bits, or a constant that fits into them."""
    if expr.op == "const":
        return expr.type == INT and -SIGN <= expr.value < 2 * SIGN
    return _element(expr, nest) is not None


class Around:
    """The loops around a template. Their nests have the inputs of the nest, in the same order.
    `strides`: arguments for the strides of the rows' dimensions but the last.
    """

    def __init__(self, nest: Nest, product: Product) -> None:
        self.nest, self.product, self.block = nest, product, block_of(nest)
        self.strides = strides_of(nest, self.block, product.rows.source)
        zero = ZERO if product.columns.zero is None else product.columns.zero
        self.column_zero = zero - SIGN if product.columns.dtype == "uint8" else zero
        """The zero point of the columns as int8."""

    @property
    def needs_totals(self) -> bool:
        """Whether results depend on the sums of the rows."""
        return self.column_zero is not ZERO

    def prepare(self) -> tuple[Nest, Nest]:
        """Store a block of rows; and the zero point of the rows, as int32 [1].

        If rows consist of runs, this stores where each run begins, as int32 [runs, rows]: the
        distance from the first element of the input, or -1 where the guard is false. Else it stores
        the rows [rows, depth] in the dtype of the input, with zero points where the guard is false.
        """
        rows, depth, run = self.product.rows, self.product.depth, self.product.run
        zero = ZERO if rows.zero is None else rows.zero
        if run is not None:
            value, operand = self._place(run), Operand("int32", 2)
            depth = tuple(loop for loop in depth if loop is not run)
        else:
            value, operand = rows.element, Operand(rows.dtype, 2)
        if run is None and rows.guard is not None:
            index, known = load_index(value), zero.op == "const" and value.type == INT
            other = zero if known else const(0, value.type)
            inside = load(rows.source, value.type, index, rows.guard, other)
            value = inside if known else select(rows.guard, cast(inside, INT), zero)
        flat = reduce(lambda total, loop: total * loop.extent + axis(loop.axis), depth, ZERO)
        row = Loop(ROW, arg(self.block.rows))
        axes, index = (row, *depth), (axis(ROW), flat)
        if run is not None:
            index = (flat, axis(ROW))
        if self.product.is_depthwise:
            axes = (*depth, row)
        stored = make_output(operand, [(self._moved(value), index)])
        point = make_output(Operand("int32", 1), [(zero, (ZERO,))])
        return self._nest(axes, (stored,)), self._nest((), (point,))

    def _place(self, run: Loop) -> Expr:
        """Where a run begins."""
        rows = self.product.rows
        place = with_indices(place_of(rows.element, self.strides), {run.axis: ZERO})
        return place if rows.guard is None else select(rows.guard, place, const(-1, INT))

    def pack(self, *, whole: bool) -> tuple[Nest, Nest]:
        """Store words of four neighbours along the sum, as int8, of a block of rows [groups, rows],
        with zero points where the guard is false and 0 beyond the end of the sum; and the zero
        point of the rows as int8, as int32 [1]. `whole`: the innermost loop of the sum is a
        multiple of four.
        """
        rows, sign = self.product.rows, SIGN if self.product.rows.dtype == "uint8" else 0
        zero = ZERO if rows.zero is None else rows.zero
        group = arg(self.block.group) + axis(GROUP)
        value = cast(rows.element, INT)
        if rows.guard is not None:
            value = select(rows.guard, value, zero)
        value = self._moved(value - sign)
        length = reduce(mul, (loop.extent for loop in self.product.depth))
        bytes_ = []
        for position in range(TOGETHER):
            byte = with_indices(value, self._neighbour(group, position, whole=whole))
            if not whole:
                byte = select(apply("lt", group * TOGETHER + position, length), byte, ZERO)
            byte = apply("band", cast(byte, UINT), const(2 * SIGN - 1, UINT))
            bytes_.append(apply("shl", byte, const(8 * position, UINT)) if position else byte)
        word = reduce(lambda total, item: apply("bor", total, item), bytes_)
        packed = make_output(Operand("uint32", 2), [(word, (axis(GROUP), axis(ROW)))])
        point = make_output(Operand("int32", 1), [(zero - sign, (ZERO,))])
        axes = (Loop(GROUP, arg(self.block.groups)), Loop(ROW, arg(self.block.rows)))
        return self._nest(axes, (packed,)), self._nest((), (point,))

    def _neighbour(self, group: Expr, position: int, *, whole: bool) -> dict[str, Expr]:
        """The indices of the loops of the sum at a position in a group."""
        *outer, last = self.product.depth
        if not whole:
            return indices_of((*outer, last), group * TOGETHER + position)
        quarter = Loop(last.axis, apply("idiv", last.extent, const(TOGETHER, INT)))
        found = indices_of((*outer, quarter), group)
        return found | {last.axis: found[last.axis] * TOGETHER + position}

    def store(self) -> Nest:
        """Store the results of a block. The inputs after those of the nest are the int32 sums
        [rows, columns] of the template, in which columns are int8, without the zero point of the
        rows; and the sums of the rows, if results depend on them.
        """
        position = len(self.nest.inputs)
        total = load(position, INT, (axis(ROW), axis(COLUMN)))
        inputs = (*self.nest.inputs, Operand("int32", 2))
        if self.needs_totals:
            zero = self._moved(self.column_zero)
            total = total - zero * load(position + 1, INT, (axis(ROW),))
            inputs = (*inputs, Operand("int32", 1))

        return stored_block(self.nest, self.block, total, inputs, self._moved)

    def _nest(self, axes: tuple[Loop, ...], outputs: tuple[Output, ...]) -> Nest:
        return Nest(self.nest.inputs, outputs, axes)

    def _moved(self, expr: Expr) -> Expr:
        """An expression over the axes of a block. Rows of a block of a depthwise convolution are
        neighbours along the innermost loop.
        """
        column, first = self.product.column.axis, arg(self.block.row)
        if self.product.is_depthwise:
            moved, last = indices_of(self.product.row, first), self.product.row[-1].axis
            moved[last] = moved[last] + axis(ROW)
        else:
            moved = indices_of(self.product.row, first + axis(ROW))
        return with_indices(expr, {column: arg(self.block.column) + axis(COLUMN), **moved})
