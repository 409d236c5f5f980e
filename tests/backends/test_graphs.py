"""Graphs of several nodes: fusion, views, in-place concatenation and the memory plan preserve the
numbers on every backend and encoding.
"""

from functools import partial
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import Phase, given, settings

from tests.backends import harness
from tests.backends.harness import Job, run
from tests.passes.graphs import evaluate_graph, graphs, values_for
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.ir.text import print_graph
from webkiln.ops.table import parse
from webkiln.program_builder import backend as program_backend
from webkiln.program_builder.document import layer_outputs
from webkiln.weights.encoding import BY_NAME, choose, eightbit_magnitudes
from webkiln.weights.shards import SHARD_BYTES, pieces, stored

TOLERANCE = 2e-5


def corpus(count):
    result = []

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, phases=[Phase.generate]
    )
    @given(graphs(steps=8))
    def collect(graph):
        if graph.nodes and graph not in result:
            result.append(graph)

    collect()
    return result


def job(graph, encoding="float32"):
    values = values_for(graph)
    return Job(
        graph,
        {name: values[name] for name in graph.inputs},
        {name: values[name] for name in graph.slots},
        encoding,
    )


@pytest.mark.parametrize(
    ("backend", "variant"),
    [("js", ""), ("wasm", "simd"), ("wasm", "relaxed"), ("webgpu", ""), ("webgl", "")],
)
@pytest.mark.sample("js-", "webgpu-")
def test_random_graphs(backend, variant, tmp_path):
    drawn = corpus(60)
    assert len(drawn) > 40
    results = run([job(graph) for graph in drawn], backend, tmp_path, variant)
    for graph, outputs in zip(drawn, results, strict=True):
        for name, reference in evaluate_graph(graph, values_for(graph)).items():
            assert relative_error(outputs[name], reference) < TOLERANCE, print_graph(graph)


@pytest.mark.parametrize(
    ("backend", "encoding"),
    representative(
        product(["js", "wasm", "webgpu", "webgl"], BY_NAME),
        *product(["js", "wasm"], BY_NAME),
        ("webgpu", "int8"),
        ("webgl", "int8"),
        ("webgl", "bfloat16"),
    ),
)
@pytest.mark.parametrize("limit", representative([SHARD_BYTES, 64], 64), ids=["whole", "split"])
@pytest.mark.sample(
    "split-js-float16", "split-js-eightbit", "split-wasm-int8", "split-webgl-bfloat16"
)
def test_decoded_weights_match_the_encoding(backend, encoding, limit, tmp_path, monkeypatch):
    for module in (harness, program_backend):
        monkeypatch.setattr(module, "pieces", partial(pieces, limit=limit))
    drawn = [graph for graph in corpus(25) if graph.slots]
    results = run([job(graph, encoding) for graph in drawn], backend, tmp_path)
    for graph, outputs in zip(drawn, results, strict=True):
        exact = evaluate_graph(graph, decoded(graph, encoding))
        for name, reference in exact.items():
            assert relative_error(outputs[name], reference) < TOLERANCE, print_graph(graph)


def decoded(graph, encoding):
    """The values that the browser should compute with, decoded in numpy from the encoded bytes."""
    values = values_for(graph)
    for weight in stored(graph):
        name = choose(weight, encoding)
        header, elements = BY_NAME[name].encode(weight, values[weight.name].reshape(weight.shape))
        value = values[weight.name]
        if name == "float16":
            value = elements.astype(np.float32)
        elif name == "bfloat16":
            value = elements.view(ml_dtypes.bfloat16).astype(np.float32)
        elif name == "int8":
            shape = [-1 if axis == weight.channel_axis else 1 for axis in range(elements.ndim)]
            value = elements.astype(np.float32) * header.reshape(shape)
        elif name == "eightbit":
            size = eightbit_magnitudes()[elements & 127] * header[0]
            value = np.where(elements > 127, -size, size).astype(np.float32)
        values[weight.name] = value.reshape(values[weight.name].shape)
    return values


def test_a_convolution_with_bias_and_activation_is_one_launch():
    graph = parse("""
        graph g
        input x: float32[1,4,2]
        slot w: float32[3,2,5]
        slot b: float32[5]
        c: float32[1,2,5] = Conv(x, w, b) {"dilation":[1],"out_dims":[0,2,1],"pad_high":[0],"pad_low":[0],"strides":[1],"w_dims":[2,1,0],"x_dims":[0,2,1]}
        y: float32[1,2,5] = Relu(c)
        output out = y
        """)  # noqa: E501
    assert [len(REGISTRY[backend].plan(graph).calls) for backend in REGISTRY] == [1] * len(REGISTRY)


def test_kept_layers_are_computed():
    graph = next(graph for graph in corpus(60) if len(graph.nodes) > 3)
    retained = layer_outputs(graph)
    stored_names = {
        view.name
        for call in REGISTRY["wasm"].plan(graph, tuple(retained.values())).calls
        for view in call.outputs
    }
    program = REGISTRY["wasm"].plan(graph, tuple(retained.values()))
    assert {program.root(name) for name in retained.values()} - set(graph.inputs) <= stored_names
