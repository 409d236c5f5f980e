"""The patterns over nests that kernel templates implement, and the loops around a template."""

from dataclasses import dataclass, replace

from webkiln.nest.expr import INT, Expr, acc, arg, axis, cast, load, rebuild, walk
from webkiln.nest.nest import (
    Accumulator,
    Loop,
    Nest,
    Operand,
    Output,
    load_guard,
    load_index,
    make_output,
)

NARROW = ("int8", "uint8")


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of a product: an element, converted to int32, minus a zero point."""

    element: Expr
    zero: Expr | None

    @property
    def source(self) -> int:
        """The position of the input."""
        position: int = self.element.value[0]
        return position


@dataclass(frozen=True, slots=True)
class Product:
    """out[m, n] = f(sum over k of rows[m, k] * columns[k, n]), where f may read other inputs. The
    fields `row`, `column` and `depth` are the loops of m, n and k.
    """

    rows: Factor
    columns: Factor
    row: Loop
    column: Loop
    depth: Loop


def match_product(nest: Nest) -> Product | None:
    """The product of int32 factors that a nest computes, if it computes one."""
    if not nest.is_contraction or (len(nest.axes), len(nest.reduce)) != (2, 1):
        return None
    body, depth = nest.accumulators[0].body, nest.reduce[0]
    factors = [_factor(item, nest) for item in body.args]
    for first, second in (factors, factors[::-1]):
        for row, column in (nest.axes, nest.axes[::-1]):
            if (
                first is not None
                and second is not None
                and load_index(first.element) == (axis(row.axis), axis(depth.axis))
                and load_index(second.element) == (axis(depth.axis), axis(column.axis))
            ):
                return Product(first, second, row, column, depth)
    return None


def _factor(expr: Expr, nest: Nest) -> Factor | None:
    """A factor over an 8-bit element, and an 8-bit zero point, so that it has 9 bits."""
    zero = None
    if expr.op == "sub":
        expr, zero = expr.args
        if any(item.op == "axis" for item in walk([zero])) or not _is_narrow(zero, nest):
            return None
    if not _is_narrow(expr, nest) or load_guard(_uncast(expr)) is not None:
        return None
    element = _uncast(expr)
    reads = sum(item.op == "load" and item.value[0] == element.value[0] for item in nest.nodes)
    return Factor(element, zero) if reads == 1 else None


def _uncast(expr: Expr) -> Expr:
    return expr.args[0] if expr.op == "cast" else expr


def _is_narrow(expr: Expr, nest: Nest) -> bool:
    """Whether an int32 is an element of 8 bits."""
    element = _uncast(expr)
    return (
        expr.type == INT and element.op == "load" and nest.inputs[element.value[0]].dtype in NARROW
    )


ROW, COLUMN = "row", "column"
"""Axes of a block, for the loops around a template."""


@dataclass(frozen=True, slots=True)
class Block:
    """The arguments of the loops around a template: where a block begins, and its sizes."""

    row: str
    column: str
    rows: str
    columns: str


def block_of(nest: Nest) -> Block:
    """Arguments that the nest does not have."""
    loops = (*nest.axes, *nest.reduce)
    used = [
        int(expr.value.removeprefix("p"))
        for expr in walk((*nest.roots, *(loop.extent for loop in loops)))
        if expr.op == "arg"
    ]
    free = max(used, default=-1) + 1
    return Block(*(f"p{free + number}" for number in range(4)))


class Around:
    """The loops around a template. Their nests have the inputs of the nest, in the same order."""

    def __init__(self, nest: Nest, product: Product) -> None:
        self.nest, self.product, self.block = nest, product, block_of(nest)

    def prepare(self) -> tuple[Nest, ...]:
        """Store a block of rows, without their zero point, as int16 [rows, depth]; and their sums
        as int32 [rows], if the columns have a zero point.
        """
        depth, value = self.product.depth, self._moved(_value(self.product.rows))
        copied = make_output(Operand("int16", 2), [(value, (axis(ROW), axis(depth.axis)))])
        nests = [self._nest((depth,), (copied,))]
        if self.product.columns.zero is not None:
            total = make_output(Operand("int32", 1), [(acc(0, INT), (axis(ROW),))])
            sums = self._nest((), (total,))
            accumulators = (Accumulator("sum", value),)
            nests.append(replace(sums, reduce=(depth,), accumulators=accumulators))
        return tuple(nests)

    def store(self) -> Nest:
        """Store the results of a block. The inputs after those of the nest are the int32 sums
        [rows, columns] of the template, and the sums of the rows, if the columns have a zero point.
        """
        position, zero = len(self.nest.inputs), self.product.columns.zero
        total = load(position, INT, (axis(ROW), axis(COLUMN)))
        inputs = (*self.nest.inputs, Operand("int32", 2))
        if zero is not None:
            total = total - cast(zero, INT) * load(position + 1, INT, (axis(ROW),))
            inputs = (*inputs, Operand("int32", 1))

        def change(expr: Expr) -> Expr | None:
            return total if expr.op == "acc" else None

        outputs = tuple(
            make_output(
                out.operand,
                [
                    (rebuild(self._moved(value), change), tuple(map(self._moved, index)))
                    for value, index in out.stores
                ],
            )
            for out in self.nest.outputs
        )
        columns = Loop(COLUMN, arg(self.block.columns))
        return replace(self._nest((columns,), outputs), inputs=inputs)

    def _nest(self, inner: tuple[Loop, ...], outputs: tuple[Output, ...]) -> Nest:
        axes = (Loop(ROW, arg(self.block.rows)), *inner)
        return Nest(self.nest.inputs, outputs, axes)

    def _moved(self, expr: Expr) -> Expr:
        """An expression over the axes of a block."""
        moved = {
            self.product.row.axis: arg(self.block.row) + axis(ROW),
            self.product.column.axis: arg(self.block.column) + axis(COLUMN),
        }
        return rebuild(expr, lambda item: moved.get(item.value) if item.op == "axis" else None)


def _value(factor: Factor) -> Expr:
    element = cast(factor.element, INT)
    return element if factor.zero is None else element - cast(factor.zero, INT)
