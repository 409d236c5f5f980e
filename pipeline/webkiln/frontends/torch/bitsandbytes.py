"""The layouts of bitsandbytes: codes of 4 bits that a table maps to numbers (NF4, FP4), with a
scale for each block, which may be quantized too; and rows of 8 bits (LLM.int8).

The sources are `functional.QuantState` and `nn.Linear8bitLt` of the package.
"""

import json
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import torch

from webkiln.frontends.torch.block_weights import BYTE, BlockWeights, Plane
from webkiln.frontends.torch.quantization_config import LayoutError
from webkiln.ir.types import Array

STATE = "quant_state.bitsandbytes__"
PARTS = ("absmax", "quant_map", "nested_absmax", "nested_quant_map")
LARGEST_STATE = 1 << 16
MOST_AXES = 8
INT8_MAX = np.float32(7.874015718698502e-3)
"""1 / 127, as bitsandbytes rounds it."""


def read_four_bits(
    weight: torch.Tensor, parts: Mapping[str, torch.Tensor], state: torch.Tensor
) -> BlockWeights:
    """A weight of 4-bit codes. `parts` are the tensors by the names of `PARTS`, `state` is the JSON
    text of the rest. Raises LayoutError.
    """
    if weight.dtype != torch.uint8:
        raise LayoutError(
            f"its codes are stored as {weight.dtype} (bnb_4bit_quant_storage); save it with uint8"
        )
    settings = _settings(state)
    shape = _shape(settings)
    count = prod(shape)
    block = min(_positive(settings, "blocksize"), count)
    blocks = -(-count // block)
    if weight.numel() != -(-count // 2):
        raise LayoutError(f"{weight.numel()} bytes are not the codes of {list(shape)}")
    table = _floats(parts, "quant_map", 16)
    data = weight.numpy().reshape(1, -1)
    codes = Plane((data >> 4) | (data << 4), 4, table)
    if "nested_absmax" not in parts:
        absmax = _floats(parts, "absmax", blocks).reshape(1, -1)
        return BlockWeights((codes,), 0, (Plane(absmax, 32, columns=block),), shape=shape)
    nested = min(_positive(settings, "nested_blocksize"), blocks)
    outer = _floats(parts, "nested_absmax", -(-blocks // nested)).reshape(1, -1)
    offset = settings.get("nested_offset")
    if not isinstance(offset, int | float) or not np.isfinite(offset):
        raise LayoutError("its nested_offset is no number")
    absmax = _sized(parts, "absmax", torch.uint8, blocks).reshape(1, -1)
    levels = _floats(parts, "nested_quant_map", 256)
    scales = (
        Plane(outer, 32, columns=block * nested),
        Plane(absmax, BYTE, levels, columns=block),
    )
    return BlockWeights((codes,), 0, scales, shape=shape, offset=float(offset))


def read_rows(
    weight: torch.Tensor, scales: torch.Tensor, layout: torch.Tensor | None
) -> BlockWeights:
    """A weight of int8 [rows, columns], whose rows have `scales` [rows] times 127. Raises
    LayoutError. Columns with outliers, which bitsandbytes selects when it runs, are part of it.
    """
    if layout is not None and (layout.numel() != 1 or int(layout)):
        raise LayoutError("its weight_format is another than rows")
    if weight.ndim != 2 or not weight.numel() or scales.numel() != len(weight):
        raise LayoutError(f"int8 {list(weight.shape)}, SCB {list(scales.shape)}")
    if scales.dtype != torch.float32:
        raise LayoutError(f"SCB is {scales.dtype}, expected float32")
    factors = scales.numpy().reshape(-1, 1) * INT8_MAX
    codes = Plane(np.array(weight.numpy()), BYTE)
    return BlockWeights((codes,), 0, (Plane(factors, 32),), shape=tuple(weight.shape))


def _settings(state: torch.Tensor) -> Mapping[str, Any]:
    if state.dtype != torch.uint8 or state.numel() > LARGEST_STATE:
        raise LayoutError("its quant_state is no text")
    try:
        settings = json.loads(state.numpy().tobytes())
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, Mapping):
        raise LayoutError("its quant_state is no JSON object")
    return settings


def _shape(settings: Mapping[str, Any]) -> tuple[int, ...]:
    shape = settings.get("shape")
    if (
        not isinstance(shape, list)
        or not 0 < len(shape) <= MOST_AXES
        or not all(type(size) is int and 0 < size < 1 << 40 for size in shape)
    ):
        raise LayoutError(f"its shape is {str(shape)[:100]}")
    return tuple(shape)


def _positive(settings: Mapping[str, Any], name: str) -> int:
    value = settings.get(name)
    if type(value) is not int or not 0 < value < 1 << 31:
        raise LayoutError(f"its {name} is {str(value)[:100]}")
    return value


def _floats(parts: Mapping[str, torch.Tensor], name: str, size: int) -> Array:
    return _sized(parts, name, torch.float32, size)


def _sized(parts: Mapping[str, torch.Tensor], name: str, dtype: torch.dtype, size: int) -> Array:
    """The elements of a part."""
    tensor = parts.get(name)
    if tensor is None or tensor.numel() != size or tensor.dtype != dtype:
        found = "missing" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"
        raise LayoutError(f"its {name} is {found}, expected {dtype} [{size}]")
    return np.array(tensor.numpy()).reshape(-1)
