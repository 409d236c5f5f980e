"""Kernels of parallel launches: several calls of one nest with one schedule, which differ in their
operands and sizes. Each call has a range of the workgroups.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from webkiln.canonical import key
from webkiln.plan import kernel as kernels
from webkiln.plan.kernel import Kernel


@dataclass(frozen=True)
class ParallelKernel:
    """A kernel that `copies` calls share."""

    kernel: Kernel
    copies: int

    @cached_property
    def name(self) -> str:
        return f"p_{key(to_json(self))[:16]}"


def to_json(kernel: ParallelKernel) -> dict[str, Any]:
    return {"copies": kernel.copies, **kernels.to_json(kernel.kernel)}


def from_json(data: dict[str, Any]) -> ParallelKernel:
    return ParallelKernel(kernels.from_json(data), data["copies"])
