"""WebGPU: an invocation for each chunk of points, four float lanes; everything lies in one buffer of 32-bit words."""

from webkiln.nest.facts import WORDS, Facts

FACTS = Facts(backend="webgpu", width=1, shapes=((1, 1),), dot=(1, 1), map_lanes=1, packs=False, storage=WORDS)
