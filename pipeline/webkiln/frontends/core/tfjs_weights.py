"""The weights that the manifest of a TensorFlow.js layers or graph model lists."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.core.tfjs_manifest import shard_names
from webkiln.frontends.inspect.header_only import placeholder_array
from webkiln.ir.types import Array

MAX_BYTES = 8 << 30
"""Limit for one weight."""
DTYPES = {
    "float32": "<f4",
    "float16": "<f2",
    "int32": "<i4",
    "uint8": "u1",
    "uint16": "<u2",
    "bool": "u1",
}
GRAPH_DTYPES = {**DTYPES, "complex64": "<c8", "string": "O"}
"""Constants of graph models have further dtypes."""
QUANTIZED = ("uint8", "uint16", "float16")
LENGTH_BYTES = 4
"""Each string is preceded by its length."""


class ManifestWeight(NamedTuple):
    """A weight before it is read: its name in the manifest, and the shape of the array that `read`
    returns.
    """

    name: str
    shape: tuple[int, ...]
    read: Callable[[], Array]


def manifest_weights(
    source: str, data: Mapping[str, Any], folder: Path, *, graph: bool = False
) -> list[ManifestWeight]:
    """The weights in the order of the manifest. The files of a group are one concatenated byte
    sequence. `graph`: they are constants of a graph, which may be NaN, complex numbers or strings
    (arrays of bytes objects).

    Raise SourceError if a file is missing, or if its size contradicts the manifest.
    """
    shard_names(source, data)
    weights: list[ManifestWeight] = []
    for group in data["weightsManifest"]:
        parts = [folder / name for name in group["paths"]]
        for name, part in zip(group["paths"], parts, strict=True):
            if not part.is_file():
                raise SourceError(
                    f"{source}: its weights are in {name!r}, which is not in its folder; copy all"
                    " files of the model"
                )
        sizes = [part.stat().st_size for part in parts]
        at = 0
        for item in group["weights"]:
            entry, size = _weight_at(source, item, parts, sizes, at, graph=graph)
            weights.append(entry)
            at += size
        if at != sum(sizes):
            raise SourceError(
                f"{source}: {', '.join(group['paths'])} hold {sum(sizes)} bytes, the manifest lists"
                f" weights of {at}; a file is damaged or belongs to another model; copy them again"
            )
    names = [entry.name for entry in weights]
    if len(set(names)) != len(names):
        raise SourceError(f"{source}: its manifest lists a weight twice; convert the model again")
    return weights


def _weight_at(
    source: str,
    weight: Mapping[str, Any],
    parts: Sequence[Path],
    sizes: Sequence[int],
    at: int,
    *,
    graph: bool,
) -> tuple[ManifestWeight, int]:
    """The weight that starts at byte `at` of its group, and its size in bytes."""
    name, dtype, shape = str(weight["name"]), str(weight["dtype"]), tuple(weight["shape"])
    dtypes = GRAPH_DTYPES if graph else DTYPES
    quantization = weight.get("quantization") or {}
    stored = str(quantization.get("dtype", dtype))
    if stored not in (QUANTIZED if quantization else dtypes) or dtype not in dtypes:
        kinds = f"quantized to {', '.join(QUANTIZED)}, or one of {', '.join(dtypes)}"
        raise SourceError(
            f"{source}: weight {name} has dtype {dtype if dtype not in dtypes else stored};"
            f" expected {kinds}"
        )
    if (
        not all(type(size) is int and 0 <= size < MAX_BYTES for size in shape)
        or math.prod(shape) > MAX_BYTES
    ):
        raise SourceError(f"{source}: weight {name} claims shape {list(shape)}; refused")
    if stored == "string":
        texts, length = _strings(source, name, shape, parts, sizes, at)
        return ManifestWeight(name, shape, lambda: texts), length
    length = math.prod(shape) * np.dtype(dtypes[stored]).itemsize
    if at + length > sum(sizes):
        names = ", ".join(part.name for part in parts)
        raise SourceError(
            f"{source}: {names} hold {sum(sizes)} bytes, weight {name} ends at byte {at + length};"
            " copy the files again"
        )

    def read() -> Array:
        if (
            placeholder := placeholder_array("bool" if dtype == "bool" else dtypes[dtype], shape)
        ) is not None:
            _dequantize(source, name, np.zeros(0, dtypes[stored]), quantization, dtype)
            return placeholder
        values = np.frombuffer(_read_range(parts, sizes, at, length), dtypes[stored]).reshape(shape)
        result = _dequantize(source, name, values, quantization, dtype)
        if not graph and result.dtype.kind == "f" and np.isnan(result).any():
            raise SourceError(
                f"{source}: {name} holds {int(np.isnan(result).sum())} NaN of {result.size}; train"
                " the model again"
            )
        return result

    return ManifestWeight(name, shape, read), length


def _strings(
    source: str,
    name: str,
    shape: tuple[int, ...],
    parts: Sequence[Path],
    sizes: Sequence[int],
    at: int,
) -> tuple[Array, int]:
    """An array of bytes objects, and its length in the file."""
    data, end = memoryview(_read_range(parts, sizes, at, max(sum(sizes) - at, 0))), 0
    texts: list[bytes] = []
    for _ in range(math.prod(shape)):
        start = end + LENGTH_BYTES
        end = start + int.from_bytes(data[end:start], "little")
        if end > len(data):
            raise SourceError(
                f"{source}: the strings of {name} end after the last file; copy the files again"
            )
        texts.append(bytes(data[start:end]))
    array = np.empty(len(texts), object)
    array[:] = texts
    return array.reshape(shape), end


def _read_range(parts: Sequence[Path], sizes: Sequence[int], at: int, length: int) -> bytes:
    """Read `length` bytes at offset `at` of the concatenated files."""
    chunks = []
    for part, size in zip(parts, sizes, strict=True):
        if 0 <= at < size and length:
            with part.open("rb") as file:
                file.seek(at)
                chunks.append(file.read(min(length, size - at)))
            length -= len(chunks[-1])
        at = max(at - size, 0)
    return b"".join(chunks)


def _dequantize(
    source: str, name: str, values: Array, quantization: Mapping[str, Any], dtype: str
) -> Array:
    """Undo the quantization: scale * q + min, in float32 as in TensorFlow.js."""
    if values.dtype.kind == "u" and quantization:
        scale, minimum = quantization.get("scale"), quantization.get("min")
        if (
            not isinstance(scale, int | float)
            or not isinstance(minimum, int | float)
            or not math.isfinite(scale)
            or not math.isfinite(minimum)
        ):
            raise SourceError(
                f"{source}: weight {name} is quantized to {values.dtype} without scale and min;"
                " convert the model again"
            )
        values = values * np.float64(scale) + np.float64(minimum)
        values = np.round(values) if dtype == "int32" else values
    return values.astype("bool" if dtype == "bool" else GRAPH_DTYPES[dtype])
