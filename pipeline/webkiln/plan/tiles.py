"""Choose the tile of each contraction, and on GPUs how invocations share it: the default of the
target, or another candidate.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from webkiln.nest.schedule import InvocationSchedule, Schedule, TemplateSchedule
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Contraction, Invocations, Target
from webkiln.plan.cost import expected
from webkiln.plan.schedule import choose
from webkiln.plan.tile_shapes import all_factors_move
from webkiln.plan.tuning import CONTRACTION, Candidate, Decision, Tuning
from webkiln.plan.tuning_keys import tuning_key
from webkiln.plan.vectors import extent


@dataclass(frozen=True, slots=True)
class Tile:
    """The target for which a call is scheduled, and the decision, if there was a choice."""

    target: Target
    decision: Decision | None


def tile(
    call: NestCall,
    target: Target,
    constants: Collection[str],
    tuning: Tuning,
    device: str | None = "",
) -> Tile:
    """Choose the tile of a call. Candidates that lead to the same schedule are merged. `device`:
    the class of GPUs that runs the call, if others do not; None if its tile is not tuned.
    """
    if device is None:
        return Tile(target, None)
    default = choose(call, target, constants).schedule
    variants = {name_of(default): (target, default)}
    loops, plain = default, target
    if isinstance(default, TemplateSchedule):
        plain = replace(target, templates=())
        loops = choose(call, plain, constants).schedule
    for alternative in alternatives(call, loops, plain):
        schedule = choose(call, alternative, constants).schedule
        variants.setdefault(name_of(schedule), (alternative, schedule))
    if len(variants) == 1:
        return Tile(target, None)
    candidates = [
        Candidate(name, expected(call, schedule, target))
        for name, (_, schedule) in variants.items()
    ]
    decision = tuning.decide(tuning_key(CONTRACTION, call, constants, device), candidates)
    return Tile(variants[decision.candidates[decision.chosen].name][0], decision)


def name_of(schedule: Schedule) -> str:
    """`6x8`: the neighbours on the tile axis and the lanes on the vector axis, followed by how
    invocations share the tile if there are several.
    """
    if isinstance(schedule, TemplateSchedule):
        return schedule.template
    workgroup = schedule.workgroup if isinstance(schedule, InvocationSchedule) else None
    shared = (
        "" if workgroup is None else " in blocks" if workgroup.depth else f" by {workgroup.size}"
    )
    return f"{schedule.tile.count}x{schedule.tile.lanes}{shared}"


def with_tile(target: Target, shape: tuple[int, int]) -> Target:
    """The target with a single shape for contractions of all kinds."""
    tiles = replace(
        target.tiles,
        shapes=(shape,),
        dot=shape,
        depthwise=shape,
        matvec=shape[0],
        streamed=None,
        sliding=tuple(item for item in target.tiles.sliding if item == shape),
    )
    return replace(target, tiles=tiles)


def alternatives(call: NestCall, schedule: Schedule, target: Target) -> Iterator[Target]:
    """The target and its variants for which a contraction may be scheduled. `schedule` is the
    schedule for the target itself.
    """
    vector = schedule.tile.vector
    if not call.nest.is_contraction or vector is None:
        return
    reduced = {loop.axis: loop for loop in call.nest.reduce}
    loops = reduced | {loop.axis: loop for loop in call.nest.axes}
    kind: Contraction = (
        "dot"
        if vector in reduced
        else "matvec"
        if schedule.tile.axis is None
        else "depthwise"
        if all_factors_move(call, vector)
        else "shapes"
    )
    size = extent(call, loops[vector])
    fitting = [
        shape
        for shape in target.tiles.candidates.get(kind, ())
        if size % shape[0] == 0 or size >= 4 * shape[0]
    ]
    for other in (target, *(with_tile(target, shape) for shape in fitting)):
        yield other
        if isinstance(target.runs, Invocations):
            for least in target.runs.blocks[1:]:
                yield replace(other, runs=replace(target.runs, blocks=(least,)))
