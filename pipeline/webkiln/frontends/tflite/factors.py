"""An operator with the scales of its tensors, and real factors as integers: a factor is
`multiplier` * 2**(shift - 31).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from webkiln.errors import SourceError, UnsupportedError
from webkiln.frontends.tflite.file import FileOperator
from webkiln.frontends.tflite.tensors import FileTensor
from webkiln.ir.types import Array

Items = Sequence[FileTensor | None]
F32 = np.float32
MOST = (1 << 31) - 1


class Facts:
    """An operator with its tensors. Absent operands are None."""

    def __init__(
        self,
        operator: FileOperator,
        inputs: Items,
        outputs: Sequence[FileTensor],
        intermediates: Items,
        where: str,
    ) -> None:
        self.operator, self.inputs, self.outputs, self.intermediates, self.where = (
            operator,
            inputs,
            outputs,
            intermediates,
            where,
        )

    def input(self, index: int) -> FileTensor:
        operand = self.inputs[index] if index < len(self.inputs) else None
        if operand is None:
            raise SourceError(
                f"{self.where}: operand {index} of {self.operator.op} is missing; the file is"
                " damaged; convert it again"
            )
        return operand

    def optional(self, index: int) -> FileTensor | None:
        return self.inputs[index] if index < len(self.inputs) else None

    @property
    def output(self) -> FileTensor:
        return self.outputs[0]

    def option(self, name: str) -> Any:
        return self.operator.options[name]

    def is_integer(self, index: int = 0) -> bool:
        item = self.optional(index)
        return (
            item is not None
            and item.is_quantized
            and self.output.stored in ("int8", "uint8", "int16")
        )


def quantize_multiplier(real: float) -> tuple[int, int]:
    """A real number as a 31-bit integer and a power of 2."""
    if real == 0 or not math.isfinite(real):
        return 0, 0
    fraction, shift = math.frexp(real)
    multiplier = math.floor(abs(fraction) * (1 << 31) + 0.5) * (1 if fraction > 0 else -1)
    if multiplier == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    return (multiplier, shift) if shift >= -31 else (0, 0)


def named(name: str, real: float | Sequence[float]) -> dict[str, Array]:
    """One factor, or one per channel."""
    pairs = [
        quantize_multiplier(value) for value in (real if isinstance(real, Sequence) else [real])
    ]
    shape = (len(pairs),) if isinstance(real, Sequence) else ()
    if any(shift > 31 for _, shift in pairs):
        pairs = [(multiplier, min(shift, 31)) for multiplier, shift in pairs]
    return {
        name: np.array([multiplier for multiplier, _ in pairs], np.int32).reshape(shape),
        f"{name}_shift": np.array([shift for _, shift in pairs], np.int32).reshape(shape),
    }


def away(value: float) -> int:
    """Round to nearest, ties away from zero."""
    return math.floor(value + 0.5) if value >= 0 else math.ceil(value - 0.5)


def limits(item: FileTensor) -> tuple[int, int]:
    operand = np.iinfo(item.dtype)
    return int(operand.min), int(operand.max)


def power_of_two(scale: float) -> int | None:
    power = math.log2(scale)
    return round(power) if abs(power - round(power)) < 1e-3 else None


BOUNDS = {
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
    "NONE": (None, None),
}


def bounds(facts: Facts, kind: str) -> tuple[int, int]:
    """The range of the result after a fused activation."""
    item = facts.output
    low, high = limits(item)
    if kind not in BOUNDS:
        raise UnsupportedError(
            facts.where,
            [
                (
                    facts.where,
                    f"has the activation {kind} on integers",
                    "Use a separate activation operator",
                )
            ],
        )
    first, last = BOUNDS[kind]

    def placed(value: float) -> int:
        return item.zero + away(float(F32(value) / F32(item.scale)))

    return max(low, placed(first)) if first is not None else low, (
        min(high, placed(last)) if last is not None else high
    )


def ranged(facts: Facts) -> dict[str, Any]:
    return {"range": bounds(facts, facts.operator.options.get("fused_activation_function", "NONE"))}
