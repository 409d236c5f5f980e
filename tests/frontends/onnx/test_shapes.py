"""Shape arithmetic is computed during conversion: none of it is left in the graph, for known and
for symbolic sizes.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.onnx.models import dynamic, floats, literal, model
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.errors import ShapeError
from webkiln.ops.evaluate import run_graph

node = helper.make_node
RNG = np.random.default_rng(3)


def scalar(name, value, dtype=np.int64):
    return numpy_helper.from_array(np.array(value, dtype), name)


def halved():
    """[N, T] sliced to half its length and concatenated with itself: Div, Slice, Concat of
    sizes.
    """
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "one"], ["t"], axis=0),
        node("Div", ["t", "two"], ["h"]),
        node("Unsqueeze", ["h", "axis"], ["end"]),
        node("Slice", ["x", "start", "end", "second"], ["first"]),
        node("Slice", ["x", "start", "end", "second", "step"], ["same"]),
        node("Concat", ["first", "same"], ["y"], axis=1),
    ]
    weights = [
        scalar("one", 1),
        scalar("two", 2),
        literal("axis", [0]),
        literal("start", [0]),
        literal("second", [1]),
        literal("step", [1]),
    ]
    return model(nodes, [floats("x", "N", "T")], [floats("y", "N", None)], weights)


def positions():
    """0, 1, ... up to a symbolic size, as in PyTorch exports, added to each row."""
    nodes = [
        node("Shape", ["x"], ["t"], start=1, end=2),
        node("Squeeze", ["t"], ["limit"]),
        node("Range", ["zero", "limit", "one"], ["p"]),
        node("Cast", ["p"], ["f"], to=TensorProto.FLOAT),
        node("Shape", ["x"], ["s"]),
        node("Expand", ["f", "s"], ["wide"]),
        node("Add", ["x", "wide"], ["y"]),
    ]
    return model(
        nodes,
        [floats("x", "N", "T")],
        [floats("y", "N", "T")],
        [scalar("zero", 0), scalar("one", 1)],
    )


def filled():
    """Zeros of a symbolic shape, selected by the sizes."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("ConstantOfShape", ["s"], ["zeros"]),
        node("Equal", ["s", "minus"], ["is_open"]),
        node("Where", ["is_open", "ones", "s"], ["chosen"]),
        node("Reshape", ["zeros", "chosen"], ["flat"]),
        node("Add", ["x", "flat"], ["y"]),
    ]
    return model(
        nodes,
        [floats("x", "N", "T")],
        [floats("y", "N", "T")],
        [literal("minus", [-1, -1]), literal("ones", [1, 1])],
    )


def mean_by_count():
    """A sum divided by a size; only the size remains as a number."""
    nodes = [
        node("Shape", ["x"], ["t"], start=1, end=2),
        node("Cast", ["t"], ["count"], to=TensorProto.FLOAT),
        node("ReduceSum", ["x", "second"], ["total"], keepdims=0),
        node("Div", ["total", "count"], ["y"]),
    ]
    return model(nodes, [floats("x", "N", "T")], [floats("y", "N")], [literal("second", [1])])


MODELS = {
    "dynamic": dynamic,
    "halved": halved,
    "positions": positions,
    "filled": filled,
    "mean": mean_by_count,
}
LEFT = {"Sizes", "Iota", "Reshape"}
"""Operators that convert sizes to numbers where the model computes with them."""


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("sizes", [(2, 6), (1, 8)], ids=str)
def test_one_graph_runs_at_every_size(name, sizes):
    proto = MODELS[name]()
    graph = converted(proto)
    shape = (*sizes, 12) if name == "dynamic" else sizes
    values = {"x": RNG.standard_normal(shape).astype(np.float32)}
    outputs, _ = run_graph(graph, values)
    for output, expected in onnxruntime_outputs(proto, values).items():
        np.testing.assert_allclose(outputs[output], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_no_shape_arithmetic_remains(name):
    graph = converted(MODELS[name]())
    computed = [item for item in graph.nodes if graph.type(item.outputs[0]).dtype == "int64"]
    assert {item.op for item in computed} <= LEFT


def test_known_sizes_become_constants():
    graph = converted(positions(), dims={"N": 2, "T": 6})
    assert [item.op for item in graph.nodes] == ["Add"]


def test_dims_rename_and_fix_sizes():
    assert converted(dynamic(), dims={"N": "batch", "x_1": 7}).type("x").shape[1:] == (7, 12)
    assert str(converted(dynamic(), dims={"N": "batch"}).type("x").shape[0]) == "batch"
    with pytest.raises(ShapeError, match="there is no size called M; sizes are N, x_1"):
        converted(dynamic(), dims={"M": 2})
    with pytest.raises(
        ShapeError, match=r"input x: its shape is \['N', None, 12\], got \[1, 2, 3\]"
    ):
        converted(dynamic(), input_shapes={"x": (1, 2, 3)})


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [("a.b", "a_b", "a.b and a_b"), ("x_1", None, "x_1 and axis 1 of x")],
)
def test_colliding_size_names_are_errors(first, second, message):
    proto = model(
        [helper.make_node("Add", ["y", "x"], ["z"])],
        [floats("y", 1, first), floats("x", 1, second)],
        [floats("z", 1, None)],
    )
    with pytest.raises(ShapeError, match=message):
        converted(proto)
    graph = (
        converted(proto, dims={first: 4, **({second: 4} if second else {})})
        if second
        else converted(proto, input_shapes={"x": (1, 4), "y": (1, 4)})
    )
    assert graph.type(graph.inputs[0]).shape == (1, 4)
