"""ONNX models under construction, with random quantised operands."""

import random
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

INTEGERS = {
    "int4": ml_dtypes.int4,
    "uint4": ml_dtypes.uint4,
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
}


@dataclass(frozen=True)
class Point:
    """`channels`: one scale and zero point per output channel, if the operator has them."""

    operator: str
    x: str
    w: str
    channels: bool
    zeros: bool
    whole: bool


class Nodes:
    """A model under construction. `powers`: scales are powers of two, so that float32 is exact,
    and every framework rounds the same way.
    """

    def __init__(self, r: random.Random) -> None:
        self.r, self.rng = r, np.random.default_rng(r.randrange(1 << 32))
        self.powers = r.random() < 0.5
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs: dict[str, np.ndarray] = {}

    def value(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def input(self, array: np.ndarray) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = array
        return name

    def op(self, op: str, *inputs: str, outputs: int = 1, **attrs: object) -> str:
        """The first output of a node."""
        names = [f"v{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attrs))
        return names[0]

    def codes(self, dtype: str, *shape: int) -> np.ndarray:
        limits = ml_dtypes.iinfo(INTEGERS[dtype])
        low, high = int(limits.min), int(limits.max)
        if self.r.random() < 0.15:
            return self.rng.choice([low, high], shape).astype(INTEGERS[dtype])
        return self.rng.integers(low, high, shape, endpoint=True).astype(INTEGERS[dtype])

    def floats(self, *shape: int) -> np.ndarray:
        return self.rng.normal(0, 1, shape).astype(np.float32)

    def scale(self, *shape: int, size: float = 0.02) -> str:
        return self.value(self.power(self.rng.uniform(size / 2, size, shape)))

    def power(self, values: np.ndarray) -> np.ndarray:
        """Scales, as they are or rounded to powers of two."""
        exact = 2.0 ** np.rint(np.log2(values)) if self.powers else values
        return np.asarray(exact, np.float32)

    def zero(self, at: Point, dtype: str, *shape: int) -> str:
        return self.value(self.codes(dtype, *shape) if at.zeros else np.zeros(shape, dtype))

    def wide(self, at: Point, count: int) -> tuple[int, ...]:
        """The shape of a parameter of weights."""
        return (count,) if at.channels else self.r.choice([(), (), (1,)])

    def size(self, at: Point, limit: int = 80) -> int:
        choices = (4, 8, 16, 32, 64) if at.whole else (1, 3, 5, 7, 17, 33, 65, 79)
        return self.r.choice([size for size in choices if size <= limit])

    def model(self, output: str, opset: int = 21) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "g",
            [
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
                )
                for name, value in self.inputs.items()
            ],
            [helper.make_empty_tensor_value_info(output)],
            self.weights,
        )
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)
