"""Regression tests for defects of WebDNN 1.x."""

from importlib import import_module
from textwrap import dedent

import numpy as np
import pytest
from onnx import helper

from tests.backends.harness import Job, run
from tests.frontends.onnx import models
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from tests.passes.graphs import evaluate_graph
from tests.programs import program
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.ops.table import parse
from webkiln.passes.pipeline import PASSES
from webkiln.weights.shards import stored

PICTURE = """graph picture
input x: float32[1,128,128,64]
slot w: float32[3,3,64,3]
slot b: float32[3]
c: float32[1,128,128,3] = Conv(x, w, b) {"dilation":[1,1],"out_dims":[0,3,1,2],"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
y: float32[1,128,128,3] = Tanh(c)
output y = y
"""  # noqa: E501


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """The last convolution of a network that generates an image, with activations from tiny to
    hundreds, by backend.
    """
    rng = np.random.default_rng(0)
    x = (
        rng.standard_normal((1, 128, 128, 64)).astype(np.float32)
        * np.logspace(-3, 2, 128, dtype=np.float32)[:, None, None]
    )
    weights = {
        "w": rng.standard_normal((3, 3, 64, 3)).astype(np.float32) / 24,
        "b": np.zeros(3, np.float32),
    }
    graph = parse(PICTURE)
    images = {
        backend: run([Job(graph, {"x": x}, weights)], backend, tmp_path_factory.mktemp(backend))[0][
            "y"
        ]
        for backend in ("wasm", "webgl")
    }
    return images | {"reference": evaluate_graph(graph, {"x": x, **weights})["y"]}


def test_large_activations_before_tanh_do_not_become_nan_on_webgl(pictures):
    assert np.abs(pictures["reference"]).max() == 1
    assert relative_error(pictures["webgl"], pictures["wasm"]) < 1e-5
    assert relative_error(pictures["webgl"], pictures["reference"]) < 1e-4


def test_tanh_of_a_hundred_is_one(tmp_path):
    x = np.array([100, -100, 50, 1e10, -np.inf, np.inf, 10], np.float32)
    (outputs,) = run(
        [
            Job(
                parse("graph t\ninput x: float32[7]\ny: float32[7] = Tanh(x)\noutput y = y\n"),
                {"x": x},
            )
        ],
        "webgl",
        tmp_path,
    )
    np.testing.assert_array_equal(outputs["y"], np.sign(x))


BACKENDS = list(REGISTRY)


def optimised(graph):
    for name in PASSES:
        graph = import_module(f"webkiln.passes.{name}").run(graph)
    return graph


def against_reference(text, values, folder, tolerance=1e-6):
    """Run a graph on every backend, unchanged and after passes."""
    graph = parse(text)
    expected = evaluate_graph(graph, values)
    jobs = [
        Job(
            form,
            {name: values[name] for name in form.inputs},
            {name: values[name] for name in form.slots},
        )
        for form in (graph, optimised(graph))
    ]
    for backend in BACKENDS:
        for number, outputs in enumerate(run(jobs, backend, folder / backend)):
            for name, value in expected.items():
                assert relative_error(outputs[name], value) <= tolerance, (backend, number, name)


def test_an_activation_with_a_second_consumer_is_not_fused(tmp_path):
    """WebDNN computed activations in place, over values that another node read later."""
    text = """
        graph g
        input x: float32[3,7]
        slot w: float32[7,5]
        a: float32[3,5] = MatMul(x, w)
        r: float32[3,5] = Relu(a)
        t: float32[3,5] = Tanh(r)
        s: float32[3,5] = Add(a, t)
        output s = s
        output r = r
        """
    rng = np.random.default_rng(1)
    values = {
        "x": rng.standard_normal((3, 7)).astype(np.float32),
        "w": rng.standard_normal((7, 5)).astype(np.float32),
    }
    assert (evaluate_graph(parse(dedent(text)), values)["s"] < 0).any(), (
        "there is something that the activation would change"
    )
    against_reference(dedent(text), values, tmp_path, 1e-5)


@pytest.mark.parametrize("op", ["Div", "Pow"])
@pytest.mark.parametrize("first", ["const", "x"])
@pytest.mark.sample(2)
def test_one_divided_by_x_and_one_to_the_power_of_x_are_not_x(op, first, tmp_path):
    """Only x / 1 and x ** 1 are x."""
    operands = "one, x" if first == "const" else "x, one"
    text = (
        "graph g\ninput x: float32[2,4]\nconst one: float32[] = [1.0]\ny: float32[2,4] ="
        f" {op}({operands})\nz: float32[2,4] = Neg(y)\noutput z = z\n"
    )
    remaining = {node.op for node in optimised(parse(text)).nodes}
    assert remaining == ({op, "Neg"} if first == "const" else {"Neg"})
    against_reference(
        text, {"x": np.array([[0.5, 2, 3, 4], [1, 8, 0.25, 5]], np.float32)}, tmp_path
    )


def test_a_scalar_needs_no_memory():
    """WebDNN stored scalars as tensors of the broadcast shape."""
    text = (
        "graph g\ninput x: float32[64,64]\nconst half: float32[] = [0.5]\ny: float32[64,64] ="
        " Mul(x, half)\noutput y = y\n"
    )
    graph = optimised(parse(text))
    assert not stored(graph)
    for backend in BACKENDS:
        compiled = program(graph, REGISTRY[backend], "float32")
        assert not compiled["init"]
        assert compiled["memory"] <= 2 * 64 * 64 * 4 + 1024


def test_log_softmax_computes_the_logarithm(tmp_path):
    x = np.array([[1, 2, 3], [-50, 0, 50], [1000, 1000, -1000]], np.float32)
    text = (
        'graph g\ninput x: float32[3,3]\ny: float32[3,3] = LogSoftmax(x) {"axis":1}\noutput y = y\n'
    )
    assert (evaluate_graph(parse(text), {"x": x})["y"] <= 0).all()
    against_reference(text, {"x": x}, tmp_path)


@pytest.mark.parametrize("backend", BACKENDS)
def test_asymmetric_pads_and_groups_of_onnx_are_converted_correctly(backend, tmp_path):
    """ONNX lists all low pads, then all high ones; a grouped convolution has one kernel per
    group.
    """
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["c"], pads=[2, 0, 1, 3], strides=[1, 2]),
        helper.make_node("Conv", ["c", "grouped"], ["g"], group=2),
        helper.make_node("AveragePool", ["g"], ["y"], kernel_shape=[2, 2], pads=[0, 1, 1, 0]),
    ]
    weights = [models.weight("kernel", 4, 3, 3, 3), models.weight("grouped", 6, 2, 1, 1)]
    model = models.model(
        nodes, [models.floats("x", 1, 3, 7, 8)], [models.floats("y", 1, 6, None, None)], weights
    )
    x = np.random.default_rng(3).standard_normal((1, 3, 7, 8)).astype(np.float32)
    graph = converted(model)
    (outputs,) = run([Job(graph, {"x": x}, graph.weights)], backend, tmp_path)
    assert relative_error(outputs["y"], onnxruntime_outputs(model, {"x": x})["y"]) < 1e-5
