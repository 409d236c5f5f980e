"""Damaged and unsupported files are rejected with a message that names the file."""

from pathlib import Path
from typing import Any

import pytest
from ai_edge_litert import schema_py_generated as schema

from tests.frontends.tflite.files import dense, packed, unpacked
from tests.frontends.tflite.operator_model import Single, f, model_bytes, options
from webkiln.errors import SourceError, UnsupportedError
from webkiln.frontends.tflite.load import read_model


def edited(change: Any) -> bytes:
    model = unpacked(model_bytes(dense()))
    change(model)
    return packed(model)


def set_buffer(model: Any, number: int) -> None:
    model.subgraphs[0].tensors[1].buffer = number


def set_first_input(model: Any, number: int) -> None:
    model.subgraphs[0].operators[0].inputs = [number, 1, 2]


def set_shape(model: Any, *shape: int) -> None:
    model.subgraphs[0].tensors[1].shape = list(shape)


def set_operator(model: Any, number: int) -> None:
    model.operatorCodes[0].builtinCode = number


def call_itself(model: Any) -> None:
    operator = model.subgraphs[0].operators[0]
    set_operator(model, schema.BuiltinOperator.WHILE)
    operator.builtinOptions, operator.builtinOptionsType = (
        schema.WhileOptionsT(),
        schema.BuiltinOptions.WhileOptions,
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a LiteRT"),
        (b"\0\0\0\0TFL3", "has version 0 of the format"),
        (b"\xff\xff\xff\xffTFL3", "outside the file"),
        (model_bytes(dense())[:200], "outside the file"),
        (
            edited(lambda model: setattr(model, "version", 9)),
            "has version 9 of the format, expected 3",
        ),
        (edited(lambda model: setattr(model, "subgraphs", [])), "contains no graph"),
        (edited(lambda model: set_buffer(model, 99)), "its values are in buffer 99, the file has"),
        (
            edited(lambda model: set_first_input(model, 77)),
            "tensor 77 does not exist, the graph has 4",
        ),
        (
            edited(lambda model: set_first_input(model, 3)),
            "tensor 3 .y0. is read before an operator writes it",
        ),
        (
            edited(lambda model: set_shape(model, 1 << 30, 1 << 30)),
            r"float32\[1073741824, 1073741824\] has \d+ bytes, its buffer 96",
        ),
        (edited(lambda model: set_shape(model, -4, 6)), r"its shape is \[-4, 6\]"),
        (
            edited(lambda model: set_operator(model, 4000)),
            "has the number 4000, supported are 0 to 209",
        ),
        (edited(call_itself), "calls graph 0 inside itself"),
    ],
)
def test_damaged_files_are_rejected(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=message) as raised:
        read_model(path)
    assert str(raised.value).startswith("net.tflite")


def test_unsupported_types_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    model = unpacked(
        model_bytes(Single("skip", "SKIP_GRAM", [f(2)], [f(2)], options("SkipGramOptions")))
    )
    model.subgraphs[0].tensors[0].type = schema.TensorType.STRING
    path.write_bytes(packed(model))
    with pytest.raises(UnsupportedError, match="x0: is of string"):
        read_model(path)
