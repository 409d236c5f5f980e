"""Several nests in one launch compute what their graphs define: rows that do not fill a block,
symbolic sizes, sums that workgroups share, and bits that stay the same.
"""

import numpy as np
import pytest

from tests.backends.adapters import ADAPTERS
from tests.backends.group_graphs import GROUPS, NORMS
from tests.backends.harness import TEMPLATES, prepare, run_programs
from tests.backends.shaders import validate_wgsl
from tests.lower.chain_graphs import job, parsed, random_values
from tests.programs import program, with_target
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.codegen.wgsl_groups import print_group
from webkiln.nest.run import run_program
from webkiln.nest.steps import DeviceBranch, Workgroups, every_step
from webkiln.nest.verify import verify
from webkiln.ops.evaluate import run_graph
from webkiln.plan.group_kernel import from_json

SIZES = {"B": 2, "T": 83, "S": 71}

BACKEND = with_target(REGISTRY["webgpu"], runs={"classes": ()})
"""Groups are for all GPUs, as no class has forms of its own."""


def planned(graph):
    return BACKEND.plan(graph)


@pytest.mark.parametrize("name", GROUPS)
def test_interpreter(name):
    """Iterations of workgroups run in reverse order there: they are independent."""
    graph = parsed(GROUPS[name])
    values = random_values(graph, sizes=SIZES)
    result = planned(graph)
    verify(result)
    assert any(isinstance(step, Workgroups) for step in result.steps)
    memory = run_program(result, values, SIZES)
    reference, _ = run_graph(graph, values, values)
    for key, value in reference.items():
        found = memory[result.root(graph.outputs[key])].reshape(value.shape)
        assert relative_error(found, value) < 1e-5, key


@pytest.mark.parametrize("name", GROUPS)
def test_interpreter_of_each_class(name):
    """Groups on devices of a class, and one call after another elsewhere."""
    graph = parsed(GROUPS[name])
    values = random_values(graph, sizes=SIZES)
    result = REGISTRY["webgpu"].plan(graph)
    verify(result)
    every = list(every_step(result.steps))
    branches = [step for step in every if isinstance(step, DeviceBranch)]
    assert any(isinstance(step, Workgroups) for branch in branches for step in branch.then)
    reference, _ = run_graph(graph, values, values)
    for multiprocessors in (0, 8, 132):
        memory = run_program(result, values, SIZES, multiprocessors)
        for key, value in reference.items():
            found = memory[result.root(graph.outputs[key])].reshape(value.shape)
            assert relative_error(found, value) < 1e-5, (key, multiprocessors)


@pytest.mark.parametrize("name", sorted(NORMS.keys() - {"softmax between others"}))
def test_one_launch(name):
    (entry,) = program(parsed(GROUPS[name]), BACKEND)["main"]
    assert entry["why"].startswith(("4 nests", "3 nests"))


@pytest.mark.parametrize("every", representative([1, 3], 3))
def test_in_chromium(every, tmp_path):
    """Of those that run again, the bits are the same."""
    graphs = {name: parsed(text) for name, text in GROUPS.items()}
    jobs = {name: job(graph, random_values(graph, sizes=SIZES)) for name, graph in graphs.items()}
    prepared = [prepare(item, BACKEND) for item in jobs.values()]
    results = run_programs([*prepared, *prepared[::every]], "webgpu", tmp_path)
    for (name, item), outputs in zip(jobs.items(), results, strict=False):
        reference, _ = run_graph(item.graph, item.inputs, item.weights)
        for key, value in reference.items():
            assert relative_error(outputs[key], value) < 1e-5, (name, key)
    for first, again in zip(results[: len(jobs) : every], results[len(jobs) :], strict=True):
        assert all(np.array_equal(again[key], value) for key, value in first.items())


@pytest.mark.parametrize("adapter", [None, ADAPTERS[132]])
def test_each_class_in_chromium(adapter, tmp_path):
    graphs = {name: parsed(text) for name, text in GROUPS.items()}
    jobs = {name: job(graph, random_values(graph, sizes=SIZES)) for name, graph in graphs.items()}
    prepared = [prepare(item, REGISTRY["webgpu"]) for item in jobs.values()]
    results = run_programs(prepared, "webgpu", tmp_path, adapter=adapter)
    for (name, item), outputs in zip(jobs.items(), results, strict=True):
        reference, _ = run_graph(item.graph, item.inputs, item.weights)
        for key, value in reference.items():
            assert relative_error(outputs[key], value) < 1e-5, (name, key)


def test_shaders_are_valid_in_firefox():
    documents = [program(parsed(text), BACKEND) for text in GROUPS.values()]
    kernels = [item for document in documents for item in document["group_kernels"].values()]
    validate_wgsl([print_group(from_json(item), TEMPLATES) for item in kernels], "firefox")
