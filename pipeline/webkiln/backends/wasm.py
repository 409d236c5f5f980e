"""WebAssembly: four float lanes, relaxed multiply-add where the engine has it, constants repacked
into panels.
"""

from webkiln.codegen import wasm_memory
from webkiln.nest.target import Target

TARGET = Target(
    backend="wasm",
    width=4,
    shapes=((8, 6), (4, 6)),
    dot=(8, 4),
    each=(16, 2),
    sliding=((4, 7), (4, 4)),
    map_lanes=16,
    alone=32,
    streamed=(16, 2),
    packs=True,
    pixels=True,
    zeros=wasm_memory.ZERO_STRIDE,
    winograd=True,
    ahead=True,
    between=1 << 20,
    strips=4 << 20,
    wide=True,
    shared=True,
    tried={
        "shapes": ((8, 6), (8, 4), (16, 2), (16, 3), (4, 6)),
        "dot": ((8, 2), (4, 4), (16, 2), (4, 2), (8, 6)),
        "each": ((16, 2), (8, 2), (8, 4), (4, 4), (4, 7)),
        "alone": ((16, 1), (64, 1), (8, 1)),
    },
)
VARIANTS = ("relaxed", "simd")
"""Best first."""
