"""A node with values of its attributes, and random operands."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

RNG = np.random.default_rng(41)


X = RNG.standard_normal((2, 3, 4)).astype(np.float32)


IMAGE = RNG.standard_normal((2, 4, 7, 8)).astype(np.float32)


def real(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def integers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@dataclass(frozen=True)
class Row:
    """A node and its operands. Those at the indices `fixed` are initialisers of the model, the
    others are inputs.
    """

    op: str
    opset: int
    operands: tuple[np.ndarray | None, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    fixed: tuple[int, ...] = ()
    outputs: int = 1

    @property
    def label(self) -> str:
        return f"{self.op} {self.opset} {self.attrs}"
