"""States of loops that only count, and what conditions say of the number of steps, whichever format
writes loops.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webkiln.frontends.nodes.call import GraphValue, NodeCall, as_tensor, known
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.ir import symbols
from webkiln.ir.dim import is_at_least, is_symbolic
from webkiln.ir.types import is_integer
from webkiln.ops.builder import GraphBuilder, Tensor

STEP = symbols.counter("i0")
"""The number of a step: a size that no model can have a name for."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A state that is `start` before the first step and grows by `increment` with each."""

    start: int
    increment: int

    def at(self, step: int, dtype: str) -> GraphValue:
        return known(self.start + self.increment * step, dtype)

    def inside(self, builder: GraphBuilder, number: Tensor, dtype: str) -> Tensor | GraphValue:
        """The state in the step of a number, which the body knows as a tensor."""
        if self.increment == 0:
            return known(self.start, dtype)
        value = number if dtype == number.dtype else builder.op("Cast", [number], {"dtype": dtype})
        scaled = (
            value
            if self.increment == 1
            else builder.op("Mul", [value, builder.constant(self.increment, dtype)])
        )
        return (
            scaled
            if self.start == 0
            else builder.op("Add", [scaled, as_tensor(builder, known(self.start, dtype))])
        )


def find_counters(
    call: NodeCall,
    body: GraphSpec,
    names: Sequence[str],
    operands: Sequence[GraphValue | None],
    following: Sequence[str],
    given: Mapping[str, GraphValue] | None = None,
) -> dict[int, Counter]:
    """The states that count, by their positions: what the body calls them, what they begin as, and
    what it makes of them. `given` is what else the body knows.
    """
    starts = {
        place: start
        for place, operand in enumerate(operands)
        if (start := _start(operand)) is not None
    }
    before = {place: symbols.counter(f"i{1 + place}") for place in starts}
    turn = {
        names[place]: known(before[place], item.type.dtype)
        for place, item in enumerate(operands)
        if place in starts and item is not None
    }
    after = call.infer_values(body, {**(given or {}), **turn})
    found = {}
    for place, start in starts.items():
        value = after.get(following[place])
        increment = (
            None if value is None or value.value is None else value.value.item() - before[place]
        )
        if isinstance(increment, int) and not is_symbolic(increment) and increment >= 0:
            found[place] = Counter(start, increment)
    return found


def _start(operand: GraphValue | None) -> int | None:
    """Where a state may count from: a size."""
    if (
        operand is None
        or operand.value is None
        or operand.type.rank != 0
        or not is_integer(operand.type.dtype)
    ):
        return None
    start: int = operand.value.item()
    return start if is_at_least(start, 0) else None


def gaps(condition: GraphValue | None) -> list[int] | None:
    """By how much each comparison of a conjunction holds: it is true where all these are at least
    1.
    """
    if condition is None:
        return None
    if condition.is_constant and condition.value is not None:
        return [] if bool(condition.value.reshape(())) else None
    if condition.conditions is None or any(item.relation != "<" for item in condition.conditions):
        return None
    return [item.b - item.a for item in condition.conditions]
