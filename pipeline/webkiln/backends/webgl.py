"""WebGL 2: a fragment for each element; every Variable is a texture of one element a texel."""

from webkiln.nest.target import WORDS, Target

TARGET = Target(
    backend="webgl",
    width=1,
    shapes=((1, 1),),
    dot=(1, 1),
    each=(1, 1),
    map_lanes=1,
    packs=False,
    storage=WORDS,
    targets=4,
    between=1 << 25,
)
