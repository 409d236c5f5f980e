"""Messages without their large arrays have the same content; malformed messages, wrong lengths and
deep nesting are left unchanged.
"""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from webkiln.frontends.onnx.check import parse_model
from webkiln.frontends.onnx.load import read_checked
from webkiln.frontends.onnx.tensors import MODEL, read_array
from webkiln.frontends.protobuf.large_arrays import (
    MAGIC,
    MAX_FIELDS,
    MIN_BYTES,
    array_bytes,
    array_length,
    strip_arrays,
)
from webkiln.frontends.protobuf.wire import encode_field

pytestmark = pytest.mark.probes

LARGE = np.random.default_rng(0).normal(size=(150, 150)).astype(np.float32)
LAYOUT = {1: {2: 2}, 3: 4}


def constant(name, tensor):
    return helper.make_node("Constant", [], [name], value=tensor)


def model():
    """Weights in initialisers, constants, and constants inside branches; as raw data and as typed
    fields.
    """
    raw, listed = (
        numpy_helper.from_array(LARGE, "a"),
        helper.make_tensor("b", 1, LARGE.shape, LARGE.ravel()),
    )
    wide = helper.make_tensor("wide", 11, LARGE.shape, LARGE.ravel().astype(np.float64))
    branch = helper.make_graph(
        [constant("inner", raw)],
        "then",
        [],
        [helper.make_tensor_value_info("inner", 1, LARGE.shape)],
    )
    other = helper.make_graph(
        [constant("outer", listed)],
        "else",
        [],
        [helper.make_tensor_value_info("outer", 1, LARGE.shape)],
    )
    nodes = [
        helper.make_node("If", ["c"], ["chosen"], then_branch=branch, else_branch=other),
        constant("plain", raw),
        helper.make_node("Cast", ["wide"], ["narrow"], to=1),
        helper.make_node("Sum", ["a", "b", "chosen", "plain", "narrow"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("c", 9, [])],
        [helper.make_tensor_value_info("y", 1, LARGE.shape)],
        [raw, listed, wide],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_stripped_model_reads_like_the_full_one(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    onnx.save(model(), path)
    assert len(strip_arrays(path, MODEL)) < 4000 < 7 * LARGE.nbytes < path.stat().st_size
    restored = read_checked(path)
    monkeypatch.setattr("webkiln.frontends.protobuf.large_arrays.MIN_BYTES", 1 << 30)
    expected = read_checked(path)
    assert restored[0] == expected[0]
    assert restored[1].keys() == expected[1].keys()
    assert {str(array.dtype) for array in restored[1].values()} == {"float32", "float64"}
    for key, array in expected[1].items():
        np.testing.assert_array_equal(restored[1][key], array)


def test_references_lead_to_the_arrays_in_the_file(tmp_path):
    path = tmp_path / "m\udcff odd name"
    data = bytes(range(256)) * (MIN_BYTES >> 7)
    path.write_bytes(
        encode_field(7, b"before")
        + encode_field(1, encode_field(2, data) + encode_field(2, b"short"))
        + encode_field(3, data[1:])
        + encode_field(9, data)
    )
    stripped = strip_arrays(path, LAYOUT)
    assert stripped.startswith(encode_field(7, b"before"))
    assert stripped.endswith(encode_field(9, data))
    assert encode_field(2, b"short") in stripped
    first = stripped.index(MAGIC)
    second = stripped.index(MAGIC, first + 1)
    end = len(MAGIC) + 16 + len(bytes(path))
    assert [array_length(stripped[start : start + end]) for start in (first, second)] == [
        len(data),
        len(data) - 1,
    ]
    assert [array_bytes(stripped[start : start + end]) for start in (first, second)] == [
        data,
        data[1:],
    ]
    assert (array_length(data), array_bytes(data)) == (len(data), data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        encode_field(3, bytes(100)),
        bytes(MIN_BYTES),
        encode_field(3, bytes(MIN_BYTES))[:-1],
        b"\x0b" * MIN_BYTES,
        b"\x08\x01" * (MAX_FIELDS + 9) + encode_field(3, bytes(MIN_BYTES)),
    ],
    ids=["empty", "short", "no message", "cut off", "groups", "many fields"],
)
def test_messages_that_are_not_stripped(data, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(data)
    assert strip_arrays(path, LAYOUT) == data


def test_nesting_is_limited(tmp_path):
    path, layout = tmp_path / "file", {3: 3}
    layout[1] = layout
    data = encode_field(3, bytes(MIN_BYTES))
    for _ in range(2000):
        data = encode_field(1, data)
    path.write_bytes(data)
    assert strip_arrays(path, layout) == data


def test_a_wrong_shape_is_an_error(tmp_path):
    path, wrong = tmp_path / "model.onnx", model()
    wrong.graph.initializer[0].dims[:] = [150, 151]
    onnx.save(wrong, path)
    tensor = parse_model(path).graph.initializer[0]
    with pytest.raises(Exception, match=r"its shape is \[150, 151\], its data has 90000 bytes"):
        read_array(tensor, None, "a")
