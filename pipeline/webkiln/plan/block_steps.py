"""The products of blocks that kernel templates compute, and the loops around a template."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations

from webkiln.nest.affine import depends, step
from webkiln.nest.expr import FLOAT, INT, Expr, arg, axis, load, walk
from webkiln.nest.nest import Loop, Nest, Operand, load_guard, load_index, make_output
from webkiln.nest.wrap import WRAPPERS
from webkiln.ops.block_products import (
    BYTE,
    Loads,
    code_range,
    product_of_code,
    products_of_byte,
)
from webkiln.plan.template_blocks import (
    COLUMN,
    ROW,
    block_of,
    indices_of,
    place_of,
    stored_block,
    strides_of,
    with_indices,
)
from webkiln.plan.template_steps import (
    NARROW,
    ZERO,
)


@dataclass(frozen=True, slots=True)
class Weights:
    """The positions of the inputs that are weights; `bits` of a code, and their `center`.
    `by_column`: factors and offsets are those of a column, not of a block. Weights that are floats
    have no factors.
    """

    packed: int
    factors: int | None
    offsets: int | None
    bits: int
    center: int
    by_column: bool

    @property
    def parameters(self) -> tuple[int, ...]:
        return tuple(item for item in (self.factors, self.offsets) if item is not None)


@dataclass(frozen=True, slots=True)
class BlockProduct:
    """out[m, n] = f(sum over blocks b of scales[m, b] * (factors[n, b] * sum over the block of
    rows[m, k] * (packed[n, k] - center) + offsets[n, b] * sum over the block of rows[m, k])).
    `row`, `column`, `block` and `byte` are the loops of m, n, b and of the bytes of a block; there
    is no `block` if there is one of them. `first` is the load of the first element that a byte is
    multiplied by. Float rows have no `scales`, and a loop over the codes of a byte, `half`, if
    there are two.
    """

    first: Expr
    scales: int | None
    weights: Weights
    row: tuple[Loop, ...]
    column: Loop
    block: Loop | None
    byte: Loop
    half: Loop | None = None

    @property
    def rows(self) -> int:
        """The position of the input that has the rows."""
        position: int = self.first.value[0]
        return position

    @property
    def products(self) -> int:
        """The products of codes that an iteration of the loops computes."""
        return 1 if self.scales is None else BYTE // self.weights.bits


BLOCK_PRODUCT = "block_product"
"""The step of a template that computes them."""
MOST_REDUCED = 3
HALVES = 2


@lru_cache(maxsize=1024)
def match_blocks(nest: Nest) -> BlockProduct | None:
    """The product of blocks that a nest computes, if it computes one. The codes of rows may lie in
    words, from which they are wrapped.
    """
    if not nest.is_contraction or not 1 <= len(nest.reduce) <= MOST_REDUCED:
        return None
    body = nest.accumulators[0].body
    nodes = set(walk([body]))
    loads = [item for item in walk([body]) if item.op == "load"]
    dtypes = {item: nest.inputs[item.value[0]].dtype for item in loads}
    wrapped = {item for item in loads if dtypes[item] == "int32" and _wrapped(item) in nodes}
    floats = [item for item in loads if dtypes[item] == "float32"]
    integers = [item for item in loads if dtypes[item] in NARROW or item in wrapped]
    if not integers or len(floats) + len(integers) != len(loads):
        return None
    centers = {0} | {item.value for item in nodes if item.op == "const" and item.type == INT}
    matches = _float_rows if len(integers) == 1 else _quantized_rows
    found = (
        product
        for byte, *rows in permutations(integers)
        if byte not in wrapped and all(dtypes[item] == "int8" or item in wrapped for item in rows)
        for order in permutations(floats)
        for product in matches(nest, byte, tuple(rows), order, centers)
    )
    return next(found, None)


def _wrapped(element: Expr) -> Expr:
    """An int8 that lies in a word."""
    return WRAPPERS["int8"](element)


def _quantized_rows(
    nest: Nest, byte: Expr, rows: tuple[Expr, ...], floats: tuple[Expr, ...], centers: set[int]
) -> Iterator[BlockProduct]:
    """The product of quantized rows, if these are its loads, the scale first, then the factor and
    the offset.
    """
    dtype = nest.inputs[byte.value[0]].dtype
    if len(rows) not in (1, 2) or len(floats) not in (2, 3):
        return
    bits = BYTE // len(rows)
    if bits < BYTE and dtype != "uint8":
        return
    scale, factor, *offset = floats
    loads = Loads(rows, byte, factor, offset[0] if offset else None, scale)
    in_words = nest.inputs[rows[0].value[0]].dtype == "int32"
    read = replace(loads, rows=tuple(map(_wrapped, rows))) if in_words else loads
    index = load_index(scale)
    names = [item.value for item in index if item.op == "axis"]
    blocks = tuple(loop for loop in nest.reduce if loop.axis in names)
    outer = index[: len(index) - len(blocks)]
    if len(names) != len(index) or any(load_index(item)[:-1] != outer for item in rows):
        return
    for center in sorted(centers.intersection(code_range(bits, dtype))):
        if products_of_byte(read, center) is nest.accumulators[0].body:
            found = _with_loops(nest, loads, center, blocks, None)
            if found is not None and names == [loop.axis for loop in (*found.row, *blocks)]:
                yield found


def _float_rows(
    nest: Nest, byte: Expr, rows: tuple[Expr, ...], floats: tuple[Expr, ...], centers: set[int]
) -> Iterator[BlockProduct]:
    """The product of float rows, if these are its loads, the row first, then the factor and the
    offset.
    """
    if len(floats) not in (2, 3):
        return
    row, factor, *offset = floats
    dtype, body = nest.inputs[byte.value[0]].dtype, nest.accumulators[0].body
    loads, index = Loads((row,), byte, factor, *offset), load_index(byte)
    if any(depends(item, loop.axis) for item in load_index(row)[:-1] for loop in nest.reduce):
        return
    halves = [loop for loop in nest.reduce if not depends(byte, loop.axis)]
    half = halves[0] if halves and dtype == "uint8" else None
    blocks = tuple(
        loop
        for loop in nest.reduce
        if loop is not half and all(step(item, loop.axis) != 1 for item in index)
    )
    bits = BYTE if half is None else BYTE // HALVES
    for center in sorted(centers.intersection(code_range(bits, dtype))):
        if product_of_code(loads, center, None if half is None else axis(half.axis)) is body:
            found = _with_loops(nest, loads, center, blocks, half)
            yield from [] if found is None else [found]


def _with_loops(
    nest: Nest, loads: Loads, center: int, blocks: tuple[Loop, ...], half: Loop | None
) -> BlockProduct | None:
    """The product, if its operands are arrays of one loop per dimension: those of weights in any
    order. Float rows may be parts of an array.
    """
    index = load_index(loads.byte)
    columns = [loop for loop in nest.axes if axis(loop.axis) in index]
    parameters = [
        sorted(item.value if item.op == "axis" else "" for item in load_index(load))
        for load in (loads.factor, loads.offset)
        if load is not None
    ]
    inner = [loop for loop in nest.reduce if loop not in blocks and loop is not half]
    if (
        len(columns) != 1
        or len(index) != 2
        or len(inner) != 1
        or len(blocks) > 1
        or nest.axes[-1] is not columns[0]
        or any(item != parameters[0] for item in parameters)
        or any(load_guard(item) is not None for item in loads.rows)
    ):
        return None
    (column,), (byte,) = columns, inner
    by_column = parameters[0] == [column.axis]
    if not by_column and parameters[0] != sorted([column.axis, *(loop.axis for loop in blocks)]):
        return None
    weights = Weights(
        loads.byte.value[0],
        loads.factor.value[0],
        None if loads.offset is None else loads.offset.value[0],
        BYTE // len(loads.rows) if half is None else BYTE // HALVES,
        center,
        by_column,
    )
    return BlockProduct(
        loads.rows[0],
        None if loads.scale is None else loads.scale.value[0],
        weights,
        nest.axes[:-1],
        column,
        blocks[0] if blocks else None,
        byte,
        half,
    )


class AroundBlocks:
    """The loops around a template. Their nests have the inputs of the nest, in the same order.
    `strides`: arguments for the strides of the rows' dimensions but the last.
    """

    def __init__(self, nest: Nest, step: BlockProduct) -> None:
        self.nest, self.step, self.block = nest, step, block_of(nest)
        self.strides = strides_of(nest, self.block, step.rows)

    def places(self) -> Nest:
        """Store where each row of a block begins, as int32 [rows]: the distance from the first
        element of the input.
        """
        first = with_indices(
            place_of(self.step.first, self.strides), {loop.axis: ZERO for loop in self.nest.reduce}
        )
        stored = make_output(Operand("int32", 1), [(self._moved(first), (axis(ROW),))])
        return Nest(self.nest.inputs, (stored,), (Loop(ROW, arg(self.block.rows)),))

    def store(self) -> Nest:
        """Store the results of a block. The input after those of the nest are the float32 sums
        [rows, columns] of the template.
        """
        return stored_block(
            self.nest,
            self.block,
            load(len(self.nest.inputs), FLOAT, (axis(ROW), axis(COLUMN))),
            (*self.nest.inputs, Operand("float32", 2)),
            self._moved,
        )

    def _moved(self, expr: Expr) -> Expr:
        """An expression over the axes of a block."""
        moved = {self.step.column.axis: arg(self.block.column) + axis(COLUMN)}
        if self.step.row:
            moved |= indices_of(self.step.row, arg(self.block.row) + axis(ROW))
        return with_indices(expr, moved)
