"""Constants with more elements than a graph lists: folded values of ONNX, and tables of handlers
and of traced layers.
"""

import json

import keras
import numpy as np
import onnxruntime
import pytest
from keras import layers
from onnx import TensorProto, helper

from tests.backends.harness import Job, run
from tests.frontends.onnx.models import floats, literal, model
from tests.passes.running import optimised
from webkiln import canonical
from webkiln.backends.compare import relative_error
from webkiln.build.descriptor import generate_descriptor
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.load import describe_model
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.serial import to_json
from webkiln.ir.text import print_graph
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import constant_values, run_graph
from webkiln.ops.table import from_json, infer, parse
from webkiln.weights.shards import pieces, stored

BACKENDS = ["js", "wasm", "webgpu", "webgl"]
TABLE = np.sin(np.arange(2400, dtype=np.float32)).reshape(40, 60)


def folded():
    """A range that is concatenated with itself, cast and transposed, and indices computed from
    it.
    """
    nodes = [
        helper.make_node("Range", ["zero", "end", "one"], ["r"]),
        helper.make_node("Unsqueeze", ["r", "first"], ["row"]),
        helper.make_node("Concat", ["row", "row"], ["rows"], axis=0),
        helper.make_node("Cast", ["rows"], ["values"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["values"], ["columns"]),
        helper.make_node("MatMul", ["x", "columns"], ["product"]),
        helper.make_node("Gather", ["x", "r"], ["picked"], axis=1),
        helper.make_node("Add", ["picked", "x"], ["y"]),
    ]
    numbers = [
        helper.make_tensor(name, TensorProto.INT64, [], [value])
        for name, value in (("zero", 0), ("end", 600), ("one", 1))
    ]
    return model(
        nodes,
        [floats("x", 3, 600)],
        [floats("product", 3, 2), floats("y", 3, 600)],
        [*numbers, literal("first", [0])],
    )


def checked(graph):
    assert any(constant.digest for constant in graph.constants.values())
    return round_trip(graph)


def round_trip(graph):
    """A valid graph after a round trip through its JSON and text forms."""
    verify(graph, infer)
    data = canonical.loads(canonical.dumps(to_json(graph)))
    restored = from_json(data)
    assert restored == graph
    assert all(
        restored.constants[name].data == constant.data for name, constant in graph.constants.items()
    )
    assert parse(print_graph(graph)) == graph
    return restored.edit(weights=graph.weights)


@pytest.mark.parametrize("backend", BACKENDS)
def test_folded_values(backend, tmp_path):
    model = folded()
    spec, blobs = describe_model(model, "net")
    graph = optimised(round_trip(OnnxConverter().convert(spec, blobs)))
    constants = constant_values(graph, graph.weights)
    assert any(value.size > INLINE_ELEMENTS for value in constants.values()), (
        "values that are evaluated and stored"
    )
    x = np.random.default_rng(1).normal(size=(3, 600)).astype(np.float32)
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    (outputs,) = run([Job(graph, {"x": x}, constants)], backend, tmp_path)
    for name, value in zip(("product", "y"), expected, strict=True):
        assert relative_error(outputs[name], value) < 1e-5


@keras.saving.register_keras_serializable()
class Tabled(layers.Layer):
    def call(self, x):
        return keras.ops.matmul(x, TABLE) + keras.ops.matmul(x * 2, TABLE)


def traced():
    x = keras.Input((40,), name="x")
    return keras.Model(x, Tabled(name="tabled")(x)), KerasConverter()


class Handled(layers.Layer):
    def call(self, x):
        return keras.ops.matmul(x, TABLE)


def handled():
    def convert(converter, layer):
        x = converter.get_variable(converter.get_input_tensor(layer)[0])
        y = converter.builder.op("MatMul", [x, converter.convert_to_constant_variable(TABLE)])
        converter.set_variable(converter.get_output_tensor(layer)[0], y)

    KerasConverter.register_handler("Handled")(convert)
    x = keras.Input((40,), name="x")
    return keras.Model(x, Handled(name="handled")(x)), KerasConverter()


@pytest.mark.parametrize("make", [traced, handled])
def test_tables_of_layers(make, tmp_path):
    model, converter = make()
    graph = optimised(checked(converter.convert(model)))
    assert len(graph.constants) <= 2
    x = np.random.default_rng(2).normal(size=(1, 40)).astype(np.float32)
    assert (
        relative_error(next(iter(run_graph(graph, {"x": x})[0].values())), np.asarray(model(x)))
        < 1e-5
    )
    for backend in BACKENDS:
        (outputs,) = run([Job(graph, {"x": x})], backend, tmp_path / backend)
        assert relative_error(next(iter(outputs.values())), np.asarray(model(x))) < 1e-5


def test_equal_tables_are_stored_once(tmp_path):
    model, converter = traced()
    graph = optimised(converter.convert(model))
    assert [piece.bytes for piece in pieces(stored(graph), "float32") if piece.bytes > 4096] == [
        TABLE.nbytes
    ]
    generate_descriptor("js", graph).save(tmp_path / "bundle")
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text())
    assert sum(shard["bytes"] for shard in manifest["shards"]) < 1.1 * TABLE.nbytes
