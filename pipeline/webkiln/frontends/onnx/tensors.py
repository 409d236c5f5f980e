"""Arrays in an ONNX file and its external data. Sizes are checked before data is read or
allocated.
"""

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from webkiln.errors import SourceError
from webkiln.frontends.inspect.header_only import placeholder_array
from webkiln.frontends.nodes import narrow
from webkiln.frontends.nodes.spec import MAX_BYTES
from webkiln.frontends.protobuf.large_arrays import array_bytes, array_length
from webkiln.ir.dim import known_shape
from webkiln.ir.types import Array

DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
    10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
}  # fmt: skip

RAW = 9
TENSOR = {4: RAW, RAW: RAW, 10: RAW}
"""Field numbers that lead to arrays (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
Packed float32 and float64 fields have the same bytes as raw data.
"""
GRAPH: dict[int, Any] = {5: TENSOR}
NODE = {5: {5: TENSOR, 6: GRAPH, 10: TENSOR, 11: GRAPH}}
GRAPH[1] = NODE
MODEL = {7: GRAPH, 25: {7: NODE}}


def dtype_name(code: int) -> str:
    """The dtype of an element type code; the lower-case ONNX name of one that webkiln does not
    support.
    """
    if code in DTYPES:
        return DTYPES[code]
    names = {number: name for name, number in onnx.TensorProto.DataType.items()}
    return str(names.get(code, f"type {code}")).lower()


def read_array(tensor: onnx.TensorProto, folder: Path | None, where: str) -> Array:
    """The values of a tensor; `folder` contains its external data. Raise SourceError if the tensor
    is damaged, or if its data is outside the folder.
    """
    if tensor.data_type not in DTYPES:
        raise SourceError(
            f"{where}: its values are {dtype_name(tensor.data_type)}, expected one of"
            f" {', '.join(DTYPES.values())}"
        )
    dtype, shape = np.dtype(DTYPES[tensor.data_type]), tuple(tensor.dims)
    return _read(tensor, dtype, shape, folder, where)


def is_narrow(tensor: onnx.TensorProto) -> bool:
    """Whether the values have a dtype that the IR does not have (`nodes/narrow.py`)."""
    return dtype_name(tensor.data_type) in narrow.BITS


def read_bytes(tensor: onnx.TensorProto, folder: Path | None, where: str) -> Array:
    """The bytes of the values of a dtype that the IR does not have, as `narrow.stored_type`.
    Raises SourceError like `read_array`.
    """
    shape = tuple(tensor.dims)
    _check_sizes(shape, 1, where)
    type_ = narrow.stored_type(dtype_name(tensor.data_type), shape)
    return _read(tensor, np.dtype(type_.dtype), known_shape(type_.shape, where), folder, where)


def with_data(tensor: onnx.TensorProto, folder: Path | None, where: str) -> onnx.TensorProto:
    """A tensor that contains its external data. Raises SourceError like `read_array`."""
    read = read_bytes if is_narrow(tensor) else read_array
    values = read(tensor, folder, where)
    data = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    return onnx.TensorProto(
        name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=data
    )


def _check_sizes(shape: tuple[int, ...], itemsize: int, where: str) -> None:
    if any(size < 0 for size in shape) or prod(shape) * itemsize > MAX_BYTES:
        raise SourceError(
            f"{where}: its shape is {list(shape)}; sizes are 0 or more, and an array has at most"
            f" {MAX_BYTES} bytes"
        )


def _read(
    tensor: onnx.TensorProto,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    folder: Path | None,
    where: str,
) -> Array:
    """The elements of a tensor, as an array of another dtype and shape with the same bytes."""
    _check_sizes(shape, dtype.itemsize, where)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        extent = _external(tensor, folder, where, prod(shape) * dtype.itemsize)
        if (placeholder := placeholder_array(dtype, shape)) is not None:
            return placeholder
        data = _bytes(*extent)
        return np.frombuffer(data, dtype.newbyteorder("<")).reshape(shape).astype(dtype, copy=False)
    if raw := tensor.raw_data:
        if array_length(raw) != prod(shape) * dtype.itemsize:
            raise SourceError(
                f"{where}: its shape is {list(shape)}, its data has {array_length(raw)} bytes; the"
                " file is damaged"
            )
        if (placeholder := placeholder_array(dtype, shape)) is not None:
            return placeholder
        return (
            np.frombuffer(array_bytes(raw), dtype.newbyteorder("<"))
            .reshape(shape)
            .astype(dtype, copy=False)
        )
    try:
        values = (
            np.array(tensor.int32_data) & np.iinfo(dtype).max
            if is_narrow(tensor)
            else np.asarray(numpy_helper.to_array(tensor))
        )
        return values.reshape(shape).astype(dtype, copy=False)
    except (ValueError, TypeError) as error:
        raise SourceError(
            f"{where}: its shape is {list(shape)}, its data does not fit: {error}; the file is"
            " damaged"
        ) from None


def _external(
    tensor: onnx.TensorProto, folder: Path | None, where: str, size: int
) -> tuple[Path, int, int]:
    """(path, offset, length) of external data."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise SourceError(
            f"{where}: its data is in the file {location!r}; a model in memory has no folder; pass"
            " the path of the model file instead"
        )
    path = external_path(folder, location, where)
    offset, length = (
        _count(entries.get(key, standard), key, where)
        for key, standard in (("offset", "0"), ("length", str(size)))
    )
    if length != size or offset + length > path.stat().st_size:
        raise SourceError(
            f"{where}: needs {size} bytes, its data is declared as {length} bytes at {offset} of"
            f" {location}, which has {path.stat().st_size}"
        )
    return path, offset, length


def _bytes(path: Path, offset: int, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(length)


def load_external(model: onnx.ModelProto, folder: Path, name: str) -> None:
    """Load external data into the model."""
    graphs = [model.graph]
    for graph in graphs:
        attributes = [item for node in graph.node for item in node.attribute]
        graphs += [item.g for item in attributes if item.type == onnx.AttributeProto.GRAPH]
        for tensor in (
            *graph.initializer,
            *(item.t for item in attributes if item.type == onnx.AttributeProto.TENSOR),
        ):
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                tensor.CopyFrom(with_data(tensor, folder, f"{name}: {tensor.name}"))


def external_path(folder: Path, location: str, where: str) -> Path:
    """The path of an external data file, which must be in the model's folder."""
    path = folder / location
    if not location or Path(location).is_absolute() or ".." in Path(location).parts:
        raise SourceError(
            f"{where}: its data is in {location!r}, outside the model's folder; refused"
        )
    if not path.is_file():
        raise SourceError(
            f"{where}: its data is in {location!r}, which is not in the model's folder; copy it"
            " there"
        )
    return path


def _count(text: str, key: str, where: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise SourceError(f"{where}: the {key} of its data is {text!r}, expected a number of bytes")
    return int(text)
