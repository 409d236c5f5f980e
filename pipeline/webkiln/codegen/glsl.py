"""Fragment shaders of WebGL 2 (GLSL ES 3.00). Operands are textures with one texel per element; an
output is the result of a fragment.
"""

from dataclasses import replace

import numpy as np

from webkiln.codegen.c_family import Braces
from webkiln.codegen.emit import body
from webkiln.codegen.glsl_intrinsics import BITS, BY_TYPE, CASTS, SCALAR, read
from webkiln.codegen.glsl_vectors import GlslVectors
from webkiln.codegen.templates import Templates
from webkiln.nest.compose import COMPOSITIONS, compose
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.expr import BOOL, FLOAT, INT, UINT, Expr
from webkiln.nest.nest import Operand
from webkiln.nest.quotients import correct_quotients
from webkiln.plan.kernel import Kernel

TYPES = {FLOAT: "float", INT: "int", UINT: "uint", BOOL: "bool"}
SAMPLERS = {FLOAT: "sampler2DArray", INT: "isampler2DArray", UINT: "usampler2DArray"}
PACKED = {"uint8": 8, "int8": 8, "uint16": 16, "int16": 16, "float16": 16, "bool": 8}
"""Bits of elements that are packed in unsigned words while weights are decoded."""
SMALLEST, LARGEST = 1.1754943508222875e-38, 3e38
"""Literals outside this range are printed as bits."""


class Glsl(Braces):
    composed = frozenset(COMPOSITIONS) - {"pow"}
    simd = GlslVectors()
    pointers = None
    threads = None

    def declare(self, type_: str, name: str, text: str) -> str:
        return f"{TYPES.get(type_, type_)} {name} = {text};"

    def keyword(self, type_: str) -> str:
        return TYPES[type_]

    def operation(self, op: str, type_: str) -> str:
        return BY_TYPE.get((op, type_)) or SCALAR[op]

    def literal(self, value: float, type_: str) -> str:
        if type_ == BOOL:
            return "true" if value else "false"
        if type_ == UINT:
            return f"{int(value)}u"
        if type_ == INT:
            return (
                str(int(value))
                if value >= 0
                else "(-2147483647 - 1)"
                if value == -(2**31)
                else f"({int(value)})"
            )
        single = np.float32(value)
        if (value and not SMALLEST <= abs(single) <= LARGEST) or str(value) == "-0.0":
            return f"uintBitsToFloat({single.view(np.uint32):#x}u)"
        text = str(single)
        return f"({text})" if text[0] == "-" else text

    def scalar(self, expr: Expr, args: list[str]) -> str:
        source = expr.args[0].type
        if expr.op == "cast":
            if expr.type == BOOL:
                return f"{args[0]} != {self.literal(0, source)}"
            return CASTS.get((source, expr.type), f"{TYPES[expr.type]}({{0}})").format(*args)
        if expr.op == "bitcast":
            return BITS[source, expr.type].format(*args)
        return self.operation(expr.op, source).format(*args)

    def load(self, operand: Operand, pointer: str, at: str) -> str:
        bits = PACKED.get(operand.dtype)
        if bits is None:
            return f"{read(pointer, f'wk_at({at})')}.r"
        element = f"wk_packed({read(pointer, f'wk_at(({at}) / {32 // bits})')}.r, {at}, {bits})"
        if operand.dtype == "float16":
            return f"wk_half({element})"
        if operand.dtype == "bool":
            return f"{element} != 0u"
        return f"wk_signed({element}, {bits})" if operand.type == INT else element

    def guarded(self, operand: Operand, pointer: str, at: str, condition: str, other: str) -> str:
        return f"{condition} ? {self.load(operand, pointer, at)} : {other}"

    def store(self, operand: Operand, pointer: str, at: str, value: str) -> str:
        return f"{pointer} = {value};"


def print_kernel(kernel: Kernel, templates: Templates) -> str:
    """One fragment shader. Inputs are samplers `x0`..., outputs targets `y0`..., arguments elements
    of `P`.
    """
    dialect = Glsl()
    nest = correct_quotients(compose(kernel.nest, dialect.composed))
    composed = replace(kernel, nest=nest)
    return templates.render(
        "nest.glsl",
        samplers=[
            SAMPLERS[UINT if operand.dtype in PACKED else operand.type]
            for operand in kernel.nest.inputs
        ],
        targets=[
            "vec4" if kernel.schedule.tile.vector else TYPES[out.operand.type]
            for out in kernel.nest.outputs
        ]
        * kernel.schedule.tile.count,
        words=-(-len(kernel.arguments) // 4),
        lines=body(composed, dialect),
    )


def print_custom(kernel: CustomKernel, templates: Templates) -> str:
    """One fragment shader around the text of a plugin, which computes one element of the output."""
    lines = kernel.lines("webgl")
    return templates.render(
        "custom.glsl",
        inputs=[(SAMPLERS[operand.type], TYPES[operand.type]) for operand in kernel.inputs],
        output=TYPES[kernel.output.type],
        arguments=kernel.arguments,
        words=-(-len(kernel.arguments) // 4),
        body=lines,
        lines=[*lines, "wk_at(0)"],
    )
