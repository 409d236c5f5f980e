"""Attributes of a node as arrays, numbers and strings."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx

from webkiln.errors import SourceError
from webkiln.frontends.onnx.tensors import read_array


def raw_attributes(node: onnx.NodeProto, folder: Path | None, where: str) -> dict[str, Any]:
    """Name -> value: an array for several numbers, a list of strings, or a single number or
    string.
    """
    return {item.name: _raw(item, folder, f"{where}: {item.name}") for item in node.attribute}


def _raw(item: onnx.AttributeProto, folder: Path | None, where: str) -> Any:
    types = onnx.AttributeProto
    match item.type:
        case types.FLOATS:
            return np.array(item.floats, np.float32)
        case types.INTS:
            return np.array(item.ints, np.int64)
        case types.STRINGS:
            decoded: dict[bytes, str] = {}
            return [
                decoded[value]
                if value in decoded
                else decoded.setdefault(value, decode_text(value, where))
                for value in item.strings
            ]
        case types.TENSOR:
            return (
                decode_strings(item.t, where)
                if item.t.data_type == onnx.TensorProto.STRING
                else read_array(item.t, folder, where)
            )
        case types.INT:
            return item.i
        case types.FLOAT:
            return item.f
        case types.STRING:
            return decode_text(item.s, where)
    raise SourceError(f"{where}: has an attribute type that cannot be read")


def decode_strings(tensor: onnx.TensorProto, where: str) -> list[str]:
    return [decode_text(value, where) for value in tensor.string_data]


def decode_text(data: bytes, where: str) -> str:
    """Decode UTF-8. Raise SourceError if the bytes are not text."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise SourceError(f"{where}: {data!r} is no text") from None
