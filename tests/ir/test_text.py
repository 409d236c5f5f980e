"""The text and JSON forms of graphs round-trip."""

import pytest
from hypothesis import given, settings

from tests.backends.harness import ROOT
from tests.ir.texts import STATEFUL
from tests.passes.graphs import graphs
from webkiln import canonical
from webkiln.errors import InternalError
from webkiln.ir.axis import Order, OrderNC, OrderNHWC, anonymous, parse_order
from webkiln.ir.graph import Constant, Graph, Node, State, Variable
from webkiln.ir.serial import to_json
from webkiln.ir.text import print_graph
from webkiln.ir.types import Type
from webkiln.ops.table import from_json, parse


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_text_round_trip(graph):
    assert parse(print_graph(graph)) == graph


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_json_round_trip_is_canonical(graph):
    data = canonical.dumps(to_json(graph))
    restored = from_json(canonical.loads(data))
    assert restored == graph
    assert canonical.dumps(to_json(restored)) == data


def test_states_constants_and_orders():
    graph = parse(STATEFUL)
    assert graph.states == (State("total", "start", "total", "next"),)
    assert graph.constants["limits"] == Constant((-1.5, float("inf")))
    assert graph.variables["x"] == Variable("x", Type("float32", (1, 3)), OrderNC)
    assert print_graph(graph) == STATEFUL
    assert from_json(to_json(graph)) == graph


def test_nested_sizes_round_trip():
    graph = parse("graph g\ninput x: float32[max(T, floordiv(S, 2) + 1),3]\noutput y = x\n")
    assert (
        print_graph(graph)
        == "graph g\ninput x: float32[max(T, floordiv(S, 2) + 1),3]\noutput y = x\n"
    )
    assert parse(print_graph(graph)) == graph


@pytest.mark.parametrize(
    "line",
    [
        "input x float32[2]",
        "y: float32[2] = Relu x",
        "const c: float32 = [1]",
        "const c: float32[1] = [1",
        "y: float32[2] = Relu(x) {alpha: 1}",
    ],
)
def test_errors_quote_the_line_that_does_not_parse(line):
    with pytest.raises(InternalError, match=r"text form"):
        parse(f"graph g\n{line}\n")


def test_orders():
    assert str(OrderNHWC) == "N,H,W,C"
    assert parse_order("N,H,W,C") == OrderNHWC
    assert parse_order("") == Order(())
    assert len(set(anonymous(4).axes)) == 4
    with pytest.raises(ValueError, match="twice"):
        Order((OrderNC.axes[0], OrderNC.axes[0]))


def test_other_schemas_are_rejected():
    with pytest.raises(InternalError, match=r"webkiln\.graph/2"):
        from_json({"schema": "webkiln.graph/9"})


def test_comparisons_ignore_weights():
    graph = Graph(
        "g",
        (Node("Relu", ("x",), ("y",)),),
        {"x": Variable("x", Type("float32", ()))},
        ("x",),
        {"y": "y"},
    )
    assert graph.edit(weights={"w": 1}) == graph


def test_the_example_of_the_documentation_parses() -> None:
    page = (ROOT / "docs" / "design" / "ir.md").read_text()
    graph = parse(page.partition("```\n")[2].partition("```")[0])
    assert parse(print_graph(graph)) == graph
    assert [node.op for node in graph.nodes] == ["MatMul", "Mul"]
