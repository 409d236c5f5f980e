"""Weights that arrive as float16 are read so on GPUs where only products of few rows read them, and
every float16 value is multiplied as numpy does. Emulated GPUs read float32.
"""

from math import inf, nan

import numpy as np
import pytest

from tests.backends.block_jobs import templates_of
from tests.backends.harness import Job, prepare, run_programs
from tests.programs import program, with_target
from webkiln.backends.table import REGISTRY
from webkiln.codegen import wgsl_workgroups
from webkiln.ir import symbols
from webkiln.nest.verify import verify
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.table import RULES
from webkiln.plan import vector_products
from webkiln.plan.float16_storage import HALVES
from webkiln.plan.vector_products import MOST_ROWS
from webkiln.program_builder.backend import weights_of
from webkiln.weights import shards

WEBGPU, VECTORS = REGISTRY["webgpu"], "vector_product"
GPU = {"vendor": "nvidia", "architecture": "hopper"}
SIZES = [
    (1, 768, 37, True),
    (1, 768, 40, False),
    (1, 64, 4, False),
    (1, 60, 3, False),
    (1, 60, 2, True),
    (3, 100, 130, False),
    (2, 2052, 9, True),
    (MOST_ROWS, 260, 33, False),
    (1, 2, 640, False),
    (1, 77, 5, True),
    (MOST_ROWS + 1, 64, 12, True),
]
"""Rows, length of the sum, columns, and whether the file has columns along memory. The length of
some sums is no multiple of 8, of some not of 4: these are not held so, nor are those of more rows.
"""


def held(graph):
    """The constants that GPUs read as float16."""
    plan = WEBGPU.plan(graph, weights=weights_of(graph, "float16"))
    verify(plan)
    read = (view for call in plan.calls for view in call.inputs)
    found = {view.name for view in read if view.type.dtype == "float16"}
    assert all(plan.buffers[name].segment is not None for name in found)
    return {name.removesuffix(HALVES) for name in found}


def is_held(rows, depth, columns, along):
    return rows <= MOST_ROWS and depth % 4 == 0 and depth >= 16


def values_of(shape, seed=0):
    """Values that float16 rounds."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def product(rows, depth, columns, along, weights=None):
    b = GraphBuilder("g", RULES)
    x = b.input("x", "float32", (rows, depth))
    shape = (columns, depth) if along else (depth, columns)
    values = {"w": values_of(shape) if weights is None else weights, "b": values_of((columns,), 1)}
    w, bias = (b.slot(name, value) for name, value in values.items())
    sums = b.op("MatMul", [x, w], {"transpose_b": along})
    y = b.op("Relu", [b.op("Add", [sums, bias])])
    given = {"x": values_of((rows, depth), 2)}
    return Job(b.graph({"y": y, "sums": sums}), given, values, "float16")


def sums_of(job, *, along):
    """The sums in float64, of weights rounded to float16."""
    with np.errstate(over="ignore", invalid="ignore"):
        w = job.weights["w"].astype(np.float16).astype(np.float64)
        return job.inputs["x"].astype(np.float64) @ (w.T if along else w)


@pytest.fixture(params=["by subgroups", "by workgroups"])
def _groups(request, monkeypatch):
    if request.param == "by workgroups":
        monkeypatch.setattr(wgsl_workgroups, "variants", lambda kernel: iter(()))


@pytest.fixture(autouse=True)
def _small_sizes(monkeypatch):
    monkeypatch.setattr(vector_products, "FEW_WEIGHTS", 0)


@pytest.mark.usefixtures("_groups")
def test_products_match_numpy(tmp_path):
    jobs = [product(*size) for size in SIZES]
    prepared = [prepare(job, WEBGPU) for job in jobs]
    results = run_programs(prepared, "webgpu", tmp_path, adapter=GPU)
    for size, job, item, outputs in zip(SIZES, jobs, prepared, results, strict=True):
        halves = {
            dtype
            for kernel in item.program["kernels"].values()
            if kernel["schedule"].get("template") == VECTORS
            for dtype, _ in kernel["nest"]["inputs"]
        }
        assert ("float16" in halves) == is_held(*size), size
        sums = sums_of(job, along=size[-1])
        bound = 2e-5 * np.abs(sums).max()
        np.testing.assert_allclose(outputs["sums"], sums, rtol=0, atol=bound, err_msg=str(size))
        y = np.maximum(sums + job.weights["b"], 0)
        np.testing.assert_allclose(outputs["y"], y, rtol=0, atol=bound, err_msg=str(size))


@pytest.mark.usefixtures("_groups")
@pytest.mark.parametrize("along", [True, False])
def test_every_float16_value(along, tmp_path):
    """Each row of the product selects one weight, exactly."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = halves[np.isfinite(halves)].astype(np.float32)
    depth = 16
    weights = np.zeros((depth, finite.size // depth), np.float32)
    weights[:] = finite.reshape(-1, depth).T
    stored = np.ascontiguousarray(weights.T if along else weights)
    job = product(4, depth, weights.shape[1], along, stored)
    found = []
    for first in range(0, depth, 4):
        x = np.eye(depth, dtype=np.float32)[first : first + 4]
        found.append(Job(job.graph, {"x": x}, job.weights, "float16"))
    results = run_programs(
        [prepare(item, WEBGPU) for item in found], "webgpu", tmp_path, adapter=GPU
    )
    sums = np.concatenate([outputs["sums"] for outputs in results])
    np.testing.assert_array_equal(sums, weights)


@pytest.mark.parametrize("along", [True, False])
def test_infinities_and_nan(along, tmp_path):
    weights = np.ones((20, 6), np.float32)
    weights[3, 0], weights[7, 1], weights[9, 2], weights[11, 3] = inf, -inf, nan, 1e6
    weights[12, 4] = -1e6
    job = product(1, 20, 6, along, np.ascontiguousarray(weights.T if along else weights))
    job = Job(job.graph, {"x": np.ones((1, 20), np.float32)}, job.weights, "float16")
    (outputs,) = run_programs([prepare(job, WEBGPU)], "webgpu", tmp_path, adapter=GPU)
    np.testing.assert_array_equal(outputs["sums"], [[inf, -inf, nan, inf, -inf, 20]])


@pytest.mark.parametrize(("along", "rows"), [(True, 8), (True, 7), (False, 7), (False, 1)])
def test_pieces_of_weights(along, rows, tmp_path, monkeypatch):
    """Weights in several shards. Where a word would have elements of two, they stay float32."""
    monkeypatch.setattr(shards.pieces, "__defaults__", (2 * 40 * rows,))
    job = product(1, 40, 40, along)
    (outputs,) = run_programs([prepare(job, WEBGPU)], "webgpu", tmp_path, adapter=GPU)
    sums = sums_of(job, along=along)
    np.testing.assert_allclose(outputs["sums"], sums, rtol=0, atol=2e-5 * np.abs(sums).max())
    assert held(job.graph) == ({"w"} if along or rows > 1 else set())


def launches(steps, block):
    for step in steps:
        if "multiprocessors" in step:
            yield from launches(step[block], block)
        else:
            yield step


def test_half_the_bytes_are_read_and_held():
    job = product(1, 1024, 1024, along=False)
    compiled = program(job.graph, WEBGPU, "float16")
    (first, *_), (emulated, *_) = (
        list(launches(compiled["main"], block)) for block in ("then", "else")
    )
    assert emulated["bytes"] - first["bytes"] == 2 * 1024 * 1024
    own, other = (compiled["segments"][step["segments"][0]] for step in (first, emulated))
    assert own == {"bytes": 2 << 20, "from": 8}
    assert other == {"bytes": 4 << 20, "below": 8}
    plain = program(job.graph, with_target(WEBGPU, runs={"classes": ()}), "float16")
    assert plain["memory"] == compiled["memory"] + other["bytes"]


@pytest.mark.parametrize("size", [size for size in SIZES if is_held(*size)])
def test_emulated_gpus_read_float32(size):
    graph = product(*size).graph
    found = program(graph, WEBGPU, "float16")
    plain = program(graph, with_target(WEBGPU, runs={"classes": ()}), "float16")
    first, second = (
        [
            (
                *(item["kernels"][step["kernel"]][part] for part in ("nest", "schedule")),
                step["args"],
            )
            for step in launches(item["main"], "else")
        ]
        for item in (found, plain)
    )
    assert first == second


def test_weights_that_others_read_stay_float32():
    b = GraphBuilder("g", RULES)
    x = b.input("x", "float32", (1, 64))
    many = b.input("m", "float32", (40, 64))
    w = b.slot("w", values_of((64, 64)))
    b_graph = b.graph({"y": b.op("MatMul", [x, w]), "z": b.op("MatMul", [many, w])})
    assert not held(b_graph)


def test_rows_of_any_number_are_no_obstacle():
    """A call that selects elements of a result whose size is not known."""
    b = GraphBuilder("g", RULES)
    ids, x = b.input("ids", "int32", (3,)), b.input("x", "float32", (symbols.placeholder("n"), 48))
    w = b.slot("w", values_of((48, 70)))
    rows = b.op("Gather", [b.op("Tanh", [x]), ids], {"axis": 0})
    assert held(b.graph({"y": b.op("MatMul", [rows, w])})) == {"w"}


@pytest.mark.parametrize("adapter", [None, GPU])
def test_rows_of_a_tied_table_are_selected(adapter, tmp_path):
    b = GraphBuilder("g", RULES)
    ids, x = b.input("ids", "int32", (3,)), b.input("x", "float32", (1, 48))
    table = b.slot("table", values_of((101, 48)))
    sums = b.op("MatMul", [x, table], {"transpose_b": True})
    graph = b.graph({"sums": sums, "rows": b.op("Gather", [table, ids], {"axis": 0})})
    values = {"table": values_of((101, 48))}
    given = {"x": values_of((1, 48), 3), "ids": np.array([100, 0, 7], np.int32)}
    prepared = prepare(Job(graph, given, values, "float16"), WEBGPU)
    assert held(graph) == {"table"}
    assert VECTORS in templates_of(prepared.program)
    (outputs,) = run_programs([prepared], "webgpu", tmp_path, adapter=adapter)
    rounded = values["table"].astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(outputs["rows"], rounded[given["ids"]])
    sums = given["x"].astype(np.float64) @ rounded.T
    np.testing.assert_allclose(outputs["sums"], sums, rtol=0, atol=2e-5 * np.abs(sums).max())


@pytest.mark.parametrize("adapter", [None, GPU])
def test_a_recurrence_of_products(adapter, tmp_path):
    """States are multiplied by weights in each step, and the results by others."""
    b = GraphBuilder("g", RULES)
    x, first = b.input("x", "float32", (5, 1, 64)), b.slot("h", values_of((1, 64), 4))
    values = {"h": values_of((1, 64), 4), "u": values_of((64, 64), 5) / 8}
    values["v"] = values_of((20, 64), 6)
    u, v = (b.slot(name, values[name]) for name in "uv")

    def step(body, states, slices):
        total = body.op("Add", [body.op("MatMul", [states[0], body.capture(u)]), slices[0]])
        return [body.op("Tanh", [total])], []

    (last,), _ = b.scan([first], [x], step, axis=0)
    graph = b.graph({"y": b.op("MatMul", [last, v], {"transpose_b": True})})
    assert held(graph) == {"u", "v"}
    given = {"x": values_of((5, 1, 64), 7)}
    prepared = prepare(Job(graph, given, values, "float16"), WEBGPU)
    outputs, again = run_programs([prepared, prepared], "webgpu", tmp_path, adapter=adapter)
    rounded = {name: values[name].astype(np.float16).astype(np.float64) for name in "uv"}
    state = values["h"].astype(np.float64)
    for item in given["x"]:
        state = np.tanh(state @ rounded["u"] + item)
    y = state @ rounded["v"].T
    np.testing.assert_allclose(outputs["y"], y, rtol=0, atol=2e-5 * np.abs(y).max())
    assert np.array_equal(outputs["y"], again["y"])
