"""Blocks of rows and columns that templates compute, and expressions over their axes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce

from webkiln.nest.expr import Expr, add, apply, arg, rebuild, walk
from webkiln.nest.nest import Loop, Nest, Operand, load_index, make_output

ROW, COLUMN, GROUP = "row", "column", "group"
"""Axes of a block, for the loops around a template. A group is a word of neighbours along the sum.
"""


@dataclass(frozen=True, slots=True)
class Block:
    """The arguments of the loops around a template: where a block begins, and its sizes."""

    row: str
    column: str
    rows: str
    columns: str
    group: str
    groups: str


def block_of(nest: Nest) -> Block:
    """Arguments that the nest does not have."""
    loops = (*nest.axes, *nest.reduce)
    used = [
        int(expr.value.removeprefix("p"))
        for expr in walk((*nest.roots, *(loop.extent for loop in loops)))
        if expr.op == "arg"
    ]
    free = max(used, default=-1) + 1
    return Block(*(f"p{free + number}" for number in range(6)))


def strides_of(nest: Nest, block: Block, source: int) -> tuple[str, ...]:
    """Arguments, after those of the block, for the strides of an input but the last."""
    free = int(block.row.removeprefix("p")) + len(fields(Block))
    return tuple(f"p{free + dim}" for dim in range(nest.inputs[source].rank - 1))


def place_of(element: Expr, strides: Sequence[str]) -> Expr:
    """The distance of a loaded element from the first one of the input."""
    *index, last = load_index(element)
    outer = (item * arg(stride) for item, stride in zip(index, strides, strict=True))
    return reduce(add, outer, last)


def stored_block(
    nest: Nest,
    block: Block,
    total: Expr,
    inputs: tuple[Operand, ...],
    moved: Callable[[Expr], Expr],
) -> Nest:
    """The loops over rows and columns that store the results of a block. `total` is the sum at a
    row and a column, from `inputs`; `moved` turns an expression into one over the axes of a block.
    """

    def change(expr: Expr) -> Expr:
        return rebuild(moved(expr), lambda item: total if item.op == "acc" else None)

    outputs = tuple(
        make_output(
            out.operand, [(change(value), tuple(map(moved, index))) for value, index in out.stores]
        )
        for out in nest.outputs
    )
    axes = (Loop(ROW, arg(block.rows)), Loop(COLUMN, arg(block.columns)))
    return Nest(inputs, outputs, axes)


def indices_of(loops: Sequence[Loop], number: Expr) -> dict[str, Expr]:
    """The index of each of nested loops whose iterations are numbered together."""
    if not loops:
        return {}
    first, *rest = loops
    found = {}
    for loop in reversed(rest):
        found[loop.axis] = apply("irem", number, loop.extent)
        number = apply("idiv", number, loop.extent)
    return {first.axis: number, **found}


def with_indices(expr: Expr, axes: Mapping[str, Expr]) -> Expr:
    """An expression with other indices in place of those of loops."""
    return rebuild(expr, lambda item: axes.get(item.value) if item.op == "axis" else None)
