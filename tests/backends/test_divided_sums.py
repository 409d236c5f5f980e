"""Recurrences in one launch, whose workgroup divides the sums of a step among its parts."""

import re

import numpy as np
import pytest

from tests.backends.adapters import ADAPTERS
from tests.backends.harness import TEMPLATES, prepare, run_programs
from tests.lower.chain_graphs import job, random_values
from tests.programs import program
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.codegen.wgsl_groups import print_group
from webkiln.ir.types import Type
from webkiln.nest.steps import Repeat, Workgroups, calls, every_step
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.evaluate import run_graph
from webkiln.ops.functional.recurrent import ACTIVATIONS, Operands, Options, lstm
from webkiln.ops.table import RULES
from webkiln.plan.group_kernel import from_json

ELEMENT_BYTES = {"u32": 4, "f32": 4, "vec4<f32>": 16}
PARTS = {128: [(128, 2)], 96: [(128, 2)], 64: [(64, 2)], 32: [], 130: []}
"""Units -> the invocations of a part and the number of parts, if the sums of a step are divided."""


def recurrence(units):
    """An LSTM of `units` for 9 steps of 5 values."""
    b = GraphBuilder("g", RULES)
    x = b.input("x", "float32", (9, 1, 5))
    sizes = {"kernel": (1, 4 * units, 5), "recurrent": (1, 4 * units, units)}
    kernel, recurrent = (b.slot(name, Type("float32", size)) for name, size in sizes.items())
    functions = tuple(ACTIVATIONS[name](None, None) for name in ("sigmoid", "tanh", "tanh"))
    operands = Operands(x, kernel, recurrent, None, None, (None, None))
    y, *_ = lstm(b, operands, Options(4, units, (False,), functions))
    return b.graph({"y": y})


def scaled(graph, units):
    values = random_values(graph)
    return values | {"recurrent": values["recurrent"] / np.float32(units) ** 0.5}


@pytest.mark.parametrize("units", PARTS)
def test_parts(units):
    result = REGISTRY["webgpu"].plan(recurrence(units))
    (group,) = (
        step
        for step in every_step(result.steps)
        if isinstance(step, Workgroups) and any(isinstance(item, Repeat) for item in step.steps)
    )
    shared = [call.schedule.workgroup for call in calls(group.steps) if call.nest.is_contraction]
    assert [(item.columns, item.parts) for item in shared if item is not None] == PARTS[units]


@pytest.mark.parametrize("units", PARTS)
def test_memory_that_every_device_has(units):
    kernels = program(recurrence(units), REGISTRY["webgpu"])["group_kernels"].values()
    for kernel in map(from_json, kernels):
        arrays = re.findall(r"array<(u32|f32|vec4<f32>), (\d+)>;", print_group(kernel, TEMPLATES))
        assert sum(ELEMENT_BYTES[item] * int(count) for item, count in arrays) <= 16_384
        assert kernel.size <= 256


def test_in_chromium(tmp_path):
    graphs = {units: recurrence(units) for units in PARTS}
    jobs = [job(graph, scaled(graph, units)) for units, graph in graphs.items()]
    prepared = [prepare(item, REGISTRY["webgpu"]) for item in jobs]
    results = run_programs([*prepared, prepared[0]], "webgpu", tmp_path, adapter=ADAPTERS[132])
    for item, outputs in zip(jobs, results, strict=False):
        reference, _ = run_graph(item.graph, item.inputs, item.weights)
        assert relative_error(outputs["y"], reference["y"]) < 1e-5
    assert np.array_equal(results[0]["y"], results[-1]["y"])
