"""Runners of one pass or all passes, which verify the graph after each."""

from importlib import import_module

from webkiln.ir.verify import verify
from webkiln.ops.table import infer
from webkiln.passes.pipeline import PASSES


def run(name, graph, package="passes"):
    changed = import_module(f"webkiln.{package}.{name}").run(graph)
    verify(changed, infer)
    return changed


def optimised(graph):
    """The graph after all passes, which are also applied to nested graphs."""
    for name in PASSES:
        module = import_module(f"webkiln.passes.{name}")

        def change(part, run=module.run):
            return run(part.map_subgraphs(change))

        graph = change(graph)
        verify(graph, infer)
    return graph
