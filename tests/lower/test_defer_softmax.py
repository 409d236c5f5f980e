"""Deferred softmax: where the division moves after the sums of products, where it does not, and
that results do not change.
"""

import numpy as np
import pytest

from tests.lower.chain_graphs import PRODUCT_CHAINS, parsed, random_values
from tests.lower.fused_calls import deviations, run_calls
from tests.passes.graphs import evaluate_graph
from tests.programs import rewritten
from webkiln.backends.table import REGISTRY
from webkiln.nest.expr import walk

PLAIN = """
    input a: float32[2,5,7]
    input v: float32[2,7,4]
    p: float32[2,5,7] = Softmax(a) {"axis":2}
    y: float32[2,5,4] = MatMul(p, v)
    output out = y
"""
DEFERRED = {
    "a product of rows": PLAIN,
    "a matrix": PLAIN.replace("2,", "")
    .replace('"axis":2', '"axis":1')
    .replace('{"axis":}', '{"axis":1}'),
    "columns": """
        input a: float32[2,7,5]
        input v: float32[2,7,4]
        p: float32[2,7,5] = Softmax(a) {"axis":1}
        y: float32[2,5,4] = MatMul(p, v) {"transpose_a":true}
        output out = y
    """,
    "the second factor": """
        input a: float32[5,7]
        input v: float32[4,7]
        p: float32[5,7] = Softmax(a) {"axis":1}
        y: float32[4,5] = MatMul(v, p) {"transpose_b":true}
        output out = y
    """,
    "a scale and a mask": """
        input a: float32[2,3,5,7]
        input m: float32[1,1,5,7]
        input v: float32[2,3,7,4]
        const s: float32[] = [0.25]
        b: float32[2,3,5,7] = Mul(a, s)
        c: float32[2,3,5,7] = Add(b, m)
        p: float32[2,3,5,7] = Softmax(c) {"axis":3}
        y: float32[2,3,5,4] = MatMul(p, v)
        r: float32[2,3,5,4] = Relu(y)
        output out = r
    """,
    "axes of one element": """
        input a: float32[1,1,5,7]
        input v: float32[1,1,7,4]
        p: float32[1,1,5,7] = Softmax(a) {"axis":3}
        y: float32[1,1,5,4] = MatMul(p, v)
        output out = y
    """,
    "several readers": PLAIN
    + """
        input w: float32[2,7,3]
        z: float32[2,5,3] = MatMul(p, w)
        output other = z
    """,
    "scores that others read": PLAIN
    + """
        b: float32[2,5,7] = Tanh(a)
        output other = b
    """,
}
NOT_DEFERRED = {
    "an output": PLAIN + "output weights = p\n",
    "another reader": PLAIN + """
        b: float32[2,5,7] = Tanh(p)
        output other = b
    """,
    "a product along the other axis": """
        input a: float32[2,5,7]
        input v: float32[2,5,4]
        p: float32[2,5,7] = Softmax(a) {"axis":2}
        y: float32[2,7,4] = MatMul(p, v) {"transpose_a":true}
        output out = y
    """,
    "both factors": """
        input a: float32[5,5]
        p: float32[5,5] = Softmax(a) {"axis":1}
        y: float32[5,5] = MatMul(p, p)
        output out = y
    """,
    "logarithms": PLAIN.replace("Softmax", "LogSoftmax"),
    "exponentials that are not shifted": """
        input a: float32[5,7]
        input v: float32[7,4]
        e: float32[5,7] = Exp(a)
        t: float32[5,1] = ReduceSum(e) {"axes":[1],"keepdims":true}
        p: float32[5,7] = Div(e, t)
        y: float32[5,4] = MatMul(p, v)
        output out = y
    """,
    "shifted by something else": """
        input a: float32[5,7]
        input b: float32[5,7]
        input v: float32[7,4]
        m: float32[5,1] = ReduceMax(b) {"axes":[1],"keepdims":true}
        d: float32[5,7] = Sub(a, m)
        e: float32[5,7] = Exp(d)
        t: float32[5,1] = ReduceSum(e) {"axes":[1],"keepdims":true}
        p: float32[5,7] = Div(e, t)
        y: float32[5,4] = MatMul(p, v)
        output out = y
    """,
}  # fmt: skip


def divided_products(graph):
    """The number of products with a division in the epilogue, and the number of products."""
    products = [call for call in rewritten(graph, REGISTRY["js"]).calls if call.nest.is_contraction]
    return sum(
        any(expr.op == "div" for expr in walk(out.value for out in call.nest.outputs))
        for call in products
    ), len(products)


@pytest.mark.parametrize(
    "name", [*DEFERRED, *(name for name, text in PRODUCT_CHAINS.items() if "Softmax" in text)]
)
def test_products_are_divided(name):
    graph = parsed((DEFERRED | PRODUCT_CHAINS)[name])
    (softmax,) = (node.outputs[0] for node in graph.nodes if node.op == "Softmax")
    divided, _ = divided_products(graph)
    assert divided == sum(softmax in node.inputs for node in graph.nodes)
    for call in rewritten(graph, REGISTRY["js"]).calls:
        operations = [expr.op for expr in call.nest.nodes]
        assert operations.count("exp") <= 1
        assert not {"exp", "div"} <= set(operations), "factors are not divided"


@pytest.mark.parametrize("name", NOT_DEFERRED)
def test_the_division_is_not_deferred(name):
    divided, products = divided_products(parsed(NOT_DEFERRED[name]))
    assert (divided, products) == (0, 1)


@pytest.mark.parametrize("name", [*DEFERRED, *NOT_DEFERRED])
def test_results_do_not_change(name):
    graph = parsed((DEFERRED | NOT_DEFERRED)[name])
    for seed, scale in enumerate((1, 30, 1000)):
        values = {
            key: value * scale if key in "ab" else value
            for key, value in random_values(graph, seed).items()
        }
        with np.errstate(over="ignore", invalid="ignore"):
            expected = evaluate_graph(graph, values)
        if all(np.isfinite(value).all() for value in expected.values()):
            assert not deviations(run_calls(graph, values, REGISTRY["js"]), expected), scale


def test_rows_without_a_finite_element_are_nan():
    """As in numpy, a fully masked row has no softmax."""
    graph = parsed(DEFERRED["a scale and a mask"])
    values = random_values(graph)
    values["m"][0, 0, 2] = -np.inf
    result, expected = (
        run_calls(graph, values, REGISTRY["js"])["out"],
        evaluate_graph(graph, values)["out"],
    )
    assert np.array_equal(np.isnan(result), np.isnan(expected))
    assert np.isnan(expected).any()
