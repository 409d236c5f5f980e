"""DynamicQuantizeLSTM compared with onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.bundle_weights import (
    bundle_bytes,
    products,
    wasm_program,
)
from tests.frontends.corpus import Sample, mismatches
from tests.frontends.onnx.models import floats, model
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.ops.evaluate import run_graph

STEPS = 7


def quantized(
    direction, dtype, rng, *, per_channel=False, shift=True, sizes=(6, 5), batch=1, lengths=None,
    **options,
):  # fmt: skip
    """A model with quantised weights, and its inputs. With `shift`, zero points differ from the
    middle of the range. By channel, onnxruntime takes those of uint8 if they are equal, and
    of int8 if they are 0. `sizes`: of the input and of the state.
    """
    features, hidden = sizes
    count = 2 if direction == "bidirectional" else 1
    width = 4 * hidden
    shape = (count, width) if per_channel else (count,)
    info = np.iinfo(dtype)
    middle = 0 if dtype == "int8" else 128
    tensors = {
        "w": rng.integers(info.min, info.max, (count, features, width)).astype(dtype),
        "r": rng.integers(info.min, info.max, (count, hidden, width)).astype(dtype),
        "b": rng.normal(size=(count, 2 * width)).astype(np.float32) * 0.2,
        "p": rng.normal(size=(count, 3 * hidden)).astype(np.float32) * 0.2,
        "ws": rng.uniform(0.003, 0.006, shape).astype(np.float32),
        "wz": np.full(shape, middle + 3 * shift, dtype),
        "rs": rng.uniform(0.003, 0.006, shape).astype(np.float32),
        "rz": np.full(shape, middle - 2 * shift, dtype),
    }
    given = {"x": rng.normal(size=(STEPS, batch, features)).astype(np.float32)}
    if options.pop("initial", False):
        for name in ("h", "c"):
            given[name] = rng.normal(size=(count, batch, hidden)).astype(np.float32)
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
        hidden_size=hidden, direction=direction, **options,
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
        f"{direction} {dtype} {scales} {zeros} {features} {hidden}": {
            "direction": direction, "dtype": dtype, "per_channel": scales == "channels",
            "shift": zeros == "shifted", "sizes": (features, hidden),
        }
        for direction in ("forward", "reverse", "bidirectional")
        for dtype in ("int8", "uint8")
        for scales in ("tensor", "channels")
        for zeros in ("centred", "shifted")
        for features, hidden in ((6, 5), (16, 8), (33, 19))
        if (dtype, scales, zeros) != ("int8", "channels", "shifted")
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


ON_BACKENDS = (
    "bidirectional int8 channels centred 33 19",
    "bidirectional uint8 tensor shifted 16 8",
    "reverse int8 tensor shifted 6 5",
    "forward uint8 channels shifted 33 19",
    "lengths",
    "batch",
)


@pytest.mark.parametrize(
    ("backend", "variant"),
    [("js", ""), ("wasm", "relaxed"), ("wasm", "simd"), ("webgpu", ""), ("webgl", "")],
)
def test_quantized_lstms_run_on_backends(backend, variant, tmp_path):
    samples = []
    for name in ON_BACKENDS:
        proto, given = quantized(rng=np.random.default_rng(7), **CASES[name])
        expected = onnxruntime_outputs(proto, given)
        samples.append(Sample(name, converted(proto), given, expected))
    assert not mismatches(samples, backend, tmp_path, variant=variant)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_weights_stay_in_8_bits(direction, per_channel):
    """In the bundle and in memory, inside of the recurrence too, where rows are multiplied by the
    kernel of integers.
    """
    rng = np.random.default_rng(3)
    proto, _ = quantized(direction, "uint8", rng, per_channel=per_channel, sizes=(64, 128))
    graph = converted(proto)
    assert bundle_bytes(graph) <= 1.05 * sum(len(t.raw_data) for t in proto.graph.initializer)
    program, directions = wasm_program(graph), 1 + (direction == "bidirectional")
    found, decoding = products(program), len(program.init)
    assert found == [("uint8", "dot_product")] * 2 * directions
    assert not decoding
