"""WebAssembly: SIMD with four float lanes, relaxed multiply-add if the engine supports it, weights
packed into panels.
"""

from functools import partial

from webkiln.codegen import wasm_memory
from webkiln.codegen.wasm_lanes import ACCESS
from webkiln.ir.graph import Graph
from webkiln.lower import (
    block_products,
    canonicalize,
    concat_in_place,
    convert_ends,
    defer_softmax,
    factor_layout,
    fuse,
    hold_float16,
    tile_chains,
)
from webkiln.lower.passes import GraphPass, Pass
from webkiln.nest.kernel_template import templates
from webkiln.nest.target import ChainBytes, Loops, Machine, Memory, Target, Tiles, Vectors
from webkiln.plan import (
    block_choice,
    choose_schedules,
    copy_padding,
    fast_convolutions,
    merge_pixels,
    pack_constants,
    plan_memory,
)
from webkiln.program_builder.backend import Settings
from webkiln.program_builder.loop_backend import LoopBackend

TARGET = Target(
    "wasm",
    Loops(
        multithreaded=True,
        tiles_span_rows=True,
        prefetch=True,
        fast_int64=True,
    ),
    Tiles(
        shapes=((8, 6), (4, 6)),
        dot=(8, 4),
        depthwise=(16, 2),
        map_lanes=16,
        matvec=32,
        streamed=(16, 2),
        sliding=((4, 7), (4, 4)),
        candidates={
            "shapes": ((8, 6), (8, 4), (16, 2), (16, 3), (4, 6)),
            "dot": ((8, 2), (4, 4), (16, 2), (4, 2), (8, 6)),
            "depthwise": ((16, 2), (8, 2), (8, 4), (4, 4), (4, 7)),
            "matvec": ((16, 1), (64, 1), (8, 1)),
        },
    ),
    Vectors(4, tuple(ACCESS), divides=True),
    Memory(zero_elements=wasm_memory.ZERO_STRIDE, packs=True),
    templates=templates("wasm"),
    winograd=True,
    chain_bytes=ChainBytes(products=1 << 20, windows=4 << 20),
    machine=Machine(gflops=58.6, gigabytes=20.0, launch=0.0005, width=4, registers=16),
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
        Pass("copy_padding", partial(copy_padding.run, target=target)),
        Pass("canonicalize", canonicalize.run),
        Pass("convert_ends", convert_ends.run),
        Pass("merge_pixels", partial(merge_pixels.run, target=target)),
    )


def scheduling(settings: Settings) -> tuple[Pass, ...]:
    target, tuning = settings.target, settings.tuning
    return (
        Pass("choose_schedules", partial(choose_schedules.run, target=target, tuning=tuning)),
        Pass("pack_constants", partial(pack_constants.run, target=target)),
        Pass("plan_memory", partial(plan_memory.run, target=target, weights=settings.weights)),
    )


def prepare(graph: Graph, target: Target) -> Graph:
    return block_products.run(graph, block_choice.chooser(target, target.products))


BACKEND = LoopBackend(TARGET, rewriting, scheduling, GraphPass("block_products", prepare))
