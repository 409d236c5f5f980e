"""Test nodes of com.microsoft."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import helper

from tests.frontends.onnx.models import model

RNG = np.random.default_rng(20)


def restart() -> None:
    """Reset the generator, so that results do not depend on earlier imports."""
    RNG.bit_generator.state = np.random.default_rng(20).bit_generator.state


def real(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def small(*shape: int, dtype: str = "uint8") -> np.ndarray:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def scale(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def zero(value: int, dtype: str = "uint8") -> np.ndarray:
    return np.array(value, dtype)


@dataclass(frozen=True)
class NodeCase:
    """A node: its operands (None is absent), its attributes, and the outputs to compare. `off` is
    the tolerance of integer outputs, for ties in rounding.
    """

    op: str
    inputs: tuple[np.ndarray | None, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    outputs: tuple[int, ...] = (0,)
    off: int = 0

    def model(self):
        names = [f"x{n}" if value is not None else "" for n, value in enumerate(self.inputs)]
        outputs = [f"y{n}" if n in self.outputs else "" for n in range(max(self.outputs) + 1)]
        domain = "" if self.op == "SimplifiedLayerNormalization" else "com.microsoft"
        node = helper.make_node(self.op, names, outputs, "node", domain=domain, **self.attrs)
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in zip(names, self.inputs, strict=True)
            if value is not None
        ]
        return model(
            [node],
            inputs,
            [helper.make_empty_tensor_value_info(name) for name in outputs if name],
            opset=17,
            microsoft=True,
        )

    @property
    def values(self):
        return {f"x{n}": value for n, value in enumerate(self.inputs) if value is not None}
