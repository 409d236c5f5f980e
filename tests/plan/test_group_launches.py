"""Which calls share a launch on webgpu, and where its kernel has barriers."""

from itertools import pairwise
from textwrap import dedent

import numpy as np
import pytest

from tests.backends.harness import TEMPLATES
from tests.lower.chain_graphs import attention, parsed
from tests.lower.fused_calls import deviations, values_of
from tests.lower.mixed_graphs import graph as mixed_graph
from tests.passes.graphs import evaluate_graph
from tests.programs import program, with_target
from webkiln.backends.table import REGISTRY
from webkiln.codegen.wgsl_groups import print_group
from webkiln.nest.parse import parse
from webkiln.nest.run import run_program
from webkiln.nest.steps import DeviceBranch, Repeat, Workgroups, calls, every_step
from webkiln.nest.verify import verify
from webkiln.ops.evaluate import constant_values
from webkiln.plan import choose_schedules, group_launches
from webkiln.plan.group_kernel import from_json
from webkiln.program_builder.group_entries import group_kernel

BACKEND = with_target(REGISTRY["webgpu"], runs={"classes": ()})
"""Groups are for all GPUs, as no class has forms of its own."""

ROWS = """
program g
buffer x: float32[200,200] input
buffer t: float32[200,200]
buffer y: float32[200,200]
live y
t: float32[200,200] = nest(x: float32[200,200])
  where p0 = 200
  for a0 < p0, a1 < p0
  out0[a0, a1] = tanh(in0[a0, a1])
y: float32[200,200] = nest(t: float32[200,200])
  where p0 = 200
  for a0 < p0, a1 < p0
  out0[a0, a1] = in0[INDEX] * 2.0
"""
RECURRENCE = """
program g
buffer x: float32[7,24] input
buffer w: float32[24,24] constant
buffer z: float32[1,24] constant
buffer h: float32[1,24]
buffer n: float32[24]
buffer y: float32[24]
live y
copy z: float32[1,24] -> h: float32[1,24] @cell
repeat i0 < 7:
  n: float32[24] = nest(h: float32[24], w: float32[24,24], x: float32[7,24]) @cell
    where p0 = 24; p1 = i0
    for a0 < p0
    reduce r0 < p0
    acc0 = sum(in0[r0] * in1[r0, a0])
    out0[a0] = tanh(acc0 + in2[p1, a0])
  copy n: float32[1,24] -> h: float32[1,24] @cell
y: float32[24] = nest(h: float32[24])
  where p0 = 24
  for a0 < p0
  out0[a0] = in0[a0] * 2.0
"""


def grouped(text):
    scheduled = choose_schedules.run(parse(dedent(text).strip()), BACKEND.target)
    result = group_launches.run(scheduled, BACKEND.target)
    verify(result)
    return result


@pytest.mark.parametrize(("index", "launches"), [("a0, a1", 1), ("a1, a0", 1), ("5, a1", 2)])
def test_only_dataflow_within_rows_shares_a_launch(index, launches):
    result = grouped(ROWS.replace("INDEX", index))
    assert len(result.steps) == launches
    if launches == 1:
        assert isinstance(result.steps[0], Workgroups)
        assert [step.count for step in result.steps] == [200]
        assert result.steps[0].shared == ("t",)


def test_rows_that_a_later_call_overwrites_are_not_shared():
    """The first call reads columns of what the second one writes by rows."""
    text = ROWS.replace("200] input", "200]", 1).replace("in0[a0, a1])", "in0[a1, a0])")
    text = text.replace("buffer y: float32[200,200]\nlive y", "live x").replace("y: ", "x: ")
    text = text.replace("buffer x: float32[200,200]", "buffer x: float32[200,200] input", 1)
    result = grouped(text.replace("INDEX", "a0, a1"))
    assert not any(isinstance(step, Workgroups) for step in result.steps)


def test_constants_that_are_computed_at_load_keep_their_names():
    """They are local buffers that no other step mentions, but the launch does not write them."""
    text = """
        program g
        buffer z: float32[200]
        buffer t: float32[200,200]
        buffer x: float32[200,200] input
        buffer y: float32[200,200]
        live y
        z: float32[200] = nest()
          where p0 = 200
          for a0 < p0
          out0[a0] = 3.0
        main
        t: float32[200,200] = nest(x: float32[200,200], z: float32[200])
          where p0 = 200
          for a0 < p0, a1 < p0
          out0[a0, a1] = tanh(in0[a0, a1]) + in1[a1]
        y: float32[200,200] = nest(t: float32[200,200])
          where p0 = 200
          for a0 < p0, a1 < p0
          out0[a0, a1] = in0[a0, a1] * 2.0
        """
    target = REGISTRY["webgpu"].target
    result = group_launches.run(choose_schedules.run(parse(dedent(text).strip()), target), target)
    verify(result)
    (branch,) = result.steps
    assert isinstance(branch, DeviceBranch)
    assert "z" in {view.name for step in every_step(branch.then) for view in step.reads}


def test_arrays_in_workgroup_memory_have_elements():
    """WGSL has no empty arrays."""
    text = ROWS.replace("t: float32[200,200]", "t: float32[200,0]")
    text = text.replace("p0 = 200", "p0 = 200; p1 = 0")
    text = text.replace("for a0 < p0, a1 < p0", "for a0 < p0, a1 < p1", 1).replace(
        "out0[a0, a1] = in0[INDEX] * 2.0",
        "reduce r0 < p1\n  acc0 = sum(in0[a0, r0])\n  out0[a0, a1] = acc0",
    )
    (step,) = grouped(text).steps
    assert isinstance(step, Workgroups)
    assert step.shared == ()


def test_recurrence_in_one_launch():
    result = grouped(RECURRENCE)
    (step,) = result.steps
    assert (step.count, step.shared) == (1, ("h", "n"))
    assert sum(isinstance(inner, Repeat) for inner in every_step(step.steps)) == 1
    rng = np.random.default_rng(0)
    values = {
        name: rng.standard_normal(24 * k, np.float32) / 5
        for name, k in zip("xwz", (7, 24, 1), strict=True)
    }
    before, after = (
        run_program(item, values)["y"] for item in (parse(dedent(RECURRENCE).strip()), result)
    )
    assert np.array_equal(before, after)


BATCH = """
program g
buffer x: float32[5,7,24] input
buffer w: float32[24,24] constant
buffer z: float32[5,24] constant
buffer h: float32[5,24]
buffer s: float32[5,24]
buffer n: float32[5,24]
buffer y: float32[5,7,24]
live y
copy z: float32[5,24] -> h: float32[5,24] @cell
copy z: float32[5,24] -> s: float32[5,24] @cell
repeat i0 < 7:
  n: float32[5,24] = nest(h: float32[5,24], w: float32[24,24], x: float32[5,7,24], s: float32[5,24])
    where p0 = 5; p1 = 24; p2 = i0
    for a0 < p0, a1 < p1
    reduce r0 < p1
    acc0 = sum(in0[a0, r0] * in1[r0, a1])
    out0[a0, a1] = tanh((acc0 + in2[a0, p2, a1]) - in3[a0, a1])
  y: float32[5,7,24] = nest(n: float32[5,24]) @cell
    where p0 = 5; p1 = 24; p2 = i0
    for a0 < p0, a1 < p1
    out0[a0, p2, a1] = in0[a0, a1]
  copy n: float32[5,24] -> h: float32[5,24] @cell
"""


def test_each_row_of_a_batch_is_a_recurrence_of_its_own():
    result = grouped(BATCH)
    (step,) = result.steps
    assert (step.count, step.shared) == (5, ("h", "s", "n"))
    rng = np.random.default_rng(0)
    sizes = {"x": 5 * 7 * 24, "w": 24 * 24, "z": 5 * 24}
    values = {name: rng.standard_normal(size, np.float32) / 5 for name, size in sizes.items()}
    before, after = (
        run_program(item, values)["y"] for item in (parse(dedent(BATCH).strip()), result)
    )
    assert np.array_equal(before, after)


def test_barriers_between_dependent_nests_only():
    """The copy after a step of the recurrence reads what the same invocation wrote."""
    kernel, _, _ = group_kernel(grouped(RECURRENCE).steps[0])
    main = print_group(kernel, TEMPLATES).partition("fn main")[2].splitlines()
    order = [
        "barrier" if "Barrier" in line else line.split("nest")[1][0]
        for line in main
        if "Barrier" in line or "nest" in line
    ]
    assert order == ["0", "barrier", "1", "barrier", "2", "barrier", "3"]


def test_large_products_keep_their_launches():
    result = BACKEND.plan(parsed(attention(1, 6, 128, 128, 64)))
    (step,) = result.steps
    assert (step.count, len(list(calls(step.steps)))) == (48, 5)
    text = """
        input x: float32[128,384]
        slot w: float32[384,384]
        p: float32[128,384] = Softmax(x) {"axis":1}
        y: float32[128,384] = MatMul(p, w)
        output out = y
    """
    first, second = BACKEND.plan(parsed(text)).steps
    assert isinstance(first, Workgroups)
    assert not isinstance(second, Workgroups)


def test_memory_is_not_shared_within_a_launch():
    """All workgroups run at once, so the buffers of a launch do not overlap."""
    result = BACKEND.plan(parsed(attention(1, 6, 400, 400, 64)))
    places = {
        name: (buffer.address, buffer.address + 4 * buffer.type.size)
        for name, buffer in result.buffers.items()
        if buffer.address is not None
    }
    for step in result.steps:
        names = {view.name for call in calls([step]) for view in (*call.inputs, *call.outputs)}
        ranges = sorted(places[name] for name in names if name in places)
        assert all(end <= start for (_, end), (start, _) in pairwise(ranges))


def test_kernels_survive_json():
    document = program(parsed(attention(1, 2, "T", 96, 16)), BACKEND)
    for name, data in document["group_kernels"].items():
        assert from_json(data).name == name


def test_equal_layers_share_a_kernel():
    layer = """
        p{n}: float32[128,384] = Softmax(x{n}) {{"axis":1}}
        x{m}: float32[128,384] = MatMul(p{n}, w)"""
    layers = "".join(layer.format(n=n, m=n + 1) for n in range(3))
    text = f"input x0: float32[128,384]\nslot w: float32[384,384]{layers}\noutput out = x3\n"
    document = program(parsed(text), BACKEND)
    launched = [step["kernel"] for step in document["main"] if "groups" in step]
    assert len(launched) > len(set(launched)) == len(document["group_kernels"])


@pytest.mark.parametrize("start", range(0, 100, 25))
def test_random_programs_keep_their_results(start):
    for seed in range(start, start + 25):
        model = mixed_graph(seed)
        values = values_of(model, seed)
        memory = constant_values(model, values) | {name: values[name] for name in model.inputs}
        result = BACKEND.plan(model)
        verify(result)
        found = run_program(result, memory)
        outputs = {
            output: found[result.root(name)]
            .reshape(model.type(name).shape)
            .astype(model.type(name).dtype)
            for output, name in model.outputs.items()
        }
        assert not deviations(outputs, evaluate_graph(model, values, BACKEND.target)), seed
