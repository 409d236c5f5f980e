"""The tile of each contraction: the target's own by rule, or another that was measured."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from webkiln.nest.build import NestCall
from webkiln.nest.schedule import Schedule
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
    shapes = tiles(call, choose(call, target, constants).schedule, target)
    if len(shapes) == 1:
        return Tile(target, None)
    targets = [target, *(with_tile(target, shape) for shape in shapes[1:])]
    schedules = [choose(call, other, constants).schedule for other in targets]
    machine = MACHINES[target.backend]
    candidates = [
        Candidate(tile_name(shape), milliseconds(call, schedule, machine)) for shape, schedule in zip(shapes, schedules, strict=True)
    ]
    decision = tuning.decide(key_of(CONTRACTION, call, constants), candidates)
    return Tile(targets[decision.chosen], decision)


def tile_name(shape: tuple[int, int]) -> str:
    """`6x8`: the neighbours on the tile axis, and the lanes on the vector axis."""
    lanes, count = shape
    return f"{count}x{lanes}"


def with_tile(target: Target, shape: tuple[int, int]) -> Target:
    """The target with one shape alone for contractions of all kinds."""
    return replace(
        target,
        shapes=(shape,),
        dot=shape,
        each=shape,
        alone=shape[0],
        streamed=None,
        sliding=tuple(item for item in target.sliding if item == shape),
    )


def tiles(call: NestCall, schedule: Schedule, target: Target) -> list[tuple[int, int]]:
    """The shapes that a contraction may have, the one of its schedule first."""
    own, vector = (schedule.lanes, schedule.count), schedule.vector
    if not call.nest.is_contraction or vector is None:
        return [own]
    reduced = {loop.axis: loop for loop in call.nest.reduce}
    loops = reduced | {loop.axis: loop for loop in call.nest.axes}
    kind = "dot" if vector in reduced else "alone" if schedule.tile is None else "each" if each(call, vector) else "shapes"
    size = extent(call, loops[vector])
    return list(dict.fromkeys([own, *(shape for shape in target.tried.get(kind, ()) if size % shape[0] == 0 or size >= 4 * shape[0])]))
