"""Custom operators, small integer types, and recurrent layers of integers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema

from tests.frontends.tflite.files import packed, unpacked
from tests.frontends.tflite.loading import graph_of
from tests.frontends.tflite.operator_model import (
    Single,
    T,
    f,
    floats,
    integers,
    ints,
    model_bytes,
    options,
    q,
)
from tests.frontends.tflite.singles.table import INTEGER_SINGLES
from webkiln.errors import UnsupportedError
from webkiln.frontends.tflite.converter import TfliteConverter
from webkiln.frontends.tflite.reference import Interpreted
from webkiln.ops.evaluate import next_states, run_graph


def test_a_registered_handler_converts_a_custom_operator(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(model_bytes(Single("own", "Twice", [f(2, 3)], [f(2, 3)], custom=b"\x05")))
    with pytest.raises(UnsupportedError, match=r"y0 \(Twice\): no handler"):
        graph_of(path)
    with TfliteConverter.handlers.isolated():
        TfliteConverter.register_handler("Twice", domain="custom")(
            lambda call: call.tensor(0) * float(call.attr("custom_options")[0])
        )
        x = floats(3, 2, 3)
        assert np.allclose(run_graph(graph_of(path), {"x0": x})[0]["y0"], x * 5)


POOL = np.array([1, 2, 2, 2, 2, 0], np.int32).tobytes()


def test_operators_of_mediapipe_match_numpy_and_tensorflow(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    x = floats(3, 1, 4, 6, 3)
    path.write_bytes(
        model_bytes(
            Single(
                "pool",
                "MaxPoolingWithArgmax2D",
                [f(1, 4, 6, 3)],
                [f(1, 2, 3, 3), f(1, 2, 3, 3)],
                custom=POOL,
            )
        )
    )
    pooled, _ = run_graph(graph_of(path), {"x0": x})
    blocks = x.reshape(2, 2, 3, 2, 3).transpose(0, 2, 4, 1, 3).reshape(2, 3, 3, 4)
    assert np.array_equal(pooled["y0"][0], blocks.max(-1))
    assert np.allclose(pooled["y1"][0], blocks.argmax(-1) + 0.1)
    path.write_bytes(
        model_bytes(
            Single(
                "unpool",
                "MaxUnpooling2D",
                [f(1, 2, 3, 3), f(1, 2, 3, 3)],
                [f(1, 4, 6, 3)],
                custom=POOL,
            )
        )
    )
    unpooled, _ = run_graph(graph_of(path), {"x0": pooled["y0"], "x1": pooled["y1"]})
    assert np.array_equal(unpooled["y0"], np.where(np.isin(x, pooled["y0"]), x, 0))
    kernel, bias = floats(4, 5, 2, 2, 3), floats(5, 5)
    convolution = Single(
        "up",
        "Convolution2DTransposeBias",
        [f(1, 4, 6, 3), f(5, 2, 2, 3, value=kernel), f(5, value=bias)],
        [f(1, 8, 12, 5)],
        custom=np.array([1, 2, 2], np.int32).tobytes(),
    )
    path.write_bytes(model_bytes(convolution))
    outputs, _ = run_graph(graph_of(path), {"x0": x})
    expected = (
        tf.nn.conv2d_transpose(x, kernel.transpose(1, 2, 0, 3), [1, 8, 12, 5], 2, "SAME").numpy()
        + bias
    )
    assert np.allclose(outputs["y0"], expected, atol=1e-5)


@pytest.mark.parametrize("classes", [500, 600, 1000, 3000])
def test_shares_of_many_equal_classes_are_zero(classes: int, tmp_path: Path) -> None:
    """The reference kernel shifts by more than 31 places here, and fails; others do not."""
    from ai_edge_litert.interpreter import Interpreter

    single = Single(
        "many",
        "SOFTMAX",
        [q("int8", 2, classes, scale=0.003, zero=12)],
        [q("int8", 2, classes, scale=1 / 256, zero=-128)],
        options("SoftmaxOptions", beta=1.0),
    )
    path = tmp_path / "many.tflite"
    path.write_bytes(model_bytes(single))
    x = np.full((2, classes), 7, np.int8)
    interpreter = Interpreter(model_path=str(path))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_array_equal(run_graph(graph_of(path), {"x0": x})[0]["y0"], expected)


def test_int4_weights_are_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    single = Single(
        "four", "DEQUANTIZE", [q("int8", 5, scale=0.5, value=np.arange(5, dtype=np.int8))], [f(5)]
    )
    model = unpacked(model_bytes(single))
    tensor = model.subgraphs[0].tensors[0]
    tensor.type = schema.TensorType.INT4
    model.buffers[tensor.buffer].data = np.array([0x21, 0xF8, 0x07], np.uint8)
    model.subgraphs[0].inputs = []
    path.write_bytes(packed(model))
    outputs, _ = run_graph(graph_of(path), {})
    assert np.array_equal(outputs["y0"], np.array([1, 2, -8, -1, 7], np.float32) * 0.5)


@pytest.mark.parametrize("op", ["SQUARE", "NEG", "SIN", "POW", "FLOOR_DIV", "CUMSUM", "ADD_N"])
def test_operators_without_integer_arithmetic_reject_quantized_operands(
    op: str, tmp_path: Path
) -> None:
    path = tmp_path / "net.tflite"
    items = [q("int8", 3, 4, scale=0.1, zero=3)] * (2 if op in ("POW", "FLOOR_DIV", "ADD_N") else 1)
    path.write_bytes(model_bytes(Single("own", op, items, [q("int8", 3, 4, scale=0.2, zero=1)])))
    with pytest.raises(UnsupportedError, match=f"y0 \\({op}\\)"):
        graph_of(path)


def integer_layers() -> dict[str, tuple[Single, str]]:
    """Unsupported recurrent layers of integers, with a part of the error message."""
    by_name = {single.name: single for single in INTEGER_SINGLES}
    lstm, svdf = by_name["lstm_whole_1_1_5"], by_name["svdf_whole"]
    norms = [q("int16", 5, scale=0.0001, value=integers(seed, "int16", 5)) for seed in range(4)]
    cell = [
        q("int8", 6, 5, value=integers(1, "int8", 6, 5)),
        q("int8", 6, 6, value=integers(2, "int8", 6, 6)),
        T("int32", (6,), np.zeros(6), 0.001),
    ]
    rnn = Single(
        "rnn",
        "RNN",
        [q("int8", 2, 5), *cell, T("int8", (2, 6), None, 0.01, variable=True)],
        [q("int8", 2, 6)],
        options("RNNOptions"),
    )
    fine = T("int16", (1, 5), None, 0.0001, variable=True)
    return {
        "normalised": (
            replace(lstm, inputs=[*lstm.inputs[:20], *norms]),
            "with layer normalisation",
        ),
        "of old intermediates": (
            replace(lstm, intermediates=()),
            "but not of int8 with an int16 cell",
        ),
        "of another cell": (
            replace(lstm, inputs=[*lstm.inputs[:19], fine, *lstm.inputs[20:]]),
            "but not of int8 with an int16 cell",
        ),
        "linear": (
            replace(svdf, options=svdf.options | {"fusedActivationFunction": 0}),
            "without RELU",
        ),
        "plain": (rnn, "an integer recurrent layer"),
    }


@pytest.mark.parametrize(
    "name", ["normalised", "of old intermediates", "of another cell", "linear", "plain"]
)
def test_unsupported_recurrent_layers_of_integers_are_rejected(name: str, tmp_path: Path) -> None:
    single, message = integer_layers()[name]
    path = tmp_path / "net.tflite"
    path.write_bytes(model_bytes(single))
    with pytest.raises(UnsupportedError, match=message):
        graph_of(path)


def test_the_states_of_an_integer_lstm_persist_between_runs(tmp_path: Path) -> None:
    """Their initial values are the zero point of the output, and 0."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    single = next(single for single in INTEGER_SINGLES if single.name == "lstm_whole_3_7_5")
    path = tmp_path / "net.tflite"
    path.write_bytes(model_bytes(single))
    graph, states = graph_of(path), None
    interpreter = Interpreter(
        model_path=str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    shape = single.inputs[0].shape
    for x in (
        integers(1, "int8", *shape),
        np.full(shape, -128, np.int8),
        np.full(shape, 127, np.int8),
        integers(2, "int8", *shape),
    ):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        outputs, values = run_graph(graph, {"x0": x}, states=states)
        states = next_states(graph, values)
        np.testing.assert_array_equal(
            outputs["y0"], interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        )


def test_negative_begins_of_a_strided_slice_count_from_the_end(tmp_path: Path) -> None:
    """x[begin[0], :, begin[2]]."""
    begin = T("int32", (3,))
    masks = options("StridedSliceOptions", beginMask=2, endMask=2, shrinkAxisMask=5)
    single = Single(
        "at", "STRIDED_SLICE", [f(4, 3, 2), begin, ints(0, 0, 0), ints(1, 1, 1)], [f(3)], masks
    )
    path = tmp_path / "at.tflite"
    path.write_bytes(model_bytes(single))
    x, graph = floats(0, 4, 3, 2), graph_of(path)
    for begins in ([1, 0, 1], [-1, 0, -2]):
        inputs = {"x0": x, "x1": np.array(begins, np.int32)}
        np.testing.assert_array_equal(
            run_graph(graph, inputs)[0]["y0"], Interpreted(path)(inputs)[0]["y0"]
        )
