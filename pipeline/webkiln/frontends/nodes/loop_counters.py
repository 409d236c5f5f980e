"""Loop analysis for all formats: states that are counters, and slacks of the conditions that bound
trip counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webkiln.frontends.nodes.call import GraphValue, NodeCall, as_tensor, known
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.ir import symbols
from webkiln.ir.dim import Size, is_at_least
from webkiln.ir.types import is_integer
from webkiln.ops.builder import GraphBuilder, Tensor

STEP = symbols.counter("i0")
"""The iteration number as a symbolic size. No size of a model can have this name."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A state that is `start` before the first iteration, and grows by `increment` in each."""

    start: Size
    increment: int

    def at(self, step: Size, dtype: str) -> GraphValue:
        return known(self.start + self.increment * step, dtype)

    def inside(self, builder: GraphBuilder, number: Tensor, dtype: str) -> Tensor | GraphValue:
        """The state in iteration `number`, which is a tensor of the loop body."""
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
    """Find the states of a loop that are counters, by position.

    `names` are the states in the body, `operands` their initial values, `following` the body's
    outputs for the next iteration. `given` has values of other tensors of the body.
    """
    starts = {
        position: start
        for position, operand in enumerate(operands)
        if (start := _start(operand)) is not None
    }
    indices = {position: symbols.counter(f"i{1 + position}") for position in starts}
    state_values = {
        names[position]: known(indices[position], item.type.dtype)
        for position, item in enumerate(operands)
        if position in starts and item is not None
    }
    after = call.infer_values(body, {**(given or {}), **state_values})
    counters = {}
    for position, start in starts.items():
        value = after.get(following[position])
        increment = (
            None if value is None or value.value is None else value.value.item() - indices[position]
        )
        if isinstance(increment, int) and increment >= 0:
            counters[position] = Counter(start, increment)
    return counters


def _start(operand: GraphValue | None) -> Size | None:
    """The initial value of a state that may be a counter: a size of at least 0; else None."""
    if (
        operand is None
        or operand.value is None
        or operand.type.rank != 0
        or not is_integer(operand.type.dtype)
    ):
        return None
    start: Size = operand.value.item()
    return start if is_at_least(start, 0) else None


def comparison_slacks(condition: GraphValue | None) -> list[int] | None:
    """The slack `b - a` of each comparison `a < b` in a conjunction, which is true if all are at
    least 1.

    Return [] for a constant true, None if the condition is anything else.
    """
    if condition is None:
        return None
    if condition.is_constant and condition.value is not None:
        return [] if bool(condition.value.reshape(())) else None
    if condition.conditions is None or any(item.relation != "<" for item in condition.conditions):
        return None
    return [item.b - item.a for item in condition.conditions]
