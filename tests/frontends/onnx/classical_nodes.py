"""Nodes of ai.onnx.ml as models."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper

DOMAIN = "ai.onnx.ml"


POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


COUNTS = {"LinearClassifier": 2, "SVMClassifier": 2, "TreeEnsembleClassifier": 2}
"""Operators with several outputs."""


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng([11, *seed])


def real(*shape: int, seed: int = 0) -> np.ndarray:
    return rng(seed, *shape).standard_normal(shape).astype(np.float32)


@dataclass(frozen=True)
class NodeCase:
    """A node and its inputs. `version`: of the domain. `is_open`: the first axis is dynamic."""

    name: str
    op: str
    inputs: tuple[np.ndarray, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    version: int = 3
    is_open: bool = True

    def model(self) -> onnx.ModelProto:
        names = [f"x{number}" for number in range(len(self.inputs))]
        outputs = [f"y{number}" for number in range(COUNTS.get(self.op, 1))]
        node = helper.make_node(self.op, names, outputs, "node", domain=DOMAIN, **self.attrs)
        inputs = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(value.dtype),
                ["N", *value.shape[1:]] if self.is_open and value.ndim > 1 else value.shape,
            )
            for name, value in zip(names, self.inputs, strict=True)
        ]
        graph = helper.make_graph(
            [node], "graph", inputs, [helper.make_empty_tensor_value_info(name) for name in outputs]
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, self.version)],
            ir_version=9,
        )

    @property
    def values(self) -> dict[str, np.ndarray]:
        return {f"x{number}": value for number, value in enumerate(self.inputs)}


X = real(5, 4)
