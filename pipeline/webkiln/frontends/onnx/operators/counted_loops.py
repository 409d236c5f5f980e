"""Loops that only count: as many steps as a size says, whatever the data are. Exporters write
recurrences so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webkiln.frontends.nodes.call import GraphValue, NodeCall, as_tensor, known
from webkiln.frontends.nodes.loop_counters import STEP, Counter, comparison_slacks, find_counters
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.frontends.onnx.operators.shape import FAR, iota
from webkiln.ir import dim
from webkiln.ir.dim import greatest, is_symbolic, reaches
from webkiln.ops.builder import GraphBuilder, Tensor


@dataclass(frozen=True, slots=True)
class TripCount:
    """How many steps a loop takes, and the states that are sizes in each of them, by their
    positions.
    """

    steps: int
    counters: Mapping[int, Counter]


def trip_count(call: NodeCall) -> TripCount | None:
    """How often a Loop does its body, where that is a size for certain; else None.

    A step is followed by another one as long as each comparison of the body's condition holds and
    the limit is not reached.
    """
    body, counters = call.attr("body"), _counters(call)
    turn = {body.inputs[0].tensor: known(STEP, "int64"), body.inputs[1].tensor: known(1, "bool")}
    turn |= {
        body.inputs[2 + place].tensor: counter.at(STEP, call.type(2 + place).dtype)
        for place, counter in counters.items()
    }
    goes_on = comparison_slacks(call.infer_values(body, turn).get(body.outputs[0].tensor))
    begins = comparison_slacks(call.operands[1] if call.has(1) else known(1, "bool"))
    if goes_on is None or begins is None:
        return None
    most = trip_limit(call)
    if most is None and call.has(0) and call.operand(0).value is None:
        return None
    for steps in ([] if most is None else [most]) + [gap + STEP + 1 for gap in goes_on]:
        free = (
            not dim.names([STEP]) & dim.names([steps])
            and reaches(steps, 0)
            and (most is None or reaches(most, steps))
        )
        lasts = all(reaches(gap, 1) or reaches(gap, steps - 1 - STEP) for gap in goes_on)
        starts = all(reaches(gap, 1) or reaches(gap, steps) for gap in begins)
        ends = steps == most or (
            steps - 1 - STEP in goes_on and (reaches(steps, 1) or steps in begins)
        )
        if free and lasts and starts and ends:
            return TripCount(steps, counters)
    return None


def trip_limit(call: NodeCall) -> int | None:
    """How many steps a Loop takes at most, where that is a size; None for any number, which
    exporters also write as a very large one.
    """
    value = call.operand(0).value if call.has(0) else None
    limit = None if value is None else value.item()
    return (
        None if limit is None or (not is_symbolic(limit) and limit >= FAR) else greatest([limit, 0])
    )


def _counters(call: NodeCall) -> dict[int, Counter]:
    """The states that count, by their positions among the states."""
    body = call.attr("body")
    names, following = (
        [item.tensor for item in body.inputs[2:]],
        [item.tensor for item in body.outputs[1:]],
    )
    return find_counters(call, body, names, call.operands[2:], following)


def counted_loop(call: NodeCall, count: TripCount) -> list[Tensor | GraphValue]:
    """The loop as a recurrence along 0, 1, ... its steps. States that no step changes stay outside."""
    body, counters = call.attr("body"), count.counters
    same = _invariant_states(body)
    held: list[Tensor | GraphValue] = [call.operand(position) for position in range(2, len(call))]
    carried = [place for place in range(len(held)) if place not in counters and place not in same]

    def dtype(place: int) -> str:
        return call.type(2 + place).dtype

    def step(
        builder: GraphBuilder, current: list[Tensor], slices: list[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        states = list(held)
        for place, counter in counters.items():
            states[place] = counter.inside(builder, slices[0], dtype(place))
        for place, tensor in zip(carried, current, strict=True):
            states[place] = tensor
        _, *results = call.convert_subgraph(builder, body, [slices[0], known(1, "bool"), *states])
        following = [as_tensor(builder, results[place]) for place in carried]
        return following, [as_tensor(builder, item) for item in results[len(states) :]]

    lasts, piles = call.builder.scan(
        [call.tensor(2 + place) for place in carried],
        [iota(call, count.steps, "int64")],
        step,
        axis=0,
    )
    last = list(held)
    for place, counter in counters.items():
        last[place] = counter.at(count.steps, dtype(place))
    for place, tensor in zip(carried, lasts, strict=True):
        last[place] = tensor
    return [*last, *piles]


def _invariant_states(body: GraphSpec) -> set[int]:
    """The positions of states that the body hands on as they are."""
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
