"""Choose the algorithm of each convolution: direct, or Winograd with one of several tile sizes. The
example is direct; the steps of a Winograd convolution have hundreds of expressions.

before:
    program g
    buffer x: float32[1,6,6,8] input
    buffer w: float32[3,3,8,8] constant
    buffer y: float32[1,4,4,1,8]
    live y
    y: float32[1,4,4,1,8] = nest(x: float32[1,6,6,1,8], w: float32[3,3,8,1,8]) @y
      where p0 = 4; p1 = 4; p2 = 8; p3 = 3; p4 = 3; p5 = 8
      for a0 < p0, a1 < p1, a2 < p2
      reduce r0 < p3, r1 < p4, r2 < p5
      acc0 = sum(in0[0, a0 + r0, a1 + r1, 0, r2] * in1[r0, r1, r2, 0, a2])
      out0[0, a0, a1, 0, a2] = acc0

after:
    program g
    buffer x: float32[1,6,6,8] input
    buffer w: float32[3,3,8,8] constant
    buffer y: float32[1,4,4,1,8]
    live y
    y: float32[1,4,4,1,8] = nest(x: float32[1,6,6,1,8], w: float32[3,3,8,1,8]) @y
      where p0 = 4; p1 = 4; p2 = 8; p3 = 3; p4 = 3; p5 = 8
      for a0 < p0, a1 < p1, a2 < p2
      reduce r0 < p3, r1 < p4, r2 < p5
      acc0 = sum(in0[0, a0 + r0, a1 + r1, 0, r2] * in1[r0, r1, r2, 0, a2])
      out0[0, a0, a1, 0, a2] = acc0
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from webkiln.ir.solve import nominal_size
from webkiln.lower.canonicalize import canonicalize
from webkiln.nest.program import Program, free_counter, map_calls
from webkiln.nest.steps import NestCall, Repeat, Step
from webkiln.nest.target import Target
from webkiln.plan.convolutions import Convolution, default_form, forms, match_convolution
from webkiln.plan.cost import expected
from webkiln.plan.devices import tuned_devices
from webkiln.plan.schedule import choose
from webkiln.plan.tuning import CONVOLUTION, Candidate, Decision, Tuning
from webkiln.plan.tuning_keys import tuning_key
from webkiln.plan.winograd import FastConvolution, fast_convolution

DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class Algorithm:
    """The steps that replace a convolution, and the call that transforms its filter, if there is
    one.
    """

    decision: Decision
    steps: tuple[Step, ...]
    filter: NestCall | None


def run(program: Program, target: Target, tuning: Tuning) -> Program:
    """Choose the algorithm of each convolution. Transformed filters are computed in `init`."""
    constants = program.repackable
    counter = f"i{free_counter(program)}"
    init: list[NestCall] = []
    decided: dict[str, Mapping[str, Any]] = {}
    devices = tuned_devices(program.steps, target)

    def replaced(call: NestCall) -> Sequence[Step]:
        device = next(devices)
        if device is None:
            return [call]
        chosen = algorithm(call, target, constants, tuning, len(init), counter, device)
        if chosen is None:
            return [call]
        decided[chosen.decision.key] = chosen.decision.to_json()
        if chosen.filter is not None:
            init.append(chosen.filter)
        return chosen.steps

    rewritten = map_calls(program, replaced)
    chosen = {**program.decided, **decided}
    transformed = replace(rewritten, init=(*program.init, *init), decided=chosen)
    return transformed.with_steps(rewritten.steps)


def algorithm(
    call: NestCall,
    target: Target,
    constants: Collection[str],
    tuning: Tuning,
    number: int,
    counter: str,
    device: str = "",
) -> Algorithm | None:
    """The algorithm for a call that is a convolution with several candidates, else None. `number`
    makes the names of its intermediate results unique, and `counter` is free. `device`: the class
    of GPUs that runs the call, if others do not.
    """
    allowed = target.winograd and call.form is None
    convolution = match_convolution(call, constants) if allowed else None
    tilings = [] if convolution is None else forms(convolution)
    if convolution is None or not tilings:
        return None
    plain = canonicalize(call)
    default = default_form(convolution)
    variants: dict[str, FastConvolution | None] = {
        _name(form): fast_convolution(form, target, number, counter) for form in tilings
    }
    variants[DIRECT] = None
    first = DIRECT if default is None else _name(default)
    names = [first, *(name for name in variants if name != first)]
    candidates = [
        Candidate(name, _expected_ms(plain, variants[name], target, constants)) for name in names
    ]
    decision = tuning.decide(tuning_key(CONVOLUTION, plain, constants, device), candidates)
    fast_form = variants[names[decision.chosen]]
    steps = (plain,) if fast_form is None else fast_form.steps
    return Algorithm(
        decision, _tagged(steps, decision.key), None if fast_form is None else fast_form.filter
    )


def _name(form: Convolution) -> str:
    return "winograd " + "x".join(str(window.outputs) for window in form.windows)


def _expected_ms(
    plain: NestCall, fast_form: FastConvolution | None, target: Target, constants: Collection[str]
) -> float:
    if fast_form is None:
        return _total_ms([plain], target, constants)
    (filters,) = fast_form.filter.outputs
    return round(_total_ms(fast_form.steps, target, {*constants, filters.name}), 5)


def _total_ms(steps: Sequence[Step], target: Target, constants: Collection[str]) -> float:
    total = 0.0
    for step in steps:
        if isinstance(step, Repeat):
            total += nominal_size(step.count) * _total_ms(step.steps, target, constants)
        elif isinstance(step, NestCall):
            total += expected(step, choose(step, target, constants).schedule, target)
    return total


def _tagged(steps: Sequence[Step], key: str) -> tuple[Step, ...]:
    return tuple(
        replace(step, part_of=key)
        if isinstance(step, NestCall)
        else step.map_blocks(lambda block: _tagged(block, key))
        for step in steps
    )
