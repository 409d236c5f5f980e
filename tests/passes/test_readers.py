"""Values with several readers (nodes, outputs, the next value of a state) stay, and no pass
computes them twice.
"""

from collections import Counter
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings

from tests.passes.graphs import evaluate_graph, graphs
from tests.passes.product_graphs import graphs as product_graphs
from tests.passes.running import run
from webkiln.backends.compare import relative_error
from webkiln.ops.table import parse
from webkiln.passes.pipeline import PASSES

EXPENSIVE = {
    "MatMul": "product",
    "Einsum": "product",
    "Conv": "Conv",
    "MaxPool": "pool",
    "AvgPool": "pool",
}
"""Expensive operators, and their categories."""


def expensive(graph):
    """The number of expensive operators that run in the browser, by category."""
    constant_names = {node.name for node in graph.constant_subgraph()}
    return Counter(
        EXPENSIVE[node.op]
        for node in graph.nodes
        if node.op in EXPENSIVE and node.name not in constant_names
    )


@settings(max_examples=25, deadline=None)
@given(graph=product_graphs)
def test_no_pass_repeats_a_product(graph):
    for name in PASSES:
        changed = run(name, graph)
        assert expensive(changed) <= expensive(graph), name
        graph = changed


@settings(max_examples=25, deadline=None)
@given(graph=graphs())
def test_no_pass_repeats_a_convolution(graph):
    for name in PASSES:
        changed = run(name, graph)
        assert expensive(changed) <= expensive(graph), name
        graph = changed


HEADS = {
    "convolution": (
        """
        input x: float32[1,4,2]
        slot w: float32[3,2,5]
        slot p: float32[5]
        c: float32[1,2,5] = Conv(x, w) {"dilation":[1],"groups":1,"out_dims":[0,2,1],\
"pad_high":[0],"pad_low":[0],"strides":[1],"w_dims":[2,1,0],"x_dims":[0,2,1]}
        y: float32[1,2,5] = BatchNorm(c, p, p, p, p) {"axis":2,"epsilon":0.01}
    """
    ),
    "product": (
        """
        input x: float32[1,2,4]
        slot w: float32[4,5]
        slot p: float32[5]
        c: float32[1,2,5] = MatMul(x, w)
        y: float32[1,2,5] = BatchNorm(c, p, p, p, p) {"axis":2,"epsilon":0.01}
    """
    ),
    "product before its bias": (
        """
        input x: float32[1,2,4]
        slot w: float32[4,5]
        slot p: float32[5]
        c: float32[1,2,5] = MatMul(x, w)
        b: float32[1,2,5] = Add(c, p)
        y: float32[1,2,5] = BatchNorm(b, p, p, p, p) {"axis":2,"epsilon":0.01}
    """
    ),
    "product with a bias": (
        """
        input x: float32[1,2,4]
        slot w: float32[4,5]
        slot p: float32[5]
        m: float32[1,2,5] = MatMul(x, w)
        c: float32[1,2,5] = Add(m, p)
        y: float32[1,2,5] = BatchNorm(c, p, p, p, p) {"axis":2,"epsilon":0.01}
    """
    ),
    "transpose": (
        """
        input x: float32[1,5,4]
        input k: float32[1,2,4]
        c: float32[1,4,5] = Transpose(x) {"perm":[0,2,1]}
        y: float32[1,2,5] = MatMul(k, c)
    """
    ),
}
FOLDED = dict.fromkeys(HEADS, "fold_batchnorm") | {"transpose": "absorb_transposes"}
"""The pass that removes `c` if it has no other reader."""
READERS = {
    "none": [],
    "node": ["other: {type} = Neg(c)", "output also = other"],
    "output": ["output also = c"],
    "state": [
        "slot first: {type}",
        "state s first c -> held: {type}",
        "other: {type} = Neg(held)",
        "output also = other",
    ],
}


def graph_with_reader(head, reader):
    """The graph in which `reader` is an additional reader of `c`."""
    lines = dedent(HEADS[head]).strip().splitlines()
    (kind,) = (
        line.partition(" = ")[0].removeprefix("c: ") for line in lines if line.startswith("c: ")
    )
    return parse(
        "\n".join(
            [
                "graph g",
                *lines,
                "output out = y",
                *(line.format(type=kind) for line in READERS[reader]),
                "",
            ]
        )
    )


def values_of(graph):
    rng = np.random.default_rng(4)
    return {
        name: rng.uniform(0.3, 1.5, graph.type(name).shape).astype(np.float32)
        for name in (*graph.inputs, *sorted(graph.slots))
    }


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("head", HEADS)
def test_values_with_other_readers_are_not_folded(head, reader):
    graph = graph_with_reader(head, reader)
    changed = run(FOLDED[head], graph)
    nodes = [node for node in changed.nodes if node.outputs == ("c",)]
    assert nodes == (
        [] if reader == "none" else [node for node in graph.nodes if node.outputs == ("c",)]
    )
    assert expensive(changed) == expensive(graph)
    if head == "transpose" and reader != "none":
        assert changed == graph, "the transpose is needed anyway"
    values = values_of(graph)
    expected, results = evaluate_graph(graph, values), evaluate_graph(changed, values)
    assert results.keys() == expected.keys()
    for name, value in expected.items():
        assert relative_error(results[name], value) <= 1e-5
