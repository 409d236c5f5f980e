"""Loops that only count: as many steps as a size says, whatever the data are. Exporters write recurrences so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webkiln.frontends.onnx.call import GraphValue, NodeCall, as_tensor, known
from webkiln.frontends.onnx.operators.shape import FAR, iota
from webkiln.frontends.onnx.spec import GraphSpec
from webkiln.ir import dim
from webkiln.ir.dim import greatest, is_symbolic, reaches
from webkiln.ir.types import is_integer
from webkiln.ops.builder import GraphBuilder, Tensor

STEP, BEFORE = dim.counter("i0"), dim.counter("i1")
"""Sizes that no model can have a name for: the number of a step, and what a state is before it."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A state that is `start` before the first step and grows by `increment` with each."""

    start: int
    increment: int

    def at(self, step: int, dtype: str) -> GraphValue:
        return known(self.start + self.increment * step, dtype)


def steps_of(call: NodeCall) -> int | None:
    """How many steps a Loop takes, where that is a size for certain; else None.

    A step is followed by another one as long as each comparison of the body's condition holds and the limit is not reached.
    """
    body, counters = call.attr("body"), counters_of(call)
    turn = {body.inputs[0].tensor: known(STEP, "int64"), body.inputs[1].tensor: known(1, "bool")}
    turn |= {name: counter.at(STEP, call.type(2 + position).dtype) for position, (name, counter) in counters.items()}
    goes_on, begins = (
        _gaps(call.foreseen(body, turn).get(body.outputs[0].tensor)),
        _gaps(call.operands[1] if call.has(1) else known(1, "bool")),
    )
    if goes_on is None or begins is None:
        return None
    most = limit_of(call)
    if most is None and call.has(0) and call.operand(0).value is None:
        return None
    for steps in ([] if most is None else [most]) + [gap + STEP + 1 for gap in goes_on]:
        free = "i0" not in dim.names([steps]) and reaches(steps, 0) and (most is None or reaches(most, steps))
        lasts = all(reaches(gap, 1) or reaches(gap, steps - 1 - STEP) for gap in goes_on)
        starts = all(reaches(gap, 1) or reaches(gap, steps) for gap in begins)
        ends = steps == most or (steps - 1 - STEP in goes_on and (reaches(steps, 1) or steps in begins))
        if free and lasts and starts and ends:
            return steps
    return None


def limit_of(call: NodeCall) -> int | None:
    """How many steps a Loop takes at most, where that is a size; None for any number, which exporters also write as a very large one."""
    value = call.operand(0).value if call.has(0) else None
    limit = None if value is None else value.item()
    return None if limit is None or (not is_symbolic(limit) and limit >= FAR) else greatest([limit, 0])


def _gaps(condition: GraphValue | None) -> list[int] | None:
    """By how much each comparison of a conjunction holds: it is true where all these are at least 1."""
    if condition is None:
        return None
    if condition.is_constant and condition.value is not None:
        return [] if bool(condition.value.reshape(())) else None
    if condition.conditions is None or any(item.relation != "<" for item in condition.conditions):
        return None
    return [item.b - item.a for item in condition.conditions]


def counters_of(call: NodeCall) -> dict[int, tuple[str, Counter]]:
    """The states that are sizes in every step, by their positions, with the names that they have in the body."""
    return dict(_counters(call, call.attr("body")))


def _counters(call: NodeCall, body: GraphSpec) -> Iterator[tuple[int, tuple[str, Counter]]]:
    for position, (item, result) in enumerate(zip(body.inputs[2:], body.outputs[1:], strict=False)):
        start = call.operand(2 + position)
        if start.value is None or start.type.rank != 0 or not is_integer(start.type.dtype) or not reaches(start.value.item(), 0):
            continue
        following = call.foreseen(body, {item.tensor: known(BEFORE, start.type.dtype)}).get(result.tensor)
        increment = None if following is None or following.value is None else following.value.item() - BEFORE
        if isinstance(increment, int) and not is_symbolic(increment) and increment >= 0:
            yield position, (item.tensor, Counter(start.value.item(), increment))


def counted(call: NodeCall, steps: int) -> list[Tensor | GraphValue]:
    """The loop as a recurrence along 0, 1, ... `steps`. States that no step changes stay outside."""
    body, counters = call.attr("body"), counters_of(call)
    same = _unchanged(body)
    carried = [position for position in range(len(call) - 2) if position not in counters and position not in same]

    def step(builder: GraphBuilder, current: list[Tensor], slices: list[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        states: list[Tensor | GraphValue] = [call.operand(2 + position) for position in range(len(call) - 2)]
        for position, (_, counter) in counters.items():
            states[position] = _counted_to(builder, slices[0], counter, call.type(2 + position).dtype)
        for position, tensor in zip(carried, current, strict=True):
            states[position] = tensor
        _, *results = call.subgraph(builder, body, [slices[0], known(1, "bool"), *states])
        following = [as_tensor(builder, results[position]) for position in carried]
        return following, [as_tensor(builder, item) for item in results[len(states) :]]

    lasts, piles = call.builder.scan([call.tensor(2 + position) for position in carried], [iota(call, steps, "int64")], step, axis=0)
    last: list[Tensor | GraphValue] = [call.operand(2 + position) for position in range(len(call) - 2)]
    for position, (_, counter) in counters.items():
        last[position] = counter.at(steps, call.type(2 + position).dtype)
    for position, tensor in zip(carried, lasts, strict=True):
        last[position] = tensor
    return [*last, *piles]


def _counted_to(builder: GraphBuilder, number: Tensor, counter: Counter, dtype: str) -> Tensor | GraphValue:
    if counter.increment == 0:
        return known(counter.start, dtype)
    value = number if dtype == number.dtype else builder.op("Cast", [number], {"dtype": dtype})
    scaled = value if counter.increment == 1 else builder.op("Mul", [value, builder.constant(counter.increment, dtype)])
    return scaled if counter.start == 0 else builder.op("Add", [scaled, as_tensor(builder, known(counter.start, dtype))])


def _unchanged(body: GraphSpec) -> set[int]:
    """The positions of states that the body hands on as they are."""
    origin = {node.outputs[0]: node.inputs[0] for node in body.nodes if node.op == "Identity" and node.domain == ""}

    def source(name: str) -> str:
        while name in origin:
            name = origin[name]
        return name

    pairs = enumerate(zip(body.inputs[2:], body.outputs[1:], strict=False))
    return {position for position, (item, result) in pairs if source(result.tensor) == item.tensor}
