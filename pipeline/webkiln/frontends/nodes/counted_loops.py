"""Loops whose trip count is a size, independent of data. Exporters write recurrences as such
loops.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webkiln.frontends.nodes.call import GraphValue, NodeCall, as_tensor, known
from webkiln.frontends.nodes.loop_counters import STEP, Counter, comparison_slacks, find_counters
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.ir import symbols
from webkiln.ir.dim import Size, is_at_least, is_symbolic, maximum
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.slices import FAR
from webkiln.ops.pieces import iota


@dataclass(frozen=True, slots=True)
class TripCount:
    """The number of iterations of a loop, and the states that are counters, by position."""

    steps: Size
    counters: Mapping[int, Counter]


def trip_count(call: NodeCall) -> TripCount | None:
    """The trip count of a Loop if it is provably a size; else None.

    An iteration is followed by another one while all comparisons of the body's condition hold and
    the limit is not reached.
    """
    body, counters = call.attr("body"), _counters(call)
    body_values = {
        body.inputs[0].tensor: known(STEP, "int64"),
        body.inputs[1].tensor: known(1, "bool"),
    }
    body_values |= {
        body.inputs[2 + position].tensor: counter.at(STEP, call.type(2 + position).dtype)
        for position, counter in counters.items()
    }
    proceed_slacks = comparison_slacks(
        call.infer_values(body, body_values).get(body.outputs[0].tensor)
    )
    initial_slacks = comparison_slacks(call.operands[1] if call.has(1) else known(1, "bool"))
    if proceed_slacks is None or initial_slacks is None:
        return None
    limit = trip_limit(call)
    if limit is None and call.has(0) and call.operand(0).value is None:
        return None
    for steps in ([] if limit is None else [limit]) + [
        slack + STEP + 1 for slack in proceed_slacks
    ]:
        free = (
            not symbols.names([STEP]) & symbols.names([steps])
            and is_at_least(steps, 0)
            and (limit is None or is_at_least(limit, steps))
        )
        proceeds = all(
            is_at_least(slack, 1) or is_at_least(slack, steps - 1 - STEP)
            for slack in proceed_slacks
        )
        starts = all(is_at_least(slack, 1) or is_at_least(slack, steps) for slack in initial_slacks)
        stops = steps == limit or (
            steps - 1 - STEP in proceed_slacks
            and (is_at_least(steps, 1) or steps in initial_slacks)
        )
        if free and proceeds and starts and stops:
            return TripCount(steps, counters)
    return None


def trip_limit(call: NodeCall) -> Size | None:
    """The maximum trip count of a Loop, if it is a size; None if it is unbounded. Exporters also
    write very large numbers for that.
    """
    value = call.operand(0).value if call.has(0) else None
    limit = None if value is None else value.item()
    return (
        None if limit is None or (not is_symbolic(limit) and limit >= FAR) else maximum([limit, 0])
    )


def _counters(call: NodeCall) -> dict[int, Counter]:
    """The states that are counters, by position among the states."""
    body = call.attr("body")
    names, following = (
        [item.tensor for item in body.inputs[2:]],
        [item.tensor for item in body.outputs[1:]],
    )
    return find_counters(call, body, names, call.operands[2:], following)


def counted_loop(call: NodeCall, count: TripCount) -> list[Tensor | GraphValue]:
    """The loop as a recurrence over iterations 0, 1, .... Invariant states are not carried."""
    body, counters = call.attr("body"), count.counters
    invariant = _invariant_states(body)
    outer: list[Tensor | GraphValue] = [call.operand(position) for position in range(2, len(call))]
    carried = [
        position
        for position in range(len(outer))
        if position not in counters and position not in invariant
    ]

    def dtype(position: int) -> str:
        return call.type(2 + position).dtype

    def step(
        builder: GraphBuilder, current: list[Tensor], slices: list[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        states = list(outer)
        for position, counter in counters.items():
            states[position] = counter.inside(builder, slices[0], dtype(position))
        for position, tensor in zip(carried, current, strict=True):
            states[position] = tensor
        _, *results = call.convert_subgraph(builder, body, [slices[0], known(1, "bool"), *states])
        following = [as_tensor(builder, results[position]) for position in carried]
        return following, [as_tensor(builder, item) for item in results[len(states) :]]

    final, stacks = call.builder.scan(
        [call.tensor(2 + position) for position in carried],
        [iota(call.builder, count.steps, "int64")],
        step,
        axis=0,
    )
    last = list(outer)
    for position, counter in counters.items():
        last[position] = counter.at(count.steps, dtype(position))
    for position, tensor in zip(carried, final, strict=True):
        last[position] = tensor
    return [*last, *stacks]


def _invariant_states(body: GraphSpec) -> set[int]:
    """The positions of states that the body returns unchanged."""
    origin = {
        node.outputs[0]: node.inputs[0]
        for node in body.nodes
        if node.op == "Identity" and node.domain == ""
    }

    def source(name: str) -> str:
        while name in origin:
            name = origin[name]
        return name

    pairs = enumerate(zip(body.inputs[2:], body.outputs[1:], strict=False))
    return {position for position, (item, result) in pairs if source(result.tensor) == item.tensor}
