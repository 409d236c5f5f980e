"""Frames: a binary serialisation of tensors between Python and a JavaScript engine; `harness.js`
has the other end.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

STRING = "string"


@dataclass(frozen=True, slots=True)
class KeptLayer:
    """An intermediate value that the bundle kept."""

    layer: str
    variable: str
    value: np.ndarray


@dataclass(frozen=True, slots=True)
class FrameResult:
    """What one run gave: outputs by name, milliseconds of the run and of the load before it, kept
    layers in program order.

    `products` is the dtype in which products were computed, where that depends on the device.
    """

    outputs: dict[str, np.ndarray]
    ms: float
    load_ms: float
    variant: str | None
    layers: tuple[KeptLayer, ...]
    products: str | None = None


def encode(values: Mapping[str, np.ndarray]) -> bytes:
    parts = {name: _bytes(value) for name, value in values.items()}
    kinds = {
        name: STRING if value.dtype.kind == "U" else str(value.dtype)
        for name, value in values.items()
    }
    tensors = [
        {"name": n, "dtype": kinds[n], "shape": list(values[n].shape), "bytes": len(part)}
        for n, part in parts.items()
    ]
    header = json.dumps({"tensors": tensors}).encode()
    return struct.pack("<I", len(header)) + header + b"".join(parts.values())


def _bytes(value: np.ndarray) -> bytes:
    """The elements of an array; of strings a JSON list."""
    return (
        json.dumps(value.ravel().tolist()).encode()
        if value.dtype.kind == "U"
        else np.ascontiguousarray(value).tobytes()
    )


def decode(frame: bytes) -> FrameResult:
    (length,) = struct.unpack_from("<I", frame)
    header: dict[str, Any] = json.loads(frame[4 : 4 + length])
    offset = 4 + length
    outputs: dict[str, np.ndarray] = {}
    layers: list[KeptLayer] = []
    for tensor in header["tensors"]:
        dtype = np.dtype(tensor["dtype"])
        count = tensor["bytes"] // dtype.itemsize
        value = np.frombuffer(frame, dtype, count, offset).reshape(tensor["shape"]).copy()
        offset += tensor["bytes"]
        if "layer" in tensor:
            layers.append(KeptLayer(tensor["layer"], tensor["name"], value))
        else:
            outputs[tensor["name"]] = value
    return FrameResult(
        outputs,
        header["ms"],
        header["loadMs"],
        header["variant"],
        tuple(layers),
        header.get("products"),
    )
