"""Calls that select elements of a constant read the layout that a product requests."""

from pathlib import Path

import numpy as np
import pytest

from tests.backends.harness import Job, run
from webkiln.backends.table import REGISTRY
from webkiln.nest.program import PanelLayout
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import parse

TEXT = """graph g
input ids: int32[{rows}]
input x: float32[5,{width}]
slot table: float32[37,{width}]
rows: float32[{rows},{width}] = Gather(table, ids) {{"axis":0}}
y: float32[5,37] = MatMul(x, table) {{"transpose_a":false,"transpose_b":true}}
output rows = rows
output y = y
"""


@pytest.mark.parametrize(("rows", "panelled"), [(5, True), (37, False)])
@pytest.mark.parametrize("backend", ["wasm", "js", "webgpu"])
def test_tied_tables(backend: str, rows: int, panelled: bool, tmp_path: Path) -> None:
    graph = parse(TEXT.format(rows=rows, width=24))
    buffers = REGISTRY[backend].plan(graph).buffers
    packs = REGISTRY[backend].target.memory.packs
    assert isinstance(buffers["table"].layout, PanelLayout) == (panelled and packs)
    rng = np.random.default_rng(0)
    weights = {"table": rng.normal(size=(37, 24)).astype(np.float32)}
    inputs = {
        "ids": rng.integers(-37, 37, rows).astype(np.int32),
        "x": rng.normal(size=(5, 24)).astype(np.float32),
    }
    expected, _ = run_graph(graph, inputs, weights)
    (results,) = run([Job(graph, inputs, weights)], backend, tmp_path)
    np.testing.assert_array_equal(results["rows"], expected["rows"])
    np.testing.assert_allclose(results["y"], expected["y"], rtol=1e-5, atol=1e-5)
