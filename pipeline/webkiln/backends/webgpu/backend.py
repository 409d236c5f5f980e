"""WebGPU: one invocation per chunk of points, four float lanes. All variables are in one buffer of
32-bit words, and constants that do not fit there in others.
"""

from functools import partial

from webkiln.ir.graph import Graph
from webkiln.lower import (
    block_products,
    canonicalize,
    concat_in_place,
    defer_softmax,
    fuse,
    tile_chains,
)
from webkiln.lower.passes import GraphPass, Pass
from webkiln.nest.kernel_template import templates
from webkiln.nest.target import (
    GPU_CLASSES,
    WORDS,
    ChainBytes,
    Invocations,
    Machine,
    Memory,
    Target,
    Tiles,
    Vectors,
)
from webkiln.plan import (
    block_choice,
    choose_schedules,
    dot_products,
    fast_convolutions,
    float16_storage,
    group_launches,
    pack_constants,
    parallel_launches,
    parallel_products,
    plan_memory,
    split_attention,
    split_products,
    storage,
)
from webkiln.program_builder.backend import Settings
from webkiln.program_builder.loop_backend import LoopBackend

NEVER = 1 << 31
SEGMENT = 128 << 20
"""The bytes of a buffer that all devices bind."""

TARGET = Target(
    "webgpu",
    Invocations(group=64, blocks=(128, 32, NEVER), classes=GPU_CLASSES),
    Tiles(
        shapes=((4, 4),),
        dot=(4, 4),
        depthwise=(4, 4),
        map_lanes=4,
        candidates={
            "shapes": ((4, 8), (8, 4), (8, 8)),
            "dot": ((4, 1), (4, 2), (4, 8)),
            "depthwise": ((4, 1), (4, 2), (4, 8)),
            "matvec": ((8, 1),),
        },
    ),
    Vectors(4, ("float32", "int32", "uint32")),
    Memory(WORDS, packs=True, segment=SEGMENT),
    templates=templates("webgpu"),
    winograd=True,
    chain_bytes=ChainBytes(products=1 << 25),
    # Two cores that emulate a GPU: on a real one, the order of estimates is meaningful at best.
    machine=Machine(gflops=9.5, gigabytes=4.0, launch=0.016, width=4, registers=64),
)


def rewriting(settings: Settings) -> tuple[Pass, ...]:
    target, tuning = settings.target, settings.tuning
    return (
        Pass("fuse", fuse.run),
        Pass("concat_in_place", concat_in_place.run),
        Pass("defer_softmax", defer_softmax.run),
        Pass("tile_chains", partial(tile_chains.run, target=target)),
        Pass("split_products", partial(split_products.run, target=target, tuning=tuning)),
        Pass("fast_convolutions", partial(fast_convolutions.run, target=target, tuning=tuning)),
        Pass("canonicalize", canonicalize.run),
        Pass("storage", partial(storage.run, target=target)),
    )


def scheduling(settings: Settings) -> tuple[Pass, ...]:
    target, tuning, weights = settings.target, settings.tuning, settings.weights
    return (
        Pass("choose_schedules", partial(choose_schedules.run, target=target, tuning=tuning)),
        Pass("pack_constants", partial(pack_constants.run, target=target)),
        Pass("float16_storage", partial(float16_storage.run, target=target, weights=weights)),
        Pass("dot_products", partial(dot_products.run, target=target)),
        Pass("split_attention", partial(split_attention.run, target=target)),
        Pass("parallel_products", partial(parallel_products.run, target=target)),
        Pass("group_launches", partial(group_launches.run, target=target)),
        Pass("parallel_launches", partial(parallel_launches.run, target=target)),
        Pass("plan_memory", partial(plan_memory.run, target=target, weights=weights)),
    )


def prepare(graph: Graph, target: Target) -> Graph:
    return block_products.run(graph, block_choice.chooser(target, target.products))


BACKEND = LoopBackend(TARGET, rewriting, scheduling, GraphPass("block_products", prepare))
