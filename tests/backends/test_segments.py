"""Programs with constants in buffers of their own compute the same bits as with all in one buffer:
for every operator, template, form and group, and on each kind of device.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from tests.backends.adapters import ADAPTERS
from tests.backends.block_jobs import FLOAT, FORMS, job
from tests.backends.group_graphs import GROUPS
from tests.backends.harness import Job, node_job, prepare, run_programs
from tests.programs import with_target
from webkiln.backends.table import REGISTRY
from webkiln.ir import symbols
from webkiln.ops.table import OPERATORS, parse
from webkiln.plan import segments

WEBGPU = REGISTRY["webgpu"]
CONV = (
    '{"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],"pad_high":[1,1],"pad_low":[1,1],'
    '"strides":[1,1],"w_dims":[3,2,0,1],"x_dilation":[],"x_dims":[0,3,1,2]}'
)
OWN = {
    "winograd": f"""
        input x: float32[1,14,14,64]
        slot w: float32[3,3,64,96]
        slot b: float32[96]
        c: float32[1,14,14,96] = Conv(x, w) {CONV}
        s: float32[1,14,14,96] = Add(c, b)
        y: float32[1,14,14,96] = Relu(s)
        output out = y
    """,
    "products": """
        input x: float32[70,200]
        slot w: float32[200,96]
        slot v: float32[96,40]
        slot b: float32[40]
        p: float32[70,96] = MatMul(x, w)
        t: float32[70,96] = Tanh(p)
        q: float32[70,40] = MatMul(t, v)
        y: float32[70,40] = Add(q, b)
        output out = y
    """,
    "a vector": """
        input x: float32[1,300]
        slot w: float32[300,400]
        slot b: float32[400]
        p: float32[1,400] = MatMul(x, w)
        y: float32[1,400] = Add(p, b)
        output out = y
    """,
}
GRAPHS = {**OWN, **GROUPS}
SIZES = {"B": 3, "S": 7, "T": 9}


@pytest.fixture
def _everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SMALL", 0)


def graph_jobs(graphs: Mapping[str, str], encoding: str = "float32") -> list[Job]:
    jobs = []
    for text in graphs.values():
        graph = parse(f"graph g\n{dedent(text)}")
        rng = np.random.default_rng(1)

        def values(name, graph=graph, rng=rng):
            shape = [
                symbols.evaluate(size, {"B": 3, "S": 7, "T": 9}) for size in graph.type(name).shape
            ]
            return rng.standard_normal(shape, np.float32)

        inputs = {name: values(name) for name in graph.inputs}
        weights = {name: values(name) for name in sorted(graph.slots)}
        jobs.append(Job(graph, inputs, weights, encoding))
    return jobs


def check(jobs: Sequence[Job], folder: Path, adapter, limit: int) -> list[dict]:
    """Programs whose arena exceeds `limit` bytes give the bits of those without a limit."""
    small = with_target(WEBGPU, memory={"segment": limit})
    prepared = [prepare(item, backend) for item in jobs for backend in (WEBGPU, small)]
    results = run_programs(prepared, "webgpu", folder, adapter=adapter)
    for whole, divided in zip(results[::2], results[1::2], strict=True):
        assert whole.keys() == divided.keys()
        for name, value in whole.items():
            np.testing.assert_array_equal(divided[name], value)
    return [item.program for item in prepared[1::2]]


@pytest.mark.usefixtures("_everything")
def test_networks(tmp_path: Path) -> None:
    jobs = [*graph_jobs(GRAPHS), *graph_jobs(OWN, "int8"), *graph_jobs(OWN, "float16")]
    programs = check(jobs, tmp_path, None, 64)
    assert sum("segments" in program for program in programs) > len(programs) / 3
    assert any(len(step.get("segments", [])) > 1 for p in programs for step in p["main"])


@pytest.mark.usefixtures("_everything")
def test_networks_on_a_real_gpu(tmp_path: Path) -> None:
    """Its forms and groups read segments, and those of other GPUs are missing."""
    names = ["winograd", "products", "long rows", "softmax between others"]
    programs = check(
        graph_jobs({name: GRAPHS[name] for name in names}), tmp_path, ADAPTERS[132], 64
    )
    assert all("segments" in program for program in programs)
    assert any("segments" in kernel for kernel in programs[2]["group_kernels"].values())


@pytest.mark.usefixtures("_everything")
def test_codes(tmp_path: Path) -> None:
    jobs = [job(FLOAT, (1,), 70, 3, 32, form) for form in FORMS]
    jobs += [job(FLOAT, (33,), 64, 3, 24, form) for form in FORMS[1:4]]
    programs = check(jobs, tmp_path, None, 64)
    for program in programs:
        assert max(len(step.get("segments", [])) for step in program["main"]) > 1


@pytest.mark.usefixtures("_everything")
def test_constants_of_every_operator(tmp_path: Path) -> None:
    """One case of each, with every operand but the first a constant."""
    jobs = []
    for operator in OPERATORS:
        cases = [case for case in OPERATORS[operator].cases() if len(case.inputs) > 1]
        jobs += [node_job(operator, case, trained=True) for case in cases[:1]]
    programs = check(jobs, tmp_path, None, 4)
    assert sum("segments" in program for program in programs) > len(jobs) / 2


def test_filters_of_emulated_gpus_take_no_memory_elsewhere(tmp_path: Path) -> None:
    """Transformed filters are in a segment that real GPUs neither allocate nor fill."""
    (item,) = graph_jobs({"winograd": OWN["winograd"]})
    program = prepare(item, WEBGPU).program
    (segment,) = program["segments"]
    assert segment["below"] == 8
    assert segment["bytes"] >= 4 * 16 * 64 * 96
    whole = prepare(item, with_target(WEBGPU, memory={"segment": None})).program
    assert whole["memory"] == program["memory"] + segment["bytes"]
    skipped = [entry for entry in program["init"] if "segments" in entry]
    assert [entry["shard"] for entry in skipped] == [-1]
