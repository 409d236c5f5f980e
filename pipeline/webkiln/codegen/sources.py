"""The kernels that the launches of a program name, and the offsets of their operands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webkiln.ir import dim
from webkiln.ir.notation import size_from_json, size_to_json
from webkiln.ir.types import itemsize
from webkiln.nest import custom_kernel
from webkiln.nest import procedure as procedures
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.nest import Operand
from webkiln.nest.procedure import Procedure
from webkiln.plan import group_kernel, parallel_kernel
from webkiln.plan import kernel as kernels
from webkiln.plan.group_kernel import GroupKernel
from webkiln.plan.kernel import Kernel
from webkiln.plan.parallel_kernel import ParallelKernel


@dataclass(frozen=True, slots=True)
class Sources:
    """The code that launches name: kernels built from nests, procedures, custom kernels of plugins,
    kernels of several nests, and those of parallel launches.
    """

    kernels: dict[str, Kernel]
    procedures: dict[str, Procedure]
    custom_kernels: dict[str, CustomKernel]
    group_kernels: dict[str, GroupKernel] = field(default_factory=dict)
    parallel_kernels: dict[str, ParallelKernel] = field(default_factory=dict)

    def find(self, name: str) -> Kernel | Procedure | CustomKernel:
        return self.kernels.get(name) or self.procedures.get(name) or self.custom_kernels[name]

    def launched(self, name: str) -> Kernel | CustomKernel | GroupKernel:
        """The kernel that a launch names."""
        return self.kernels.get(name) or self.group_kernels.get(name) or self.custom_kernels[name]


def sources_of(program: Mapping[str, Any]) -> Sources:
    """The code of a program.json."""
    return Sources(
        {name: kernels.from_json(data) for name, data in sorted(program["kernels"].items())},
        {name: procedures.from_json(data) for name, data in sorted(program["procedures"].items())},
        {
            name: custom_kernel.from_json(data)
            for name, data in sorted(program["custom_kernels"].items())
        },
        {
            name: group_kernel.from_json(data)
            for name, data in sorted(program.get("group_kernels", {}).items())
        },
        {
            name: parallel_kernel.from_json(data)
            for name, data in sorted(program.get("parallel_kernels", {}).items())
        },
    )


def element_offsets(operands: Sequence[Operand], entry: dict[str, Any]) -> list[int | str]:
    """The offsets of the operands of a launch, each in its own elements."""
    pairs = zip(operands, entry["operands"], strict=True)
    return [
        size_to_json(dim.floordiv(size_from_json(at), itemsize(operand.dtype)))
        for operand, at in pairs
    ]
