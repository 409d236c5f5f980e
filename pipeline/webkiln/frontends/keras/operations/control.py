"""keras.ops operations that call functions: branches, loops and scans. A function writes its
operations to a builder.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from webkiln.errors import ShapeError
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.control_flow import Block
from webkiln.ops.functional.operands import Argument, Operation, numbers, tensor
from webkiln.ops.functional.shapes import concatenate, flip
from webkiln.ops.pieces import cast, part, reshaped

Functions = Mapping[str, Block]


def _scalar(b: GraphBuilder, x: Argument, dtype: str) -> Tensor:
    return cast(b, reshaped(b, tensor(b, x), ()), dtype)


def _as_before(
    b: GraphBuilder, results: Sequence[Tensor], states: Sequence[Tensor]
) -> list[Tensor]:
    """The next states, whose types must not change."""
    for result, state in zip(results, states, strict=True):
        if result.shape != state.shape:
            raise ShapeError(
                f"{b.layer}: a step changes {list(state.shape)} to {list(result.shape)}; the shapes"
                " of loop variables must not change"
            )
    return [cast(b, result, state.dtype) for result, state in zip(results, states, strict=True)]


def cond(b: GraphBuilder, pred: Argument, functions: Functions) -> list[Tensor]:
    if not isinstance(pred, Tensor):
        return list(functions["then" if pred else "otherwise"](b, []))
    return list(b.branch(_scalar(b, pred, "bool"), functions["then"], functions["otherwise"]))


def switch(
    b: GraphBuilder, index: Argument, *operands: Argument, functions: Functions
) -> list[Tensor]:
    """The branch at an index. Lower indices select the first, higher ones the last."""
    inputs = [tensor(b, operand) for operand in operands]
    branches = [functions[f"branch_{number}"] for number in range(len(functions))]
    if not isinstance(index, Tensor):
        return list(branches[max(min(int(index), len(branches) - 1), 0)](b, inputs))
    chosen = _scalar(b, index, "int32")

    def among(inner: GraphBuilder, first: int) -> Sequence[Tensor]:
        if first == len(branches) - 1:
            return branches[first](inner, inputs)
        here = inner.op("LessEqual", [inner.capture(chosen), inner.constant(first, "int32")])
        return inner.branch(
            here,
            lambda then, _: branches[first](then, inputs),
            lambda otherwise, _: among(otherwise, first + 1),
        )

    return list(among(b, 0))


def while_loop(
    b: GraphBuilder, *loop_vars: Argument, functions: Functions, most: int | None = None, **_: Any
) -> list[Tensor]:
    states = [tensor(b, value) for value in loop_vars]

    def holds(inner: GraphBuilder, current: list[Tensor]) -> Tensor:
        return _scalar(inner, functions["condition"](inner, current)[0], "bool")

    def step(inner: GraphBuilder, inputs: list[Tensor]) -> list[Tensor]:
        following = _as_before(inner, functions["body"](inner, inputs[2:]), inputs[2:])
        return [holds(inner, following), *following]

    return b.loop(holds(b, states), states, step, bound=most)[0]


def fori_loop(
    b: GraphBuilder,
    lower: Argument,
    upper: Argument,
    *init: Argument,
    functions: Functions,
    **_: Any,
) -> list[Tensor]:
    """A fixed number of steps, if it is known; otherwise a loop."""
    states = [tensor(b, value) for value in init]

    def step(
        inner: GraphBuilder, current: list[Tensor], number: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        return _as_before(inner, functions["body"](inner, [*number, *current]), current), []

    if not isinstance(lower, Tensor) and not isinstance(upper, Tensor):
        steps = numbers(b, max(int(upper) - int(lower), 0), "int32") + int(lower)
        return b.scan(states, [steps], step, axis=0)[0]
    first, last = (_scalar(b, value, "int32") for value in (lower, upper))

    def again(inner: GraphBuilder, inputs: list[Tensor]) -> list[Tensor]:
        number, current = inputs[2], inputs[3:]
        following = inner.binary("Add", number, 1)
        return [
            inner.op("Less", [following, inner.capture(last)]),
            following,
            *step(inner, current, [number])[0],
        ]

    return b.loop(b.op("Less", [first, last]), [first, *states], again)[0][1:]


def scan(
    b: GraphBuilder,
    *operands: Argument,
    functions: Functions,
    states: int,
    count: int | None = None,
    reverse: bool = False,
    **_: Any,
) -> list[Tensor]:
    inputs = [tensor(b, operand) for operand in operands]
    rows = inputs[states:] or [numbers(b, count or 0, "int32")]

    def step(
        inner: GraphBuilder, current: list[Tensor], slices: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        results = functions["body"](inner, [*current, *(slices if inputs[states:] else [])])
        return _as_before(inner, results[:states], current), list(results[states:])

    lasts, piles = b.scan(inputs[:states], rows, step, axis=0, reverse=reverse)
    return [*lasts, *piles]


def associative_scan(
    b: GraphBuilder, *elems: Argument, functions: Functions, axis: int = 0, reverse: bool = False
) -> list[Tensor]:
    """Sequential evaluation, which is equivalent for an associative function."""
    rows = [tensor(b, item) for item in elems]
    axis %= rows[0].type.rank
    rows = [flip(b, row, axis) for row in rows] if reverse else rows
    starts = [part(b, row, axis, 0, 1) for row in rows]
    rests = [part(b, row, axis, 1, row.shape[axis] - 1) for row in rows]

    def step(
        inner: GraphBuilder, current: list[Tensor], slices: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        single = [
            reshaped(inner, item, (*item.shape[:axis], 1, *item.shape[axis:])) for item in slices
        ]
        following = _as_before(inner, functions["body"](inner, [*current, *single]), current)
        return following, [
            reshaped(inner, item, (*item.shape[:axis], *item.shape[axis + 1 :]))
            for item in following
        ]

    _, piles = b.scan(starts, rests, step, axis=axis)
    whole = [concatenate(b, [start, pile], axis) for start, pile in zip(starts, piles, strict=True)]
    return [flip(b, item, axis) for item in whole] if reverse else whole


def map_(b: GraphBuilder, *xs: Argument, functions: Functions, **_: Any) -> list[Tensor]:
    """Apply to each slice."""
    return b.scan(
        [],
        [tensor(b, x) for x in xs],
        lambda inner, _, slices: ([], functions["body"](inner, slices)),
        axis=0,
    )[1]


CONTROL: dict[str, Operation] = {
    "Cond": cond,
    "Switch": switch,
    "WhileLoop": while_loop,
    "ForiLoop": fori_loop,
    "Scan": scan,
    "AssociativeScan": associative_scan,
    "Map": map_,
    "VectorizedMap": map_,
}
