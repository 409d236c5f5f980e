"""Frames: a binary format for tensors, for communication with a JavaScript engine. `harness.js`
implements the other side.
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
    """An intermediate value that the bundle recorded."""

    layer: str
    variable: str
    value: np.ndarray


@dataclass(frozen=True, slots=True)
class FrameResult:
    """The result of one run: outputs by name, the times of the run and of the preceding load in
    milliseconds, and the recorded layers in program order.

    `products` is the dtype of products, if it depends on the device.
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
    """An array's elements. Strings become a JSON list."""
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
