"""WebAssembly: SIMD with four float lanes, relaxed multiply-add if the engine supports it, weights
packed into panels.
"""

from webkiln.codegen import wasm_memory
from webkiln.nest.target import Target

TARGET = Target(
    backend="wasm",
    width=4,
    shapes=((8, 6), (4, 6)),
    dot=(8, 4),
    depthwise=(16, 2),
    sliding=((4, 7), (4, 4)),
    map_lanes=16,
    matvec=32,
    streamed=(16, 2),
    packs=True,
    tiles_span_rows=True,
    zero_elements=wasm_memory.ZERO_STRIDE,
    vector_dtypes=("float32", "int32", "uint32", "int16", "uint16", "int8", "uint8"),
    holds_float16=True,
    winograd=True,
    prefetch=True,
    tiled_product_bytes=1 << 20,
    row_tile_bytes=4 << 20,
    fast_int64=True,
    multithreaded=True,
    candidates={
        "shapes": ((8, 6), (8, 4), (16, 2), (16, 3), (4, 6)),
        "dot": ((8, 2), (4, 4), (16, 2), (4, 2), (8, 6)),
        "depthwise": ((16, 2), (8, 2), (8, 4), (4, 4), (4, 7)),
        "matvec": ((16, 1), (64, 1), (8, 1)),
    },
)
