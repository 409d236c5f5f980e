"""Branches and loops: what is known is decided while converting, what depends on data is part of the program."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.backends.harness import Job, run
from tests.frontends.onnx.models import floats, model
from tests.frontends.onnx.running import converted, onnxruntime_outputs

node = helper.make_node
X = np.array([1.0, -2.0, 3.0], np.float32)


def branches(condition):
    """x + 1 or x * x, by the condition that the given nodes make."""
    then = helper.make_graph([node("Add", ["x", "one"], ["a"])], "then", [], [floats("a", 3)])
    other = helper.make_graph([node("Mul", ["x", "x"], ["b"])], "else", [], [floats("b", 3)])
    nodes = [*condition, node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    weights = [numpy_helper.from_array(np.array(1, np.float32), "one"), numpy_helper.from_array(np.array(2, np.int64), "two")]
    return model(nodes, [floats("x", 3)], [floats("y", 3)], weights)


def doubled(limit, until):
    """x doubled until its sum passes `until`, at most as often as `limit` says, None for any number."""
    body = helper.make_graph(
        [node("Add", ["v", "v"], ["w"]), node("ReduceSum", ["w"], ["s"], keepdims=0), node("Less", ["s", "until"], ["more"]), node("Identity", ["w"], ["seen"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []), floats("v", 3)],
        [helper.make_tensor_value_info("more", TensorProto.BOOL, []), floats("w", 3), *([floats("seen", 3)] if limit is not None else [])],
    )  # fmt: skip
    outputs = [floats("y", 3), *([floats("all", None, 3)] if limit is not None else [])]
    weights = [numpy_helper.from_array(np.array(until, np.float32), "until")]
    weights += [numpy_helper.from_array(np.array(limit, np.int64), "limit")] if limit is not None else []
    loop = node("Loop", ["limit" if limit is not None else "", "", "x"], [item.name for item in outputs], body=body)
    return model([loop], [floats("x", 3)], outputs, weights)


KNOWN = [node("Shape", ["x"], ["s"]), node("Squeeze", ["s"], ["n"]), node("Greater", ["n", "two"], ["c"])]
DATA = [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "one"], ["c"])]


def test_a_known_branch_is_written_out():
    assert [item.op for item in converted(branches(KNOWN)).nodes] == ["Add"]
    assert "If" in [item.op for item in converted(branches(DATA)).nodes]


@pytest.mark.parametrize("backend", ["js", "wasm"])
def test_what_depends_on_data_agrees_with_onnxruntime(backend, tmp_path):
    models = [branches(DATA), doubled(100, 500.0), doubled(3, 500.0), doubled(None, 500.0)]
    jobs, expected = [], []
    for made in models:
        for x in (X, -X, X * 10):
            graph = converted(made)
            if made is not models[0] and x.sum() < 0:
                continue
            jobs.append(Job(graph, {"x": x}, graph.weights))
            expected.append(onnxruntime_outputs(made, {"x": x}))
    for outputs, reference in zip(run(jobs, backend, tmp_path), expected, strict=True):
        for name, value in reference.items():
            np.testing.assert_allclose(outputs[name], value, rtol=1e-6)
