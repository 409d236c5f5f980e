"""WebGPU: an invocation for each chunk of points, four float lanes; everything lies in one buffer of 32-bit words."""

from webkiln.nest.facts import Facts

STORAGE = {
    "float64": "float32", "float16": "float32", "bool": "uint32", "uint8": "uint32", "uint16": "uint32", "uint64": "uint32",
    "int8": "int32", "int16": "int32", "int64": "int32",
}  # fmt: skip
FACTS = Facts(
    backend="webgpu", width=4, shapes=((4, 4),), dot=(4, 4), map_lanes=4, packs=True, threads=True, group=64, storage=STORAGE,
)  # fmt: skip
