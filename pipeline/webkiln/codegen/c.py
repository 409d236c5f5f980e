"""C for WebAssembly. Compiled with -fwrapv, so integers wrap."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isinf, isnan
from types import MappingProxyType
from typing import Any

from webkiln.codegen import procedures
from webkiln.codegen.c_family import Braces
from webkiln.codegen.c_functions import arrays_outside, parameters
from webkiln.codegen.emit import body
from webkiln.codegen.simd128 import Bytes, Halves, Resident, Simd128, moved_lanes
from webkiln.codegen.template_kernels import Function, print_template
from webkiln.codegen.templates import Templates
from webkiln.nest.compose import compose
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.expr import BOOL, DOUBLE, FLOAT, INT, INTEGER, LONG, REAL, UINT, ULONG, Expr
from webkiln.nest.nest import Nest, Operand
from webkiln.nest.procedure import Procedure
from webkiln.nest.schedule import LoopSchedule, Schedule, TemplateSchedule
from webkiln.plan.kernel import Kernel
from webkiln.plan.template_steps import Around

TYPES = {
    FLOAT: "float",
    DOUBLE: "double",
    INT: "int",
    UINT: "unsigned",
    LONG: "long long",
    ULONG: "unsigned long long",
    BOOL: "int",
    "v128": "v128_t",
}
STORAGE = {
    "float32": "float",
    "float16": "unsigned short",
    "float64": "double",
    "int32": "int",
    "uint32": "unsigned",
    "int16": "short",
    "uint16": "unsigned short",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int64": "long long",
    "uint64": "unsigned long long",
    "bool": "unsigned char",
}
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
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "not": "!{0}",
    "isnan": "{0} != {0}",
    "select": "{0} ? {1} : {2}",
    "band": "{0} & {1}",
    "bor": "{0} | {1}",
    "bxor": "{0} ^ {1}",
}
SUFFIX = {FLOAT: "", INT: "", UINT: "_u", LONG: "_64", ULONG: "_u64", DOUBLE: "_64"}
"""Suffixes of the helpers in kernels/intrinsics.c, by operand type."""


def _by_type() -> dict[tuple[str, str], str]:
    """(operation, operand type) -> template, for operations whose text depends on the type."""
    rows: dict[tuple[str, str], str] = {}
    for type_ in INTEGER:
        mask = 63 if type_ in (LONG, ULONG) else 31
        signed = type_ in (INT, LONG)
        quotient, remainder = ("wk_floordiv", "wk_floormod") if signed else ("wk_idiv", "wk_irem")
        rows |= {
            ("shl", type_): f"{{0}} << ({{1}} & {mask})",
            ("shr", type_): f"{{0}} >> ({{1}} & {mask})",
            ("min", type_): "{0} < {1} ? {0} : {1}",
            ("max", type_): "{0} > {1} ? {0} : {1}",
            ("abs", type_): "{0} < 0 ? -{0} : {0}" if signed else "{0}",
            ("sign", type_): "({0} > 0) - ({0} < 0)" if signed else "{0} > 0",
            ("idiv", type_): f"wk_idiv{SUFFIX[type_]}({{0}}, {{1}})",
            ("irem", type_): f"wk_irem{SUFFIX[type_]}({{0}}, {{1}})",
            ("floordiv", type_): f"{quotient}{SUFFIX[type_]}({{0}}, {{1}})",
            ("floormod", type_): f"{remainder}{SUFFIX[type_]}({{0}}, {{1}})",
        }
    for type_, letter in ((FLOAT, "f"), (DOUBLE, "")):
        builtins = {
            "sqrt": "sqrt",
            "floor": "floor",
            "ceil": "ceil",
            "trunc": "trunc",
            "rint": "rint",
            "abs": "fabs",
        }
        rows |= {(op, type_): f"__builtin_{name}{letter}({{0}})" for op, name in builtins.items()}
        rows |= {
            (op, type_): f"wk_{op}{SUFFIX[type_]}({{0}}, {{1}})" for op in ("min", "max", "pow")
        }
        rows["sign", type_] = f"wk_sign{SUFFIX[type_]}({{0}})"
    rows["turn", FLOAT] = "wk_turn({0})"
    rows["doubling_high", INT] = "wk_doubling_high({0}, {1})"
    rows["filtered", INT] = "{0}"
    return rows | {
        (op, DOUBLE): f"wk_{op}_64({{0}})"
        for op in ("exp", "log", "log1p", "expm1", "sin", "cos", "tanh", "erf")
    }


BY_TYPE = _by_type()
CASTS = {
    (
        source,
        target,
    ): (
        f"__builtin_wasm_trunc_saturate_{'us'[target in (INT, LONG)]}_"
        f"{target.replace('u', 'i')}_{source}({{0}})"
    )
    for source in REAL
    for target in INTEGER
}


UNFUSED_ACCUMULATORS = 32
"""The number of accumulators that fit the registers where a multiply-add is two instructions."""


class C(Braces):
    composed = frozenset({"exp", "log", "log1p", "expm1", "sin", "cos", "tanh", "erf"})
    simd = Simd128()
    resident = Resident()
    moving = MappingProxyType({Bytes: Bytes(), Halves: Halves()})
    threads = None

    def lanes(self, nest: Nest, schedule: LoopSchedule) -> Simd128:
        if any(expr.op == "filtered" for expr in nest.nodes):
            return self.resident
        moved = moved_lanes(nest, schedule)
        return self.simd if moved is None else self.moving[moved]

    @property
    def pointers(self) -> "C":
        return self

    def declare(self, type_: str, name: str, text: str) -> str:
        return f"const {TYPES.get(type_, type_)} {name} = {text};"

    def keyword(self, type_: str) -> str:
        return TYPES[type_]

    def operation(self, op: str, type_: str) -> str:
        return BY_TYPE.get((op, type_)) or SCALAR[op]

    def literal(self, value: float, type_: str) -> str:
        letter = {FLOAT: "f", UINT: "u", LONG: "ll", ULONG: "ull"}.get(type_, "")
        if type_ not in REAL:
            least = {INT: -(2**31), LONG: -(2**63)}.get(type_)
            if value == least:
                return f"({int(value) + 1}{letter} - 1)"
            return f"{int(value)}{letter}" if value >= 0 else f"({int(value)}{letter})"
        if isnan(value):
            return f'__builtin_nan{letter}("")'
        if isinf(value):
            return f"__builtin_inf{letter}()" if value > 0 else f"(-__builtin_inf{letter}())"
        return (
            f"{float(value).hex()}{letter}"
            if value >= 0 and str(value)[0] != "-"
            else f"({float(value).hex()}{letter})"
        )

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
        return self.operation(expr.op, expr.args[0].type).format(*args)

    def load(self, operand: Operand, pointer: str, at: str) -> str:
        element = f"{pointer}[{at}]"
        return f"wk_half({element})" if operand.dtype == "float16" else element

    def guarded(self, operand: Operand, pointer: str, at: str, condition: str, other: str) -> str:
        return f"{condition} ? {self.load(operand, pointer, at)} : {other}"

    def pointer_type(self, operand: Operand) -> str:
        return f"{STORAGE[operand.dtype]} *const"

    def select_pointer(
        self, operand: Operand, pointer: str, condition: str, base: str, other: str
    ) -> str:
        return f"{condition} ? {pointer} + {base} : {other}"

    def store(self, operand: Operand, pointer: str, at: str, value: str) -> str:
        return (
            f"{pointer}[{at}] = {f'wk_to_half({value})' if operand.dtype == 'float16' else value};"
        )


class CTemplates:
    """Templates whose blocks are arrays of a thread."""

    extension = "c"
    blocks: Mapping[str, str] = {
        "rows": "WIDTH",
        "places": "1",
        "sums": "COLUMNS",
        "totals": "1",
        "zero": "1",
    }
    mentioned = ()

    def __init__(self) -> None:
        self.dialect = C()
        self.outside: dict[str, tuple[str, str, int]] = {}

    def prepare(self, around: Around, schedule: TemplateSchedule) -> tuple[Nest, Nest]:
        return around.prepare()

    def loops(self, nest: Nest, schedule: Schedule) -> Kernel:
        return Kernel(compose(nest, self.dialect.composed), schedule)

    def function(
        self, name: str, loops: Kernel, operands: Sequence[str], arguments: Sequence[str]
    ) -> Function:
        self.outside |= arrays_outside(loops, self.dialect, STORAGE)
        pointers = (f"{item}[0]" if item in ("rows", "sums") else item for item in operands)
        call = f"{name}({', '.join([*pointers, *arguments])});"
        lines = body(loops, self.dialect)
        return Function(name, parameters(loops, STORAGE), lines, call, loops.schedule.tile.lanes)

    def variables(self, kernel: Kernel, dtypes: Mapping[str, str]) -> dict[str, Any]:
        types = {name: STORAGE[dtype] for name, dtype in dtypes.items()}
        return {
            **types,
            "parameters": parameters(kernel, STORAGE),
            "part": kernel.part,
            "outside": self.outside,
        }


def print_kernel(kernel: Kernel, templates: Templates) -> str:
    """One C file with one function, `void k_...(inputs..., outputs..., arguments..., part...)`."""
    dialect = C()
    if isinstance(kernel.schedule, TemplateSchedule):
        return print_template(kernel, CTemplates(), templates)
    composed = replace(kernel, nest=compose(kernel.nest, dialect.composed))
    lines = body(composed, dialect)
    schedule, tile = kernel.schedule, kernel.schedule.tile
    assert isinstance(schedule, LoopSchedule)
    if tile.count > 1 and tile.count * tile.lanes > UNFUSED_ACCUMULATORS:
        count = max(1, UNFUSED_ACCUMULATORS // tile.lanes)
        smaller = replace(composed, schedule=replace(schedule, tile=replace(tile, count=count)))
        lines = ["#ifdef RELAXED", *lines, "#else", *body(smaller, dialect), "#endif"]
    return templates.render(
        "nest.c",
        name=kernel.name,
        returns="void",
        parameters=parameters(kernel, STORAGE),
        lines=lines,
        outside=arrays_outside(composed, dialect, STORAGE),
    )


def print_custom(kernel: CustomKernel, templates: Templates) -> str:
    """One C file with one function, `void t_...(inputs..., output, count, arguments...)`."""
    inputs = [f"const {STORAGE[o.dtype]} *restrict x{i}_" for i, o in enumerate(kernel.inputs)]
    return templates.render(
        "custom.c",
        name=kernel.name,
        inputs=inputs,
        output=TYPES[kernel.output.type],
        parameters=[
            *inputs,
            f"{STORAGE[kernel.output.dtype]} *restrict y_",
            *(f"const int {name}" for name in kernel.arguments),
        ],
        lines=kernel.lines("wasm"),
    )


def print_procedure(procedure: Procedure, templates: Templates) -> str:
    """One C file with one function, `int h_...(inputs..., outputs..., arguments...)`."""
    inputs = [f"const {STORAGE[o.dtype]} *x{i}" for i, o in enumerate(procedure.inputs)]
    outputs = [f"{STORAGE[o.dtype]} *y{i}" for i, o in enumerate(procedure.outputs)]
    lines = procedures.body(procedure, C())
    return templates.render(
        "nest.c",
        name=procedure.name,
        returns="int",
        parameters=[*inputs, *outputs, *(f"const int {name}" for name in procedure.arguments)],
        lines=lines if procedure.result is not None else [*lines, "return 0;"],
        outside={},
    )
