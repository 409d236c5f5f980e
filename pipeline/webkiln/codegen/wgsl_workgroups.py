"""How the invocations of a workgroup share a kernel, and the variants of a kernel for devices with
optional features.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from webkiln.codegen.context import Context, Copy, accumulator
from webkiln.codegen.dialect import Combine
from webkiln.codegen.matrix_product import HALF, matrix_arrays, matrix_schedule
from webkiln.codegen.staged_product import staged_vectors
from webkiln.nest.expr import FLOAT
from webkiln.nest.kernel_template import find_template
from webkiln.nest.nest import Accumulator
from webkiln.nest.schedule import InvocationSchedule, TemplateSchedule
from webkiln.plan.kernel import Kernel
from webkiln.plan.launch_size import WORKGROUP
from webkiln.plan.vector_products import VECTOR_PRODUCT

MATRICES = "chromium-experimental-subgroup-matrix"
"""The feature of devices with subgroup matrices."""
MATRIX_SIZES = (16, 8)
"""The rows and columns of the subgroup matrices that kernels multiply: those that GPUs of NVIDIA
offer, and those of Apple.
"""
BY_SUBGROUP = {"sum": "subgroupAdd", "prod": "subgroupMul"}


class Workgroup:
    """All invocations of a workgroup. `feature`: what a device must support beyond the core, if
    anything, as the engine names it; `directives` enable it in a shader, which may read its
    `builtins`, and `lanes`, the place of an invocation in its subgroup. The names of arrays in
    workgroup memory begin with `parts`. `matrix`: the rows and columns of subgroup matrices, 0:
    there are none.
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
    matrix = 0

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel with the schedule of these invocations."""
        return kernel

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


class MatrixWorkgroup(Workgroup):
    """Blocks of products of float16 are multiplied as subgroup matrices, with sums in float32.
    `matrix`: the rows and columns of a matrix.
    """

    directives = (
        "enable f16;",
        "enable subgroups;",
        "enable chromium_experimental_subgroup_matrix;",
        "requires subgroup_id;",
    )
    builtins: Mapping[str, str] = {"subgroup_id": "subgroup"}
    staged = HALF

    def __init__(self, matrix: int) -> None:
        self.matrix = matrix
        self.feature = f"{MATRICES} {matrix}"

    def kernel(self, kernel: Kernel) -> Kernel:
        assert isinstance(kernel.schedule, InvocationSchedule)
        return replace(kernel, schedule=matrix_schedule(kernel.schedule))


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
        if groups.matrix:
            return matrix_arrays(kernel.schedule)
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
    if kernel.multiplies_matrices:
        yield from map(MatrixWorkgroup, MATRIX_SIZES)
