"""WebGL 2: one fragment per element. A Variable is a texture with one element per texel."""

from webkiln.nest.target import WORDS, Target

TARGET = Target(
    backend="webgl",
    width=1,
    shapes=((1, 1),),
    dot=(1, 1),
    depthwise=(1, 1),
    map_lanes=1,
    packs=False,
    storage=WORDS,
    render_targets=4,
    tiled_product_bytes=1 << 25,
)
