"""Vectors of four lanes in WGSL: helpers, and operations whose text differs from scalars."""

from webkiln.codegen.c_family import FourLanes
from webkiln.codegen.dialect import plus
from webkiln.codegen.wgsl_memory import Places
from webkiln.nest.expr import BOOL, FLOAT, INT, UINT, Expr
from webkiln.nest.nest import Accumulator, Operand

VECTOR = {
    ("max", FLOAT): "wk_max4({0}, {1})",
    ("min", FLOAT): "wk_min4({0}, {1})",
    ("sign", FLOAT): "wk_sign4({0})",
    ("isnan", FLOAT): "wk_isnan4({0})",
    ("ne", FLOAT): "!({0} == {1})",
    ("not", BOOL): "!{0}",
    ("neg", UINT): "vec4<u32>() - {0}",
    ("sign", UINT): "min({0}, vec4<u32>(1u))",
    ("shl", INT): "{0} << vec4<u32>({1})",
    ("shr", INT): "{0} >> vec4<u32>({1})",
    ("shl", UINT): "{0} << vec4<u32>({1})",
    ("shr", UINT): "{0} >> vec4<u32>({1})",
    ("rint", FLOAT): "round({0})",
    ("madd", FLOAT): "{0} * {1} + {2}",
    ("neg", FLOAT): "-{0}",
    ("neg", INT): "-{0}",
}
SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "and": "&",
    "or": "|",
    "band": "&",
    "bor": "|",
    "bxor": "^",
}
CASTS = {(FLOAT, INT): "wk_i32x4({0})", (FLOAT, UINT): "wk_u32x4({0})"}


class WgslVectors(FourLanes):
    def __init__(self, places: Places) -> None:
        self.places = places

    def vector(self, type_: str) -> str:
        return f"vec4<{type_}>"

    def splat(self, text: str, type_: str) -> str:
        return f"{self.vector(type_)}({text})"

    def operation(self, expr: Expr, args: list[str]) -> str:
        source = expr.args[-1].type
        if expr.op == "select":
            return f"select({args[2]}, {args[1]}, {args[0]})"
        if expr.op == "cast":
            return CASTS.get((source, expr.type), f"{self.vector(expr.type)}({{0}})").format(*args)
        if expr.op == "bitcast":
            return f"bitcast<{self.vector(expr.type)}>({args[0]})"
        if (expr.op, source) in VECTOR:
            return VECTOR[expr.op, source].format(*args)
        if expr.op in SYMBOLS:
            return f"{args[0]} {SYMBOLS[expr.op]} {args[1]}"
        return f"{expr.op}({', '.join(args)})"

    def load(self, operand: Operand, pointer: str, at: str, offset: int, partial: bool) -> str:
        memory, address = self.places.find(pointer, plus(at, offset))
        if operand.dtype == "float16":
            return memory.float16.format(address)
        if operand.dtype == "int8":
            return memory.int8.format(address)
        words = memory.four.format(address)
        return words if operand.type == UINT else f"bitcast<{self.vector(operand.type)}>({words})"

    def store(
        self, operand: Operand, pointer: str, at: str, offset: int, value: str, partial: bool
    ) -> str:
        memory, address = self.places.find(pointer, plus(at, offset))
        if operand.dtype == "float16":
            return memory.store_float16.format(address, value)
        words = value if operand.type == UINT else f"bitcast<{self.vector(UINT)}>({value})"
        return memory.store_four.format(address, words)

    def store_lane(
        self, operand: Operand, pointer: str, at: str, value: str, lane: int, partial: bool
    ) -> str:
        element = self.lane(value, lane, operand.type)
        word = element if operand.type == UINT else f"bitcast<u32>({element})"
        memory, address = self.places.find(pointer, at)
        return memory.store.format(address, word)

    def lane(self, name: str, lane: int, type_: str) -> str:
        return f"{name}[{lane}]"

    def start(self, item: Accumulator, name: str, value: str) -> list[str]:
        return [f"var {name} = {self.splat(value, item.body.type)};"]

    def combine(self, item: Accumulator, name: str, value: str) -> list[str]:
        if item.combiner in ("sum", "prod"):
            return [f"{name} {'+' if item.combiner == 'sum' else '*'}= {value};"]
        template = VECTOR.get((item.combiner, item.body.type), f"{item.combiner}({{0}}, {{1}})")
        return [f"{name} = {template.format(name, value)};"]
