"""DynamicQuantizeLSTM compared with onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.corpus import Sample, mismatches
from tests.frontends.onnx.models import floats, model
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.ops.evaluate import run_graph

INPUT, HIDDEN, STEPS = 6, 5, 7


def quantized(direction, dtype, rng, *, per_channel=False, batch=1, lengths=None, **options):
    """A model with quantised weights, and its inputs."""
    count = 2 if direction == "bidirectional" else 1
    width = 4 * HIDDEN
    shape = (count, width) if per_channel else (count,)
    info = np.iinfo(dtype)
    middle = 0 if dtype == "int8" else 128
    tensors = {
        "w": rng.integers(info.min, info.max, (count, INPUT, width)).astype(dtype),
        "r": rng.integers(info.min, info.max, (count, HIDDEN, width)).astype(dtype),
        "b": rng.normal(size=(count, 2 * width)).astype(np.float32) * 0.2,
        "p": rng.normal(size=(count, 3 * HIDDEN)).astype(np.float32) * 0.2,
        "ws": rng.uniform(0.003, 0.006, shape).astype(np.float32),
        "wz": np.full(shape, middle if per_channel else middle + 3, dtype),
        "rs": rng.uniform(0.003, 0.006, shape).astype(np.float32),
        "rz": np.full(shape, middle if per_channel else middle - 2, dtype),
    }
    given = {"x": rng.normal(size=(STEPS, batch, INPUT)).astype(np.float32)}
    if options.pop("initial", False):
        for name in ("h", "c"):
            given[name] = rng.normal(size=(count, batch, HIDDEN)).astype(np.float32)
    if lengths is not None:
        tensors["lengths"] = np.array(lengths, np.int32)
    present = {*tensors, *given} - ({*options.pop("without", ())})
    names = [
        name if name in present else ""
        for name in ("x", "w", "r", "b", "lengths", "h", "c", "p", "ws", "wz", "rs", "rz")
    ]
    outputs = ["y", "yh", "yc"]
    node = helper.make_node(
        "DynamicQuantizeLSTM", names, outputs, "lstm", domain="com.microsoft",
        hidden_size=HIDDEN, direction=direction, **options,
    )  # fmt: skip
    proto = model(
        [node],
        [floats(name, *value.shape) for name, value in given.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(tensors[name], name) for name in tensors if name in present],
        opset=17,
        microsoft=True,
    )
    return proto, given


CASES = {
    **{
        f"{direction} {dtype} {'per channel' if per_channel else ''}": {
            "direction": direction, "dtype": dtype, "per_channel": per_channel,
        }
        for direction in ("forward", "reverse", "bidirectional")
        for dtype in ("int8", "uint8")
        for per_channel in (False, True)
    },
    "initial states": {"direction": "bidirectional", "dtype": "int8", "initial": True},
    "no biases": {"direction": "forward", "dtype": "int8", "without": ("b", "p")},
    "no peepholes": {"direction": "bidirectional", "dtype": "uint8", "without": ("p",)},
    "lengths": {"direction": "bidirectional", "dtype": "int8", "batch": 1, "lengths": [4]},
    "clip": {"direction": "forward", "dtype": "int8", "clip": 0.3},
    "coupled gates": {"direction": "forward", "dtype": "int8", "input_forget": 1},
    "activations": {"direction": "forward", "dtype": "int8",
                    "activations": ["Sigmoid", "Relu", "Tanh"]},
    "batch": {"direction": "forward", "dtype": "int8", "batch": 3},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_quantized_lstms_agree_with_onnxruntime(name):
    proto, given = quantized(rng=np.random.default_rng(7), **CASES[name])
    expected = onnxruntime_outputs(proto, given)
    outputs, _ = run_graph(converted(proto), given)
    for key, value in expected.items():
        np.testing.assert_allclose(outputs[key], value, rtol=1e-4, atol=2e-5, err_msg=key)


def test_quantized_lstms_run_on_wasm(tmp_path):
    samples = []
    for name in ("bidirectional int8 per channel", "lengths"):
        proto, given = quantized(rng=np.random.default_rng(7), **CASES[name])
        expected = onnxruntime_outputs(proto, given)
        samples.append(Sample(name, converted(proto), given, expected))
    assert not mismatches(samples, "wasm", tmp_path)
