"""Models that onnxruntime's quantizer writes with QuantizeLinear and DequantizeLinear: products are
computed as integers, and results are those of onnxruntime.
"""

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization

from tests.frontends.onnx.running import converted, onnxruntime_outputs
from tests.passes.running import optimised
from tests.quantizer import Samples
from webkiln.ops.evaluate import run_graph

DTYPES = {"int8": quantization.QuantType.QInt8, "uint8": quantization.QuantType.QUInt8}
SHAPE = (2, 3, 12, 10)


def float_model():
    """Convolutions with and without padding, strides, groups and a residual, and a classifier."""
    rng = np.random.default_rng(0)
    weights = {
        "k0": (8, 3, 3, 3),
        "b0": (8,),
        "k1": (8, 1, 3, 3),
        "k2": (8, 8, 1, 1),
        "b2": (8,),
        "w": (8, 5),
    }
    values = [
        numpy_helper.from_array(rng.normal(0, 0.4, shape).astype(np.float32), name)
        for name, shape in weights.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "k0", "b0"], ["c0"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("Conv", ["r0", "k1"], ["c1"], pads=[1, 0, 1, 2], group=8),
        helper.make_node("Conv", ["c1", "k2", "b2"], ["c2"]),
        helper.make_node("Add", ["c2", "r0"], ["a"]),
        helper.make_node("GlobalAveragePool", ["a"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 5))
    graph = helper.make_graph(nodes, "g", [x], [y], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


@pytest.mark.parametrize("by_channel", [False, True])
@pytest.mark.parametrize(
    ("activations", "weights"), [("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")]
)
def test_files_of_the_quantizer(activations, weights, by_channel, tmp_path):
    rng = np.random.default_rng(1)
    samples = [{"x": rng.standard_normal(SHAPE).astype(np.float32)} for _ in range(4)]
    original, path = tmp_path / "float.onnx", tmp_path / "qdq.onnx"
    onnx.save(float_model(), original)
    quantization.quantize_static(
        original,
        path,
        Samples(samples),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=by_channel,
        activation_type=DTYPES[activations],
        weight_type=DTYPES[weights],
    )
    model = onnx.load(path)
    expected = onnxruntime_outputs(model, samples[0])["y"]
    source = converted(model)
    graph = optimised(source)
    got = run_graph(graph, samples[0], source.weights)[0]["y"]
    operators = Counter(node.op for node in graph.nodes)
    assert (operators["ConvInteger"], operators["Conv"]) == (3, 0)
    assert (operators["MatMulInteger"], operators["MatMul"]) == (1, 0)
    step = np.diff(np.unique(expected)).min()
    assert np.abs(got - expected).max() <= 1.01 * step
