"""WGSL over one arena of 32-bit words, bound read-write. Operands are offsets in it, counted in
their own elements.

Constant expressions must be finite, so infinities and NaN come from the argument block. NaN is
detected by its bits, because compilers fold `x != x`. Unlike in C, shifts take u32, and both values
of a select are computed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import isinf, isnan
from types import MappingProxyType
from typing import Any

from webkiln.codegen.c_family import Braces
from webkiln.codegen.context import Context, Copy, accumulator
from webkiln.codegen.dialect import Combine
from webkiln.codegen.emit import body
from webkiln.codegen.staged_product import staged_vectors
from webkiln.codegen.template_kernels import Function, print_template
from webkiln.codegen.templates import Templates
from webkiln.codegen.wgsl_memory import Memory, Places, memory_of
from webkiln.codegen.wgsl_vectors import WgslVectors
from webkiln.nest.compose import COMPOSITIONS, compose
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.expr import BOOL, FLOAT, INT, UINT, Expr
from webkiln.nest.kernel_template import find_template
from webkiln.nest.nest import Accumulator, Nest, Operand
from webkiln.nest.quotients import correct_quotients
from webkiln.nest.schedule import InvocationSchedule, Schedule, TemplateSchedule
from webkiln.plan.kernel import Kernel
from webkiln.plan.template_steps import Around
from webkiln.plan.vector_products import VECTOR_PRODUCT, match_vectors

WORKGROUP = 64
"""The invocations of a workgroup, unless its schedule states them."""
HALF = "f16"
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
BY_SUBGROUP = {"sum": "subgroupAdd", "prod": "subgroupMul"}
CASTS = {(FLOAT, INT): "wk_i32({0})", (FLOAT, UINT): "wk_u32({0})"}


class Workgroup:
    """All invocations of a workgroup. `feature`: what a device must support beyond the core, if
    anything; `directives` enable it in a shader, which may read its `builtins`, and `lanes`, the
    place of an invocation in its subgroup. The names of arrays in workgroup memory begin with
    `parts`.
    """

    feature = ""
    directives: tuple[str, ...] = ()
    builtins: Mapping[str, str] = {}
    lanes: Mapping[str, str] = {}
    parts = "parts_"
    number = "workgroup"
    local = "local"
    barrier = "workgroupBarrier();"
    staged = FLOAT

    def zeros(self, name: str, type_: str) -> str:
        return f"var {name} = vec4<{type_}>();"

    def cast(self, vector: str, type_: str) -> str:
        return f"vec4<{type_}>({vector})"

    def vector(self, parts: list[str]) -> str:
        return f"vec4<f32>({', '.join(parts)})"

    def strided(self, name: str, start: str, extent: str, chunk: int, step: int) -> str:
        return (
            f"for (var {name} = {start}; {name}{f' + {chunk - 1}' if chunk > 1 else ''} < {extent};"
            f" {name} += {step}) {{"
        )

    def gather(self, item: Accumulator, name: str, combine: Combine) -> list[str]:
        """Fold as a tree in workgroup memory."""
        parts = f"{self.parts}{name}"
        (combined,) = combine(item, f"{parts}[local]", f"{parts}[local + half]")
        return [
            f"{parts}[local] = {name};",
            self.barrier,
            f"for (var half = {WORKGROUP // 2}; half >= 1; half /= 2) {{",
            f"  if (local < half) {{ {combined} }}",
            f"  {self.barrier}",
            "}",
            f"{name} = {parts}[0];",
        ]


ANYWHERE = Workgroup()


class Subgroups(Workgroup):
    """Sums and products are first folded within each subgroup, which needs no memory. Subgroup
    minima and maxima do not specify NaN.
    """

    feature = "subgroups"
    directives = ("enable subgroups;", "requires subgroup_id;")
    builtins: Mapping[str, str] = {"subgroup_id": "subgroup", "num_subgroups": "subgroups"}
    lanes: Mapping[str, str] = {"subgroup_invocation_id": "lane", "subgroup_size": "lanes"}

    def gather(self, item: Accumulator, name: str, combine: Combine) -> list[str]:
        if item.combiner not in BY_SUBGROUP:
            return super().gather(item, name, combine)
        (combined,) = combine(item, name, f"parts_{name}[part]")
        return [
            f"{name} = {BY_SUBGROUP[item.combiner]}({name});",
            f"if (subgroupElect()) {{ parts_{name}[subgroup] = {name}; }}",
            self.barrier,
            f"{name} = parts_{name}[0];",
            f"for (var part = 1u; part < subgroups; part++) {{ {combined} }}",
        ]


class Float16Workgroup(Workgroup):
    """Blocks of contractions are multiplied in float16."""

    feature = "shader-f16"
    directives = ("enable f16;",)
    staged = HALF


class Wgsl(Braces):
    """`memory`: the form of the arena. `groups`: how invocations share a reduction. `blocks`: the
    operands in workgroup memory, and the names of their arrays.
    """

    composed = frozenset(COMPOSITIONS)
    pointers = None
    number = "invocation"

    def __init__(
        self, memory: Memory, groups: Workgroup, blocks: Mapping[str, str] = NO_BLOCKS
    ) -> None:
        self.places = Places(memory, blocks)
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
            return f"wk_{operand.dtype}({pointer} + {at})"
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


def group_size(kernel: Kernel) -> int:
    """The invocations of a workgroup of a kernel."""
    return kernel.workgroup.size if kernel.workgroup else WORKGROUP


def workgroup_arrays(kernel: Kernel, groups: Workgroup) -> dict[str, str]:
    """The arrays in workgroup memory: name -> type and size."""
    tile, workgroup = kernel.schedule.tile, kernel.workgroup
    if workgroup is None:
        return {}
    if workgroup.staged:
        assert isinstance(kernel.schedule, InvocationSchedule)
        sizes = staged_vectors(kernel.schedule)
        return {name: f"vec4<{groups.staged}>, {size}" for name, size in sizes.items()}
    vectors = [0] if kernel.by_rows else range(0, tile.lanes, 4)
    element = "{}" if kernel.by_rows else "vec4<{}>"
    others = workgroup.size - (0 if kernel.by_rows else workgroup.columns * workgroup.rows)
    copies = product(enumerate(kernel.nest.accumulators), range(tile.count), vectors)
    return {
        f"{groups.parts}{accumulator(n, Copy(Context(), t, v))}": (
            f"{element.format(item.body.type)}, {others}"
        )
        for (n, item), t, v in copies
    }


def variants(kernel: Kernel) -> Iterator[Workgroup]:
    """Variants of a kernel for devices with optional features."""
    if (
        kernel.workgroup is not None
        and kernel.by_rows
        and any(item.combiner in BY_SUBGROUP for item in kernel.nest.accumulators)
    ):
        yield Subgroups()
    if isinstance(kernel.schedule, TemplateSchedule) and (
        find_template(kernel.schedule.template).step == VECTOR_PRODUCT
    ):
        yield Subgroups()
    if kernel.multiplies_float16:
        yield Float16Workgroup()


class WgslTemplates:
    """Templates whose blocks are arrays in workgroup or private memory. The loops around a template
    compute some elements of a block, by the number of an invocation. `memory`: the form of the
    arena; `groups`: how invocations share a sum.
    """

    extension = "wgsl"
    blocks: Mapping[str, str] = {
        "rows": "ROWS",
        "sums": "OWN_COLUMNS",
        "totals": "1",
        "zero": "1",
        "places": "1",
    }

    def __init__(self, memory: Memory, groups: Workgroup) -> None:
        self.memory, self.groups = memory, groups
        self.mentioned = (memory.four, memory.word)

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
        lines = body(loops, Wgsl(self.memory, ANYWHERE, blocks))
        tile = loops.schedule.tile
        return Function(
            name, [f"{item}: i32" for item in names], lines, call, tile.lanes * tile.count
        )

    def variables(self, kernel: Kernel, dtypes: Mapping[str, str]) -> dict[str, Any]:
        return {
            "arguments": [*operand_names(kernel), *kernel.arguments],
            "memory": self.memory,
            "workgroup": WORKGROUP,
            "groups": self.groups,
        }


def operand_names(kernel: Kernel) -> list[str]:
    """The names of the operands' offsets."""
    inputs = [f"x{i}" for i in range(len(kernel.nest.inputs))]
    return [*inputs, *(f"y{i}" for i in range(len(kernel.nest.outputs)))]


def legalised(kernel: Kernel) -> Kernel:
    return replace(kernel, nest=correct_quotients(compose(kernel.nest, Wgsl.composed)))


def print_kernel(kernel: Kernel, templates: Templates, groups: Workgroup = ANYWHERE) -> str:
    """One compute shader. Its argument block contains the operands' offsets, then the arguments."""
    if isinstance(kernel.schedule, TemplateSchedule):
        step = match_vectors(kernel.nest)
        words = () if step is None else (step.weights.packed,)
        memory = memory_of(replace(kernel, schedule=kernel.schedule.store), words)
        return print_template(kernel, WgslTemplates(memory, groups), templates)
    memory = memory_of(kernel)
    return templates.render(
        "nest.wgsl",
        parts=workgroup_arrays(kernel, groups),
        arguments=[*operand_names(kernel), *kernel.arguments],
        lines=body(legalised(kernel), Wgsl(memory, groups)),
        workgroup=group_size(kernel),
        shared=kernel.workgroup is not None,
        memory=memory,
        groups=groups,
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
