"""Programs with subgroup matrices of 8 x 8 run on a software GPU that has them, and match numpy.
`make matrices` runs these tests.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.dawn.lavapipe import run_bundle, run_programs
from tests.dawn.matrix_graphs import CHAIN, OTHERS, parsed, prepared, products, values_of
from tests.passes.graphs import evaluate_graph
from webkiln.backends.compare import relative_error
from webkiln.plan import matrix_forms

pytestmark = pytest.mark.lavapipe
EMULATED = {"vendor": "mesa", "architecture": "llvmpipe"}
EXACT = 3e-6
"""The largest error of sums in float32 of products that float32 represents."""


@pytest.fixture(autouse=True)
def _small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_forms, "LEAST_TERMS", 1)


def check(texts: dict[str, str]) -> None:
    graphs = {name: parsed(text) for name, text in texts.items()}
    values = {name: values_of(graph) for name, graph in graphs.items()}
    results = run_programs([prepared(graphs[name], values[name]) for name in graphs])
    for (name, graph), ran in zip(graphs.items(), results, strict=True):
        (reference,) = evaluate_graph(graph, values[name]).values()
        assert relative_error(ran.outputs["y"], reference) < EXACT, name
        assert len(ran.matrices) == 1, name


def test_products_match_numpy() -> None:
    check(products())


def test_batches_and_convolutions_match_numpy() -> None:
    check(OTHERS)


def test_a_large_product_matches_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    check(
        {
            "large": """
            input x: float32[520,640]
            slot w: float32[640,808]
            a: float32[520,640] = Neg(x)
            y: float32[520,808] = MatMul(a, w)
        """
        }
    )


def test_products_of_float16_results_match_the_plain_form() -> None:
    graph = parsed(CHAIN)
    values = values_of(graph)
    matrices, plain = run_programs(
        [prepared(graph, values), prepared(graph, values, matrices=False)]
    )
    assert (len(matrices.matrices), len(plain.matrices)) == (2, 0)
    assert relative_error(matrices.outputs["y"], plain.outputs["y"]) < 1e-3


@pytest.mark.parametrize("missing", ["chromium-experimental-subgroup-matrix", "shader-f16"])
def test_a_device_without_a_feature_computes_the_plain_form(missing: str) -> None:
    graph = parsed(CHAIN)
    values = values_of(graph)
    without, plain = run_programs(
        [prepared(graph, values), prepared(graph, values, matrices=False)], without=[missing]
    )
    assert not without.matrices
    assert relative_error(without.outputs["y"], plain.outputs["y"]) < 1e-3


def test_emulated_gpus_use_no_matrices() -> None:
    graph = parsed(CHAIN)
    (ran,) = run_programs([prepared(graph, values_of(graph))], EMULATED)
    assert not ran.matrices


def test_nan_stays_in_its_row() -> None:
    graph = parsed(products()["130x40x132 alone"])
    values = values_of(graph)
    values["x"][70, 39] = np.nan
    (ran,) = run_programs([prepared(graph, values)])
    assert ran.matrices
    assert list(np.flatnonzero(np.isnan(ran.outputs["y"]).any(axis=1))) == [70]


def two_layers(path: Path) -> None:
    """y = tanh(relu(x v) w); the second product has 2^28 multiply-adds."""
    rng = np.random.default_rng(0)
    weights = {
        name: rng.standard_normal(shape).astype(np.float32) / np.float32(16)
        for name, shape in {"v": (256, 1024), "w": (1024, 512)}.items()
    }
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "v"], ["p"]),
            helper.make_node("Relu", ["p"], ["h"]),
            helper.make_node("MatMul", ["h", "w"], ["q"]),
            helper.make_node("Tanh", ["q"], ["y"]),
        ],
        "two_layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [512, 256])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [512, 512])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)


def test_a_bundle_with_the_option_matches_onnxruntime(tmp_path: Path) -> None:
    model, bundle = tmp_path / "two_layers.onnx", tmp_path / "bundle"
    two_layers(model)
    options = ("--backend", "webgpu", "--precision", "float16", "--subgroup-matrices", "on")
    command = [sys.executable, "-m", "webkiln.cli", "build", str(model), "--output", str(bundle)]
    subprocess.run([*command, *options], cwd=tmp_path, check=True, capture_output=True, timeout=280)
    x = np.random.default_rng(1).standard_normal((512, 256)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(model).run(["y"], {"x": x})
    ran = run_bundle(bundle, x)
    assert len(ran.matrices) == 1
    assert relative_error(ran.outputs["y"].reshape(512, 512), expected) < 5e-3
