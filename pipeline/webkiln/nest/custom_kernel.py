"""Custom kernels: source code from plugins, one version per backend, instead of a nest that is
printed for all backends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from webkiln.canonical import key
from webkiln.nest.nest import Operand


@dataclass(frozen=True)
class CustomKernel:
    """The statements that compute one element of the output, by backend.

    They set `y` to the element with the row-major index `i`. `x0(n)`, `x1(n)` ... are elements of
    the inputs; arguments are integers.
    """

    inputs: tuple[Operand, ...]
    output: Operand
    parameters: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*self.inputs, self.output)

    @property
    def arguments(self) -> tuple[str, ...]:
        """`count`, the number of elements of the output, then the attributes of the operator."""
        return ("count", *self.parameters)

    @cached_property
    def name(self) -> str:
        return f"t_{key(to_json(self))[:16]}"

    def lines(self, backend: str) -> list[str]:
        return dict(self.texts)[backend].strip().splitlines()


def make_custom_kernel(
    inputs: tuple[str, ...], output: str, parameters: tuple[str, ...], texts: Mapping[str, str]
) -> CustomKernel:
    """Create a kernel for inputs and an output of the given dtypes."""
    return CustomKernel(
        tuple(Operand(dtype, 1) for dtype in inputs),
        Operand(output, 1),
        parameters,
        tuple(sorted(texts.items())),
    )


def to_json(kernel: CustomKernel) -> dict[str, Any]:
    return {
        "inputs": [operand.dtype for operand in kernel.inputs],
        "output": kernel.output.dtype,
        "parameters": list(kernel.parameters),
        "texts": dict(kernel.texts),
    }


def from_json(data: dict[str, Any]) -> CustomKernel:
    return make_custom_kernel(
        tuple(data["inputs"]), data["output"], tuple(data["parameters"]), data["texts"]
    )
