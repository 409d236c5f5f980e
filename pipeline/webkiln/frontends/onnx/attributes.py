"""The attributes of a node as arrays, numbers and texts."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx

from webkiln.errors import SourceError
from webkiln.frontends.onnx.tensors import read_array


def raw_attributes(node: onnx.NodeProto, folder: Path | None, where: str) -> dict[str, Any]:
    """By name: arrays where there are several numbers, lists of texts, single numbers and texts."""
    return {item.name: _raw(item, folder, f"{where}: {item.name}") for item in node.attribute}


def _raw(item: onnx.AttributeProto, folder: Path | None, where: str) -> Any:
    types = onnx.AttributeProto
    match item.type:
        case types.FLOATS:
            return np.array(item.floats, np.float32)
        case types.INTS:
            return np.array(item.ints, np.int64)
        case types.STRINGS:
            known: dict[bytes, str] = {}
            return [
                known[value] if value in known else known.setdefault(value, as_text(value, where))
                for value in item.strings
            ]
        case types.TENSOR:
            return (
                texts_of(item.t, where)
                if item.t.data_type == onnx.TensorProto.STRING
                else read_array(item.t, folder, where)
            )
        case types.INT:
            return item.i
        case types.FLOAT:
            return item.f
        case types.STRING:
            return as_text(item.s, where)
    raise SourceError(f"{where}: is an attribute of a kind that cannot be read")


def texts_of(tensor: onnx.TensorProto, where: str) -> list[str]:
    return [as_text(value, where) for value in tensor.string_data]


def as_text(data: bytes, where: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise SourceError(f"{where}: {data!r} is no text") from None
