"""Axis orders are annotations: without them every program is the same, except for the orders in the
manifest.
"""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from tests.programs import program
from webkiln.backends.table import REGISTRY
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.passes.pipeline import PASSES

DIGITS = Path(__file__).resolve().parents[2] / "models" / "digits" / "digits.keras"


def optimised(graph):
    for name in PASSES:
        graph = import_module(f"webkiln.passes.{name}").run(graph)
    return graph


def without_orders(value):
    if isinstance(value, dict):
        return {key: without_orders(item) for key, item in value.items() if key != "order"}
    return [without_orders(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("backend", REGISTRY)
def test_removing_all_orders_changes_no_launch(backend):
    graph = KerasConverter(batch_size=2).convert(DIGITS)
    assert any(variable.order is not None for variable in graph.variables.values())
    bare = graph.edit(
        variables={
            name: replace(variable, order=None) for name, variable in graph.variables.items()
        }
    )
    ordered, unordered = (
        program(optimised(item), REGISTRY[backend], "float32") for item in (graph, bare)
    )
    assert ordered != unordered
    assert without_orders(ordered) == without_orders(unordered)
