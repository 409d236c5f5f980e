"""WebGL 2: fragment shaders over textures of one texel an element."""

from webkiln.nest.facts import Facts

FACTS = Facts(
    backend="webgl", width=1, shapes=((1, 1),), dot=(1, 1), map_lanes=1, packs=False, targets=4,
    storage={"float16": "float32", "float64": "float32", "bool": "uint32", "uint8": "uint32", "uint16": "uint32", "uint64": "uint32", "int8": "int32", "int16": "int32", "int64": "int32"},
)  # fmt: skip
