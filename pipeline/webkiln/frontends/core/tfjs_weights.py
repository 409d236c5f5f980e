"""The weights that the manifest of a TensorFlow.js model lists, whichever kind of model it is."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.core.tfjs_manifest import shard_names
from webkiln.frontends.inspect.header_only import unread
from webkiln.ir.types import Array

MAX_BYTES = 8 << 30
"""The most that one weight may have."""
DTYPES = {
    "float32": "<f4",
    "float16": "<f2",
    "int32": "<i4",
    "uint8": "u1",
    "uint16": "<u2",
    "bool": "u1",
}
QUANTIZED = ("uint8", "uint16", "float16")


class ManifestWeight(NamedTuple):
    """A weight before it is read: what the manifest calls it, and the shape of what `read` gives."""

    name: str
    shape: tuple[int, ...]
    read: Callable[[], Array]


def manifest_weights(source: str, data: Mapping[str, Any], folder: Path) -> list[ManifestWeight]:
    """The weights of the manifest, in its order; the files of each of its groups are one run of
    bytes.
    """
    shard_names(source, data)
    found: list[ManifestWeight] = []
    for group in data["weightsManifest"]:
        parts = [folder / name for name in group["paths"]]
        for name, part in zip(group["paths"], parts, strict=True):
            if not part.is_file():
                raise SourceError(
                    f"{source}: its weights are in {name!r}, which is not beside it; copy all files"
                    " of the model"
                )
        sizes = [part.stat().st_size for part in parts]
        at = 0
        for weight in group["weights"]:
            held, size = _held(source, weight, parts, sizes, at)
            found.append(held)
            at += size
        if at != sum(sizes):
            raise SourceError(
                f"{source}: {', '.join(group['paths'])} hold {sum(sizes)} bytes, the manifest lists"
                f" weights of {at}; a file is damaged or of another model, copy them again"
            )
    names = [held.name for held in found]
    if len(set(names)) != len(names):
        raise SourceError(f"{source}: its manifest lists a weight twice; convert the model again")
    return found


def _held(
    source: str, weight: Mapping[str, Any], parts: Sequence[Path], sizes: Sequence[int], at: int
) -> tuple[ManifestWeight, int]:
    """A weight that begins at a byte of its group, and how many bytes it has."""
    name, dtype, shape = str(weight["name"]), str(weight["dtype"]), tuple(weight["shape"])
    packing = weight.get("quantization") or {}
    stored = str(packing.get("dtype", dtype))
    if stored not in (QUANTIZED if packing else DTYPES) or dtype not in DTYPES:
        kinds = f"quantized to {', '.join(QUANTIZED)}, or one of {', '.join(DTYPES)}"
        raise SourceError(
            f"{source}: weight {name} has dtype {dtype if dtype not in DTYPES else stored};"
            f" expected {kinds}"
        )
    if (
        not all(type(size) is int and 0 <= size < MAX_BYTES for size in shape)
        or math.prod(shape) > MAX_BYTES
    ):
        raise SourceError(f"{source}: weight {name} claims shape {list(shape)}; refused")
    length = math.prod(shape) * np.dtype(DTYPES[stored]).itemsize
    if at + length > sum(sizes):
        names = ", ".join(part.name for part in parts)
        raise SourceError(
            f"{source}: {names} hold {sum(sizes)} bytes, weight {name} ends at byte {at + length};"
            " copy the files again"
        )

    def read() -> Array:
        if (instead := unread("bool" if dtype == "bool" else DTYPES[dtype], shape)) is not None:
            _unpacked(source, name, np.zeros(0, DTYPES[stored]), packing, dtype)
            return instead
        values = np.frombuffer(_bytes(parts, sizes, at, length), DTYPES[stored]).reshape(shape)
        result = _unpacked(source, name, values, packing, dtype)
        if result.dtype.kind == "f" and np.isnan(result).any():
            raise SourceError(
                f"{source}: {name} holds {int(np.isnan(result).sum())} NaN of {result.size}; train"
                " the model again"
            )
        return result

    return ManifestWeight(name, shape, read), length


def _bytes(parts: Sequence[Path], sizes: Sequence[int], at: int, length: int) -> bytes:
    """Bytes of files that follow each other."""
    found = []
    for part, size in zip(parts, sizes, strict=True):
        if 0 <= at < size and length:
            with part.open("rb") as file:
                file.seek(at)
                found.append(file.read(min(length, size - at)))
            length -= len(found[-1])
        at = max(at - size, 0)
    return b"".join(found)


def _unpacked(
    source: str, name: str, values: Array, packing: Mapping[str, Any], dtype: str
) -> Array:
    """Numbers as they were before quantization: scale * q + min, in float32 as TensorFlow.js
    computes it.
    """
    if values.dtype.kind == "u" and packing:
        scale, least = packing.get("scale"), packing.get("min")
        if (
            not isinstance(scale, int | float)
            or not isinstance(least, int | float)
            or not math.isfinite(scale)
            or not math.isfinite(least)
        ):
            raise SourceError(
                f"{source}: weight {name} is quantized to {values.dtype} without scale and min;"
                " convert the model again"
            )
        values = values * np.float64(scale) + np.float64(least)
        values = np.round(values) if dtype == "int32" else values
    return values.astype("bool" if dtype == "bool" else DTYPES[dtype])
