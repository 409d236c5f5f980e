"""WebAssembly: four float lanes, relaxed multiply-add where the engine has it, constants repacked into panels."""

from webkiln.nest.target import Target

TARGET = Target(backend="wasm", width=4, shapes=((16, 2), (8, 4), (4, 4)), dot=(8, 4), map_lanes=16, packs=True)
VARIANTS = ("relaxed", "simd")
"""Best first."""
