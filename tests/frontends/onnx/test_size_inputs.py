"""Inputs whose elements decide sizes, and caches that are empty in the first run."""

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tests.frontends.onnx.models import floats, literal, model
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import DataDependentError
from webkiln.frontends.nodes.sample_inputs import sampled_inputs
from webkiln.frontends.nodes.spec import from_json, to_json
from webkiln.frontends.onnx.load import describe_model
from webkiln.ir.text import print_graph
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import parse

node = helper.make_node
X = np.random.default_rng(0).standard_normal((1, 1, 6, 5)).astype(np.float32)


def resized(dtype):
    """An image resized to the numbers in an input."""
    nodes = [
        node("Cast", ["size"], ["integers"], to=TensorProto.INT64),
        node("Concat", ["ones", "integers"], ["sizes"], axis=0),
        node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest"),
    ]
    return model(
        nodes,
        [floats("x", 1, 1, 6, 5), helper.make_tensor_value_info("size", dtype, [2])],
        [floats("y", 1, 1, None, None)],
        [literal("ones", [1, 1])],
    )


def positions():
    """A range from an input up to a number of later elements, and that number."""
    nodes = [
        node("Shape", ["x"], ["t"], start=1, end=2),
        node("Squeeze", ["t"], ["count"]),
        node("Add", ["start", "count"], ["limit"]),
        node("Range", ["start", "limit", "one"], ["range"]),
        node("Cast", ["range"], ["floats"], to=TensorProto.FLOAT),
        node("Add", ["x", "floats"], ["y"]),
    ]
    return model(
        nodes,
        [floats("x", 1, "T"), helper.make_tensor_value_info("start", TensorProto.INT64, [])],
        [floats("y", 1, "T")],
        [numpy_helper.from_array(np.array(1, np.int64), "one")],
    )


@pytest.mark.parametrize(
    "dtype", [TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT, TensorProto.DOUBLE]
)
def test_elements_of_an_input_decide_sizes(dtype: int) -> None:
    source = resized(dtype)
    graph = converted(source)
    assert list(map(str, graph.variables["size"].sizes)) == ["size_at_0", "size_at_1"]
    assert parse(print_graph(graph)) == graph
    for size in ((3, 4), (12, 7), (1, 1)):
        inputs = {"x": X, "size": np.array(size, helper.tensor_dtype_to_np_dtype(dtype))}
        (expected,) = onnxruntime_outputs(source, inputs).values()
        (actual,) = run_graph(graph, inputs)[0].values()
        np.testing.assert_array_equal(actual, expected)


def scaled(*, by_sizes: bool) -> ModelProto:
    """An image resized by a factor that is an input."""
    nodes = [
        node("Concat", ["ones", "factor", "factor"], ["scales"], axis=0),
        node("Shape", ["x"], ["shape"]),
        node("Cast", ["shape"], ["numbers"], to=TensorProto.FLOAT),
        node("Mul", ["numbers", "scales"], ["product"]),
        node("Cast", ["product"], ["sizes"], to=TensorProto.INT64),
        node("Resize", ["x", "", "", "sizes"] if by_sizes else ["x", "", "scales"], ["y"]),
    ]
    return model(
        nodes if by_sizes else [nodes[0], nodes[-1]],
        [floats("x", 1, 1, 6, 5), floats("factor", 1)],
        [floats("y", 1, 1, None, None)],
        [numpy_helper.from_array(np.ones(2, np.float32), "ones")],
    )


@pytest.mark.parametrize("by_sizes", [True, False])
def test_factors_of_sizes_are_given_as_values(*, by_sizes: bool) -> None:
    """A factor is rarely an integer, as a size is."""
    source = scaled(by_sizes=by_sizes)
    with pytest.raises(DataDependentError, match=r"--value factor=\.\.\."):
        converted(source)
    graph = converted(source, values={"factor": [0.5]})
    inputs = {"x": X, "factor": np.array([0.5], np.float32)}
    (expected,) = onnxruntime_outputs(source, inputs).values()
    np.testing.assert_array_equal(run_graph(graph, {"x": X})[0]["y"], expected)


def test_elements_may_be_zero() -> None:
    source = positions()
    graph = converted(source)
    for start in (0, 7):
        inputs = {"x": np.zeros((1, 3), np.float32), "start": np.array(start)}
        (expected,) = onnxruntime_outputs(source, inputs).values()
        (actual,) = run_graph(graph, inputs)[0].values()
        np.testing.assert_array_equal(actual, expected)


def test_a_value_replaces_an_input_of_sizes() -> None:
    graph = converted(resized(TensorProto.INT64), values={"size": [3, 4]})
    assert graph.inputs == ("x",)
    assert graph.type(graph.outputs["y"]).shape == (1, 1, 3, 4)


def test_sample_inputs_of_sizes_are_sizes() -> None:
    spec = from_json(to_json(describe_model(resized(TensorProto.FLOAT), "m.onnx")[0]))
    params = {"dims": {}, "input_shapes": {}}
    sampled = sampled_inputs(spec, params, {"size_at_0": 9})
    np.testing.assert_array_equal(sampled.sizes["size"], np.array([9, 16], np.float32))
    with pytest.raises(ShapeError, match="no size is called size_at_2"):
        sampled_inputs(spec, params, {"size_at_2": 9})


@pytest.mark.parametrize("name", ["past", "past_length", "cache_len", "decoder_past_size"])
def test_a_cache_may_be_empty(name: str) -> None:
    nodes = [
        node("Concat", ["cache", "x"], ["next"], axis=1),
        node("ReduceMax", ["next", "axis"], ["y"], keepdims=0),
    ]
    source = model(
        nodes,
        [floats("x", 1, "T"), floats("cache", 1, name)],
        [floats("y", 1), floats("next", 1, None)],
        [literal("axis", [1])],
    )
    graph = converted(source)
    for length in (0, 4):
        inputs = {
            "x": np.arange(3, dtype=np.float32)[None],
            "cache": np.ones((1, length), np.float32),
        }
        expected = onnxruntime_outputs(source, inputs)
        actual, _ = run_graph(graph, inputs)
        for key, value in expected.items():
            np.testing.assert_array_equal(actual[key], value)


def test_a_size_that_depends_on_data_names_the_options() -> None:
    nodes = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Cast", ["sum"], ["count"], to=TensorProto.INT64),
        node("Shape", ["x"], ["shape"]),
        node("Mul", ["shape", "count"], ["wide"]),
        node("Expand", ["one", "wide"], ["y"]),
    ]
    source = model(
        nodes,
        [floats("x", 1, "T")],
        [floats("y", None, None)],
        [numpy_helper.from_array(np.ones(1, np.float32), "one")],
    )
    with pytest.raises(DataDependentError) as caught:
        converted(source)
    assert str(caught.value) == (
        "expand (Expand): operand 1 depends on data, but must be known when the model is converted;"
        " it is computed from the values of x and the sizes T: if these never change, set them with"
        " --value x=..., --dim T=...; otherwise build the part of the model after it with"
        " --from-layer, or before it with --to-layer"
    )
