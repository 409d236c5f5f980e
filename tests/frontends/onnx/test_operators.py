"""Operators and options without cases in the onnx package, compared with onnxruntime."""

import numpy as np
import pytest
from onnx import helper

from tests.backends.harness import Job, run
from tests.frontends.onnx.models import model
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.backends.compare import relative_error

RNG = np.random.default_rng(30)


def real(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


REGIONS = np.array([[0, 0, 0, 7, 5], [1, 2, 1, 6, 8], [0, 3, 3, 3, 3]], np.float32)
CASES = {
    "MaxRoiPool": (
        "MaxRoiPool",
        21,
        (real(2, 3, 9, 10), REGIONS),
        {"pooled_shape": [3, 2], "spatial_scale": 1.0},
    ),
    "MaxRoiPool scaled": (
        "MaxRoiPool",
        21,
        (real(2, 3, 9, 10), REGIONS * np.array([1, 2, 2, 2, 2], np.float32)),
        {"pooled_shape": [2, 4], "spatial_scale": 0.5},
    ),
    "AveragePool ceil": (
        "AveragePool",
        21,
        (real(1, 2, 7, 8),),
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    ),
    "AveragePool padded": (
        "AveragePool",
        21,
        (real(1, 2, 7, 8),),
        {"kernel_shape": [3, 3], "pads": [1, 0, 1, 2], "count_include_pad": 1},
    ),
    "MaxPool dilated": (
        "MaxPool",
        21,
        (real(1, 2, 9, 9),),
        {"kernel_shape": [2, 3], "dilations": [2, 2], "auto_pad": "VALID"},
    ),
    "ConvTranspose grouped": (
        "ConvTranspose",
        21,
        (real(1, 4, 5, 5), real(4, 3, 3, 2), real(6)),
        {"group": 2, "strides": [2, 3], "output_padding": [1, 0]},
    ),
    "Conv same lower": (
        "Conv",
        21,
        (real(1, 2, 7, 6), real(3, 2, 4, 3)),
        {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
    ),
    "Gemm by alpha": (
        "Gemm",
        21,
        (real(3, 4), real(5, 4), real(5)),
        {"transB": 1, "alpha": 0.5, "beta": 2.0},
    ),
    "Softmax 11": ("Softmax", 11, (real(2, 3, 4),), {"axis": 1}),
    "BatchNormalization 7": (
        "BatchNormalization",
        7,
        (real(2, 3, 4), real(3), real(3), real(3), abs(real(3))),
        {},
    ),
    "Upsample 7": (
        "Upsample",
        7,
        (real(1, 2, 3, 4),),
        {"scales": [1.0, 1.0, 2.0, 1.5], "mode": "nearest"},
    ),
    "LSTM peepholes": (
        "LSTM",
        14,
        (
            real(4, 2, 3),
            real(2, 20, 3),
            real(2, 20, 5),
            real(2, 40),
            np.array([4, 2], np.int32),
            real(2, 2, 5),
            real(2, 2, 5),
            real(2, 15),
        ),
        {"hidden_size": 5, "direction": "bidirectional"},
    ),
    "GRU before reset": (
        "GRU",
        14,
        (real(4, 2, 3), real(1, 15, 3), real(1, 15, 5), real(1, 30)),
        {"hidden_size": 5, "linear_before_reset": 1, "direction": "reverse"},
    ),
    "RNN activations": (
        "RNN",
        14,
        (real(4, 2, 3), real(1, 5, 3), real(1, 5, 5)),
        {"hidden_size": 5, "activations": ["LeakyRelu"], "activation_alpha": [0.2]},
    ),
    "Resize cubic": (
        "Resize",
        19,
        (real(1, 2, 5, 6), None, np.array([1, 1, 1.6, 0.5], np.float32)),
        {"mode": "cubic", "coordinate_transformation_mode": "half_pixel"},
    ),
    **{
        f"{op} of integers": (
            op,
            17,
            (np.array([[7, 2, 1], [5, 6, 9]], np.int32),),
            {"axes": [1], "keepdims": 0},
        )
        for op in (
            "ReduceMean",
            "ReduceL1",
            "ReduceL2",
            "ReduceLogSum",
            "ReduceLogSumExp",
            "ReduceSumSquare",
            "ReduceProd",
            "ReduceMax",
        )
    },
    "Asinh": (
        "Asinh",
        21,
        (np.float32([-1e-3, 0.5, -127.0, 129.0, 1e9, -1e20, 3e38, np.inf, -np.inf, np.nan]),),
        {},
    ),
    "Acosh": ("Acosh", 21, (np.float32([1.0, 1.5, 300.0, 1e20, 1e38, np.inf]),), {}),
    "LpPool": ("LpPool", 18, (real(1, 2, 6, 6),), {"kernel_shape": [3, 3], "p": 3}),
}
OUTPUT_COUNTS = {"LSTM": 3, "GRU": 2, "RNN": 2}
INITIALISERS = {"Resize": [2]}
"""Operators -> the indices of operands that are initialisers."""


def build(name):
    op, opset, operands, attrs = CASES[name]
    names = [f"x{n}" if value is not None else "" for n, value in enumerate(operands)]
    outputs = [f"y{n}" for n in range(OUTPUT_COUNTS.get(op, 1))]
    values = {name: value for name, value in zip(names, operands, strict=True) if name}
    inputs = {
        name: value
        for name, value in values.items()
        if int(name[1:]) not in INITIALISERS.get(op, [])
    }
    weights = [
        helper.make_tensor(name, 1, value.shape, value.ravel())
        for name, value in values.items()
        if name not in inputs
    ]
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
        )
        for name, value in inputs.items()
    ]
    node = helper.make_node(op, names, outputs, "node", **attrs)
    return model(
        [node],
        infos,
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        weights,
        opset=opset,
    ), inputs


@pytest.fixture(scope="module", params=["js", "wasm"])
def results(request, tmp_path_factory):
    pairs = [build(name) for name in CASES]
    graphs = [converted(proto) for proto, _ in pairs]
    jobs = [
        Job(graph, inputs, graph.weights) for graph, (_, inputs) in zip(graphs, pairs, strict=True)
    ]
    return dict(zip(CASES, run(jobs, request.param, tmp_path_factory.mktemp("jobs")), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_options_agree_with_onnxruntime(results, name):
    proto, inputs = build(name)
    for output, value in onnxruntime_outputs(proto, inputs).items():
        assert results[name][output].shape == value.shape
        assert relative_error(results[name][output], value) < 1e-4
