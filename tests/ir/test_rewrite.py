"""Rewriting is equivalent to restarting at the first node after each edit, in linear time."""

from importlib import import_module

from hypothesis import given, settings

from tests.passes.graphs import graphs
from webkiln.ir import rewrite
from webkiln.ir.rewrite import GraphView
from webkiln.ops.table import parse
from webkiln.passes import absorb_padding, fold_batchnorm, fold_constants, remove_identities
from webkiln.passes.pipeline import PASSES

RULES = (
    fold_constants.fold,
    remove_identities.simplify,
    absorb_padding.absorb,
    fold_batchnorm.fold,
)


def restarted(graph, rule):
    """Apply one edit at a time, each to the first node that the rule matches."""
    while True:
        view = GraphView(graph)
        edits = ((index, node, rule(view, node)) for index, node in enumerate(graph.nodes))
        match = next((item for item in edits if item[2] is not None), None)
        if match is None:
            return rewrite.remove_unused(graph)
        index, _, edit = match
        changed = graph.edit(
            nodes=(*graph.nodes[:index], *edit.nodes, *graph.nodes[index + 1 :]),
            variables={
                **graph.variables,
                **{variable.name: variable for variable in edit.variables},
            },
            constants={**graph.constants, **edit.constants},
        )
        graph = rewrite.redirect(changed, edit.redirect)


@settings(max_examples=100, deadline=None)
@given(graph=graphs())
def test_rewriting_is_equivalent_to_restarting(graph):
    for rule in RULES:
        assert rewrite.apply(graph, rule) == restarted(graph, rule)
    for name in PASSES:
        graph = import_module(f"webkiln.passes.{name}").run(graph)
        for rule in RULES:
            assert rewrite.apply(graph, rule) == restarted(graph, rule)


def test_rewriting_takes_linear_time():
    count = 500
    lines = [f"v{n + 1}: float32[2] = Identity(v{n})" for n in range(count)]
    graph = parse(
        "\n".join(
            [
                "graph g",
                "input v0: float32[2]",
                *lines,
                f"y: float32[2] = Relu(v{count})",
                "output out = y",
                "",
            ]
        )
    )
    visited = []

    def rule(view, node):
        visited.append(node.name)
        return remove_identities.simplify(view, node)

    assert [node.op for node in rewrite.apply(graph, rule).nodes] == ["Relu"]
    assert len(visited) <= 2 * (count + 1)
