"""Comparison of graphs before and after passes."""

from textwrap import dedent

import numpy as np

from tests.passes.graphs import evaluate_graph
from webkiln.backends.compare import relative_error
from webkiln.ops.table import parse

CONV = (
    '{"dilation":[1],"groups":1,"out_dims":[0,2,1],"pad_high":[0],"pad_low":[0],"strides":[1],'
    '"w_dims":[2,1,0],"x_dims":[0,2,1]}'
)


def graph_of(text):
    return parse(dedent(text).lstrip())


def operators(graph):
    constant_names = {node.name for node in graph.constant_subgraph()}
    return [node.op for node in graph.nodes if node.name not in constant_names]


def values_of(graph, seed=3):
    rng = np.random.default_rng(seed)
    names = (*graph.inputs, *sorted(graph.slots))
    return {
        name: rng.uniform(0.3, 1.5, graph.type(name).shape).astype(graph.type(name).dtype)
        for name in names
    }


def agree(changed, graph):
    values = values_of(graph)
    expected, results = evaluate_graph(graph, values), evaluate_graph(changed, values)
    assert results.keys() == expected.keys()
    for name, value in expected.items():
        assert results[name].dtype == value.dtype
        assert relative_error(results[name], value) <= (1e-2 if value.dtype == np.float16 else 1e-5)
