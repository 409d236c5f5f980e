"""Plain JavaScript, for every engine: named scalar accumulators over typed arrays."""

from functools import partial

from webkiln.lower import (
    canonicalize,
    concat_in_place,
    convert_ends,
    defer_softmax,
    factor_layout,
    fuse,
    hold_float16,
    tile_chains,
)
from webkiln.lower.passes import Pass
from webkiln.nest.target import ChainBytes, Loops, Machine, Target, Tiles
from webkiln.plan import choose_schedules, fast_convolutions, pack_constants, plan_memory
from webkiln.program_builder.backend import Settings
from webkiln.program_builder.loop_backend import LoopBackend

TARGET = Target(
    "js",
    Loops(),
    Tiles(
        shapes=((4, 3),),
        dot=(2, 4),
        depthwise=(4, 2),
        map_lanes=4,
        candidates={
            "shapes": ((4, 4), (2, 4), (2, 2), (4, 1), (8, 1)),
            "dot": ((2, 2), (4, 2), (1, 4), (4, 1), (4, 4)),
            "depthwise": ((4, 4), (2, 4), (2, 2), (4, 1)),
            "matvec": ((8, 1), (2, 1)),
        },
    ),
    winograd=True,
    chain_bytes=ChainBytes(products=1 << 20, windows=4 << 20),
    machine=Machine(gflops=4.4, gigabytes=8.0, launch=0.0005, width=1, registers=16),
)


def rewriting(settings: Settings) -> tuple[Pass, ...]:
    target, tuning = settings.target, settings.tuning
    return (
        Pass("hold_float16", partial(hold_float16.run, target=target)),
        Pass("fuse", fuse.run),
        Pass("concat_in_place", concat_in_place.run),
        Pass("defer_softmax", defer_softmax.run),
        Pass("factor_layout", factor_layout.run),
        Pass("tile_chains", partial(tile_chains.run, target=target)),
        Pass("fast_convolutions", partial(fast_convolutions.run, target=target, tuning=tuning)),
        Pass("canonicalize", canonicalize.run),
        Pass("convert_ends", convert_ends.run),
    )


def scheduling(settings: Settings) -> tuple[Pass, ...]:
    target, tuning = settings.target, settings.tuning
    return (
        Pass("choose_schedules", partial(choose_schedules.run, target=target, tuning=tuning)),
        Pass("pack_constants", partial(pack_constants.run, target=target)),
        Pass("plan_memory", partial(plan_memory.run, target=target, weights=settings.weights)),
    )


BACKEND = LoopBackend(TARGET, rewriting, scheduling)
