"""Convert node attributes and constants to the form of specs."""

from math import prod
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import check_allowance, two_parts
from webkiln.frontends.inspect.header_only import placeholder_array
from webkiln.frontends.nodes.spec import MAX_BYTES
from webkiln.frontends.protobuf.large_arrays import array_bytes, array_length
from webkiln.frontends.tensorflow.messages import COMPLEX, DTYPES, STRING, dtype_name
from webkiln.ir.types import Array

MAX_REPEATED_BYTES = 256 << 20
"""The maximum size of a constant that repeats its last value."""
LISTS = ("s", "i", "f", "b", "type", "shape")
VALUES = {
    "float32": "float_val",
    "float64": "double_val",
    "int32": "int_val",
    "int16": "int_val",
    "int8": "int_val",
    "uint8": "int_val",
    "uint16": "int_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "float16": "half_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
}
"""The field of a TensorProto with the values of each dtype."""


def read_tensor(tensor: Any, where: str) -> Array:
    """The values of a TensorProto. Equal trailing values may be omitted. Complex numbers become two
    elements of a new last axis. Raises SourceError if the sizes do not match.
    """
    if tensor.dtype not in DTYPES and tensor.dtype not in COMPLEX:
        raise SourceError(
            f"{where}: its values are {dtype_name(tensor.dtype)}, expected one of"
            f" {', '.join(DTYPES.values())}"
        )
    dtype, shape = (
        np.dtype(dtype_name(tensor.dtype)),
        tuple(size.size for size in tensor.tensor_shape.dim),
    )
    count = prod(shape)
    if (
        tensor.tensor_shape.unknown_rank
        or any(size < 0 for size in shape)
        or count * dtype.itemsize > MAX_BYTES
    ):
        raise SourceError(
            f"{where}: its shape is {list(shape)}; sizes are 0 or more, and an array has at most"
            f" {MAX_BYTES} bytes"
        )
    if content := tensor.tensor_content:
        if array_length(content) != count * dtype.itemsize:
            raise SourceError(
                f"{where}: its shape is {list(shape)}, its data has"
                f" {array_length(content)} bytes; the file is damaged"
            )
        if (instead := placeholder_array(dtype, shape)) is not None:
            return two_parts(instead)
        return two_parts(
            np.frombuffer(array_bytes(content), dtype.newbyteorder("<"))
            .reshape(shape)
            .astype(dtype, copy=False)
        )
    stored = getattr(tensor, VALUES[dtype.name])
    if dtype.kind == "c":
        stored = np.array(stored[: len(stored) // 2 * 2]).reshape(-1, 2) @ (1, 1j)
    if len(stored) > count:
        raise SourceError(
            f"{where}: its shape is {list(shape)}, and it has {len(stored)} values; the file is"
            " damaged"
        )
    values = (
        np.array(stored, np.uint16).view(np.float16)
        if dtype == np.float16
        else np.array(stored, np.int64 if dtype.kind == "i" else dtype)
    )
    if (count - len(stored)) * dtype.itemsize > MAX_REPEATED_BYTES:
        raise SourceError(
            f"{where}: repeats a value {count - len(stored)} times (at most {MAX_REPEATED_BYTES}"
            " bytes); refused"
        )
    check_allowance(count * dtype.itemsize, where)
    array = np.zeros(count, dtype)
    array[: len(stored)] = values.astype(dtype)
    if len(stored):
        array[len(stored) :] = array[len(stored) - 1]
    return two_parts(array.reshape(shape))


def has_values(tensor: Any) -> bool:
    """Whether a TensorProto has values. One of a size of 0 needs none."""
    return (
        bool(tensor.tensor_content)
        or any(size.size == 0 for size in tensor.tensor_shape.dim)
        or any(len(getattr(tensor, field)) for field in ("string_val", *VALUES.values()))
    )


def store_tensor(tensor: Any, array: Array) -> None:
    """Fill an empty TensorProto. Arrays of objects hold bytes objects, which are strings."""
    if array.dtype == object:
        tensor.dtype = STRING
        tensor.string_val.extend(array.ravel().tolist())
    else:
        names = {name: code for code, name in (DTYPES | COMPLEX).items()}
        tensor.dtype, tensor.tensor_content = names[array.dtype.name], array.tobytes()
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)


def attribute(item: Any) -> Any:
    """The value of an attribute: numbers, strings, names of dtypes, shapes (-1 is a dynamic size,
    None an unknown rank), and tuples of these.
    """
    kind = next(
        (name for name in ("s", "i", "f", "b", "type", "shape", "list") if item.HasField(name)), ""
    )
    if kind == "list":
        name = next((name for name in LISTS if len(getattr(item.list, name))), "")
        return tuple(_plain(name, value) for value in getattr(item.list, name)) if name else ()
    return _plain(kind, getattr(item, kind)) if kind else None


def _plain(kind: str, value: Any) -> Any:
    if kind == "s":
        return value.decode(errors="backslashreplace")
    if kind == "type":
        return dtype_name(value)
    return shape_of(value) if kind == "shape" else value


def shape_of(shape: Any) -> tuple[int, ...] | None:
    return None if shape.unknown_rank else tuple(max(-1, size.size) for size in shape.dim)


def open_shape(shape: Any) -> tuple[int | None, ...] | None:
    """A shape as in declarations. None is a dynamic size."""
    sizes = shape_of(shape)
    return None if sizes is None else tuple(None if size < 0 else size for size in sizes)
