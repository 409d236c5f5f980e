"""How each convolution is computed: directly, or by fewer multiplications in tiles of one size or
another.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from webkiln.ir.solve import nominal_size
from webkiln.lower.canonicalize import tidy
from webkiln.nest.steps import NestCall, Repeat, Step, map_blocks
from webkiln.nest.target import Target
from webkiln.plan.convolutions import Convolution, forms, recognised, usual
from webkiln.plan.cost import MACHINES, milliseconds
from webkiln.plan.naming import key_of
from webkiln.plan.schedule import choose
from webkiln.plan.tuning import CONVOLUTION, Candidate, Decision, Tuning
from webkiln.plan.winograd import Fast, fast

DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class Algorithm:
    """What takes the place of a convolution: its steps, and the call that transforms its filter, if
    there is one.
    """

    decision: Decision
    steps: tuple[Step, ...]
    filter: NestCall | None


def algorithm(
    call: NestCall, target: Target, constants: Collection[str], tuning: Tuning, number: int
) -> Algorithm | None:
    """How a call is computed that is a convolution with a choice; `number` tells what it makes from
    what others make.
    """
    found = recognised(call, constants) if target.winograd else None
    possible = [] if found is None else forms(found)
    if found is None or not possible:
        return None
    plain = tidy(call)
    chosen = usual(found)
    ways: dict[str, Fast | None] = {_name(form): fast(form, target, number) for form in possible}
    ways[DIRECT] = None
    first = DIRECT if chosen is None else _name(chosen)
    names = [first, *(name for name in ways if name != first)]
    candidates = [
        Candidate(name, _expected(plain, ways[name], target, constants)) for name in names
    ]
    decision = tuning.decide(key_of(CONVOLUTION, plain, constants), candidates)
    made = ways[names[decision.chosen]]
    steps = (plain,) if made is None else made.steps
    return Algorithm(decision, _named(steps, decision.key), None if made is None else made.filter)


def _name(form: Convolution) -> str:
    return "winograd " + "x".join(str(window.outputs) for window in form.windows)


def _expected(
    plain: NestCall, made: Fast | None, target: Target, constants: Collection[str]
) -> float:
    if made is None:
        return _time([plain], target, constants)
    (filters,) = made.filter.outputs
    return round(_time(made.steps, target, {*constants, filters.name}), 5)


def _time(steps: Sequence[Step], target: Target, constants: Collection[str]) -> float:
    total = 0.0
    for step in steps:
        if isinstance(step, Repeat):
            total += nominal_size(step.count) * _time(step.steps, target, constants)
        elif isinstance(step, NestCall):
            total += milliseconds(
                step, choose(step, target, constants).schedule, MACHINES[target.backend]
            )
    return total


def _named(steps: Sequence[Step], key: str) -> tuple[Step, ...]:
    return tuple(
        replace(step, part_of=key)
        if isinstance(step, NestCall)
        else map_blocks(step, lambda block: _named(block, key))
        for step in steps
    )
