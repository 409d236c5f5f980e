"""The compiler does not recurse by the length of a model, and its time grows linearly."""

import time

import numpy as np
import onnxruntime
import pytest

from tests.backends.harness import Job, run
from tests.bench.long_models import KINDS, long_model
from tests.passes.running import optimised
from tests.programs import program
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.load import describe_model
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import constant_values
from webkiln.ops.table import infer


def converted(model):
    graph = OnnxConverter().convert(*describe_model(model, "net"))
    verify(graph, infer)
    return optimised(graph)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", representative(["js", "webgpu", "webgl"], "js"))
def test_long_models_agree_with_onnxruntime(kind, backend, tmp_path):
    model = long_model(kind, 700 if backend == "js" else 300)
    graph = converted(model)
    x = np.random.default_rng(3).uniform(-1, 1, (2, 16)).astype(np.float32)
    (outputs,) = run(
        [Job(graph, {"x": x}, constant_values(graph, graph.weights))], backend, tmp_path
    )
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    assert relative_error(outputs["y"], expected) < 1e-3


@pytest.mark.long
@pytest.mark.parametrize("kind", ["adds", "functions", "diamonds", "fan", "joined"])
def test_time_grows_with_the_length(kind):
    begin = time.process_time()
    compiled = program(converted(long_model(kind, 5000)), REGISTRY["wasm"], "float32")
    assert time.process_time() - begin < 40
    assert kind == "joined" or len(compiled["main"]) < 200
