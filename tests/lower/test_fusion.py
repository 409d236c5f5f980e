"""Fused and canonical calls compute the same as the graph: in numpy for many graphs, as printed
code for some.
"""

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.lower.fused_calls import deviations, run_calls, values_of
from tests.lower.mixed_graphs import graph
from tests.passes.graphs import evaluate_graph
from tests.passes.running import optimised
from tests.sampling import representative
from webkiln.backends.table import REGISTRY
from webkiln.ir.text import print_graph
from webkiln.ops.evaluate import constant_values
from webkiln.ops.table import parse


@pytest.mark.parametrize("start", range(0, 600, 50))
def test_fused_calls_compute_the_graph(start):
    for seed in range(start, start + 50):
        model = graph(seed)
        values = values_of(model, seed)
        reference = evaluate_graph(model, values)
        if seed % 2:
            model = optimised(model)
        errors = deviations(run_calls(model, values), reference)
        assert not errors, f"seed {seed}: {errors}\n{print_graph(model)}"


@pytest.mark.parametrize(
    ("backend", "count"),
    representative(
        [("wasm", 40), ("webgl", 15), ("js", 40), ("webgpu", 40), ("webgl", 40)],
        ("wasm", 40),
        ("webgl", 15),
    ),
)
def test_printed_calls_compute_the_graph(backend, count, tmp_path):
    seeds = range(1000, 1000 + count)
    graphs = [graph(seed) for seed in seeds]
    jobs = []
    for seed, model in zip(seeds, graphs, strict=True):
        values = values_of(model, seed)
        jobs.append(
            Job(
                model, {name: values[name] for name in model.inputs}, constant_values(model, values)
            )
        )
    for seed, model, outputs in zip(seeds, graphs, run(jobs, backend, tmp_path), strict=True):
        errors = deviations(
            outputs, evaluate_graph(model, values_of(model, seed), REGISTRY[backend].target)
        )
        assert not errors, f"seed {seed}: {errors}\n{print_graph(model)}"


def test_a_merged_axis_has_its_own_size_argument():
    """The size of an axis may also be a stride, for example where a reshape merged two axes."""
    model = parse(
        """graph g
input x: uint8[2,1,19]
const i: int32[3] = [-5,8,16]
b: uint8[3,2,1,19] = Broadcast(x) {"shape":[3,2,1,19]}
r: uint8[1,6,19] = Reshape(b) {"shape":[1,6,19]}
c: float32[1,6,19] = Cast(r) {"dtype":"float32"}
y: float32[1,6,3] = Gather(c, i) {"axis":2}
output y = y
"""
    )
    values = {"x": np.arange(38).reshape(2, 1, 19).astype(np.uint8)}
    assert not deviations(run_calls(model, values), evaluate_graph(model, values))


def test_nan_is_a_deviation():
    ones, holes = np.ones(3, np.float32), np.full(3, np.nan, np.float32)
    assert deviations({"y": holes}, {"y": ones}) == {"y": np.inf}
    assert deviations({"y": ones}, {"y": holes}) == {"y": np.inf}
    assert deviations({"y": ones * np.float32(1.01)}, {"y": ones}) == {
        "y": pytest.approx(0.01, rel=1e-3)
    }
    assert not deviations({"y": ones * np.float32(1.00001)}, {"y": ones})
