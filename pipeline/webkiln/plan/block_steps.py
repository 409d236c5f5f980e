"""The products of blocks that kernel templates compute, and the loops around a template."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

from webkiln.nest.expr import FLOAT, INT, Expr, arg, axis, load, walk
from webkiln.nest.nest import Loop, Nest, Operand, load_index
from webkiln.ops.block_products import MASK, Loads, two_products
from webkiln.plan.template_steps import (
    COLUMN,
    ROW,
    block_of,
    indices_of,
    stored_block,
    with_indices,
)


@dataclass(frozen=True, slots=True)
class BlockProduct:
    """out[m, n] = f(sum over blocks b of scales[m, b] * (factors[n, b] * sum over the block of
    codes[m, k] * (packed[n, k] - center) + offsets[n, b] * sum over the block of codes[m, k])).
    Operands are positions of inputs. `row`, `column`, `block` and `byte` are the loops of m, n, b
    and of the bytes of a block.
    """

    codes: int
    scales: int
    packed: int
    factors: int
    offsets: int | None
    center: int
    row: tuple[Loop, ...]
    column: Loop
    block: Loop
    byte: Loop


BLOCK_PRODUCT = "block_product"
"""The step of a template that computes them."""


def match_blocks(nest: Nest) -> BlockProduct | None:
    """The product of blocks that a nest computes, if it computes one."""
    if not nest.is_contraction or len(nest.reduce) != 2 or len(nest.accumulators) != 1:
        return None
    body = nest.accumulators[0].body
    for loads, center in _candidates(nest, body):
        if two_products(loads, center) is body:
            return _with_loops(nest, loads, center)
    return None


def _candidates(nest: Nest, body: Expr) -> Iterator[tuple[Loads, int]]:
    """Which loads may have which part."""
    found: dict[str, list[Expr]] = {}
    for item in walk([body]):
        if item.op == "load":
            found.setdefault(nest.inputs[item.value[0]].dtype, []).append(item)
    rows, bytes_, floats = (found.get(dtype, []) for dtype in ("int8", "uint8", "float32"))
    if (len(rows), len(bytes_)) != (2, 1) or len(floats) not in (2, 3):
        return
    centers = {0} | {
        item.value
        for item in walk([body])
        if item.op == "const" and item.type == INT and item.value in range(MASK + 1)
    }
    for (first, second), values, center in product(
        permutations(rows), permutations(floats), sorted(centers)
    ):
        scale, factor, *offset = values
        yield Loads((first, second), scale, bytes_[0], factor, *offset), center


def _with_loops(nest: Nest, loads: Loads, center: int) -> BlockProduct | None:
    """The product, if its operands are arrays of one loop per dimension, in this order."""
    *row, block = load_index(loads.scale)
    column, *_ = load_index(loads.byte)
    others = [item for item in (loads.factor, loads.offset) if item is not None]
    loops = {loop.axis: loop for loop in (*nest.axes, *nest.reduce)}
    names = [item.value for item in (*row, column, block) if item.op == "axis"]
    if (
        len(names) != len(row) + 2
        or [loop.axis for loop in nest.axes if loop.axis in names[: len(row)]] != names[:-2]
        or len(nest.axes) != len(row) + 1
        or any(load_index(item) != (column, block) for item in others)
        or any(load_index(item)[:-1] != tuple(row) for item in loads.rows)
        or len(load_index(loads.byte)) != 2
        or block.value not in {loop.axis for loop in nest.reduce}
    ):
        return None
    (byte,) = (loop for loop in nest.reduce if loop.axis != block.value)
    return BlockProduct(
        loads.rows[0].value[0],
        loads.scale.value[0],
        loads.byte.value[0],
        loads.factor.value[0],
        None if loads.offset is None else loads.offset.value[0],
        center,
        tuple(loops[item.value] for item in row),
        loops[column.value],
        loops[block.value],
        byte,
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
