"""Four lanes of C by wasm_simd128.h, with relaxed multiply-add in the variant that supports it."""

from collections.abc import Sequence

from webkiln.codegen.c_family import FourLanes
from webkiln.codegen.dialect import JoinedStore, Vectors, plus
from webkiln.codegen.narrow_stores import TOGETHER, narrowed
from webkiln.codegen.wasm_lanes import ACCESS
from webkiln.nest.affine import depends
from webkiln.nest.expr import BOOL, FLOAT, INT, UINT, Expr
from webkiln.nest.nest import COMPUTE, Accumulator, Nest, Operand
from webkiln.nest.schedule import LoopSchedule

VECTOR = {
    ("madd", FLOAT): "WK_MADD({0}, {1}, {2})",
    ("div", FLOAT): "wasm_f32x4_div({0}, {1})",
    ("sqrt", FLOAT): "wasm_f32x4_sqrt({0})",
    ("floor", FLOAT): "wasm_f32x4_floor({0})",
    ("ceil", FLOAT): "wasm_f32x4_ceil({0})",
    ("trunc", FLOAT): "wasm_f32x4_trunc({0})",
    ("rint", FLOAT): "wasm_f32x4_nearest({0})",
    ("max", FLOAT): "wk_max4({0}, {1})",
    ("min", FLOAT): "wk_min4({0}, {1})",
    ("sign", FLOAT): "wk_sign4({0})",
    ("isnan", FLOAT): "wasm_f32x4_ne({0}, {0})",
    ("select", FLOAT): "wasm_v128_bitselect({1}, {2}, {0})",
    ("select", INT): "wasm_v128_bitselect({1}, {2}, {0})",
    ("select", BOOL): "wasm_v128_bitselect({1}, {2}, {0})",
    ("and", BOOL): "wasm_v128_and({0}, {1})",
    ("or", BOOL): "wasm_v128_or({0}, {1})",
    ("not", BOOL): "wasm_v128_not({0})",
    ("eq", BOOL): "wasm_v128_not(wasm_v128_xor({0}, {1}))",
    ("ne", BOOL): "wasm_v128_xor({0}, {1})",
    ("sign", INT): "wasm_i32x4_max(wasm_i32x4_min({0}, wasm_i32x4_splat(1)), wasm_i32x4_splat(-1))",
    ("band", INT): "wasm_v128_and({0}, {1})",
    ("bor", INT): "wasm_v128_or({0}, {1})",
    ("bxor", INT): "wasm_v128_xor({0}, {1})",
    ("shl", INT): "wasm_i32x4_shl({0}, {1})",
    ("shr", INT): "wasm_i32x4_shr({0}, {1})",
    ("idiv", INT): "wk_idiv4({0}, {1})",
    ("doubling_high", INT): "wk_doubling_high4({0}, {1})",
    ("filtered", INT): "wk_filtered4({0}, {1})",
}
VECTOR |= {(op, UINT): text for (op, type_), text in VECTOR.items() if type_ == INT}
VECTOR |= {
    ("shr", UINT): "wasm_u32x4_shr({0}, {1})",
    ("idiv", UINT): "wk_idiv4_u({0}, {1})",
    ("abs", UINT): "{0}",
    ("sign", UINT): "wasm_u32x4_min({0}, wasm_i32x4_splat(1))",
}
VARIABLE_SHIFTS = {
    ("shl", INT): "wk_shl4({0}, {1})",
    ("shl", UINT): "wk_shl4({0}, {1})",
    ("shr", INT): "wk_shr4({0}, {1})",
    ("shr", UINT): "wk_shr4_u({0}, {1})",
}
"""Shifts of each lane by its own number of places, which have no instruction."""
LANES = {FLOAT: "f32x4", INT: "i32x4", UINT: "u32x4"}
ZEROS = ("0", "0x0.0p+0f")
SIGNLESS = frozenset({"add", "sub", "mul", "neg", "eq", "ne"})
"""Operations whose instruction is the same for integers with and without sign."""
CASTS = {
    (FLOAT, INT): "wasm_i32x4_trunc_sat_f32x4({0})",
    (FLOAT, UINT): "wasm_u32x4_trunc_sat_f32x4({0})",
    (INT, FLOAT): "wasm_f32x4_convert_i32x4({0})",
    (UINT, FLOAT): "wasm_f32x4_convert_u32x4({0})",
    (INT, UINT): "{0}",
    (UINT, INT): "{0}",
    (BOOL, FLOAT): "wasm_v128_and({0}, wasm_f32x4_splat(1))",
    (BOOL, INT): "wasm_u32x4_shr({0}, 31)",
    (BOOL, UINT): "wasm_u32x4_shr({0}, 31)",
    (FLOAT, BOOL): "wasm_f32x4_ne({0}, wasm_f32x4_splat(0))",
    (INT, BOOL): "wasm_i32x4_ne({0}, wasm_i32x4_splat(0))",
    (UINT, BOOL): "wasm_i32x4_ne({0}, wasm_i32x4_splat(0))",
}
IN_RANGE_CAST = "WK_TRUNC({0})"
"""The cast of values known to be in range: one instruction, where the saturating cast takes eight.
"""


def _instruction(op: str, type_: str, args: Sequence[str]) -> str:
    lanes = LANES[INT] if type_ == UINT and op in SIGNLESS else LANES[type_]
    return f"wasm_{lanes}_{op}({', '.join(args)})"


def _extreme(expr: Expr) -> str | None:
    """The single instruction for a select of the lesser or greater of two floats. It treats NaN by
    its own rule.
    """
    condition, yes, no = expr.args
    if condition.op not in ("lt", "gt") or expr.type != FLOAT or {yes, no} != set(condition.args):
        return None
    is_minimum = (condition.op == "lt") == (yes is condition.args[0])
    return "wasm_f32x4_pmin({2}, {1})" if is_minimum else "wasm_f32x4_pmax({2}, {1})"


def _places(divisor: Expr) -> int:
    """The exponent of a constant power of two; 0 for other divisors."""
    value = divisor.value if divisor.op == "const" else 0
    return value.bit_length() - 1 if value > 1 and value & (value - 1) == 0 else 0


def _tracks_nan(item: Accumulator) -> bool:
    """f32x4.max and min propagate NaN but take several instructions. pmax and pmin are one
    instruction each and lose NaN.
    """
    return item.combiner in ("max", "min") and item.body.type == FLOAT


def _address(pointer: str, at: str, offset: int) -> str:
    """An address whose constant part becomes the offset of the instruction."""
    if at == "0":
        return f"WK_BEHIND({pointer}, {offset})"
    return f"WK_BEHIND({pointer} + {at}, {offset})" if offset else f"{pointer} + {at}"


BYTE_DTYPES = frozenset({"int8", "uint8"})


class Simd128(FourLanes):
    """The vector operations of the C dialect."""

    def vector(self, type_: str) -> str:
        return "v128"

    def splat(self, text: str, type_: str) -> str:
        return (
            f"wasm_i32x4_splat(-({text}))"
            if type_ == BOOL
            else f"wasm_{LANES[type_]}_splat({text})"
        )

    def operation(self, expr: Expr, args: list[str]) -> str:
        source = expr.args[-1].type
        if expr.op == "cast":
            return (IN_RANGE_CAST if expr.value else CASTS[source, expr.type]).format(*args)
        if expr.op == "select" and (extreme := _extreme(expr)):
            return extreme.format(*args)
        if expr.op == "bitcast":
            return args[0]
        if expr.op == "idiv" and source == INT and (places := _places(expr.args[1])):
            return f"wk_idiv_power4({args[0]}, {places})"
        if (expr.op, source) in VARIABLE_SHIFTS and expr.args[1].op != "const":
            return VARIABLE_SHIFTS[expr.op, source].format(*args)
        if (expr.op, source) in VECTOR:
            return VECTOR[expr.op, source].format(*args)
        return _instruction(expr.op, source, args)

    def load(self, operand: Operand, pointer: str, at: str, offset: int, partial: bool) -> str:
        access = ACCESS[operand.dtype]
        if access is not None:
            part, left = ("_part", ", left") if partial else ("", "")
            return f"{access.widen}{part}({pointer} + {plus(at, offset)}{left})"
        address = _address(pointer, at, offset)
        return f"wk_load_part({address}, left)" if partial else f"wasm_v128_load({address})"

    def store(
        self, operand: Operand, pointer: str, at: str, offset: int, value: str, partial: bool
    ) -> str:
        access = ACCESS[operand.dtype]
        if access is not None:
            part, left = ("_part", ", left") if partial else ("", "")
            return f"{access.narrow}{part}({pointer} + {plus(at, offset)}, {value}{left});"
        address = _address(pointer, at, offset)
        return (
            f"wk_store_part({address}, {value}, left);"
            if partial
            else f"wasm_v128_store({address}, {value});"
        )

    def joined_store(self, operand: Operand) -> JoinedStore | None:
        if operand.dtype not in BYTE_DTYPES:
            return None

        def write(pointer: str, at: str, offset: int, value: Expr, vectors: Vectors) -> str:
            bytes_ = narrowed(operand.dtype, value, vectors)
            return f"wasm_v128_store({pointer} + {plus(at, offset)}, {bytes_});"

        return JoinedStore(TOGETHER, write)

    def store_lane(
        self, operand: Operand, pointer: str, at: str, value: str, lane: int, partial: bool
    ) -> str:
        condition = f"if (left > {lane}) " if partial and lane else ""
        element = self.lane(value, lane, COMPUTE[operand.dtype])
        stored = f"wk_to_half({element})" if operand.dtype == "float16" else element
        return f"{condition}{pointer}[{at}] = {stored};"

    def lane(self, name: str, lane: int, type_: str) -> str:
        if type_ == BOOL:
            return f"-wasm_i32x4_extract_lane({name}, {lane})"
        return f"wasm_{LANES[type_]}_extract_lane({name}, {lane})"

    def start(self, item: Accumulator, name: str, value: str) -> list[str]:
        first = [f"v128_t {name} = {self.splat(value, item.body.type)};"]
        return [*first, f"v128_t {name}_nan = wasm_i32x4_splat(0);"] if _tracks_nan(item) else first

    def finish(self, item: Accumulator, name: str) -> list[str]:
        return [f"{name} = wasm_v128_or({name}, {name}_nan);"] if _tracks_nan(item) else []

    def multiply_add(self, name: str, a: str, b: str, type_: str) -> list[str]:
        if type_ == FLOAT:
            return [f"{name} = WK_MADD({a}, {b}, {name});"]
        return [f"{name} = wasm_i32x4_add({name}, wasm_i32x4_mul({a}, {b}));"]

    def combine(self, item: Accumulator, name: str, value: str) -> list[str]:
        if _tracks_nan(item):
            unordered = f"{name}_nan = wasm_v128_or({name}_nan, wasm_f32x4_ne({value}, {value}));"
            return [f"{name} = wasm_f32x4_p{item.combiner}({name}, {value});", unordered]
        word = {"sum": "add", "prod": "mul"}.get(item.combiner, item.combiner)
        return [f"{name} = {_instruction(word, item.body.type, [name, value])};"]


class Resident(Simd128):
    """Lanes for loops in which V8 would make constants again in each iteration."""

    def splat(self, text: str, type_: str) -> str:
        if text.isidentifier() or type_ not in (FLOAT, INT) or text in ZEROS:
            return super().splat(text, type_)
        return f"wk_constant4({f'wk_bits({text})' if type_ == FLOAT else text})"


class Bytes(Simd128):
    """Sixteen lanes of 8 bits, for values that are only moved (`moved_lanes`)."""

    width = 16

    def splat(self, text: str, type_: str) -> str:
        return f"wasm_i8x16_splat({f'-({text})' if type_ == BOOL else text})"

    def load(self, operand: Operand, pointer: str, at: str, offset: int, partial: bool) -> str:
        return f"wasm_v128_load({pointer} + {plus(at, offset)})"

    def joined_store(self, operand: Operand) -> JoinedStore | None:
        return None

    def store(
        self, operand: Operand, pointer: str, at: str, offset: int, value: str, partial: bool
    ) -> str:
        return f"wasm_v128_store({pointer} + {plus(at, offset)}, {value});"


class Halves(Bytes):
    """Eight lanes of float16, for values that are only moved."""

    width = 8


def moved_lanes(nest: Nest, schedule: LoopSchedule) -> type[Bytes] | None:
    """The lanes of loops that store what they have loaded, or one of two by a condition that is the
    same for a vector, if there are several elements to 32 bits.
    """
    dtypes = {out.operand.dtype for out in nest.outputs}
    lanes = Bytes if dtypes <= BYTE_DTYPES else Halves if dtypes == {"float16"} else None
    if lanes is None or nest.accumulators or schedule.remainder != "none":
        return None
    if schedule.tile.vector is None or schedule.tile.lanes % lanes.width:
        return None
    values = [value for out in nest.outputs for value, _ in out.stores]
    while values:
        value = values.pop()
        if value.op == "select" and _extreme(value) is None:
            if depends(value.args[0], schedule.tile.vector):
                return None
            values += value.args[1:]
        elif value.op == "load":
            dtypes.add(nest.inputs[value.value[0]].dtype)
        elif value.op != "const" or lanes is Halves:
            return None
    return lanes if dtypes <= BYTE_DTYPES or dtypes == {"float16"} else None
