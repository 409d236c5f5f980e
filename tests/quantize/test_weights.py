"""Graphs with codes in place of weights."""

from pathlib import Path

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.quantize.graphs import GRAPH, ROWS, encoded, inputs, weights
from webkiln.errors import RecipeError
from webkiln.ir.graph import Graph
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import constant_values, run_graph
from webkiln.ops.load_time import load_time_nodes
from webkiln.ops.table import infer, parse
from webkiln.quantize.blocks import ENCODINGS
from webkiln.quantize.choice import uniform
from webkiln.quantize.encode import rounded
from webkiln.quantize.weights import quantized, weights_of
from webkiln.weights.shards import stored


def test_every_weight_is_found_with_the_axes_of_its_rows() -> None:
    assert {name: item.rows for name, item in weights_of(GRAPH).items()} == ROWS


def test_vectors_small_weights_and_short_rows_keep_more_bits() -> None:
    choice = uniform(weights_of(GRAPH).values(), "int4", {})
    assert {name: kind for name, kind in choice.items() if kind != "int4"} == {
        "depthwise": "float32",
        "uneven": "int8",
        "small": "float32",
    }


@pytest.mark.parametrize("encoding", [*ENCODINGS, "float16"])
def test_a_quantized_graph_computes_with_rounded_weights(encoding: str) -> None:
    values = weights()
    choice = uniform(weights_of(GRAPH).values(), encoding, {})
    changed, slots, items = encoded(GRAPH, values, choice)
    verify(changed, infer)
    constants = constant_values(GRAPH, values)
    expected_weights = {
        item.weight.name: rounded(item, constants[item.weight.name]) for item in items
    }
    if encoding == "float16":
        expected_weights = {
            name: constants[name].astype(np.float16).astype(np.float32)
            for name, kind in choice.items()
            if kind == "float16"
        }
    outputs, _ = run_graph(changed, inputs(), slots)
    expected, _ = run_graph(
        without_folding(), inputs(), {**values, "scaled": constants["scaled"], **expected_weights}
    )
    for name, value in expected.items():
        np.testing.assert_allclose(outputs[name], value, rtol=1e-5, atol=1e-5, err_msg=name)
    original, _ = run_graph(GRAPH, inputs(), values)
    error = max(
        np.abs(outputs[name] - original[name]).max() / np.abs(original[name]).max()
        for name in original
    )
    bits = ENCODINGS[encoding].bits if encoding in ENCODINGS else 10
    assert 2.0 ** -(bits + 4) < error < 2.0 ** -(bits - 3)


def without_folding() -> Graph:
    """The graph in which the weight that the constant subgraph computes is a slot."""
    names = {"folded", "gain"}
    return GRAPH.edit(
        nodes=tuple(node for node in GRAPH.nodes if node.name != "scaled"),
        slots=(GRAPH.slots - names) | {"scaled"},
        variables={name: item for name, item in GRAPH.variables.items() if name not in names},
    )


@pytest.mark.parametrize("encoding", ["int4", "uint4-64", "int8-32"])
def test_bundles_have_codes(encoding: str) -> None:
    """Rows of a table that is only selected from are decoded after that."""
    choice = uniform(weights_of(GRAPH).values(), encoding, {})
    changed, _, items = encoded(GRAPH, weights(), choice)
    kept = {item.name for item in stored(changed)}
    assert {item.codes for item in items} <= kept
    assert kept.isdisjoint({item.weight.name for item in items})
    assert changed.variables["j/table/value"].shape == (5, 90)
    assert "j/table/value" not in {node.name for node in load_time_nodes(changed)}


@pytest.mark.parametrize("backend", ["wasm", "js", "webgl", "webgpu"])
@pytest.mark.parametrize("encoding", ["int4", "uint4-64", "int8"])
def test_backends_decode_weights(encoding: str, backend: str, tmp_path: Path) -> None:
    choice = uniform(weights_of(GRAPH).values(), encoding, {})
    changed, slots, _ = encoded(GRAPH, weights(), choice)
    (results,) = run([Job(changed, inputs(), slots)], backend, tmp_path)
    expected, _ = run_graph(changed, inputs(), slots)
    for name, value in expected.items():
        scale = np.abs(value).max()
        np.testing.assert_allclose(results[name], value, rtol=0, atol=1e-5 * scale, err_msg=name)


def test_what_a_file_stores_as_codes_is_not_quantized_again() -> None:
    graph = parse(
        "graph g\ninput x: float32[1,96]\nslot w: int8[96,100]\nslot s: float32[1,100]\n"
        'r: float32[96,100] = Cast(w) {"dtype":"float32"}\nk: float32[96,100] = Mul(r, s)\n'
        "y: float32[1,100] = MatMul(x, k)\noutput y = y\n"
    )
    assert weights_of(graph) == {}
    assert quantized(graph, {}) == (graph, ())


def test_layers_by_pattern() -> None:
    choice = uniform(weights_of(GRAPH).values(), "int4", {"[ab]": "float16", "b": "int8-32"})
    assert (choice["columns"], choice["rows"], choice["filter"]) == ("float16", "int8-32", "int4")
    with pytest.raises(RecipeError, match="layers names 'conv1', which is no layer with weights"):
        uniform(weights_of(GRAPH).values(), "int4", {"conv1": "float32"})
