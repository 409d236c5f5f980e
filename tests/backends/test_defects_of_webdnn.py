"""Defects of WebDNN 1.x that must not come back."""

import numpy as np
import pytest

from tests.backends.harness import Job, error, run
from tests.passes.graphs import evaluate_graph
from webkiln.ir.text import parse

PICTURE = """graph picture
input x: float32[1,128,128,64]
slot w: float32[3,3,64,3]
slot b: float32[3]
c: float32[1,128,128,3] = Conv(x, w, b) {"dilation":[1,1],"out_dims":[0,3,1,2],"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
y: float32[1,128,128,3] = Tanh(c)
output y = y
"""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """The last convolution of a network that draws a picture, with activations from tiny to hundreds, by backend."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 128, 128, 64)).astype(np.float32) * np.logspace(-3, 2, 128, dtype=np.float32)[:, None, None]
    weights = {"w": rng.standard_normal((3, 3, 64, 3)).astype(np.float32) / 24, "b": np.zeros(3, np.float32)}
    graph = parse(PICTURE)
    made = {
        backend: run([Job(graph, {"x": x}, weights)], backend, tmp_path_factory.mktemp(backend))[0]["y"] for backend in ("wasm", "webgl")
    }
    return made | {"reference": evaluate_graph(graph, {"x": x, **weights})["y"]}


def test_large_activations_before_tanh_do_not_become_nan_on_webgl(pictures):
    assert np.abs(pictures["reference"]).max() == 1
    assert error(pictures["webgl"], pictures["wasm"]) < 1e-5
    assert error(pictures["webgl"], pictures["reference"]) < 1e-4


def test_tanh_of_a_hundred_is_one(tmp_path):
    x = np.array([100, -100, 50, 1e10, -np.inf, np.inf, 10], np.float32)
    (outputs,) = run([Job(parse("graph t\ninput x: float32[7]\ny: float32[7] = Tanh(x)\noutput y = y\n"), {"x": x})], "webgl", tmp_path)
    np.testing.assert_array_equal(outputs["y"], np.sign(x))
