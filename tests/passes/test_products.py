"""No pass, alone or after the others, changes the results of products, casts and normalisations
over any axis.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from tests.fuzz.graphs import values_for
from tests.passes.graphs import evaluate_graph
from tests.passes.product_graphs import graph, graphs
from tests.passes.running import run
from webkiln.ir.text import print_graph
from webkiln.ops.normalization import BatchNorm
from webkiln.ops.table import parse
from webkiln.passes.pipeline import PASSES


def agree(name, changed, graph, inputs, reference):
    assert changed.inputs == graph.inputs
    assert {name: changed.type(value) for name, value in changed.outputs.items()} == {
        name: graph.type(value) for name, value in graph.outputs.items()
    }
    with np.errstate(all="ignore"):
        for output, value in evaluate_graph(changed, inputs).items():
            expected = reference[output]
            assert value.dtype == expected.dtype
            if expected.dtype.kind == "f":
                scale = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
                np.testing.assert_allclose(
                    value,
                    expected,
                    rtol=1e-4,
                    atol=1e-5 * scale,
                    err_msg=f"{name} changes {output}\n{print_graph(graph)}",
                )
            else:
                np.testing.assert_array_equal(
                    value, expected, err_msg=f"{name} changes {output}\n{print_graph(graph)}"
                )


@settings(max_examples=250, deadline=None)
@given(graph=graphs)
def test_no_pass_changes_results(graph):
    inputs = values_for(graph, 1, {})
    with np.errstate(all="ignore"):
        reference = evaluate_graph(graph, inputs)
    changed = graph
    for name in PASSES:
        agree(f"{name} alone", run(name, graph), graph, inputs, reference)
        before, changed = changed, run(name, changed)
        agree(name, changed, before, inputs, reference)


def test_random_graphs_cover_the_operators_and_dtypes():
    random_graphs = [graph(seed) for seed in range(400)]
    operators = Counter(node.op for item in random_graphs for node in item.nodes)
    assert (
        min(
            operators[op]
            for op in (
                "MatMul",
                "BatchNorm",
                "Cast",
                "Transpose",
                "Add",
                "Softmax",
                "Concat",
                "Pad",
            )
        )
        > 30
    )
    dtypes = {item.type(name).dtype for item in random_graphs for name in item.variables}
    assert dtypes >= {"float32", "float16", "float64", "int32", "int8", "uint8", "bool"}
    norms = [
        (item, node) for item in random_graphs for node in item.nodes if node.op == "BatchNorm"
    ]
    inner = [
        item
        for item, node in norms
        if node.attrs_as(BatchNorm).axis < item.type(node.inputs[0]).rank - 1
    ]
    assert min(len(inner), len(norms) - len(inner)) > 30


def test_normalisations_over_rows_are_not_folded_into_products():
    """All sizes are equal, so that only the axis differs."""
    graph = parse(
        """
        graph g
        input x: float32[2,3]
        slot w: float32[3,2]
        slot p: float32[2]
        slot q: float32[2]
        m: float32[2,2] = MatMul(x, w)
        y: float32[2,2] = BatchNorm(m, p, p, q, q) {"axis":0,"epsilon":0.01}
        output out = y
        """
    )
    inputs = {
        "x": np.arange(6, dtype=np.float32).reshape(2, 3),
        "w": np.arange(6, dtype=np.float32).reshape(3, 2),
    }
    inputs |= {"p": np.array([2, -1], np.float32), "q": np.array([0.5, 3], np.float32)}
    folded = run("fold_batchnorm", graph)
    assert next(node for node in folded.nodes if node.op == "MatMul").inputs == ("x", "w")
    centred = (inputs["x"] @ inputs["w"] - inputs["q"][:, None]) / np.sqrt(
        inputs["q"][:, None] + 0.01
    )
    np.testing.assert_allclose(
        evaluate_graph(folded, inputs)["out"],
        centred * inputs["p"][:, None] + inputs["p"][:, None],
        rtol=1e-5,
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("flip", ["true", "false"])
def test_normalisation_over_each_axis_of_a_product(axis, flip):
    graph = parse(
        f"""
        graph g
        input x: float32[3,3,3]
        slot w: float32[3,3]
        slot b: float32[3]
        slot p: float32[3]
        slot v: float32[3]
        m: float32[3,3,3] = MatMul(x, w) {{"transpose_b":{flip}}}
        a: float32[3,3,3] = Add(b, m)
        y: float32[3,3,3] = BatchNorm(a, p, b, p, v) {{"axis":{axis},"epsilon":0.01}}
        output out = y
        """
    )
    rng = np.random.default_rng(axis)
    inputs = {
        name: rng.uniform(0.2, 2, graph.type(name).shape).astype(np.float32)
        for name in ("x", "w", "b", "p", "v")
    }
    x, w, b, p, v = (inputs[name].astype(np.float64) for name in ("x", "w", "b", "p", "v"))
    shape = [1, 1, 1]
    shape[axis] = 3
    expected = (
        (x @ (w.T if flip == "true" else w) + b - p.reshape(shape))
        / np.sqrt(v.reshape(shape) + 0.01)
        * p.reshape(shape)
    )
    folded = run("fold_batchnorm", graph)
    assert "BatchNorm" not in {node.op for node in folded.nodes}
    assert sum(node.op == "MatMul" for node in folded.nodes) == 1
    np.testing.assert_allclose(
        evaluate_graph(folded, inputs)["out"], expected + b.reshape(shape), rtol=1e-4, atol=1e-5
    )
