"""Readers of attributes that several operators of ai.onnx.ml share."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.onnx.trees import POST_TRANSFORMS, check_count
from webkiln.ir.types import Array

RawAttributes = Mapping[str, Any]


NodeDescription = tuple[dict[str, Any], dict[str, Array | None]]


def float_array(raw: RawAttributes, name: str) -> Array | None:
    values = raw.get(name)
    return None if values is None or not len(values) else np.asarray(values)


def one_of(
    raw: RawAttributes, name: str, choices: tuple[str, ...], default: str, where: str
) -> str:
    value = raw.get(name, default)
    if value not in choices:
        raise SourceError(
            f"{where}: its attribute {name} is {value!r}, expected one of {', '.join(choices)}"
        )
    return str(value)


def post_transform(raw: RawAttributes, where: str) -> dict[str, Any]:
    return {"post_transform": one_of(raw, "post_transform", POST_TRANSFORMS, "NONE", where)}


def classes_of(raw: RawAttributes, count: int, where: str) -> tuple[int, ...]:
    """The integer labels of the classes, or indices of string labels."""
    check_count(count, where)
    for name in ("classlabels_ints", "classlabels_int64s"):
        if len(raw.get(name, ())):
            return tuple(raw[name].tolist())
    return tuple(range(len(raw.get("classlabels_strings", ())) or count))


def read_matrix(values: Array, rows: int, name: str, where: str) -> Array:
    if rows <= 0 or values.size % rows:
        raise SourceError(
            f"{where}: its attribute {name} has {values.size} elements, expected a multiple of"
            f" {rows}; the file is damaged"
        )
    return values.reshape(rows, -1)


def intercepts_of(raw: RawAttributes, name: str, count: int, where: str) -> Array | None:
    values = float_array(raw, name)
    if values is not None and len(values) != count:
        raise SourceError(
            f"{where}: its attribute {name} has {len(values)} elements, expected {count}; the file"
            " is damaged"
        )
    return values


def affine(
    coefficients: Array, raw: RawAttributes, count: int, where: str
) -> dict[str, Array | None]:
    return {
        "coefficients": read_matrix(coefficients, count, "coefficients", where),
        "intercepts": intercepts_of(raw, "intercepts", count, where),
    }


def floats_or_tensor(raw: RawAttributes, name: str) -> Array | None:
    """A float attribute, given as a list or as a tensor."""
    return float_array(raw, name) if name in raw else float_array(raw, f"{name}_as_tensor")
