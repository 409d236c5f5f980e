"""Cooperation of workgroups computes what the graphs define: partial blocks, guards, outer
reductions, epilogues, infinities and NaN at the ends.
"""

from textwrap import dedent

import numpy as np
import pytest

from tests.backends.harness import Job, Prepared, run_programs
from tests.passes.graphs import evaluate_graph
from tests.programs import program, with_target
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.nest.target import ARITHMETIC
from webkiln.ops.table import parse
from webkiln.plan import invocations
from webkiln.weights.shards import pieces, stored, write

CONV = (
    '{"dilation":[1,1],"out_dims":[0,3,1,2],'
    '"pad_high":[1,1],"pad_low":[1,1],"strides":[2,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}'
)
GRAPHS = {
    "whole blocks": (
        """
        input x: float32[64,32]
        input w: float32[32,64]
        y: float32[64,64] = MatMul(x, w)
    """
    ),
    "parts of blocks": (
        """
        input x: float32[37,21]
        input w: float32[21,45]
        y: float32[37,45] = MatMul(x, w)
    """
    ),
    "a batch": (
        """
        input x: float32[3,33,17]
        input w: float32[3,17,40]
        y: float32[3,33,40] = MatMul(x, w)
    """
    ),
    "turned weights": (
        """
        input x: float32[37,24]
        slot w: float32[44,24]
        y: float32[37,44] = MatMul(x, w) {"transpose_b":true}
    """
    ),
    "guards, outer reductions and an epilogue": (
        f"""
        input x: float32[1,11,35,20]
        slot w: float32[3,3,20,40]
        slot b: float32[40]
        c: float32[1,6,35,40] = Conv(x, w, b) {CONV}
        y: float32[1,6,35,40] = Relu(c)
    """
    ),
}


WITHOUT_WEIGHTS = ("whole blocks", "parts of blocks", "a batch")
"""Graphs without weights, whose factors are float32 in memory."""

SPLIT = {
    "one row by weights": (
        """
        input x: float32[1,41]
        slot w: float32[41,45]
        slot b: float32[45]
        p: float32[1,45] = MatMul(x, w)
        s: float32[1,45] = Add(p, b)
        y: float32[1,45] = Relu(s)
    """
    ),
    "three rows": (
        """
        input x: float32[3,37]
        slot w: float32[37,64]
        y: float32[3,64] = MatMul(x, w)
    """
    ),
    "columns": (
        """
        input x: float32[50,33]
        y: float32[33] = ReduceMax(x) {"axes":[0]}
    """
    ),
    "means of maps": (
        """
        input x: float32[2,3,40,12]
        y: float32[2,12] = ReduceMean(x) {"axes":[1,2]}
    """
    ),
}


def prepared(name, precision="float32"):
    graph = parse(f"graph g\n{dedent({**GRAPHS, **SPLIT}[name]).strip()}\noutput y = y\n")
    rng = np.random.default_rng(len(name))
    values = {
        item: rng.standard_normal(graph.type(item).shape).astype(np.float32)
        for item in (*graph.inputs, *graph.slots)
    }
    values["x"][..., -1, 0] = np.inf if precision == "float32" else np.nan
    job = Job(
        graph,
        {item: values[item] for item in graph.inputs},
        {item: values[item] for item in graph.slots},
    )
    compiled = program(graph, with_target(REGISTRY["webgpu"], precision=precision), "float32")
    return (
        graph,
        values,
        Prepared(
            compiled,
            job.inputs,
            list(write(pieces(stored(graph), "float32"), job.weights.__getitem__)),
        ),
    )


def schedules(item):
    return [item.program["kernels"][step["kernel"]]["schedule"] for step in item.program["main"]]


def float16_variables(item):
    """Whether all kernels of a program may compute in float16."""
    return all(schedule["workgroup"].get("float16") for schedule in schedules(item))


def check(cases, folder, browser="", most=2e-5, float16=False):
    results = run_programs(
        [item for _, _, item in cases.values()], "webgpu", folder, browser=browser, float16=float16
    )
    errors = {}
    for (name, (graph, values, _)), outputs in zip(cases.items(), results, strict=True):
        with np.errstate(invalid="ignore"):
            (reference,) = evaluate_graph(graph, values).values()
        assert np.isinf(reference).any() or np.isnan(reference).any()
        errors[name] = relative_error(outputs["y"], reference)
        assert errors[name] < most, name
    return errors


def test_blocks_match_the_reference(tmp_path, monkeypatch):
    monkeypatch.setitem(
        REGISTRY, "webgpu", with_target(REGISTRY["webgpu"], runs={"blocks": (16,), "classes": ()})
    )
    cases = {name: prepared(name) for name in GRAPHS}
    assert all(
        schedule["workgroup"]["depth"] == 16
        for _, _, item in cases.values()
        for schedule in schedules(item)
    )
    check(cases, tmp_path)


def test_split_reductions_match_the_reference(tmp_path, monkeypatch):
    monkeypatch.setattr(invocations, "LONG_ROW", 8)
    cases = {name: prepared(name) for name in SPLIT}
    for name, (_, _, item) in cases.items():
        schedule = schedules(item)[0]
        assert schedule["tile"]["vector"][0] == "a", name
        assert schedule["workgroup"] == {"columns": 8, "parts": 8}, name
    check(cases, tmp_path)


@pytest.mark.parametrize(
    ("browser", "float16", "least"),
    [("firefox", True, 1e-4), ("firefox", False, 0), ("chromium", True, 0)],
)
@pytest.mark.sample("chromium-True-0")
def test_blocks_are_multiplied_in_float16_where_the_device_can(
    browser, float16, least, tmp_path, monkeypatch
):
    """Mesa's lavapipe has `shader-f16`, SwiftShader does not; both are emulated GPUs, which use
    float32 unless the page requests float16. The error shows whether factors are float16.
    """
    monkeypatch.setitem(
        REGISTRY, "webgpu", with_target(REGISTRY["webgpu"], runs={"blocks": (16,), "classes": ()})
    )
    cases = {name: prepared(name, ARITHMETIC) for name in GRAPHS}
    assert all(float16_variables(item) for _, _, item in cases.values())
    errors = check(cases, tmp_path, browser, 4e-3, float16)
    assert all(errors[name] > least for name in WITHOUT_WEIGHTS)
    assert least or max(errors[name] for name in WITHOUT_WEIGHTS) < 2e-5


def test_factors_beyond_float16_are_clamped(tmp_path, monkeypatch):
    monkeypatch.setitem(
        REGISTRY, "webgpu", with_target(REGISTRY["webgpu"], runs={"blocks": (16,), "classes": ()})
    )
    graph, values, item = prepared("whole blocks", ARITHMETIC)
    values["w"] *= 2**-10
    values["x"][...] = np.where(np.arange(32) == 3, np.inf, 1.0)
    values["x"][5] = np.where(np.arange(32) == 3, -1e6, 1.0)
    (outputs,) = run_programs([item], "webgpu", tmp_path, browser="firefox", float16=True)
    assert float16_variables(item)
    (reference,) = evaluate_graph(
        graph, {**values, "x": np.clip(values["x"], -65504, 65504)}
    ).values()
    assert relative_error(outputs["y"], reference) < 4e-3


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "blocked"),
    [(256, 256, 256, True), (256, 256, 1, False), (256, 256, 64, False), (64, 256, 256, False)],
)
def test_only_large_contractions_are_blocked(rows, columns, depth, blocked):
    text = (
        f"input x: float32[{rows},{depth}]\ninput w: float32[{depth},{columns}]\ny:"
        f" float32[{rows},{columns}] = MatMul(x, w)"
    )
    plain = with_target(REGISTRY["webgpu"], runs={"classes": ()})
    compiled = program(parse(f"graph g\n{text}\noutput y = y\n"), plain, "float32")
    (kernel,) = compiled["kernels"].values()
    assert ("depth" in kernel["schedule"].get("workgroup", {})) == blocked
