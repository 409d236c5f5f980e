"""Vectors of four lanes in GLSL: the differences from scalars. Operations without a vector form are
scalarised.
"""

from webkiln.codegen.c_family import FourLanes
from webkiln.codegen.dialect import plus
from webkiln.codegen.glsl_intrinsics import BY_TYPE, LANES, ORDERED, SCALAR, texel
from webkiln.nest.expr import BOOL, FLOAT, INT, UINT, Expr
from webkiln.nest.nest import Accumulator, Operand

VECTORS = {FLOAT: "vec4", INT: "ivec4", UINT: "uvec4", BOOL: "bvec4"}
COMPARED = {
    "lt": "lessThan",
    "le": "lessThanEqual",
    "gt": "greaterThan",
    "ge": "greaterThanEqual",
    "eq": "equal",
    "ne": "notEqual",
}
SAME = frozenset(
    {(op, type_) for op in ("add", "sub", "mul") for type_ in (FLOAT, INT, UINT)}
    | {(op, type_) for op in ("band", "bor", "bxor") for type_ in (INT, UINT)}
    | {
        (op, FLOAT)
        for op in (
            "div",
            "neg",
            "abs",
            "sign",
            "min",
            "max",
            "isnan",
            "sqrt",
            "floor",
            "ceil",
            "trunc",
            "rint",
            "madd",
        )
    }
    | {("neg", INT)}
)
"""Operations and operand types whose text is the same as for scalars. Helpers have a vector
overload.
"""
OTHERS = {
    ("not", BOOL): "not({0})",
    ("and", BOOL): "bvec4(uvec4({0}) & uvec4({1}))",
    ("or", BOOL): "bvec4(uvec4({0}) | uvec4({1}))",
    ("shl", INT): "{0} << ({1} & 31)",
    ("shl", UINT): "{0} << ({1} & 31)",
    ("shr", INT): "{0} >> ({1} & 31)",
    ("shr", UINT): "{0} >> ({1} & 31)",
}
VARIABLE_SHIFTS = {"shl": "{0} << ({1} & 31u)", "shr": "{0} >> ({1} & 31u)"}
"""Shifts of uint32 by a vector. Constant numbers of places are of type int."""


def spelling(expr: Expr) -> str | None:
    """The template of an operation on vectors, or None if it has no vector form."""
    source = expr.args[-1].type if expr.args else expr.type
    if (expr.op, source) in SAME:
        return BY_TYPE.get((expr.op, source)) or SCALAR[expr.op]
    if expr.op == "select":
        return "mix({2}, {1}, {0})" if expr.type == FLOAT else None
    if (expr.op, source) in BY_TYPE and expr.op in ORDERED:
        return BY_TYPE[expr.op, source]
    if expr.op in COMPARED:
        return f"{COMPARED[expr.op]}({{0}}, {{1}})"
    if expr.op == "cast":
        if source == FLOAT and expr.type != BOOL:
            return f"wk_{expr.type}({{0}})"
        return (
            f"{VECTORS[expr.type]}({{0}})"
            if expr.type != BOOL
            else f"notEqual({{0}}, {VECTORS[source]}(0))"
        )
    if expr.op in VARIABLE_SHIFTS and source == UINT and expr.args[1].op != "const":
        return VARIABLE_SHIFTS[expr.op]
    return OTHERS.get((expr.op, source))


class GlslVectors(FourLanes):
    components = True

    def has(self, expr: Expr) -> bool:
        return spelling(expr) is not None

    def vector(self, type_: str) -> str:
        return VECTORS[type_]

    def splat(self, text: str, type_: str) -> str:
        return f"{VECTORS[type_]}({text})"

    def operation(self, expr: Expr, args: list[str]) -> str:
        text = spelling(expr)
        assert text is not None
        return text.format(*args)

    def load(self, operand: Operand, pointer: str, at: str, offset: int, partial: bool) -> str:
        return texel(pointer, plus(at, offset))

    def store(
        self, operand: Operand, pointer: str, at: str, offset: int, value: str, partial: bool
    ) -> str:
        return f"{pointer} = {value};"

    def store_lane(
        self, operand: Operand, pointer: str, at: str, value: str, lane: int, partial: bool
    ) -> str:
        return f"{pointer} = {self.lane(value, lane, FLOAT)};"

    def lane(self, name: str, lane: int, type_: str) -> str:
        return f"{name}.{LANES[lane]}"

    def start(self, item: Accumulator, name: str, value: str) -> list[str]:
        return [f"{VECTORS[item.body.type]} {name} = {self.splat(value, item.body.type)};"]

    def combine(self, item: Accumulator, name: str, value: str) -> list[str]:
        if item.combiner in ("sum", "prod"):
            return [f"{name} {'+' if item.combiner == 'sum' else '*'}= {value};"]
        prefix = "wk_" if item.body.type == FLOAT else ""
        return [f"{name} = {prefix}{item.combiner}({name}, {value});"]
