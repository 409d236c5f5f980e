"""WebGPU: one invocation per chunk of points, four float lanes. All variables are in one buffer of
32-bit words.
"""

from webkiln.nest.target import WORDS, Target

NEVER = 1 << 31

TARGET = Target(
    backend="webgpu",
    width=4,
    shapes=((4, 4),),
    dot=(4, 4),
    depthwise=(4, 4),
    map_lanes=4,
    packs=True,
    threads=True,
    group=64,
    blocks=(128, 32, NEVER),
    storage=WORDS,
    winograd=True,
    tiled_product_bytes=1 << 25,
    candidates={
        "shapes": ((4, 8), (8, 4), (8, 8)),
        "dot": ((4, 1), (4, 2), (4, 8)),
        "depthwise": ((4, 1), (4, 2), (4, 8)),
        "matvec": ((8, 1),),
    },
)
