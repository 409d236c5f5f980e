"""Plain JavaScript, for every engine: named scalar accumulators over typed arrays."""

from webkiln.nest.target import Target

TARGET = Target(
    backend="js",
    width=1,
    shapes=((4, 3),),
    dot=(2, 4),
    depthwise=(4, 2),
    map_lanes=4,
    packs=False,
    holds_float16=True,
    winograd=True,
    tiled_product_bytes=1 << 20,
    row_tile_bytes=4 << 20,
    candidates={
        "shapes": ((4, 4), (2, 4), (2, 2), (4, 1), (8, 1)),
        "dot": ((2, 2), (4, 2), (1, 4), (4, 1), (4, 4)),
        "depthwise": ((4, 4), (2, 4), (2, 2), (4, 1)),
        "matvec": ((8, 1), (2, 1)),
    },
)
