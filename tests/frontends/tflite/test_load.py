"""What a LiteRT file says besides its operators: signatures, states, other graphs, labels, buffers
elsewhere, and bytes that lie.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema

from tests.frontends.tflite.files import dense, packed, unpacked, with_metadata
from tests.frontends.tflite.integer_singles import INTEGER_SINGLES
from tests.frontends.tflite.make import single_inputs
from tests.frontends.tflite.singles import Single, T, f, ints, options, q, randomly, whole, written
from webkiln.errors import RecipeError, SourceError, UnsupportedError
from webkiln.frontends.nodes.spec import from_json, to_json
from webkiln.frontends.tflite.converter import TfliteConverter
from webkiln.frontends.tflite.file import TfliteFile
from webkiln.frontends.tflite.load import read_model
from webkiln.frontends.tflite.metadata import output_labels
from webkiln.frontends.tflite.reference import Interpreted
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import next_states, run_graph


def graph_of(path: Path, signature: str = "", **given: Any) -> Graph:
    model, blobs = read_model(path, signature)
    assert from_json(to_json(model)) == model
    return TfliteConverter(**given).convert(model, blobs)


class TwoFunctions(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([2, 3], tf.float32, name="x")])
    def doubled(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x * 2}

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32, name="x")])
    def shifted(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"z": x + 1}


def test_a_signature_chooses_the_graph(tmp_path: Path) -> None:
    module = TwoFunctions()
    tf.saved_model.save(
        module,
        tmp_path / "saved",
        signatures={"doubled": module.doubled, "shifted": module.shifted},
    )
    path = tmp_path / "net.tflite"
    path.write_bytes(
        tf.lite.TFLiteConverter.from_saved_model(
            str(tmp_path / "saved"), signature_keys=["doubled", "shifted"]
        ).convert()
    )
    x = np.arange(3, dtype=np.float32)
    (y,) = run_graph(graph_of(path, "doubled"), {"x": np.stack([x, x])})[0].items()
    assert y[0] == "y"
    assert np.array_equal(y[1], np.stack([x, x]) * 2)
    (z,) = run_graph(graph_of(path, "shifted"), {"x": x})[0].items()
    assert z[0] == "z"
    assert np.array_equal(z[1], x + 1)
    with pytest.raises(
        RecipeError, match="no signature or graph 'tripled'; there are: doubled, shifted"
    ):
        read_model(path, "tripled")


class Counting(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = tf.Variable(np.array([1.0, 5.0], np.float32))

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        before = self.count + 0.0
        self.count.assign_add(x)
        return before + self.count * 10.0


def test_variables_are_states(tmp_path: Path) -> None:
    module = Counting()
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [module.__call__.get_concrete_function()], module
    )
    converter.experimental_enable_resource_variables = True
    path = tmp_path / "net.tflite"
    path.write_bytes(converter.convert())
    assert "CALL_ONCE" in {operator.op for operator in TfliteFile(path).operators(0)}
    graph = graph_of(path)
    (state,) = graph.states.values() if isinstance(graph.states, dict) else graph.states
    x = np.array([2.0, 3.0], np.float32)
    outputs, _ = run_graph(graph, {graph.inputs[0]: x})
    (first,) = outputs.values()
    assert np.allclose(first, np.array([1.0, 5.0]) + (np.array([1.0, 5.0]) + x) * 10)
    assert state is not None


def control(x: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
    _, total = tf.while_loop(
        lambda i, y: i < steps, lambda i, y: (i + 1, y * 1.5 + tf.cast(i, tf.float32)), (0, x)
    )
    return tf.cond(tf.reduce_sum(total) > 10.0, lambda: total - 1.0, lambda: total + 1.0)


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_loops_and_branches(steps: int, tmp_path: Path) -> None:
    function = tf.function(
        control, input_signature=[tf.TensorSpec([3], tf.float32), tf.TensorSpec([], tf.int32)]
    )
    path = tmp_path / "net.tflite"
    path.write_bytes(
        tf.lite.TFLiteConverter.from_concrete_functions(
            [function.get_concrete_function()], function
        ).convert()
    )
    graph = graph_of(path)
    values = dict(
        zip(
            graph.inputs,
            (np.array([0.5, -1.0, 2.0], np.float32), np.array(steps, np.int32)),
            strict=True,
        )
    )
    expected, _ = Interpreted(path)(values)
    outputs, _ = run_graph(graph, values)
    for name, value in expected.items():
        assert np.allclose(outputs[name], value, rtol=1e-5)


def open_shapes(x: tf.Tensor) -> tf.Tensor:
    size = tf.shape(x)
    rows = tf.reshape(x, [size[0] * size[1], size[2]])
    wide = tf.tile(rows[:, :1], tf.stack([1, size[2]]))
    return tf.reshape(rows - wide, tf.stack([size[0], -1])) * tf.cast(size[1], tf.float32)


def test_open_sizes_on_one_graph(tmp_path: Path) -> None:
    function = tf.function(
        open_shapes, input_signature=[tf.TensorSpec([None, None, 4], tf.float32)]
    )
    path = tmp_path / "net.tflite"
    path.write_bytes(
        tf.lite.TFLiteConverter.from_concrete_functions(
            [function.get_concrete_function()], function
        ).convert()
    )
    graph = graph_of(path)
    assert [str(size) for size in graph.type(graph.inputs[0]).shape] == ["x_0", "x_1", "4"]
    for sizes in ((2, 3), (1, 5)):
        values = {graph.inputs[0]: randomly(1, *sizes, 4)}
        expected, _ = Interpreted(path)(values)
        outputs, _ = run_graph(graph, values)
        for name, value in expected.items():
            assert np.allclose(outputs[name], value, rtol=1e-5)


@pytest.mark.parametrize(("corners", "centres"), [(False, False), (True, False), (False, True)])
def test_open_images_are_resized(corners: bool, centres: bool, tmp_path: Path) -> None:
    def resized(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        size = tf.shape(x)[1:3] * [2, 1] + [0, 3]
        attrs = {"align_corners": corners, "half_pixel_centers": centres}
        return tf.raw_ops.ResizeNearestNeighbor(
            images=x, size=size, **attrs
        ), tf.raw_ops.ResizeBilinear(images=x, size=size, **attrs)

    function = tf.function(resized, input_signature=[tf.TensorSpec([1, None, None, 2], tf.float32)])
    path = tmp_path / "net.tflite"
    path.write_bytes(
        tf.lite.TFLiteConverter.from_concrete_functions(
            [function.get_concrete_function()], function
        ).convert()
    )
    graph = graph_of(path)
    for sizes in ((4, 5), (3, 7)):
        values = {graph.inputs[0]: randomly(1, 1, *sizes, 2)}
        expected, _ = Interpreted(path)(values)
        outputs, _ = run_graph(graph, values)
        for name, value in expected.items():
            assert np.allclose(outputs[name], value, rtol=1e-5, atol=1e-6)


def test_labels_of_the_metadata(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(with_metadata(written(dense()), "cat\ndog\nowl\nelk\n"))
    assert output_labels(path) == {"y0": ["cat", "dog", "owl", "elk"]}
    assert graph_of(path).outputs.keys() == {"y0"}
    path.write_bytes(written(dense()))
    assert output_labels(path) == {}


def test_buffers_behind_the_tables(tmp_path: Path) -> None:
    """As files of more than 2 GB have them."""
    path = tmp_path / "net.tflite"
    data = written(dense())
    path.write_bytes(data)
    values = single_inputs(dense())
    expected, _ = run_graph(graph_of(path), values)
    model = unpacked(data)
    pieces = []
    for buffer in model.buffers:
        if buffer.data is not None:
            pieces.append(bytes(buffer.data))
            buffer.data, buffer.offset, buffer.size = None, 1 << 20, len(pieces[-1])
    place = -(-len(packed(model)) // 16) * 16
    for buffer in model.buffers:
        if buffer.size:
            buffer.offset = place
            place += buffer.size
    head = packed(model)
    path.write_bytes(head + bytes(-(-len(head) // 16) * 16 - len(head)) + b"".join(pieces))
    outputs, _ = run_graph(graph_of(path), values)
    assert np.array_equal(outputs["y0"], expected["y0"])
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(SourceError, match=r"bytes at \d+ are outside the file"):
        read_model(path)


def test_a_custom_operator_by_a_handler(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(written(Single("own", "Twice", [f(2, 3)], [f(2, 3)], custom=b"\x05")))
    with pytest.raises(UnsupportedError, match=r"y0 \(Twice\): no handler"):
        graph_of(path)
    with TfliteConverter.handlers.isolated():
        TfliteConverter.register_handler("Twice", domain="custom")(
            lambda call: call.tensor(0) * float(call.attr("custom_options")[0])
        )
        x = randomly(3, 2, 3)
        assert np.allclose(run_graph(graph_of(path), {"x0": x})[0]["y0"], x * 5)


POOL = np.array([1, 2, 2, 2, 2, 0], np.int32).tobytes()


def test_operators_of_mediapipe(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    x = randomly(3, 1, 4, 6, 3)
    path.write_bytes(
        written(
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
        written(
            Single(
                "unpool",
                "MaxUnpooling2D",
                [f(1, 2, 3, 3), f(1, 2, 3, 3)],
                [f(1, 4, 6, 3)],
                custom=POOL,
            )
        )
    )
    whole, _ = run_graph(graph_of(path), {"x0": pooled["y0"], "x1": pooled["y1"]})
    assert np.array_equal(whole["y0"], np.where(np.isin(x, pooled["y0"]), x, 0))
    kernel, bias = randomly(4, 5, 2, 2, 3), randomly(5, 5)
    convolution = Single(
        "up",
        "Convolution2DTransposeBias",
        [f(1, 4, 6, 3), f(5, 2, 2, 3, value=kernel), f(5, value=bias)],
        [f(1, 8, 12, 5)],
        custom=np.array([1, 2, 2], np.int32).tobytes(),
    )
    path.write_bytes(written(convolution))
    found, _ = run_graph(graph_of(path), {"x0": x})
    expected = (
        tf.nn.conv2d_transpose(x, kernel.transpose(1, 2, 0, 3), [1, 8, 12, 5], 2, "SAME").numpy()
        + bias
    )
    assert np.allclose(found["y0"], expected, atol=1e-5)


def test_weights_of_four_bits(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    single = Single(
        "four", "DEQUANTIZE", [q("int8", 5, scale=0.5, value=np.arange(5, dtype=np.int8))], [f(5)]
    )
    model = unpacked(written(single))
    tensor = model.subgraphs[0].tensors[0]
    tensor.type = schema.TensorType.INT4
    model.buffers[tensor.buffer].data = np.array([0x21, 0xF8, 0x07], np.uint8)
    model.subgraphs[0].inputs = []
    path.write_bytes(packed(model))
    outputs, _ = run_graph(graph_of(path), {})
    assert np.array_equal(outputs["y0"], np.array([1, 2, -8, -1, 7], np.float32) * 0.5)


def broken(change: Any) -> bytes:
    model = unpacked(written(dense()))
    change(model)
    return packed(model)


def buffer_of(model: Any, number: int) -> None:
    model.subgraphs[0].tensors[1].buffer = number


def first_input(model: Any, number: int) -> None:
    model.subgraphs[0].operators[0].inputs = [number, 1, 2]


def shaped(model: Any, *shape: int) -> None:
    model.subgraphs[0].tensors[1].shape = list(shape)


def coded(model: Any, number: int) -> None:
    model.operatorCodes[0].builtinCode = number


def calling_itself(model: Any) -> None:
    operator = model.subgraphs[0].operators[0]
    coded(model, schema.BuiltinOperator.WHILE)
    operator.builtinOptions, operator.builtinOptionsType = (
        schema.WhileOptionsT(),
        schema.BuiltinOptions.WhileOptions,
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not begin as a LiteRT"), (b"\0\0\0\0TFL3", "is of version 0 of the format"), (b"\xff\xff\xff\xffTFL3", "outside the file"),
        (written(dense())[:200], "outside the file"),
        (broken(lambda model: setattr(model, "version", 9)), "is of version 9 of the format, expected 3"),
        (broken(lambda model: setattr(model, "subgraphs", [])), "holds no graph"),
        (broken(lambda model: buffer_of(model, 99)), "its values are buffer 99, there are"),
        (broken(lambda model: first_input(model, 77)), "there is no tensor 77, the graph has 4"),
        (broken(lambda model: first_input(model, 3)), "tensor 3 .y0. is read before anything makes it"),
        (broken(lambda model: shaped(model, 1 << 30, 1 << 30)), r"float32\[1073741824, 1073741824\] has \d+ bytes, its buffer 96"),
        (broken(lambda model: shaped(model, -4, 6)), r"its shape is \[-4, 6\]"),
        (broken(lambda model: coded(model, 4000)), "has the number 4000, known are 0 to 209"),
        (broken(calling_itself), "calls graph 0 inside itself"),
    ],
)  # fmt: skip
def test_files_that_lie(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=message) as told:
        read_model(path)
    assert str(told.value).startswith("net.tflite")


def test_all_that_is_unsupported_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    model = unpacked(
        written(Single("skip", "SKIP_GRAM", [f(2)], [f(2)], options("SkipGramOptions")))
    )
    model.subgraphs[0].tensors[0].type = schema.TensorType.STRING
    path.write_bytes(packed(model))
    with pytest.raises(UnsupportedError, match="x0: is of string"):
        read_model(path)


@pytest.mark.parametrize("op", ["SQUARE", "NEG", "SIN", "POW", "FLOOR_DIV", "CUMSUM", "ADD_N"])
def test_integers_with_scales_are_computed_right_or_refused(op: str, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    items = [q("int8", 3, 4, scale=0.1, zero=3)] * (2 if op in ("POW", "FLOOR_DIV", "ADD_N") else 1)
    path.write_bytes(written(Single("own", op, items, [q("int8", 3, 4, scale=0.2, zero=1)])))
    with pytest.raises(UnsupportedError, match=f"y0 \\({op}\\)"):
        graph_of(path)


def integer_layers() -> dict[str, tuple[Single, str]]:
    """Recurrent layers of integers that are none of those that are computed, and what is said of
    them.
    """
    by_name = {single.name: single for single in INTEGER_SINGLES}
    lstm, svdf = by_name["lstm_whole_1_1_5"], by_name["svdf_whole"]
    norms = [q("int16", 5, scale=0.0001, value=whole(place, "int16", 5)) for place in range(4)]
    cell = [
        q("int8", 6, 5, value=whole(1, "int8", 6, 5)),
        q("int8", 6, 6, value=whole(2, "int8", 6, 6)),
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
        "normalised": (replace(lstm, inputs=[*lstm.inputs[:20], *norms]), "normalises the gates"),
        "of old intermediates": (
            replace(lstm, intermediates=()),
            "other than of int8 with a cell of int16",
        ),
        "of another cell": (
            replace(lstm, inputs=[*lstm.inputs[:19], fine, *lstm.inputs[20:]]),
            "other than of int8 with a cell of int16",
        ),
        "linear": (
            replace(svdf, options=svdf.options | {"fusedActivationFunction": 0}),
            "without RELU",
        ),
        "plain": (rnn, "a recurrent layer of integers"),
    }


@pytest.mark.parametrize(
    "name", ["normalised", "of old intermediates", "of another cell", "linear", "plain"]
)
def test_other_recurrent_layers_of_integers_are_refused(name: str, tmp_path: Path) -> None:
    single, message = integer_layers()[name]
    path = tmp_path / "net.tflite"
    path.write_bytes(written(single))
    with pytest.raises(UnsupportedError, match=message):
        graph_of(path)


def test_the_states_of_an_integer_lstm_last_from_run_to_run(tmp_path: Path) -> None:
    """They begin at the zero point of the output, and 0."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    single = next(single for single in INTEGER_SINGLES if single.name == "lstm_whole_3_7_5")
    path = tmp_path / "net.tflite"
    path.write_bytes(written(single))
    graph, states = graph_of(path), None
    interpreter = Interpreter(
        model_path=str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    shape = single.inputs[0].shape
    for x in (
        whole(1, "int8", *shape),
        np.full(shape, -128, np.int8),
        np.full(shape, 127, np.int8),
        whole(2, "int8", *shape),
    ):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        outputs, values = run_graph(graph, {"x0": x}, states=states)
        states = next_states(graph, values)
        np.testing.assert_array_equal(
            outputs["y0"], interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        )


def test_places_that_are_data_count_from_the_end_below_zero(tmp_path: Path) -> None:
    """x[place[0], :, place[2]]."""
    begin = T("int32", (3,))
    masks = options("StridedSliceOptions", beginMask=2, endMask=2, shrinkAxisMask=5)
    single = Single(
        "at", "STRIDED_SLICE", [f(4, 3, 2), begin, ints(0, 0, 0), ints(1, 1, 1)], [f(3)], masks
    )
    path = tmp_path / "at.tflite"
    path.write_bytes(written(single))
    x, graph = randomly(0, 4, 3, 2), graph_of(path)
    for places in ([1, 0, 1], [-1, 0, -2]):
        given = {"x0": x, "x1": np.array(places, np.int32)}
        np.testing.assert_array_equal(
            run_graph(graph, given)[0]["y0"], Interpreted(path)(given)[0]["y0"]
        )
