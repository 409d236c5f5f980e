"""Plain JavaScript: named scalar accumulators over typed arrays, works everywhere."""

from webkiln.nest.target import Target

TARGET = Target(backend="js", width=1, shapes=((4, 4),), dot=(2, 4), each=(4, 4), map_lanes=4, packs=False)
