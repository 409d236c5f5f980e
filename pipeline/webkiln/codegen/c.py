"""C for WebAssembly: scalars, and four float lanes through wasm_simd128.h. Compiled with -fwrapv, so integers wrap."""

import re
from dataclasses import replace
from math import isinf, isnan

from webkiln.codegen.emit import body
from webkiln.codegen.templates import Templates
from webkiln.nest.compose import compose
from webkiln.nest.expr import BOOL, FLOAT, INT, UINT, Expr
from webkiln.nest.nest import Accumulator, Operand, load_guard
from webkiln.plan.kernel import Kernel

TYPES = {FLOAT: "float", INT: "int", UINT: "unsigned", BOOL: "int", "v128": "v128_t"}
STORAGE = {
    "float32": "float", "float16": "unsigned short", "int32": "int", "uint32": "unsigned", "int16": "short", "uint16": "unsigned short",
    "int8": "signed char", "uint8": "unsigned char", "bool": "unsigned char",
}  # fmt: skip
SCALAR = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}", "eq": "{0} == {1}", "ne": "{0} != {1}",
    "and": "{0} & {1}", "or": "{0} | {1}", "not": "!{0}", "isnan": "{0} != {0}", "select": "{0} ? {1} : {2}",
    "sqrt": "__builtin_sqrtf({0})", "floor": "__builtin_floorf({0})", "ceil": "__builtin_ceilf({0})", "trunc": "__builtin_truncf({0})",
    "rint": "__builtin_rintf({0})", "band": "{0} & {1}", "bor": "{0} | {1}", "bxor": "{0} ^ {1}", "shl": "{0} << ({1} & 31)", "shr": "{0} >> ({1} & 31)",
    "pow": "wk_pow({0}, {1})",
}  # fmt: skip
BY_TYPE = {
    ("abs", FLOAT): "__builtin_fabsf({0})", ("abs", INT): "{0} < 0 ? -{0} : {0}", ("abs", UINT): "{0}",
    ("sign", FLOAT): "wk_sign({0})", ("sign", INT): "({0} > 0) - ({0} < 0)", ("sign", UINT): "{0} > 0",
    ("min", FLOAT): "wk_min({0}, {1})", ("min", INT): "{0} < {1} ? {0} : {1}", ("min", UINT): "{0} < {1} ? {0} : {1}",
    ("max", FLOAT): "wk_max({0}, {1})", ("max", INT): "{0} > {1} ? {0} : {1}", ("max", UINT): "{0} > {1} ? {0} : {1}",
    ("idiv", INT): "wk_idiv({0}, {1})", ("irem", INT): "wk_irem({0}, {1})",
    ("floordiv", INT): "wk_floordiv({0}, {1})", ("floormod", INT): "wk_floormod({0}, {1})",
    ("idiv", UINT): "wk_udiv({0}, {1})", ("irem", UINT): "wk_urem({0}, {1})",
    ("floordiv", UINT): "wk_udiv({0}, {1})", ("floormod", UINT): "wk_urem({0}, {1})",
}  # fmt: skip
VECTOR = {
    ("div", FLOAT): "wasm_f32x4_div({0}, {1})", ("sqrt", FLOAT): "wasm_f32x4_sqrt({0})", ("floor", FLOAT): "wasm_f32x4_floor({0})",
    ("ceil", FLOAT): "wasm_f32x4_ceil({0})", ("trunc", FLOAT): "wasm_f32x4_trunc({0})", ("rint", FLOAT): "wasm_f32x4_nearest({0})",
    ("sign", FLOAT): "wk_sign4({0})", ("isnan", FLOAT): "wasm_f32x4_ne({0}, {0})",
    ("select", FLOAT): "wasm_v128_bitselect({1}, {2}, {0})", ("select", INT): "wasm_v128_bitselect({1}, {2}, {0})",
    ("select", BOOL): "wasm_v128_bitselect({1}, {2}, {0})",
    ("and", BOOL): "wasm_v128_and({0}, {1})", ("or", BOOL): "wasm_v128_or({0}, {1})", ("not", BOOL): "wasm_v128_not({0})",
    ("band", INT): "wasm_v128_and({0}, {1})", ("bor", INT): "wasm_v128_or({0}, {1})", ("bxor", INT): "wasm_v128_xor({0}, {1})",
    ("shl", INT): "wasm_i32x4_shl({0}, {1})", ("shr", INT): "wasm_i32x4_shr({0}, {1})",
}  # fmt: skip
LANES = {FLOAT: "f32x4", INT: "i32x4"}
CASTS = {(FLOAT, INT): "__builtin_wasm_trunc_saturate_s_i32_f32({0})", (FLOAT, UINT): "__builtin_wasm_trunc_saturate_u_i32_f32({0})"}
WIDE_CASTS = {(FLOAT, INT): "wasm_i32x4_trunc_sat_f32x4({0})", (INT, FLOAT): "wasm_f32x4_convert_i32x4({0})"}


class C:
    width = 4
    composed = frozenset({"exp", "log", "log1p", "expm1", "sin", "cos", "tanh", "erf"})
    selects_pointers = True

    def declare(self, type_: str, name: str, text: str) -> str:
        return f"const {TYPES.get(type_, type_)} {name} = {text};"

    def literal(self, value: float, type_: str) -> str:
        if type_ != FLOAT:
            return str(int(value)) + ("u" if type_ == UINT else "") if value != -(2**31) else "(-2147483647 - 1)"
        if isnan(value):
            return '__builtin_nanf("")'
        if isinf(value):
            return "__builtin_inff()" if value > 0 else "(-__builtin_inff())"
        return f"{float(value).hex()}f" if value >= 0 and str(value)[0] != "-" else f"({float(value).hex()}f)"

    def loop(self, name: str, extent: str) -> str:
        return f"for (int {name} = 0; {name} < {extent}; {name}++) {{"

    def counter(self, name: str) -> str:
        return f"int {name} = 0;"

    def chunks(self, name: str, extent: str, chunk: int, rest: bool) -> str:
        return f"for (; {name}{f' + {chunk - 1}' if chunk > 1 and not rest else ''} < {extent}; {name} += {chunk}) {{"

    def remaining(self, name: str, extent: str) -> str:
        return f"{extent} - {name}"

    def scalar(self, expr: Expr, args: list[str]) -> str:
        if expr.op == "cast":
            source = expr.args[0].type
            if expr.type == BOOL:
                return f"{args[0]} != 0"
            return CASTS.get((source, expr.type), f"({TYPES[expr.type]})({{0}})").format(*args)
        if expr.op == "bitcast":
            source = expr.args[0].type
            if FLOAT not in (source, expr.type):
                return f"({TYPES[expr.type]})({args[0]})"
            return f"wk_bits({args[0]})" if source == FLOAT else f"wk_float({args[0]})"
        return (BY_TYPE.get((expr.op, expr.args[0].type)) or SCALAR[expr.op]).format(*args)

    def vector(self, expr: Expr, args: list[str]) -> str:
        source = expr.args[-1].type
        if expr.op == "cast":
            return WIDE_CASTS[source, expr.type].format(*args)
        if expr.op == "bitcast":
            return args[0]
        if (expr.op, source) in VECTOR:
            return VECTOR[expr.op, source].format(*args)
        return f"wasm_{LANES[source]}_{expr.op}({', '.join(args)})"

    def splat(self, text: str, type_: str) -> str:
        return f"wasm_i32x4_splat(-({text}))" if type_ == BOOL else f"wasm_{LANES[type_]}_splat({text})"

    def load(self, operand: Operand, pointer: str, at: str, reach: int) -> str:
        if reach:
            return f"wk_load_part({pointer} + {at}, left)" if reach == 2 else f"wasm_v128_load({pointer} + {at})"
        element = f"{pointer}[{at}]"
        return f"wk_half({element})" if operand.dtype == "float16" else element

    def guarded(self, operand: Operand, pointer: str, at: str, condition: str, other: str) -> str:
        return f"{condition} ? {self.load(operand, pointer, at, 0)} : {other}"

    def pointer(self, operand: Operand) -> str:
        return f"{STORAGE[operand.dtype]} *const"

    def choose_pointer(self, operand: Operand, pointer: str, condition: str, base: str, other: str) -> str:
        return f"{condition} ? {pointer} + {base} : {outside_name(operand, other)}"

    def store(self, operand: Operand, pointer: str, at: str, value: str) -> str:
        return f"{pointer}[{at}] = {f'wk_to_half({value})' if operand.dtype == 'float16' else value};"

    def store_vector(self, pointer: str, at: str, value: str, partial: bool) -> str:
        return f"wk_store_part({pointer} + {at}, {value}, left);" if partial else f"wasm_v128_store({pointer} + {at}, {value});"

    def store_lane(self, pointer: str, at: str, value: str, lane: int, partial: bool) -> str:
        condition = f"if (left > {lane}) " if partial and lane else ""
        return f"{condition}{pointer}[{at}] = wasm_f32x4_extract_lane({value}, {lane});"

    def start(self, item: Accumulator, name: str, wide: bool) -> list[str]:
        value = self.literal(item.identity.value, item.identity.type)
        if wide:
            return [f"v128_t {name} = wasm_{LANES[item.body.type]}_splat({value});"]
        first = [f"{TYPES[item.body.type]} {name} = {value};"]
        return [*first, f"int {name}_at = 0, {name}_any = 0;"] if item.combiner.startswith("arg") else first

    def multiply_add(self, name: str, a: str, b: str, type_: str, wide: bool) -> list[str]:
        if not wide:
            return [f"{name} += {a} * {b};"]
        if type_ == FLOAT:
            return [f"{name} = WK_MADD({a}, {b}, {name});"]
        return [f"{name} = wasm_i32x4_add({name}, wasm_i32x4_mul({a}, {b}));"]

    def combine(self, item: Accumulator, name: str, value: str, position: str, wide: bool) -> list[str]:
        lanes = LANES.get(item.body.type)
        if item.combiner in ("sum", "prod"):
            symbol, word = ("+", "add") if item.combiner == "sum" else ("*", "mul")
            return [f"{name} = wasm_{lanes}_{word}({name}, {value});" if wide else f"{name} {symbol}= {value};"]
        if item.combiner in ("max", "min"):
            text = f"wasm_{lanes}_{item.combiner}({name}, {value})" if wide else BY_TYPE[item.combiner, item.body.type].format(name, value)
            return [f"{name} = {text};"]
        symbol = ">" if item.combiner == "argmax" else "<"
        better = f"!{name}_any || (({value} {symbol} {name} || {value} != {value}) && {name} == {name})"
        return [f"if ({better}) {{ {name} = {value}; {name}_at = {position}; {name}_any = 1; }}"]


def outside_name(operand: Operand, literal: str) -> str:
    """The array that a guarded load reads where its guard is false."""
    return f"outside_{operand.dtype}_" + re.sub(r"\W", "_", literal)


def print_kernel(kernel: Kernel, templates: Templates) -> str:
    """One C file with one function, `void k_...(inputs..., outputs..., arguments...)`."""
    dialect = C()
    composed = replace(kernel, nest=compose(kernel.nest, dialect.composed))
    inputs = [f"const {STORAGE[o.dtype]} *restrict x{i}" for i, o in enumerate(kernel.nest.inputs)]
    outputs = [f"{STORAGE[o.operand.dtype]} *restrict y{i}" for i, o in enumerate(kernel.nest.outputs)]
    lines = body(composed, dialect)
    outside = {}
    for expr in composed.nest.loads:
        guard = load_guard(expr)
        if guard is not None:
            operand, literal = kernel.nest.inputs[expr.value[0]], dialect.literal(guard[1].value, guard[1].type)
            outside[outside_name(operand, literal)] = (STORAGE[operand.dtype], literal, max(kernel.schedule.lanes, 4))
    return templates.render(
        "nest.c",
        name=kernel.name,
        parameters=[*inputs, *outputs, *(f"const int {name}" for name in kernel.arguments)],
        lines=lines,
        outside=outside,
    )
