"""Names that recipes, options and variables choose from."""

from collections.abc import Collection

from webkiln.errors import RecipeError, did_you_mean

BACKENDS = ("webgpu", "wasm", "webgl", "js")
"""In the order in which a bundle tries them."""
WASM_VARIANTS = ("relaxed", "simd")
"""Builds of the wasm backend for instruction sets, the fastest first."""
VARIANTS = dict[str, tuple[str, ...]].fromkeys(BACKENDS, ()) | {"wasm": WASM_VARIANTS}
"""The builds of each backend, if there are several."""
USUAL_BACKENDS = ("wasm", "js")
"""The default: they run in every browser and in Node."""
PLAIN_ENCODINGS = ("float32", "float16", "bfloat16", "int8", "eightbit")
"""How every weight of a bundle can be stored, whatever reads it."""
BLOCK_ENCODINGS = (
    "int8-128",
    "int8-64",
    "int8-32",
    "uint4-128",
    "uint4-64",
    "uint4",
    "int4-128",
    "int4-64",
    "int4",
)
"""Codes with a scale for each block, and for uint4 a minimum. The default block has 32 numbers."""
MIXED, STATIC = "mixed", "int8-static"
"""An encoding for each layer, chosen by the error; activations in 8 bits too."""
MAX_ERROR = {MIXED: 0.01, STATIC: 0.1}
"""The default of the largest error of the outputs."""
ENCODINGS = (*PLAIN_ENCODINGS, *BLOCK_ENCODINGS, MIXED, STATIC)
"""How weights are stored."""
LAYER_ENCODINGS = ("float32", "float16", "int8", *BLOCK_ENCODINGS)
"""How the weights of one layer can be stored."""
RANGES = ("mse", "minmax", "percentile")
"""How the range of an activation is found: with the least square error, from the least to the
largest number, or without the outermost 0.01 %.
"""
FLOAT16, FLOAT16_ARITHMETIC = "float16", "float16-arithmetic"
PRECISIONS = ("float32", FLOAT16, FLOAT16_ARITHMETIC)
"""How memory holds numbers between layers. The last one also computes large products in float16."""
FLOAT16_BACKENDS = ("webgpu", "webgl")
"""Backends that can store float16 between layers."""
FLOAT16_ARITHMETIC_BACKENDS = ("webgpu",)
"""Backends that can also compute products in float16."""
MATRIX_BACKENDS = ("webgpu",)
"""Backends that can multiply by subgroup matrices."""
HOLDING_BACKENDS = ("wasm", "js")
"""Backends that can hold the float16 tensors of a model as float32."""
FLOAT16_MODES = ("held", "rounded")
"""How they do: as float32 between layers, or rounded to float16 by every operator."""
PRODUCTS = ("auto", "exact", "dot")
"""How weights of 4 and 8 bits are multiplied: decoded when the model is loaded, or as they are
stored, by activations that are quantized in blocks. `auto`: as stored if they have 4 bits, in
blocks, and that is expected to be faster.
"""
DOT_BACKENDS = ("wasm", "webgpu")
"""Backends that round activations for them."""
CODED_BACKENDS = ("wasm", "webgpu")
"""Backends that multiply weights of 4 and 8 bits as they are stored."""
CACHES = ("float32", "float16", "int8")
"""How caches of keys and values are held between runs."""
TOLERANCES = {
    "float32": 1e-4,
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "int8": 0.1,
    "eightbit": 0.1,
    **dict.fromkeys(BLOCK_ENCODINGS[:3], 0.1),
    **dict.fromkeys(BLOCK_ENCODINGS[3:], 0.5),
    MIXED: 0.5,
    STATIC: 0.1,
    "precision": 5e-3,
    "dot": 5e-2,
    "caches": 5e-2,
}
"""Default tolerances of verification: by encoding, for float16 between layers, for products of
quantized activations, and for caches that are rounded.
"""
FORMS = ("folder", "npm", "single")


def choose(
    what: str, values: Collection[str], valid: Collection[str], where: str = ""
) -> tuple[str, ...]:
    """The values in the order of `valid`. Raises RecipeError for an unknown one, and for none."""
    prefix = f"{where}: " if where else ""
    for value in values:
        if value not in valid:
            raise RecipeError(
                f"{prefix}unknown {what} {value!r}; valid: {', '.join(valid)}"
                f"{did_you_mean(value, valid)}"
            )
    if not values:
        raise RecipeError(f"{prefix}no {what} given; valid: {', '.join(valid)}")
    return tuple(value for value in valid if value in values)
