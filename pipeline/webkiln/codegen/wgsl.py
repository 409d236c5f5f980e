"""WGSL over one arena of 32-bit words, bound read-write. Operands are offsets in it, counted in
their own elements.

Constant expressions must be finite, so infinities and NaN come from the argument block. NaN is
detected by its bits, because compilers fold `x != x`. Unlike in C, shifts take u32, and both values
of a select are computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isinf, isnan
from types import MappingProxyType
from typing import Any

from webkiln.codegen.c_family import Braces
from webkiln.codegen.emit import body
from webkiln.codegen.segment_names import in_segment
from webkiln.codegen.template_kernels import Function, print_template
from webkiln.codegen.templates import Templates
from webkiln.codegen.wgsl_memory import Memory, Places, memories, memory_of
from webkiln.codegen.wgsl_vectors import WgslVectors
from webkiln.codegen.wgsl_workgroups import (
    ANYWHERE,
    Workgroup,
    group_size,
    workgroup_arrays,
)
from webkiln.nest.compose import COMPOSITIONS, compose
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.expr import BOOL, FLOAT, INT, UINT, Expr
from webkiln.nest.nest import Nest, Operand
from webkiln.nest.quotients import correct_quotients
from webkiln.nest.schedule import Schedule, TemplateSchedule
from webkiln.plan.kernel import Kernel
from webkiln.plan.launch_size import WORKGROUP
from webkiln.plan.template_steps import Around
from webkiln.plan.vector_products import match_vectors

TYPES = {"float32": FLOAT, "int32": INT, "uint32": UINT}
PACKED = {"float16": 2, "int16": 2, "uint16": 2, "int8": 4, "uint8": 4, "bool": 4}
"""Elements that share a word: of weights while they are decoded, and float16."""
SCALAR = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "neg": "-{0}",
    "abs": "abs({0})",
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
    "isnan": "wk_isnan({0})",
    "select": "select({2}, {1}, {0})",
    "sqrt": "sqrt({0})",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    "trunc": "trunc({0})",
    "rint": "round({0})",
    "sign": "sign({0})",
    "turn": "wk_turn({0})",
    "min": "min({0}, {1})",
    "max": "max({0}, {1})",
    "band": "{0} & {1}",
    "bor": "{0} | {1}",
    "bxor": "{0} ^ {1}",
    "shl": "{0} << u32({1} & 31)",
    "shr": "{0} >> u32({1} & 31)",
}
BY_TYPE = {
    ("ne", FLOAT): "!({0} == {1})",
    ("neg", UINT): "0u - {0}",
    ("sign", FLOAT): "wk_sign({0})",
    ("sign", UINT): "min({0}, 1u)",
    ("shl", UINT): "{0} << ({1} & 31u)",
    ("shr", UINT): "{0} >> ({1} & 31u)",
    ("min", FLOAT): "wk_min({0}, {1})",
    ("max", FLOAT): "wk_max({0}, {1})",
    ("idiv", INT): "wk_idiv({0}, {1})",
    ("irem", INT): "wk_irem({0}, {1})",
    ("floordiv", INT): "wk_floordiv({0}, {1})",
    ("floormod", INT): "wk_floormod({0}, {1})",
    ("idiv", UINT): "wk_udiv({0}, {1})",
    ("irem", UINT): "wk_urem({0}, {1})",
    ("floordiv", UINT): "wk_udiv({0}, {1})",
    ("floormod", UINT): "wk_urem({0}, {1})",
}
NO_BLOCKS: Mapping[str, str] = MappingProxyType({})
NO_SEGMENTS: Mapping[str, int] = MappingProxyType({})
CASTS = {(FLOAT, INT): "wk_i32({0})", (FLOAT, UINT): "wk_u32({0})"}


class Wgsl(Braces):
    """`memory`: the form of the arena. `groups`: how invocations share a reduction. `blocks`: the
    operands in workgroup memory, and the names of their arrays. `segments`: the bindings of those
    in segments.
    """

    composed = frozenset(COMPOSITIONS)
    pointers = None
    number = "invocation"

    def __init__(
        self,
        memory: Memory,
        groups: Workgroup,
        blocks: Mapping[str, str] = NO_BLOCKS,
        segments: Mapping[str, int] = NO_SEGMENTS,
    ) -> None:
        self.places = Places(memory, blocks, segments)
        self.groups = groups
        self.simd = WgslVectors(self.places)

    @property
    def threads(self) -> "Wgsl":
        return self

    def exit_if(self, condition: str) -> list[str]:
        return [f"if ({condition}) {{ return; }}"]

    def declare(self, type_: str, name: str, text: str) -> str:
        return f"let {name} = {text};"

    def keyword(self, type_: str) -> str:
        return "var"

    def operation(self, op: str, type_: str) -> str:
        return BY_TYPE.get((op, type_)) or SCALAR[op]

    def literal(self, value: float, type_: str) -> str:
        if type_ == BOOL:
            return "true" if value else "false"
        if type_ == UINT:
            return f"{int(value)}u"
        if type_ == INT:
            return str(int(value)) if value >= 0 else f"i32({int(value)})"
        if isnan(value):
            return "wk_nan()"
        if isinf(value):
            return "wk_infinity()" if value > 0 else "(-wk_infinity())"
        text = f"{float(value)!r}f"
        return f"({text})" if text[0] == "-" else text

    def scalar(self, expr: Expr, args: list[str]) -> str:
        source = expr.args[0].type
        if expr.op == "cast":
            if expr.type == BOOL:
                return self.operation("ne", source).format(args[0], self.literal(0, source))
            return CASTS.get((source, expr.type), f"{expr.type}({{0}})").format(*args)
        if expr.op == "bitcast":
            return f"bitcast<{expr.type}>({args[0]})"
        return self.operation(expr.op, source).format(*args)

    def load(self, operand: Operand, pointer: str, at: str) -> str:
        if operand.dtype in PACKED:
            text = f"wk_{operand.dtype}({pointer} + {at})"
            return in_segment(text, self.places.binding(pointer))
        memory, address = self.places.find(pointer, at)
        word = memory.word.format(address)
        return word if operand.dtype == "uint32" else f"bitcast<{TYPES[operand.dtype]}>({word})"

    def guarded(self, operand: Operand, pointer: str, at: str, condition: str, other: str) -> str:
        return f"select({other}, {self.load(operand, pointer, at)}, {condition})"

    def store(self, operand: Operand, pointer: str, at: str, value: str) -> str:
        memory, address = self.places.find(pointer, at)
        if operand.dtype == "float16":
            return memory.store_half.format(address, value)
        if operand.dtype in ("int8", "uint8"):
            return memory.store_byte.format(address, value)
        return memory.store.format(
            address, value if operand.dtype == "uint32" else f"bitcast<u32>({value})"
        )


class WgslTemplates:
    """Templates whose blocks are arrays in workgroup or private memory. The loops around a template
    compute some elements of a block, by the number of an invocation. `memory`: the form of the
    arena; `groups`: how invocations share a sum; `segments`: the bindings of operands in segments;
    `copies`: the calls of a parallel launch.
    The functions of a text that load elements of an operand have the name that `loader` returns.
    """

    extension = "wgsl"
    blocks: Mapping[str, str] = {
        "rows": "ROWS",
        "sums": "OWN_COLUMNS",
        "totals": "1",
        "zero": "1",
        "places": "1",
    }

    def __init__(
        self, memory: Memory, groups: Workgroup, segments: Mapping[str, int], copies: int
    ) -> None:
        self.groups, self.segments, self.copies = groups, segments, copies
        self.memory, self.memories = memory, memories(memory, segments)
        self.mentioned = [text for item in self.memories for text in (item.four, item.word)]

    def prepare(self, around: Around, schedule: TemplateSchedule) -> tuple[Nest, Nest]:
        return around.pack(whole=schedule.whole)

    def loops(self, nest: Nest, schedule: Schedule) -> Kernel:
        return legalised(Kernel(nest, schedule))

    def function(
        self, name: str, loops: Kernel, operands: Sequence[str], arguments: Sequence[str]
    ) -> Function:
        pairs = list(zip(operand_names(loops), operands, strict=True))
        blocks = {own: item for own, item in pairs if item in self.blocks}
        offsets = {own: item for own, item in pairs if own not in blocks}
        names = ("invocation", *offsets, *loops.arguments)
        call = f"{name}({', '.join(['place', *offsets.values(), *arguments])});"
        bindings = {own: self.segments.get(item, 0) for own, item in pairs}
        lines = body(loops, Wgsl(self.memory, ANYWHERE, blocks, bindings))
        tile = loops.schedule.tile
        return Function(
            name, [f"{item}: i32" for item in names], lines, call, tile.lanes * tile.count
        )

    def variables(self, kernel: Kernel, dtypes: Mapping[str, str]) -> dict[str, Any]:
        return {
            "arguments": [*operand_names(kernel), *kernel.arguments],
            "memories": self.memories,
            "bindings": self.segments,
            "loader": self.loader,
            "workgroup": WORKGROUP,
            "groups": self.groups,
            "copies": self.copies,
        }

    def loader(self, name: str, operand: str) -> str:
        """The name of the function that loads elements of an operand."""
        return f"{name}{self.segments.get(operand) or ''}"


def operand_names(kernel: Kernel) -> list[str]:
    """The names of the operands' offsets."""
    inputs = [f"x{i}" for i in range(len(kernel.nest.inputs))]
    return [*inputs, *(f"y{i}" for i in range(len(kernel.nest.outputs)))]


def segments_of(kernel: Kernel) -> dict[str, int]:
    """The bindings of the operands in segments."""
    return dict(zip(operand_names(kernel), kernel.segments, strict=False))


def legalised(kernel: Kernel) -> Kernel:
    return replace(kernel, nest=correct_quotients(compose(kernel.nest, Wgsl.composed)))


def print_kernel(
    kernel: Kernel, templates: Templates, groups: Workgroup = ANYWHERE, copies: int = 0
) -> str:
    """One compute shader. Its argument block contains the operands' offsets, then the arguments;
    those of each of the `copies` calls of a parallel launch, after the first one and the number of
    its workgroups.
    """
    kernel = groups.kernel(kernel)
    segments = segments_of(kernel)
    if isinstance(kernel.schedule, TemplateSchedule):
        step = match_vectors(kernel.nest)
        words = () if step is None else (step.weights.packed,)
        memory = memory_of(replace(kernel, schedule=kernel.schedule.store), words)
        return print_template(kernel, WgslTemplates(memory, groups, segments, copies), templates)
    memory = memory_of(kernel)
    return templates.render(
        "nest.wgsl",
        parts=workgroup_arrays(kernel, groups),
        arguments=[*operand_names(kernel), *kernel.arguments],
        lines=body(legalised(kernel), Wgsl(memory, groups, segments=segments)),
        workgroup=group_size(kernel),
        shared=kernel.workgroup is not None,
        memories=memories(memory, segments),
        groups=groups,
        copies=copies,
    )


def print_custom(kernel: CustomKernel, templates: Templates) -> str:
    """One compute shader around the text of a plugin. Each invocation computes one element of the
    output.
    """
    offsets = [f"x{i}_" for i in range(len(kernel.inputs))]
    return templates.render(
        "custom.wgsl",
        arguments=[*offsets, "y_", *kernel.arguments],
        own=kernel.arguments,
        inputs=[operand.type for operand in kernel.inputs],
        output=kernel.output.type,
        lines=kernel.lines("webgpu"),
        workgroup=WORKGROUP,
    )
