"""The operators of com.microsoft against onnxruntime, on js and wasm."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.frontends.onnx.microsoft_nodes import NodeCase, real, scale, small, zero
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.backends.compare import relative_error
from webkiln.frontends.onnx.operators.microsoft import MICROSOFT
from webkiln.frontends.onnx.operators.microsoft_quantize import MICROSOFT_QUANTIZE
from webkiln.frontends.onnx.operators.microsoft_recurrent import MICROSOFT_RECURRENT

X, H = real(2, 5, 8), real(8)
U8 = (small(2, 3, 6, 6), scale(0.03), zero(120))
OUT = (scale(0.05), zero(110))
ALL = (np.arange(256, dtype=np.uint8), scale(0.125), zero(3))
HALF = (np.arange(256, dtype=np.uint8) // 2, scale(0.125), zero(4))
"""Sums and products of ALL and HALF are ties for a scale of 0.25."""

TRIED = [
    NodeCase("Gelu", (X,)),
    NodeCase("BiasGelu", (X, H)),
    NodeCase("FastGelu", (X, H)),
    NodeCase("FastGelu", (X,)),
    NodeCase("QuickGelu", (X,), {"alpha": 1.5}),
    NodeCase("ScaledSiLU", (X,), {"alpha": 1.5}),
    NodeCase(
        "FusedConv",
        (real(1, 4, 6, 6), real(5, 4, 3, 3), real(5), real(1, 5, 6, 6)),
        {"activation": "Relu", "pads": [1, 1, 1, 1]},
    ),
    NodeCase(
        "FusedConv",
        (real(1, 4, 6, 6), real(4, 1, 3, 3)),
        {"activation": "LeakyRelu", "activation_params": [0.2], "group": 4},
    ),
    NodeCase(
        "FusedGemm",
        (real(3, 4), real(5, 4), real(5)),
        {"transB": 1, "alpha": 0.5, "activation": "LeakyRelu", "activation_alpha": 0.1},
    ),
    NodeCase(
        "FusedMatMul", (real(2, 4, 3), real(2, 5, 4)), {"transA": 1, "transB": 1, "alpha": 0.25}
    ),
    NodeCase(
        "SkipLayerNormalization", (X, real(2, 5, 8), H, real(8), real(8)), {"epsilon": 1e-5}, (0, 3)
    ),
    NodeCase("SkipLayerNormalization", (X, real(2, 5, 8), H), {"epsilon": 1e-5}),
    NodeCase("SkipSimplifiedLayerNormalization", (X, real(2, 5, 8), H), {"epsilon": 1e-5}, (0, 3)),
    NodeCase(
        "SimplifiedLayerNormalization", (X, H), {"axis": -1, "epsilon": 1e-5, "stash_type": 1}
    ),
    NodeCase(
        "EmbedLayerNormalization",
        (
            small(2, 5).astype(np.int32) % 9,
            small(2, 5).astype(np.int32) % 2,
            real(9, 8),
            real(6, 8),
            real(2, 8),
            H,
            real(8),
            (small(2, 5) % 2).astype(np.int32),
        ),
        {"epsilon": 1e-5},
        (0, 1),
    ),
    NodeCase(
        "EmbedLayerNormalization",
        (small(2, 5).astype(np.int32) % 9, None, real(9, 8), real(6, 8), None, H, real(8)),
        {"epsilon": 1e-5},
        (0, 1),
    ),
    NodeCase("Attention", (X, real(8, 24), real(24)), {"num_heads": 2}),
    NodeCase(
        "Attention",
        (X, real(8, 24), real(24), np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)),
        {"num_heads": 2},
    ),
    NodeCase("Attention", (X, real(8, 24), real(24), np.array([3, 5], np.int32)), {"num_heads": 4}),
    NodeCase("Attention", (X, real(8, 24), real(24)), {"num_heads": 2, "unidirectional": 1}),
    NodeCase("MultiHeadAttention", (X, real(2, 7, 8), real(2, 7, 8), real(24)), {"num_heads": 2}),
    NodeCase(
        "MultiHeadAttention",
        (X, real(2, 7, 8), real(2, 7, 8), None, None, real(1, 2, 5, 7)),
        {"num_heads": 2, "scale": 0.3},
    ),
    NodeCase(
        "MatMulNBits",
        (real(3, 32), small(6, 2, 8), real(12, scale=0.1)),
        {"K": 32, "N": 6, "bits": 4, "block_size": 16},
    ),
    NodeCase(
        "MatMulNBits",
        (real(3, 32), small(6, 2, 8), real(12, scale=0.1), small(6)),
        {"K": 32, "N": 6, "bits": 4, "block_size": 16},
    ),
    NodeCase(
        "GatherBlockQuantized",
        (small(9, 16), np.array([[8, 0, 3]]), real(9, 2), small(9, 1)),
        {"bits": 4, "block_size": 16},
    ),
    NodeCase("QuantizeLinear", (X, scale(0.03), zero(100))),
    NodeCase("DequantizeLinear", (small(3, 4), scale(0.03), zero(100))),
    NodeCase("QLinearAdd", (*U8, small(6), scale(0.02), zero(128), *OUT), off=1),
    NodeCase("QLinearMul", (*U8, small(6), scale(0.02), zero(128), *OUT), off=1),
    *(
        NodeCase(op, (*ALL, *HALF, scale(0.25), zero(point)))
        for op in ("QLinearAdd", "QLinearMul")
        for point in (7, 128)
    ),
    *(
        NodeCase(
            "QLinearAveragePool",
            (ALL[0].reshape(1, 1, 16, 16), *ALL[1:], scale(0.125), zero(point)),
            {"kernel_shape": [2, 2], "strides": [2, 2]},
        )
        for point in (7, 128)
    ),
    NodeCase("QLinearSigmoid", (*U8, scale(1 / 256), zero(0)), off=1),
    NodeCase("QLinearLeakyRelu", (*U8, *OUT), {"alpha": 0.1}, off=1),
    NodeCase("QLinearSoftmax", (*U8, scale(1 / 256), zero(0)), {"axis": -1, "opset": 13}, off=1),
    NodeCase("QLinearAveragePool", (*U8, *OUT), {"kernel_shape": [2, 2], "strides": [2, 2]}, off=1),
    NodeCase("QLinearGlobalAveragePool", (*U8, scale(0.01), zero(128)), off=1),
    NodeCase(
        "QLinearGlobalAveragePool",
        (small(2, 6, 6, 3), scale(0.03), zero(120), scale(0.01), zero(128)),
        {"channels_last": 1},
        off=1,
    ),
    NodeCase(
        "QLinearConcat",
        (*OUT, small(2, 3), scale(0.03), zero(120), small(2, 4), scale(0.04), zero(99)),
        {"axis": 1},
        off=1,
    ),
    NodeCase(
        "QGemm",
        (small(3, 4), scale(0.02), zero(120), small(4, 5), scale(0.03), zero(130), None, *OUT),
        off=1,
    ),
    NodeCase(
        "QGemm",
        (small(3, 4), scale(0.02), zero(120), small(5, 4), scale(0.03), zero(130)),
        {"transB": 1, "alpha": 0.5},
    ),
    NodeCase(
        "MatMulIntegerToFloat",
        (small(3, 4), small(4, 5), scale(0.02), scale(0.03), zero(120), zero(130), real(5)),
    ),
    NodeCase("DynamicQuantizeMatMul", (real(3, 4), small(4, 5), scale(0.03), zero(130), real(5))),
]


def test_every_operator_has_a_case():
    assert {case.op for case in TRIED} == {*MICROSOFT, *MICROSOFT_QUANTIZE}


@pytest.fixture(scope="module", params=["js", "wasm"])
def results(request, tmp_path_factory):
    graphs = [converted(case.model()) for case in TRIED]
    jobs = [
        Job(graph, case.values, graph.weights) for graph, case in zip(graphs, TRIED, strict=True)
    ]
    return run(jobs, request.param, tmp_path_factory.mktemp("jobs"))


@pytest.mark.parametrize(
    "number", range(len(TRIED)), ids=[f"{number}-{case.op}" for number, case in enumerate(TRIED)]
)
def test_operators_agree_with_onnxruntime(results, number):
    case = TRIED[number]
    for name, value in onnxruntime_outputs(case.model(), case.values).items():
        got = results[number][name]
        assert (got.dtype, got.shape) == (value.dtype, value.shape)
        if value.dtype.kind == "f":
            assert relative_error(got, value) < 1e-4
        else:
            assert np.abs(got.astype(int) - value.astype(int)).max() <= case.off


def test_the_page_lists_the_operators() -> None:
    page = (Path(__file__).parents[3] / "docs" / "onnx.md").read_text("utf-8")
    section = page.split("## Operators of com.microsoft")[1].split("\n## ")[0]
    assert re.findall(r"`(\w+)`", section) == sorted(
        MICROSOFT | MICROSOFT_QUANTIZE | MICROSOFT_RECURRENT
    )
