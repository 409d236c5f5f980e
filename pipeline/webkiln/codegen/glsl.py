"""Fragment shaders of WebGL 2 (GLSL ES 3.00): operands are textures of one texel an element, an output is what a fragment returns."""

from dataclasses import replace

import numpy as np

from webkiln.codegen.fragments import Fragments
from webkiln.codegen.glsl_vectors import GlslVectors
from webkiln.codegen.glsl_words import BITS, BY_TYPE, CASTS, SCALAR
from webkiln.codegen.templates import Templates
from webkiln.nest.compose import COMPOSITIONS, compose
from webkiln.nest.expr import BOOL, FLOAT, INT, UINT, Expr
from webkiln.nest.nest import Accumulator, Operand
from webkiln.nest.written import WrittenKernel
from webkiln.plan.kernel import Kernel

TYPES = {FLOAT: "float", INT: "int", UINT: "uint", BOOL: "bool"}
SAMPLERS = {FLOAT: "sampler2DArray", INT: "isampler2DArray", UINT: "usampler2DArray"}
PACKED = {"uint8": 8, "int8": 8, "uint16": 16, "int16": 16, "float16": 16, "bool": 8}
"""Bits of the elements that lie packed in unsigned words while weights are decoded."""
SMALLEST, LARGEST = 1.1754943508222875e-38, 3e38
"""Other literals are given by their bits."""


class Glsl:
    composed = frozenset(COMPOSITIONS) - {"pow"}
    simd = GlslVectors()
    pointers = None
    threads = None

    def declare(self, type_: str, name: str, text: str) -> str:
        return f"{TYPES.get(type_, type_)} {name} = {text};"

    def literal(self, value: float, type_: str) -> str:
        if type_ == BOOL:
            return "true" if value else "false"
        if type_ == UINT:
            return f"{int(value)}u"
        if type_ == INT:
            return str(int(value)) if value >= 0 else "(-2147483647 - 1)" if value == -(2**31) else f"({int(value)})"
        single = np.float32(value)
        if (value and not SMALLEST <= abs(single) <= LARGEST) or str(value) == "-0.0":
            return f"uintBitsToFloat({single.view(np.uint32):#x}u)"
        text = str(single)
        return f"({text})" if text[0] == "-" else text

    def loop(self, name: str, extent: str) -> str:
        return f"for (int {name} = 0; {name} < {extent}; {name}++) {{"

    def counter(self, name: str) -> str:
        return f"int {name} = 0;"

    def chunks(self, name: str, extent: str, chunk: int, rest: bool) -> str:
        return f"for (; {name}{f' + {chunk - 1}' if chunk > 1 and not rest else ''} < {extent}; {name} += {chunk}) {{"

    def scalar(self, expr: Expr, args: list[str]) -> str:
        source = expr.args[0].type
        if expr.op == "cast":
            if expr.type == BOOL:
                return f"{args[0]} != {self.literal(0, source)}"
            return CASTS.get((source, expr.type), f"{TYPES[expr.type]}({{0}})").format(*args)
        if expr.op == "bitcast":
            return BITS[source, expr.type].format(*args)
        return (BY_TYPE.get((expr.op, source)) or SCALAR[expr.op]).format(*args)

    def load(self, operand: Operand, pointer: str, at: str) -> str:
        bits = PACKED.get(operand.dtype)
        if bits is None:
            return f"texelFetch({pointer}, wk_at({at}), 0).r"
        element = f"wk_packed(texelFetch({pointer}, wk_at(({at}) / {32 // bits}), 0).r, {at}, {bits})"
        if operand.dtype == "float16":
            return f"wk_half({element})"
        if operand.dtype == "bool":
            return f"{element} != 0u"
        return f"wk_signed({element}, {bits})" if operand.type == INT else element

    def guarded(self, operand: Operand, pointer: str, at: str, condition: str, other: str) -> str:
        return f"{condition} ? {self.load(operand, pointer, at)} : {other}"

    def start(self, item: Accumulator, name: str) -> list[str]:
        first = [f"{TYPES[item.body.type]} {name} = {self.literal(item.identity.value, item.identity.type)};"]
        return [*first, f"int {name}_at = 0;", f"bool {name}_any = false;"] if item.combiner.startswith("arg") else first

    def multiply_add(self, name: str, a: str, b: str, type_: str) -> list[str]:
        return [f"{name} += {a} * {b};"]

    def combine(self, item: Accumulator, name: str, value: str, position: str) -> list[str]:
        if item.combiner in ("sum", "prod"):
            return [f"{name} {'+' if item.combiner == 'sum' else '*'}= {value};"]
        if item.combiner in ("max", "min"):
            return [f"{name} = {BY_TYPE[item.combiner, item.body.type].format(name, value)};"]
        better = f"{value} {'>' if item.combiner == 'argmax' else '<'} {name}"
        if item.body.type == FLOAT:
            better = f"({better} || wk_isnan({value})) && !wk_isnan({name})"
        return [f"if (!{name}_any || {better}) {{ {name} = {value}; {name}_at = {position}; {name}_any = true; }}"]

    def store(self, operand: Operand, pointer: str, at: str, value: str) -> str:
        return f"{pointer} = {value};"


def print_kernel(kernel: Kernel, templates: Templates) -> str:
    """One fragment shader: inputs are samplers `x0`..., outputs targets `y0`..., arguments lie in `P`."""
    dialect = Glsl()
    composed = replace(kernel, nest=compose(kernel.nest, dialect.composed))
    return templates.render(
        "nest.glsl",
        samplers=[SAMPLERS[UINT if operand.dtype in PACKED else operand.type] for operand in kernel.nest.inputs],
        targets=["vec4" if kernel.schedule.vector else TYPES[out.operand.type] for out in kernel.nest.outputs] * kernel.schedule.count,
        words=-(-len(kernel.arguments) // 4),
        lines=Fragments(composed, dialect).run(),
    )


def print_written(kernel: WrittenKernel, templates: Templates) -> str:
    """One fragment shader around the text of a plugin, an element of the output a fragment."""
    lines = kernel.lines("webgl")
    return templates.render(
        "written.glsl",
        inputs=[(SAMPLERS[operand.type], TYPES[operand.type]) for operand in kernel.inputs],
        output=TYPES[kernel.output.type],
        arguments=kernel.arguments,
        words=-(-len(kernel.arguments) // 4),
        body=lines,
        lines=[*lines, "wk_at(0)"],
    )
