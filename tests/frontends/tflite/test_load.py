"""Signatures, states, nested graphs, dynamic sizes, labels and external buffers of LiteRT files."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.tflite.files import dense, packed, unpacked, with_metadata
from tests.frontends.tflite.loading import graph_of
from tests.frontends.tflite.make import single_inputs
from tests.frontends.tflite.operator_model import floats, model_bytes
from webkiln.errors import RecipeError, SourceError
from webkiln.frontends.tflite.file import TfliteFile
from webkiln.frontends.tflite.load import read_model
from webkiln.frontends.tflite.metadata import output_labels
from webkiln.frontends.tflite.reference import Interpreted
from webkiln.ops.evaluate import run_graph


class TwoFunctions(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([2, 3], tf.float32, name="x")])
    def doubled(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x * 2}

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32, name="x")])
    def shifted(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"z": x + 1}


def test_a_signature_selects_the_graph(tmp_path: Path) -> None:
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
        RecipeError, match="no signature or graph 'tripled'; available: doubled, shifted"
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


def loop_and_branch(x: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
    _, total = tf.while_loop(
        lambda i, y: i < steps, lambda i, y: (i + 1, y * 1.5 + tf.cast(i, tf.float32)), (0, x)
    )
    return tf.cond(tf.reduce_sum(total) > 10.0, lambda: total - 1.0, lambda: total + 1.0)


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_loops_and_branches_match_the_interpreter(steps: int, tmp_path: Path) -> None:
    function = tf.function(
        loop_and_branch,
        input_signature=[tf.TensorSpec([3], tf.float32), tf.TensorSpec([], tf.int32)],
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


def dynamic_shapes(x: tf.Tensor) -> tf.Tensor:
    size = tf.shape(x)
    rows = tf.reshape(x, [size[0] * size[1], size[2]])
    wide = tf.tile(rows[:, :1], tf.stack([1, size[2]]))
    return tf.reshape(rows - wide, tf.stack([size[0], -1])) * tf.cast(size[1], tf.float32)


def test_one_graph_accepts_all_sizes(tmp_path: Path) -> None:
    function = tf.function(
        dynamic_shapes, input_signature=[tf.TensorSpec([None, None, 4], tf.float32)]
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
        values = {graph.inputs[0]: floats(1, *sizes, 4)}
        expected, _ = Interpreted(path)(values)
        outputs, _ = run_graph(graph, values)
        for name, value in expected.items():
            assert np.allclose(outputs[name], value, rtol=1e-5)


@pytest.mark.parametrize(("corners", "centres"), [(False, False), (True, False), (False, True)])
def test_images_of_symbolic_size_are_resized(corners: bool, centres: bool, tmp_path: Path) -> None:
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
        values = {graph.inputs[0]: floats(1, 1, *sizes, 2)}
        expected, _ = Interpreted(path)(values)
        outputs, _ = run_graph(graph, values)
        for name, value in expected.items():
            assert np.allclose(outputs[name], value, rtol=1e-5, atol=1e-6)


def test_labels_come_from_the_metadata(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(with_metadata(model_bytes(dense()), "cat\ndog\nowl\nelk\n"))
    assert output_labels(path) == {"y0": ["cat", "dog", "owl", "elk"]}
    assert graph_of(path).outputs.keys() == {"y0"}
    path.write_bytes(model_bytes(dense()))
    assert output_labels(path) == {}


def test_buffers_after_the_tables_are_read(tmp_path: Path) -> None:
    """Files of more than 2 GB have this layout."""
    path = tmp_path / "net.tflite"
    data = model_bytes(dense())
    path.write_bytes(data)
    values = single_inputs(dense())
    expected, _ = run_graph(graph_of(path), values)
    model = unpacked(data)
    pieces = []
    for buffer in model.buffers:
        if buffer.data is not None:
            pieces.append(bytes(buffer.data))
            buffer.data, buffer.offset, buffer.size = None, 1 << 20, len(pieces[-1])
    offset = -(-len(packed(model)) // 16) * 16
    for buffer in model.buffers:
        if buffer.size:
            buffer.offset = offset
            offset += buffer.size
    head = packed(model)
    path.write_bytes(head + bytes(-(-len(head) // 16) * 16 - len(head)) + b"".join(pieces))
    outputs, _ = run_graph(graph_of(path), values)
    assert np.array_equal(outputs["y0"], expected["y0"])
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(SourceError, match=r"bytes at \d+ are outside the file"):
        read_model(path)
