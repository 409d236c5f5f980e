"""Common parts of the readers of exported programs and TorchScript: attributes, tensors, names."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from webkiln.frontends.core.arrays import Literal, Weight, check_allowance
from webkiln.frontends.nodes.reading import DistinctNames, StoredWeights, literal
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import DTYPES, Array

DROPPED = frozenset(
    {
        "layout",
        "device",
        "pin_memory",
        "memory_format",
        "non_blocking",
        "generator",
        "copy",
        "implicit",
    }
)
"""Arguments that do not affect the result."""
NARROW = {
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz",
    "float8_e8m0fnu": "float8e8m0",
}
"""The names in `nodes/narrow.py` of torch's floats of 8 bits."""
HALF = "Convert the model to float32 before it is exported: model.float()"


@dataclass
class Reading:
    """The collected parts of a model."""

    name: str
    weights: StoredWeights = field(default_factory=StoredWeights)
    labels: DistinctNames = field(default_factory=DistinctNames)
    unsupported: list[tuple[str, str, str]] = field(default_factory=list)
    count: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count - 1}"

    def array(self, value: torch.Tensor, where: str) -> Array:
        value = real_of(value.detach())
        if (
            value.is_quantized
            or value.layout != torch.strided
            or dtype_name(value.dtype) not in DTYPES
        ):
            self.unsupported.append(
                (where, f"has elements of {value.dtype} ({value.layout})", HALF)
            )
            return np.zeros((), np.float32)
        check_allowance(value.numel() * value.element_size(), f"{self.name}: {where}")
        return np.asarray(value.resolve_conj().resolve_neg().cpu().contiguous().numpy())

    def tensor(self, value: torch.Tensor, path: str, *, trained: bool) -> Weight | Literal:
        """A literal if the tensor is small and not trained; otherwise a weight. Floats of 8 bits
        are stored as they are.
        """
        if value.layout == torch.strided and (dtype := NARROW.get(dtype_name(value.dtype))):
            codes = value.detach().cpu().contiguous().view(torch.uint8).numpy()
            check_allowance(codes.nbytes, f"{self.name}: {path}")
            return self.weights.store_bytes(slot(path), codes, dtype, codes.shape)
        array = self.array(value, path)
        small = array.size <= INLINE_ELEMENTS and (array.dtype.kind in "iub" or array.ndim == 0)
        if array.size == 0 or (small and not trained):
            return literal(array)
        return self.weights.store(slot(path), array)


def real_of(value: torch.Tensor) -> torch.Tensor:
    """A complex tensor with a last axis of real and imaginary part; others unchanged."""
    return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value


def slot(path: str) -> str:
    """Split `layer.0.weight` into the layer and its name there."""
    owner, _, leaf = path.rpartition(".")
    return f"{owner}/{leaf}" if owner else leaf


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def named_arguments(schema: Any, args: Sequence[Any], by_name: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by schema name, with defaults."""
    arguments: dict[str, Any] = {}
    for position, argument in enumerate(schema.arguments):
        if position < len(args) and not argument.kwarg_only:
            arguments[argument.name] = args[position]
        else:
            arguments[argument.name] = by_name.get(argument.name, argument.default_value)
    return {name: value for name, value in arguments.items() if name not in DROPPED}
