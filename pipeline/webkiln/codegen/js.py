"""JavaScript over typed arrays. Float arithmetic is in double precision and rounded at the store,
which is faster and more accurate.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import isinf, isnan
from typing import Any

from webkiln.codegen import procedures
from webkiln.codegen.c_family import Braces
from webkiln.codegen.dialect import fallback_arrays
from webkiln.codegen.emit import body
from webkiln.codegen.sources import Sources
from webkiln.codegen.steps import size
from webkiln.codegen.templates import Templates
from webkiln.ir.types import itemsize
from webkiln.nest.compose import compose
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.expr import BOOL, DOUBLE, FLOAT, INT, LONG, REAL, UINT, ULONG, Expr
from webkiln.nest.nest import Accumulator, Operand
from webkiln.nest.procedure import Procedure

HEAPS = {
    "float32": "F32",
    "float16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int16": "I16",
    "uint16": "U16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "U8",
    "float64": "F64",
    "int64": "I64",
    "uint64": "U64",
}
SCALAR = {
    "madd": "{0} * {1} + {2}",
    "div": "{0} / {1}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "eq": "{0} === {1}",
    "ne": "{0} !== {1}",
    "and": "{0} && {1}",
    "or": "{0} || {1}",
    "not": "!{0}",
    "isnan": "{0} !== {0}",
    "select": "{0} ? {1} : {2}",
    "sqrt": "Math.sqrt({0})",
    "floor": "Math.floor({0})",
    "ceil": "Math.ceil({0})",
    "trunc": "Math.trunc({0})",
    "rint": "wk_rint({0})",
    "exp": "Math.exp({0})",
    "log": "Math.log({0})",
    "log1p": "Math.log1p({0})",
    "expm1": "Math.expm1({0})",
    "sin": "Math.sin({0})",
    "cos": "Math.cos({0})",
    "tanh": "Math.tanh({0})",
    "pow": "wk_pow({0}, {1})",
    "turn": "wk_turn({0})",
    "erf": "wk_erf({0})",
    "abs": "Math.abs({0})",
    "sign": "Math.sign({0})",
    "min": "Math.min({0}, {1})",
    "max": "Math.max({0}, {1})",
}
FLOATS = {"add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "neg": "-{0}"}
INTEGERS = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "Math.imul({0}, {1})",
    "neg": "-{0}",
    "idiv": "{0} / {1}",
    "irem": "{0} % {1}",
    "floordiv": "wk_floordiv({0}, {1})",
    "floormod": "wk_floormod({0}, {1})",
    "band": "{0} & {1}",
    "bor": "{0} | {1}",
    "bxor": "{0} ^ {1}",
    "shl": "{0} << {1}",
    "shr": "{0} >> {1}",
    "abs": "Math.abs({0})",
}
BIGINTS = {
    **{
        op: f"{{0}} {symbol} {{1}}"
        for op, symbol in (
            ("add", "+"),
            ("sub", "-"),
            ("mul", "*"),
            ("band", "&"),
            ("bor", "|"),
            ("bxor", "^"),
        )
    },
    "neg": "-{0}",
    "abs": "{0} < 0n ? -{0} : {0}",
    "sign": "BigInt(({0} > 0n) - ({0} < 0n))",
    "min": "{0} < {1} ? {0} : {1}",
    "max": "{0} > {1} ? {0} : {1}",
    "idiv": "{1} === 0n ? 0n : {0} / {1}",
    "irem": "{1} === 0n ? 0n : {0} % {1}",
    "floordiv": "wk_floordiv_64({0}, {1})",
    "floormod": "wk_floormod_64({0}, {1})",
    "shl": "{0} << ({1} & 63n)",
    "shr": "{0} >> ({1} & 63n)",
}
"""On 64-bit integers, which are BigInt. Results are wrapped."""
WRAP = {
    INT: "{0} | 0",
    UINT: "{0} >>> 0",
    LONG: "BigInt.asIntN(64, {0})",
    ULONG: "BigInt.asUintN(64, {0})",
}
WIDE = (LONG, ULONG)


ARRAYS = (
    ("F32", "Float32Array"),
    ("I32", "Int32Array"),
    ("U32", "Uint32Array"),
    ("I16", "Int16Array"),
    ("U16", "Uint16Array"),
    ("I8", "Int8Array"),
    ("U8", "Uint8Array"),
    ("F64", "Float64Array"),
    ("I64", "BigInt64Array"),
    ("U64", "BigUint64Array"),
)


class JavaScript(Braces):
    composed = frozenset({"doubling_high", "filtered"})
    simd = None
    threads = None
    heap = True

    @property
    def pointers(self) -> "JavaScript":
        return self

    def pointer_type(self, operand: Operand) -> str:
        return INT

    def select_pointer(
        self, operand: Operand, pointer: str, condition: str, base: str, other: str
    ) -> str:
        return f"{condition} ? {base} : {other}"

    def declare(self, type_: str, name: str, text: str) -> str:
        return f"const {name} = {text};"

    def keyword(self, type_: str) -> str:
        return "let"

    def operation(self, op: str, type_: str) -> str:
        if (op, type_) == ("erf", FLOAT):
            return "wk_erf_single({0})"
        table = BIGINTS if type_ in WIDE else INTEGERS if type_ in WRAP else FLOATS
        return table.get(op) or SCALAR[op]

    def literal(self, value: float, type_: str) -> str:
        if type_ == BOOL:
            return "true" if value else "false"
        if type_ not in REAL:
            text = f"{int(value)}{'n' if type_ in WIDE else ''}"
            return text if value >= 0 else f"({text})"
        if isnan(value) or isinf(value):
            return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
        text = repr(float(value)).removesuffix(".0")
        return f"({text})" if text[0] == "-" else text

    def scalar(self, expr: Expr, args: list[str]) -> str:
        source = expr.args[0].type
        if expr.op == "cast":
            return self._cast(source, expr.type, args[0])
        if expr.op == "bitcast":
            if FLOAT not in (source, expr.type):
                return WRAP[expr.type].format(args[0])
            return (
                f"wk_bits({args[0]}){' >>> 0' if expr.type == UINT else ''}"
                if source == FLOAT
                else f"wk_float({args[0]})"
            )
        text = self.operation(expr.op, source).format(*args)
        if expr.op not in (BIGINTS if source in WIDE else INTEGERS if source in WRAP else ()):
            return text
        return (
            text.replace(">>", ">>>")
            if source == UINT and expr.op == "shr"
            else WRAP[source].format(text)
        )

    def _cast(self, source: str, target: str, text: str) -> str:
        if target == BOOL:
            return f"{text} !== {'0n' if source in WIDE else '0'}"
        if source in REAL:
            return (
                f"Math.fround({text})"
                if target == FLOAT
                else text
                if target == DOUBLE
                else f"wk_{target}({text})"
            )
        if target in WIDE:
            return WRAP[target].format(text if source in WIDE else f"BigInt({text})")
        if source in WIDE:
            return (
                f"Number({text})"
                if target in REAL
                else f"Number(BigInt.as{'Int' if target == INT else 'Uint'}N(32, {text}))"
            )
        if source == BOOL:
            return f"+{text}"
        return text if target in REAL else WRAP[target].format(text)

    def load(self, operand: Operand, pointer: str, at: str) -> str:
        element = f"{HEAPS[operand.dtype]}[{_sum(pointer, at)}]"
        if operand.dtype == "float16":
            return f"wk_half({element})"
        return f"{element} !== 0" if operand.dtype == "bool" else element

    def guarded(self, operand: Operand, pointer: str, at: str, condition: str, other: str) -> str:
        return f"{condition} ? {self.load(operand, pointer, at)} : {other}"

    def store(self, operand: Operand, pointer: str, at: str, value: str) -> str:
        return (
            f"{HEAPS[operand.dtype]}[{_sum(pointer, at)}] ="
            f" {f'wk_to_half({value})' if operand.dtype == 'float16' else value};"
        )

    def multiply_add(self, name: str, a: str, b: str, type_: str) -> list[str]:
        if type_ in REAL:
            return [f"{name} += {a} * {b};"]
        product = f"{a} * {b}" if type_ in WIDE else f"Math.imul({a}, {b})"
        return [f"{name} = {WRAP[type_].format(f'{name} + {product}')};"]

    def combine(self, item: Accumulator, name: str, value: str, position: str) -> list[str]:
        type_ = item.body.type
        if item.combiner in ("max", "min"):
            symbol = ">" if item.combiner == "max" else "<"
            return [f"{name} = {value} {symbol} {name} || {value} !== {value} ? {value} : {name};"]
        if item.combiner in ("sum", "prod") and type_ in WRAP:
            text = self.operation("add" if item.combiner == "sum" else "mul", type_).format(
                name, value
            )
            return [f"{name} = {WRAP[type_].format(text)};"]
        return super().combine(item, name, value, position)


def _sum(pointer: str, at: str) -> str:
    return pointer if at == "0" else f"{pointer} + {at}"


class Arrays(JavaScript):
    """JavaScript over a typed array per operand, instead of offsets in a heap."""

    def load(self, operand: Operand, pointer: str, at: str) -> str:
        return f"{pointer}[{at}]"

    def store(self, operand: Operand, pointer: str, at: str, value: str) -> str:
        return f"{pointer}[{at}] = {value};"


def print_module(
    sources: Sources, templates: Templates, steps: Sequence[str], **values: object
) -> str:
    """One ES module with all kernels: `function k_...(inputs..., outputs..., arguments...)` over
    element offsets. `steps` run them.
    """
    dialect = JavaScript()
    functions = [_function(procedure, dialect) for procedure in sources.procedures.values()]
    functions += [_custom_function(kernel) for kernel in sources.custom_kernels.values()]
    arrays: dict[str, tuple[str, str, int]] = {}
    for kernel in sources.kernels.values():
        composed = replace(kernel, nest=compose(kernel.nest, dialect.composed))
        for name, (operand, value) in fallback_arrays(composed, dialect).items():
            arrays[name] = (HEAPS[operand.dtype], value, itemsize(operand.dtype))
        names = [f"x{i}" for i in range(len(kernel.nest.inputs))] + [
            f"y{i}" for i in range(len(kernel.nest.outputs))
        ]
        functions.append(
            {
                "name": kernel.name,
                "parameters": [*names, *kernel.arguments],
                "lines": body(composed, dialect),
            }
        )
    lines = [*steps, *(line for function in functions for line in function["lines"])]
    return templates.render(
        "program.js", functions=functions, lines=lines, outside=arrays, heaps=ARRAYS, **values
    )


def _custom_function(kernel: CustomKernel) -> dict[str, Any]:
    """A function over element offsets, like those of nests."""
    offsets = [f"x{i}_" for i in range(len(kernel.inputs))]
    loads = [
        f"const x{i} = (n) => {HEAPS[operand.dtype]}[x{i}_ + n];"
        for i, operand in enumerate(kernel.inputs)
    ]
    store = f"{HEAPS[kernel.output.dtype]}[y_ + i] = y;"
    inner = ["let y;", *kernel.lines("js"), store]
    lines = [*loads, "for (let i = 0; i < count; i++) {", *(f"  {line}" for line in inner), "}"]
    return {"name": kernel.name, "parameters": [*offsets, "y_", *kernel.arguments], "lines": lines}


def print_procedures(items: Sequence[Procedure]) -> list[dict[str, Any]]:
    """Functions `h_...(inputs..., outputs..., arguments...)` over typed arrays: the name,
    parameters and lines of each.
    """
    return [_function(procedure, Arrays()) for procedure in items]


def _function(procedure: Procedure, dialect: JavaScript) -> dict[str, Any]:
    names = [f"x{i}" for i in range(len(procedure.inputs))] + [
        f"y{i}" for i in range(len(procedure.outputs))
    ]
    lines = procedures.body(procedure, dialect)
    return {"name": procedure.name, "parameters": [*names, *procedure.arguments], "lines": lines}


def host_call(engine: str, procedure: Procedure, entry: dict[str, Any]) -> str:
    """A procedure that an engine calls with its operands in arrays: [address, elements, storage] of
    each, inputs first.
    """
    rows = zip(entry["operands"], entry["elements"], procedure.operands, strict=True)
    operands = ", ".join(
        f"[{size(address)}, {size(count)}, '{operand.dtype}']" for address, count, operand in rows
    )
    args = ", ".join(map(size, entry["args"]))
    return f"await {engine}.host({procedure.name}, [{operands}], {len(procedure.inputs)}, [{args}])"
