"""Operations on scalars in GLSL."""

from webkiln.nest.expr import FLOAT, INT, UINT

LANES = "xyzw"
SCALAR = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "neg": "-{0}",
    "madd": "{0} * {1} + {2}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "and": "{0} && {1}",
    "or": "{0} || {1}",
    "not": "!{0}",
    "isnan": "wk_isnan({0})",
    "select": "{0} ? {1} : {2}",
    "sqrt": "sqrt({0})",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    "trunc": "trunc({0})",
    "rint": "roundEven({0})",
    "pow": "wk_pow({0}, {1})",
    "turn": "wk_turn({0})",
    "band": "{0} & {1}",
    "bor": "{0} | {1}",
    "bxor": "{0} ^ {1}",
}
ORDERED = ("lt", "le", "gt", "ge")
"""Mesa's compiler replaces `a < b ? a : b` by a minimum and `!(a < b)` by `a >= b`, which lose NaN.
The helpers compare the bits of floats instead.
"""
BY_TYPE = {
    **{(op, FLOAT): f"wk_{op}({{0}}, {{1}})" for op in ORDERED},
    ("neg", UINT): "0u - {0}",
    ("abs", FLOAT): "abs({0})",
    ("abs", INT): "{0} < 0 ? -{0} : {0}",
    ("abs", UINT): "{0}",
    ("sign", FLOAT): "wk_sign({0})",
    ("sign", INT): "sign({0})",
    ("sign", UINT): "min({0}, 1u)",
    ("min", FLOAT): "wk_min({0}, {1})",
    ("min", INT): "min({0}, {1})",
    ("min", UINT): "min({0}, {1})",
    ("max", FLOAT): "wk_max({0}, {1})",
    ("max", INT): "max({0}, {1})",
    ("max", UINT): "max({0}, {1})",
    ("shl", INT): "{0} << ({1} & 31)",
    ("shl", UINT): "{0} << ({1} & 31u)",
    ("shr", INT): "{0} >> ({1} & 31)",
    ("shr", UINT): "{0} >> ({1} & 31u)",
    ("idiv", INT): "wk_idiv({0}, {1})",
    ("irem", INT): "wk_irem({0}, {1})",
    ("floordiv", INT): "wk_floordiv({0}, {1})",
    ("floormod", INT): "wk_floormod({0}, {1})",
    ("idiv", UINT): "wk_udiv({0}, {1})",
    ("irem", UINT): "wk_urem({0}, {1})",
    ("floordiv", UINT): "wk_udiv({0}, {1})",
    ("floormod", UINT): "wk_urem({0}, {1})",
}
CASTS = {(FLOAT, INT): "wk_i32({0})", (FLOAT, UINT): "wk_u32({0})"}
BITS = {
    (FLOAT, INT): "floatBitsToInt({0})",
    (FLOAT, UINT): "floatBitsToUint({0})",
    (INT, FLOAT): "intBitsToFloat({0})",
    (UINT, FLOAT): "uintBitsToFloat({0})",
    (INT, UINT): "uint({0})",
    (UINT, INT): "int({0})",
}


def read(sampler: str, position: str) -> str:
    """The texel at a position (column, row, layer). It is sampled at its centre: software GPUs are
    slower at fetching by integer coordinates.
    """
    return f"texture({sampler}, vec3({position}) * {sampler}_step + {sampler}_middle)"


def texel(sampler: str, at: str, quarter: str | None = None) -> str:
    """The texel that contains an element, where four share a texel. `quarter`: the texels of a
    layer, if each layer contains a quarter.
    """
    return read(
        sampler,
        f"wk_at(({at}) >> 2)" if quarter is None else f"wk_in_quarters(({at}) >> 2, {quarter})",
    )
