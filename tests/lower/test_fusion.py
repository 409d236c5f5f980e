"""Fused and tidied calls compute what the graph says: in numpy on many graphs, through the printers
on some.
"""

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.lower.fused_calls import run_calls, values_of, wrong
from tests.lower.mixed_graphs import graph
from tests.passes.graphs import evaluate_graph
from tests.passes.running import optimised
from tests.sampling import representative
from webkiln.ir.text import parse, print_graph
from webkiln.ops.evaluate import constant_values


@pytest.mark.parametrize("start", range(0, 600, 50))
def test_fused_calls_keep_the_numbers(start):
    for seed in range(start, start + 50):
        made = graph(seed)
        values = values_of(made, seed)
        reference = evaluate_graph(made, values)
        if seed % 2:
            made = optimised(made)
        found = wrong(run_calls(made, values), reference)
        assert not found, f"seed {seed}: {found}\n{print_graph(made)}"


@pytest.mark.parametrize(
    ("backend", "count"),
    representative(
        [("wasm", 40), ("webgl", 15), ("js", 40), ("webgpu", 40), ("webgl", 40)],
        ("wasm", 40),
        ("webgl", 15),
    ),
)
def test_printed_calls_keep_the_numbers(backend, count, tmp_path):
    seeds = range(1000, 1000 + count)
    graphs = [graph(seed) for seed in seeds]
    jobs = []
    for seed, made in zip(seeds, graphs, strict=True):
        values = values_of(made, seed)
        jobs.append(
            Job(made, {name: values[name] for name in made.inputs}, constant_values(made, values))
        )
    for seed, made, outputs in zip(seeds, graphs, run(jobs, backend, tmp_path), strict=True):
        found = wrong(outputs, evaluate_graph(made, values_of(made, seed)))
        assert not found, f"seed {seed}: {found}\n{print_graph(made)}"


def test_a_merged_axis_has_a_size_of_its_own():
    """The size of an axis may also be what an index multiplies by, as where a reshape joined two
    axes.
    """
    made = parse(
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
    assert not wrong(run_calls(made, values), evaluate_graph(made, values))


def test_what_is_not_a_number_is_wrong():
    ones, holes = np.ones(3, np.float32), np.full(3, np.nan, np.float32)
    assert wrong({"y": holes}, {"y": ones}) == {"y": np.inf}
    assert wrong({"y": ones}, {"y": holes}) == {"y": np.inf}
    assert wrong({"y": ones * np.float32(1.01)}, {"y": ones}) == {
        "y": pytest.approx(0.01, rel=1e-3)
    }
    assert not wrong({"y": ones * np.float32(1.00001)}, {"y": ones})
