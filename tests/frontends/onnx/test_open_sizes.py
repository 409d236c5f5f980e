"""Operators over open sizes agree with onnxruntime for several sizes."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.onnx.models import floats, literal, model
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import run_graph

node = helper.make_node
RNG = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def check(
    source: onnx.ModelProto, graph: Graph, inputs: Mapping[str, np.ndarray], tolerance: float = 1e-5
) -> None:
    expected, (actual, _) = onnxruntime_outputs(source, inputs), run_graph(graph, inputs)
    for name, value in expected.items():
        assert actual[name].shape == value.shape, (name, actual[name].shape, value.shape)
        np.testing.assert_allclose(actual[name], value, atol=tolerance)


def poolings() -> Iterator[tuple[str, dict[str, object], int]]:
    """Every pooling that rounds up: operator, attributes, and the smallest size of the axis."""
    for op, kernel, stride, pads in product(
        ("MaxPool", "AveragePool", "LpPool"), (1, 2, 3), (1, 2, 3), ((0, 0), (1, 0), (0, 1), (1, 1))
    ):
        if max(pads) >= kernel:
            continue
        attributes = {
            "kernel_shape": [kernel],
            "strides": [stride],
            "pads": list(pads),
            "ceil_mode": 1,
        }
        yield op, attributes, max(kernel - sum(pads), 1)
        if op == "AveragePool":
            yield op, {**attributes, "count_include_pad": 1}, max(kernel - sum(pads), 1)


def test_poolings_round_up_over_open_sizes() -> None:
    for op, attributes, smallest in poolings():
        source = model(
            [node(op, ["x"], ["y"], **attributes)],
            [floats("x", 1, 2, "L")],
            [floats("y", 1, 2, None)],
            opset=18,
        )
        graph = converted(source)
        for length in range(smallest, 10):
            x = numbers(1, 2, length)
            try:
                onnxruntime_outputs(source, {"x": x})
            except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
                continue
            check(source, graph, {"x": x})


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pads_whose_sign_depends_on_a_size_pad_or_crop(mode: str) -> None:
    nodes = [
        node("Shape", ["x"], ["length"], start=1, end=2),
        node("Sub", ["six", "length"], ["missing"]),
        node("Concat", ["zeros", "missing"], ["pads"], axis=0),
        node("Pad", ["x", "pads"], ["y"], mode=mode),
    ]
    source = model(
        nodes,
        [floats("x", 2, "L")],
        [floats("y", 2, None)],
        [literal("six", [6]), literal("zeros", [0, 0, 0])],
    )
    graph = converted(source)
    for length in (4, 5, 6, 9):
        check(source, graph, {"x": numbers(2, length)})


@pytest.mark.parametrize(
    "mode", ["asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"]
)
def test_scales_of_a_resize_may_be_computed_from_sizes(mode: str) -> None:
    """An image is enlarged to twice the size of another one."""
    nodes = [
        node("Shape", ["x"], ["from"], start=2),
        node("Shape", ["z"], ["to"], start=2),
        node("Cast", ["from"], ["a"], to=TensorProto.FLOAT),
        node("Cast", ["to"], ["b"], to=TensorProto.FLOAT),
        node("Div", ["a", "a"], ["ones"]),
        node("Mul", ["ones", "two"], ["scales"]),
        node("Resize", ["x", "", "scales"], ["y"], mode="linear", axes=[2, 3],
             coordinate_transformation_mode=mode),
    ]  # fmt: skip
    source = model(
        nodes,
        [floats("x", 1, 1, "H", "W"), floats("z", 1, 1, "H", "W")],
        [floats("y", 1, 1, None, None)],
        [numpy_helper.from_array(np.array([2], np.float32), "two")],
    )
    graph = converted(source)
    for height, width in ((4, 5), (7, 2)):
        x = numbers(1, 1, height, width)
        check(source, graph, {"x": x, "z": x})


def masked(*chain: onnx.NodeProto) -> onnx.ModelProto:
    """exp(x) where a mask is true: the mask and its indices are computed for each use."""
    nodes = []
    for use in ("read", "write"):
        nodes += [
            node("Greater", ["x", "zero"], [f"{use}_mask"]),
            *(
                helper.make_node(item.op_type, [f"{use}_mask"], [f"{use}_cast"], to=9)
                for item in chain
            ),
            node("NonZero", [f"{use}_cast" if chain else f"{use}_mask"], [f"{use}_indices"]),
            node("Transpose", [f"{use}_indices"], [f"{use}_rows"], perm=[1, 0]),
        ]
    nodes += [
        node("GatherND", ["x", "read_rows"], ["chosen"]),
        node("Exp", ["chosen"], ["changed"]),
        node("ScatterND", ["x", "write_rows", "changed"], ["y"]),
    ]
    zero = numpy_helper.from_array(np.array(0, np.float32), "zero")
    return model(nodes, [floats("x", 2, 6)], [floats("y", 2, 6)], [zero])


@pytest.mark.parametrize("chain", [[], [node("Cast", [""], [""])]])
def test_equal_masks_have_equal_counts(chain: Sequence[onnx.NodeProto]) -> None:
    source = masked(*chain)
    graph = converted(source)
    assert sum(item.op == "NonZero" for item in graph.nodes) == 1
    for sign in (1, -1):
        check(source, graph, {"x": sign * np.abs(numbers(2, 6)) * np.array([1, -1] * 3, "f4")})


def test_different_masks_have_counts_of_their_own() -> None:
    nodes = [
        node("NonZero", ["x"], ["a"]),
        node("NonZero", ["z"], ["b"]),
    ]
    source = model(
        nodes,
        [floats("x", 4), floats("z", 4)],
        [helper.make_tensor_value_info(name, TensorProto.INT64, [1, None]) for name in ("a", "b")],
    )
    graph = converted(source)
    assert len({str(graph.type(graph.outputs[name]).shape[1]) for name in ("a", "b")}) == 2


@pytest.mark.parametrize("names", [("?", "?"), ("-1", "-1"), ("None", "none"), ("unknown", "?")])
def test_sizes_without_a_name_may_differ(names: tuple[str, str]) -> None:
    source = model([node("Relu", ["x"], ["y"])], [floats("x", *names)], [floats("y", *names)])
    graph = converted(source)
    assert list(map(str, graph.variables["x"].shape)) == ["x_0", "x_1"]
    check(source, graph, {"x": numbers(4, 7)})
    fixed = converted(source, dims={"x_0": 2})
    assert fixed.variables["x"].shape[0] == 2


def test_an_input_is_broadcast_where_its_open_size_is_one() -> None:
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Expand", ["state", "shape"], ["wide"]),
        node("Add", ["x", "wide"], ["y"]),
    ]
    source = model(
        nodes,
        [floats("x", 1, 3, "H", "W"), floats("state", "b", "c", "h", "w")],
        [floats("y", 1, 3, "H", "W")],
    )
    graph = converted(source)
    x = numbers(1, 3, 4, 5)
    for shape in ((1, 1, 1, 1), (1, 3, 4, 5), (1, 3, 1, 5)):
        check(source, graph, {"x": x, "state": numbers(*shape)})


def branches(condition: Sequence[onnx.NodeProto]) -> onnx.ModelProto:
    """Squeezes the last axis if it has one element, else keeps it."""
    then_branch = helper.make_graph(
        [node("Squeeze", ["x", "axis"], ["a"])], "squeezed", [], [floats("a", None)]
    )
    else_branch = helper.make_graph(
        [node("Identity", ["x"], ["b"])], "kept", [], [floats("b", None, None)]
    )
    nodes = [
        node("Shape", ["x"], ["size"], start=1, end=2),
        *condition,
        node("If", ["condition"], ["y"], then_branch=then_branch, else_branch=else_branch),
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    weights = [literal("one", [1]), literal("two", [2]), literal("axis", [1])]
    return model(nodes, [floats("x", 2, "L")], [output], weights)


CONDITIONS = {
    "Equal": [node("Equal", ["size", "one"], ["condition"])],
    "Cast": [
        node("Equal", ["size", "one"], ["equal"]),
        node("Cast", ["equal"], ["number"], to=TensorProto.INT32),
        node("Cast", ["number"], ["condition"], to=TensorProto.BOOL),
    ],
    "Not": [
        node("Less", ["one", "size"], ["less"]),
        node("Not", ["less"], ["condition"]),
    ],
    "And": [
        node("Equal", ["size", "one"], ["equal"]),
        node("Less", ["size", "two"], ["less"]),
        node("And", ["equal", "less"], ["condition"]),
    ],
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_branch_for_sizes_of_one_is_excluded_by_a_guard(name: str) -> None:
    source = branches(CONDITIONS[name])
    graph = converted(source)
    assert len(graph.constraints.guards) == 1
    for length in (2, 5):
        check(source, graph, {"x": numbers(2, length)})


def test_squeezed_open_sizes_must_differ_from_one() -> None:
    source = model([node("Squeeze", ["x"], ["y"])], [floats("x", 1, "L", 3)], [floats("y", "L", 3)])
    graph = converted(source)
    assert [(str(guard.a), str(guard.b)) for guard in graph.constraints.guards] == [
        ("max(1, L - 1)", "L - 1")
    ]
    check(source, graph, {"x": numbers(1, 4, 3)})
