"""Operators in training mode, random operators, and shapes of old exporters."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.corpus import Sample, mismatches
from tests.frontends.onnx.models import floats, literal, model
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.errors import UserError
from webkiln.ops.evaluate import run_graph

node = helper.make_node
X = np.random.default_rng(0).normal(2, 3, (4, 3, 5, 2)).astype(np.float32)


def array(name, *values):
    return numpy_helper.from_array(np.array(values, np.float32), name)


STATISTICS = [
    array("scale", 1, -2, 0.5), array("bias", 0, 1, 2), array("mean", 5, 6, 7),
    array("var", 1, 2, 3),
]  # fmt: skip
NAMES = ["x", "scale", "bias", "mean", "var"]


def normalised(opset, outputs, shape, read=(), **attributes):
    """`read`: the outputs of the node that the model returns; by default all."""
    nodes = [node("BatchNormalization", NAMES, outputs, "bn", **attributes)]
    outputs = read or outputs
    made = [helper.make_empty_tensor_value_info(name) for name in outputs if name]
    return model(nodes, [floats("x", *shape)], made, STATISTICS, opset=opset)


@pytest.mark.parametrize("shape", [("N", 3, "H", 2), ("N", 3)])
@pytest.mark.parametrize("opset", [14, 15, 21])
@pytest.mark.parametrize("outputs", [["y"], ["y", "running_mean", "running_var"]])
@pytest.mark.parametrize("momentum", [0.9, 0.25])
def test_batch_statistics(shape, opset, outputs, momentum):
    x = X if len(shape) == 4 else X[:, :, 0, 0]
    proto = normalised(
        opset, ["y", "running_mean", "running_var"], shape, outputs,
        training_mode=1, momentum=momentum, epsilon=1e-3,
    )  # fmt: skip
    expected = onnxruntime_outputs(proto, {"x": x})
    results, _ = run_graph(converted(proto), {"x": x})
    assert list(results) == outputs
    for name in outputs:
        np.testing.assert_allclose(results[name], expected[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [7, 9])
def test_batch_statistics_of_old_opsets(opset):
    """Further outputs mean training; without them, the stored statistics count."""
    outputs = ["y", "running_mean", "running_var", "batch_mean", "batch_var"]
    results, _ = run_graph(converted(normalised(opset, outputs, ("N", 3, 5, 2))), {"x": X})
    current = onnxruntime_outputs(
        normalised(14, outputs[:3], ("N", 3, 5, 2), training_mode=1), {"x": X}
    )
    for name in outputs[:3]:
        np.testing.assert_allclose(results[name], current[name], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(results["batch_mean"], X.mean((0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(results["batch_var"], X.var((0, 2, 3)), rtol=1e-5)
    plain = normalised(opset, ["y"], ("N", 3, 5, 2))
    expected = onnxruntime_outputs(plain, {"x": X})["y"]
    results, _ = run_graph(converted(plain), {"x": X})
    np.testing.assert_allclose(results["y"], expected, rtol=1e-4, atol=1e-5)


def test_batch_statistics_run_on_wasm(tmp_path):
    proto = normalised(15, ["y", "m", "v"], ("N", 3, "H", 2), training_mode=1)
    expected = onnxruntime_outputs(proto, {"x": X})
    assert not mismatches([Sample("bn", converted(proto), {"x": X}, expected)], "wasm", tmp_path)


COUNT = 20000
ROWS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]], np.float32)


def drawn(op, inputs=(), weights=(), x=None, **attributes):
    """The output of a random node named `it`, with its noise filled in by its distribution."""
    inputs_ = [] if x is None else [floats("x", *x.shape)]
    output = helper.make_empty_tensor_value_info("y")
    graph = converted(
        model([node(op, list(inputs), ["y"], "it", **attributes)], inputs_, [output], weights)
    )
    (noise,) = [name for name in graph.inputs if name != "x"]
    assert noise == "it_noise"
    rng = np.random.default_rng(5)
    type_ = graph.type(noise)
    make = rng.standard_normal if "Normal" in op else rng.random
    values = {noise: make(type_.shape).astype(type_.dtype)}
    outputs, _ = run_graph(graph, values if x is None else {**values, "x": x})
    return outputs["y"], values[noise]


def test_normal_and_uniform_numbers():
    y, noise = drawn("RandomNormal", shape=[3, 5], mean=2.0, scale=0.5, seed=3.0)
    np.testing.assert_allclose(y, noise * 0.5 + 2, rtol=1e-6)
    y, noise = drawn("RandomUniform", shape=[3, 5], low=-1.0, high=3.0)
    np.testing.assert_allclose(y, noise * 4 - 1, rtol=1e-5, atol=1e-6)
    y, noise = drawn("RandomNormalLike", ["x"], x=ROWS)
    np.testing.assert_array_equal(y, noise)
    y, noise = drawn("RandomUniformLike", ["x"], x=ROWS, dtype=TensorProto.DOUBLE)
    assert y.dtype == np.float64
    assert y.shape == ROWS.shape


def test_multinomial_numbers_have_the_classes_frequencies():
    y, _ = drawn("Multinomial", ["x"], x=ROWS, sample_size=COUNT)
    assert (y.dtype, y.shape) == (np.int32, (2, COUNT))
    weights = np.exp(ROWS) / np.exp(ROWS).sum(1, keepdims=True)
    frequencies = [np.bincount(row, minlength=3) / COUNT for row in y]
    np.testing.assert_allclose(frequencies, weights, atol=0.02)
    assert drawn("Multinomial", ["x"], x=ROWS, dtype=TensorProto.INT64)[0].dtype == np.int64


def test_bernoulli_and_dropout():
    probabilities = np.tile(np.float32([0, 0.25, 1]), (COUNT, 1))
    y, _ = drawn("Bernoulli", ["x"], x=probabilities)
    np.testing.assert_allclose(y.mean(0), [0, 0.25, 1], atol=0.02)
    weights = [
        numpy_helper.from_array(np.float32(0.75), "ratio"),
        numpy_helper.from_array(np.array(1, bool), "training"),
    ]
    y, noise = drawn("Dropout", ["x", "ratio", "training"], weights, x=np.ones((COUNT, 2), "f"))
    assert set(np.unique(y)) == {0, 4}
    np.testing.assert_allclose(y.mean(), 1, atol=0.05)
    np.testing.assert_array_equal(y > 0, noise < 0.25)


def slopes(opset, x_shape, slope_shape):
    count = int(np.prod(slope_shape))
    slope = np.arange(1, count + 1, dtype=np.float32).reshape(slope_shape)
    proto = model(
        [node("PRelu", ["x", "s"], ["y"], "act")],
        [floats("x", *x_shape)],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(slope, "s")],
        opset=opset,
    )
    return proto, slope


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 4, 3), (2, 3, 3), (2, 3)])
@pytest.mark.parametrize("opset", [1, 6])
def test_old_slopes_go_along_the_channels(shape, opset):
    proto, slope = slopes(opset, shape, (3,))
    results, _ = run_graph(converted(proto), {"x": -np.ones(shape, np.float32)})
    expected = np.broadcast_to(-slope.reshape(3, *[1] * (len(shape) - 2)), shape)
    np.testing.assert_array_equal(results["y"], expected)


@pytest.mark.parametrize("slope", [(1,), (3,), (5, 1, 1), (4, 1), (4, 3), (2, 5, 4, 3)])
@pytest.mark.parametrize("opset", [7, 9, 16])
def test_slopes_are_broadcast(slope, opset):
    shape = (2, 5, 4, 3)
    proto, _ = slopes(opset, shape, slope)
    x = -np.ones(shape, np.float32)
    results, _ = run_graph(converted(proto), {"x": x})
    np.testing.assert_array_equal(results["y"], onnxruntime_outputs(proto, {"x": x})["y"])


@pytest.mark.parametrize("slope", [(5,), (2, 1, 1, 1, 1)])
def test_slopes_that_do_not_fit_are_rejected(slope):
    """As onnxruntime does."""
    proto, _ = slopes(9, (2, 5, 4, 3), slope)
    with pytest.raises(UserError, match=r"act \("):
        converted(proto)


@pytest.mark.parametrize("opset", [11, 13])
def test_a_squeeze_of_an_open_size_requires_more_than_one(opset):
    proto = model(
        [node("Squeeze", ["x"], ["y"], "it")],
        [floats("x", "N", 1, 4)],
        [helper.make_empty_tensor_value_info("y")],
        opset=opset,
    )
    graph = converted(proto)
    x = np.ones((3, 1, 4), np.float32)
    results, _ = run_graph(graph, {"x": x})
    np.testing.assert_array_equal(results["y"], onnxruntime_outputs(proto, {"x": x})["y"])
    assert [guard.layer for guard in graph.constraints.guards] == ["it"]
    named = model(
        [node("Squeeze", ["x", "one"], ["y"], "it")],
        [floats("x", "N", 1, 4)],
        [helper.make_empty_tensor_value_info("y")],
        [literal("one", [1])],
        opset=13,
    )
    assert not converted(named).constraints.guards
