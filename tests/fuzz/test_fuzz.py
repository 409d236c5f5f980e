"""A constant sample of the fuzzing (`make fuzz`) on every backend. A wrong backend is detected."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from tests.fuzz import cross, fuzz
from tests.fuzz.fuzz import differences, disagreements, example, example_of, reduce
from tests.fuzz.graphs import graphs
from webkiln.backends.table import REGISTRY
from webkiln.ir.text import print_graph
from webkiln.ir.verify import verify
from webkiln.ops.table import infer, parse

EXAMPLES = [case for seed in range(7000, 7040) if (case := example(seed)) is not None]


@pytest.mark.parametrize("backend", REGISTRY)
@pytest.mark.sample("wasm", "js")
def test_random_graphs_of_all_families(backend):
    assert len(EXAMPLES) > 30
    assert not [
        (case.seed, wrong, print_graph(case.graph))
        for case, wrong in disagreements(EXAMPLES, backend)
    ]


CORNERS = [example_of(cross.graph(seed, [at]), seed) for seed, at in enumerate(cross.corners())]


@pytest.mark.parametrize(
    "backend",
    [pytest.param(name, marks=[pytest.mark.long] * name.startswith("webg")) for name in REGISTRY],
)
@pytest.mark.sample("js")
def test_layers_in_all_layouts_strides_and_sizes(backend):
    """All shaders compile, and all elements are right."""
    assert sum(bool(case.graph.nodes) for case in CORNERS) > len(CORNERS) - 5
    assert not [
        (case.seed, wrong, print_graph(case.graph))
        for case, wrong in disagreements(CORNERS, backend)
    ]


def test_random_graphs_contain_every_pattern():
    operators = {node.op for case in EXAMPLES for node in case.graph.nodes}
    assert operators >= {
        "Sort",
        "NonZero",
        "If",
        "Gather",
        "Conv",
        "MatMul",
        "Where",
        "Unique",
        "Concat",
        "Cast",
        "CumSum",
    }
    shapes = [case.graph.type(name).shape for case in EXAMPLES for name in case.graph.inputs]
    assert any(0 in shape for shape in shapes)
    assert any("T" in map(str, shape) for shape in shapes)
    assert () in shapes


GRAPH = """
graph g
input x: float32[4,5]
a: float32[4,5] = Tanh(x)
b: float32[4,5] = {}(a)
c: float32[5] = ReduceSum(b) {{"axes":[0]}}
output c = c
"""


def test_a_wrong_result_is_detected_and_reduced(monkeypatch):
    right, wrong = (example_of(parse(GRAPH.format(op)), 1) for op in ("Relu", "Abs"))
    assert not disagreements([right], "js")
    ((case, lines),) = disagreements([replace(wrong, expected=right.expected)], "js")
    assert "expected" in lines[0]
    monkeypatch.setattr(
        fuzz,
        "disagreements",
        lambda examples, backend: [n for n in examples[0].graph.nodes if n.op == "Abs"],
    )
    assert [node.op for node in reduce(case, "js").graph.nodes] == ["Tanh", "Abs"]


def test_differences_name_the_element():
    case = EXAMPLES[0]
    outputs = dict(case.expected)
    name = next(iter(outputs))
    outputs[name] = outputs[name].astype("float16")
    assert name in differences(case, outputs, "js")[0]
    assert reduce(case, "js").graph.nodes == case.graph.nodes


@settings(max_examples=60, deadline=None)
@given(graphs)
def test_graphs_are_well_formed_and_survive_their_text_form(graph):
    verify(graph, infer)
    assert parse(print_graph(graph)) == graph
