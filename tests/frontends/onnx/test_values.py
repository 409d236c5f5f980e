"""Fixed inputs, sizes that files store as -1, slices to the end, and states for a batch of one."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.frontends.onnx.models import floats, literal, model
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.cli import main
from webkiln.errors import ShapeError, UnsupportedError
from webkiln.ops.evaluate import run_graph

node = helper.make_node
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def networks_by_rate():
    """A network for each sampling rate, as in a voice detector. That for 8000 has an unknown
    operator.
    """
    fast = helper.make_graph([node("Relu", ["x"], ["a"])], "fast", [], [floats("a", 2, 3)])
    slow = helper.make_graph(
        [node("Sparkle", ["x"], ["b"], domain="my.ops")], "slow", [], [floats("b", 2, 3)]
    )
    nodes = [
        node("Equal", ["sr", "rate"], ["is"]),
        node("If", ["is"], ["y"], then_branch=fast, else_branch=slow),
    ]
    sr = helper.make_tensor_value_info("sr", TensorProto.INT64, [])
    proto = model(
        nodes,
        [floats("x", 2, 3), sr],
        [floats("y", 2, 3)],
        [onnx.numpy_helper.from_array(np.array(16000), "rate")],
    )
    proto.opset_import.append(helper.make_opsetid("my.ops", 1))
    return proto


def test_a_fixed_value_selects_a_branch():
    graph = converted(networks_by_rate(), values={"sr": 16000})
    assert (graph.inputs, [item.op for item in graph.nodes]) == (("x",), ["Relu"])
    for values in ({"sr": 8000}, {}):
        with pytest.raises(UnsupportedError, match=r"my\.ops"):
            converted(networks_by_rate(), values=values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rs": 1}, "there is no input rs to give a value; inputs are x, sr"),
        ({"sr": 1.5}, "input sr: its value is 1.5, expected int64"),
        ({"sr": [1, 2]}, r"input sr: its value is \[1, 2\]"),
    ],
)
def test_mismatching_values_are_errors(values, message):
    with pytest.raises(ShapeError, match=message):
        converted(networks_by_rate(), values=values)


def test_the_bundle_has_no_fixed_input_and_is_verified(tmp_path, monkeypatch, capsys):
    proto = model(
        [node("Mul", ["x", "s"], ["y"])], [floats("x", 2, 3), floats("s", 3)], [floats("y", 2, 3)]
    )
    onnx.save(proto, tmp_path / "net.onnx")
    monkeypatch.chdir(tmp_path)
    options = ["net.onnx", "-o", "bundle", "--backend", "js"]
    assert main(["build", *options, "--value", "s=[1, 2.5, -1]"]) == 0
    np.savez("x.npz", x=X)
    assert main(["run", "bundle", "--inputs", "x.npz", "--outputs", "y.npz"]) == 0
    np.testing.assert_array_equal(np.load("y.npz")["y"], X * np.array([1, 2.5, -1], np.float32))
    assert main(["diff", "bundle", "--source", "net.onnx", "--value", "s=[1, 2.5, -1]"]) == 0
    assert main(["build", *options, "--value", "s=two"]) == 2
    assert "--value is 's=two', expected INPUT=VALUE, such as sr=16000" in capsys.readouterr().err


def test_minus_one_is_a_symbolic_size():
    proto = model([node("Relu", ["x"], ["y"])], [floats("x", 2, 3)], [floats("y", None, None)])
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert list(map(str, converted(proto).type("x").shape)) == ["x_0", "3"]


@pytest.mark.parametrize("end", [1_000_000_000, (1 << 31) - 1, (1 << 63) - 1])
def test_a_slice_to_the_end_is_the_entire_axis(end):
    weights = [literal("start", [0]), literal("end", [end]), literal("axes", [0])]
    proto = model(
        [node("Slice", ["x", "start", "end", "axes"], ["s"]), node("Add", ["x", "s"], ["y"])],
        [floats("x", "N", 3)],
        [floats("y", "N", 3)],
        weights,
    )
    graph = converted(proto)
    assert list(map(str, graph.type("add").shape)) == ["N", "3"]
    np.testing.assert_array_equal(
        run_graph(graph, {"x": X}, graph.weights)[0]["y"], onnxruntime_outputs(proto, {"x": X})["y"]
    )


def test_a_state_of_batch_one_fixes_a_symbolic_batch():
    proto = model(
        [node("Concat", ["x", "h"], ["y"], axis=1)],
        [floats("x", "batch_size", 3), floats("h", 1, 4)],
        [floats("y", None, 7)],
    )
    assert [str(guard.a - guard.b) for guard in converted(proto).constraints.guards] == [
        "batch_size - 1"
    ]
    assert converted(proto, dims={"batch_size": 1}).type("concat").shape == (1, 7)


def test_a_conditional_squeeze_depends_on_a_guard():
    """A torch exporter checks whether an axis can be squeezed, which depends on a symbolic size."""
    squeezed = helper.make_graph(
        [node("Squeeze", ["x", "axes"], ["a"])], "one", [], [floats("a", None, None)]
    )
    unchanged = helper.make_graph(
        [node("Identity", ["x"], ["b"])], "more", [], [floats("b", None, None, None)]
    )
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "last"], ["size"], axis=0),
        node("Equal", ["size", "one"], ["is"]),
        node("If", ["is"], ["y"], then_branch=squeezed, else_branch=unchanged),
    ]
    weights = [
        onnx.numpy_helper.from_array(np.array(value), name)
        for name, value in (("last", 2), ("one", 1))
    ]
    proto = model(
        nodes,
        [floats("x", 2, 3, "T")],
        [floats("y", None, None, None)],
        [*weights, literal("axes", [2])],
    )
    graph = converted(proto)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(
        run_graph(graph, {"x": x}, graph.weights)[0]["y"], onnxruntime_outputs(proto, {"x": x})["y"]
    )
    assert [str(guard.a - guard.b) for guard in graph.constraints.guards] == ["-min(1, T - 1) + 1"]
    fixed = converted(proto, dims={"T": 1})
    assert fixed.type(fixed.outputs["y"]).shape == (2, 3)
