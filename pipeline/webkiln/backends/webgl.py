"""WebGL 2: a fragment for each element; every Variable is a texture of one element a texel."""

from webkiln.nest.facts import WORDS, Facts

FACTS = Facts(backend="webgl", width=1, shapes=((1, 1),), dot=(1, 1), map_lanes=1, packs=False, storage=WORDS, targets=4)
