"""Weights of model files: a bundle contains them as the file does. The corpus compares the results
of its files with the interpreter.
"""

from collections import Counter
from math import prod
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from tests.frontends.bundle_weights import bundle_bytes, bundle_weights
from tests.frontends.tflite.files import packed, unpacked, weight_bytes
from tests.frontends.tflite.loading import graph_of
from tests.frontends.tflite.operator_model import (
    Single,
    T,
    f,
    floats,
    int_input,
    integers,
    model_bytes,
    options,
    q,
    window,
)
from tests.passes.running import optimised
from webkiln.frontends.nodes import narrow
from webkiln.ops.evaluate import run_graph

CORPUS = Path(__file__).parent / "corpus"
KERNELS = (64 * 3 * 3 * 24, 128 * 64)
SCALES = np.random.default_rng(3).uniform(0.01, 0.1, 96).tolist()


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("dynamic", "int8"), ("int8", "int8"), ("int16x8", "int8"), ("float16", "float16")],
)
def test_the_converters_files_keep_their_bytes(kind: str, dtype: str) -> None:
    path = CORPUS / f"wide.{kind}.tflite"
    graph = graph_of(path)
    sizes = Counter(bundle_weights(graph).values())
    for count in KERNELS:
        assert sizes[dtype, count * np.dtype(dtype).itemsize] == 1
    assert bundle_bytes(graph) <= 1.05 * weight_bytes(path)


def codes(*shape: int, axis: int | None = 0) -> T:
    """Weights between -7 and 7."""
    values = integers(sum(shape), "int8", *shape) % 15 - 7
    scale = 0.05 if axis is None else SCALES[: shape[axis]]
    return q("int8", *shape, scale=scale, value=values.astype(np.int8), axis=axis or 0)


FOUR_BITS = [
    Single(
        "dense",
        "FULLY_CONNECTED",
        [f(3, 128), codes(96, 128), f(96, value=floats(1, 96))],
        [f(3, 96)],
        options("FullyConnectedOptions"),
    ),
    Single(
        "conv",
        "CONV_2D",
        [f(1, 5, 6, 32), codes(96, 3, 3, 32), f(96, value=floats(2, 96))],
        [f(1, 5, 6, 96)],
        window("Conv2DOptions", dilationWFactor=1, dilationHFactor=1),
    ),
    Single(
        "integers",
        "FULLY_CONNECTED",
        [q("int8", 3, 128, scale=0.03, zero=4), codes(96, 128, axis=None), None],
        [q("int8", 3, 96, scale=0.3, zero=-5)],
        options("FullyConnectedOptions"),
    ),
    Single(
        "table",
        "EMBEDDING_LOOKUP",
        [int_input("int32", 4, spread=90.0), codes(96, 130, axis=None)],
        [f(4, 130)],
    ),
]


def with_four_bits(data: bytes, operand: int) -> bytes:
    """A model of one operator in which an operand is int4."""
    model = unpacked(data)
    tensor = model.subgraphs[0].tensors[operand]
    values = np.asarray(model.buffers[tensor.buffer].data, np.uint8).view(np.int8)
    tensor.type = schema.TensorType.INT4
    model.buffers[tensor.buffer].data = narrow.packed(values, "int4").reshape(-1)
    return packed(model)


@pytest.mark.parametrize("single", FOUR_BITS, ids=lambda single: single.name)
def test_weights_of_4_bits_stay_packed(single: Single, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(with_four_bits(model_bytes(single), 1))
    graph = graph_of(path)
    (name,) = graph.inputs
    x = np.random.default_rng(0).uniform(0, 90, graph.type(name).shape)
    inputs = {name: x.astype(graph.type(name).dtype)}
    interpreter = Interpreter(
        model_path=str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], inputs[name])
    interpreter.invoke()
    expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    got = run_graph(optimised(graph), inputs)[0]["y0"]
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-4)
    assert ("uint8", -(-prod(single.inputs[1].shape) // 2)) in bundle_weights(graph).values()
    assert bundle_bytes(graph) <= 1.05 * weight_bytes(path)
