"""The tile of each contraction: the target's own by rule, or another that was measured."""

from collections.abc import Collection
from dataclasses import dataclass

from webkiln.nest.build import NestCall
from webkiln.nest.target import Target
from webkiln.plan.cost import MACHINES, milliseconds
from webkiln.plan.schedule import choose
from webkiln.plan.tuning import CONTRACTION, Candidate, Decision, Tuning, key_of, tile_name, tiles, with_tile


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
    schedules = [choose(call, each, constants).schedule for each in targets]
    machine = MACHINES[target.backend]
    candidates = [
        Candidate(tile_name(shape), milliseconds(call, schedule, machine)) for shape, schedule in zip(shapes, schedules, strict=True)
    ]
    decision = tuning.decide(key_of(CONTRACTION, call, constants), candidates)
    return Tile(targets[decision.chosen], decision)
