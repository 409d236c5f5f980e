"""The tile of each contraction, and on GPUs how invocations share it: the target's own by rule, or
another that was measured.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from webkiln.nest.schedule import Schedule
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.plan.cost import MACHINES, milliseconds
from webkiln.plan.naming import key_of
from webkiln.plan.schedule import choose, each
from webkiln.plan.tuning import CONTRACTION, Candidate, Decision, Tuning
from webkiln.plan.vectors import extent


@dataclass(frozen=True, slots=True)
class Tile:
    """The target as a call is scheduled for it, and what was decided, where there was a choice."""

    target: Target
    decision: Decision | None


def tile(call: NestCall, target: Target, constants: Collection[str], tuning: Tuning) -> Tile:
    own = choose(call, target, constants).schedule
    ways = {name_of(own): (target, own)}
    for other in others(call, own, target):
        schedule = choose(call, other, constants).schedule
        ways.setdefault(name_of(schedule), (other, schedule))
    if len(ways) == 1:
        return Tile(target, None)
    machine = MACHINES[target.backend]
    candidates = [
        Candidate(name, milliseconds(call, schedule, machine))
        for name, (_, schedule) in ways.items()
    ]
    decision = tuning.decide(key_of(CONTRACTION, call, constants), candidates)
    return Tile(ways[decision.candidates[decision.chosen].name][0], decision)


def name_of(schedule: Schedule) -> str:
    """`6x8`: the neighbours on the tile axis, and the lanes on the vector axis; who computes them,
    where that is not one invocation.
    """
    shared = (
        " in blocks" if schedule.depth else f" by {schedule.group}" if schedule.group > 1 else ""
    )
    return f"{schedule.count}x{schedule.lanes}{shared}"


def with_tile(target: Target, shape: tuple[int, int]) -> Target:
    """The target with one shape alone for contractions of all kinds."""
    return replace(
        target,
        shapes=(shape,),
        dot=shape,
        depthwise=shape,
        matvec=shape[0],
        streamed=None,
        sliding=tuple(item for item in target.sliding if item == shape),
    )


def others(call: NestCall, schedule: Schedule, target: Target) -> Iterator[Target]:
    """What else a contraction may be scheduled for than the target itself, which gave it
    `schedule`.
    """
    vector = schedule.vector
    if not call.nest.is_contraction or vector is None:
        return
    reduced = {loop.axis: loop for loop in call.nest.reduce}
    loops = reduced | {loop.axis: loop for loop in call.nest.axes}
    kind = (
        "dot"
        if vector in reduced
        else "matvec"
        if schedule.tile is None
        else "depthwise"
        if each(call, vector)
        else "shapes"
    )
    size = extent(call, loops[vector])
    fitting = [
        shape
        for shape in target.candidates.get(kind, ())
        if size % shape[0] == 0 or size >= 4 * shape[0]
    ]
    for other in (target, *(with_tile(target, shape) for shape in fitting)):
        yield other
        for least in target.blocks[1:]:
            yield replace(other, blocks=(least,))
