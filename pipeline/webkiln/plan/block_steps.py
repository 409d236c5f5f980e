"""The products of blocks that kernel templates compute, and the loops around a template."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

from webkiln.nest.expr import FLOAT, INT, Expr, arg, axis, load, walk
from webkiln.nest.nest import Loop, Nest, Operand, load_index
from webkiln.ops.block_products import BYTE, Loads, code_range, products_of_byte
from webkiln.plan.template_steps import (
    COLUMN,
    ROW,
    block_of,
    indices_of,
    stored_block,
    with_indices,
)


@dataclass(frozen=True, slots=True)
class Weights:
    """The positions of the inputs that are weights; `bits` of a code, and their `center`.
    `by_column`: factors and offsets are those of a column, not of a block.
    """

    packed: int
    factors: int
    offsets: int | None
    bits: int
    center: int
    by_column: bool

    @property
    def parameters(self) -> tuple[int, ...]:
        return (self.factors,) if self.offsets is None else (self.factors, self.offsets)


@dataclass(frozen=True, slots=True)
class BlockProduct:
    """out[m, n] = f(sum over blocks b of scales[m, b] * (factors[n, b] * sum over the block of
    codes[m, k] * (packed[n, k] - center) + offsets[n, b] * sum over the block of codes[m, k])).
    `row`, `column`, `block` and `byte` are the loops of m, n, b and of the bytes of a block; there
    is no `block` if there is one of them.
    """

    codes: int
    scales: int
    weights: Weights
    row: tuple[Loop, ...]
    column: Loop
    block: Loop | None
    byte: Loop


BLOCK_PRODUCT = "block_product"
"""The step of a template that computes them."""


def match_blocks(nest: Nest) -> BlockProduct | None:
    """The product of blocks that a nest computes, if it computes one."""
    if not nest.is_contraction or len(nest.reduce) not in (1, 2) or len(nest.accumulators) != 1:
        return None
    body = nest.accumulators[0].body
    matches = (
        _with_loops(nest, loads, center)
        for loads, center in _candidates(nest, body)
        if products_of_byte(loads, center) is body
    )
    return next((found for found in matches if found is not None), None)


def _candidates(nest: Nest, body: Expr) -> Iterator[tuple[Loads, int]]:
    """Which loads may have which part."""
    loads = [item for item in walk([body]) if item.op == "load"]
    dtypes = {item: nest.inputs[item.value[0]].dtype for item in loads}
    floats = [item for item in loads if dtypes[item] == "float32"]
    integers = [item for item in loads if dtypes[item] in ("int8", "uint8")]
    if len(floats) not in (2, 3) or len(integers) not in (2, 3) or len(loads) > 6:
        return
    centers = {0} | {item.value for item in walk([body]) if item.op == "const" and item.type == INT}
    for (byte, *rows), values in product(permutations(integers), permutations(floats)):
        bits = BYTE // len(rows)
        if any(dtypes[item] != "int8" for item in rows):
            continue
        if bits < BYTE and dtypes[byte] != "uint8":
            continue
        scale, factor, *offset = values
        for center in sorted(centers.intersection(code_range(bits, dtypes[byte]))):
            yield Loads(tuple(rows), scale, byte, factor, *offset), center


def _with_loops(nest: Nest, loads: Loads, center: int) -> BlockProduct | None:
    """The product, if its operands are arrays of one loop per dimension: those of weights in any
    order.
    """
    loops = {loop.axis: loop for loop in (*nest.axes, *nest.reduce)}
    summed = {loop.axis for loop in nest.reduce}
    places = [loops[item.value] for item in load_index(loads.byte) if item.op == "axis"]
    columns = [loop for loop in places if loop.axis not in summed]
    names = [item.value for item in load_index(loads.scale) if item.op == "axis"]
    row = tuple(loops[name] for name in names if name not in summed)
    blocks = [loops[name] for name in names if name in summed]
    others = [item for item in (loads.factor, loads.offset) if item is not None]
    parameters = [
        sorted(item.value if item.op == "axis" else "" for item in load_index(item))
        for item in others
    ]
    if (
        len(columns) != 1
        or len(load_index(loads.byte)) != 2
        or names != [loop.axis for loop in (*row, *blocks)]
        or len(names) != len(load_index(loads.scale))
        or len(nest.reduce) != len(blocks) + 1
        or nest.axes != (*row, *columns)
        or any(load_index(item)[:-1] != load_index(loads.scale)[: len(row)] for item in loads.rows)
        or any(item != parameters[0] for item in parameters)
    ):
        return None
    column = columns[0].axis
    by_column = parameters[0] == [column]
    if not by_column and parameters[0] != sorted([column, *(loop.axis for loop in blocks)]):
        return None
    weights = Weights(
        loads.byte.value[0],
        loads.factor.value[0],
        None if loads.offset is None else loads.offset.value[0],
        BYTE // len(loads.rows),
        center,
        by_column,
    )
    return BlockProduct(
        loads.rows[0].value[0],
        loads.scale.value[0],
        weights,
        row,
        columns[0],
        blocks[0] if blocks else None,
        next(loop for loop in nest.reduce if loop not in blocks),
    )


class AroundBlocks:
    """The loops around a template. Their nests have the inputs of the nest, in the same order."""

    def __init__(self, nest: Nest, step: BlockProduct) -> None:
        self.nest, self.step = nest, step
        self.block = block_of(nest)

    def store(self) -> Nest:
        """Store the results of a block. The input after those of the nest are the float32 sums
        [rows, columns] of the template.
        """
        moved = {self.step.column.axis: arg(self.block.column) + axis(COLUMN)}
        if self.step.row:
            moved |= indices_of(self.step.row, arg(self.block.row) + axis(ROW))
        return stored_block(
            self.nest,
            self.block,
            load(len(self.nest.inputs), FLOAT, (axis(ROW), axis(COLUMN))),
            (*self.nest.inputs, Operand("float32", 2)),
            lambda expr: with_indices(expr, moved),
        )
