"""Each pass over programs rewrites the example in its docstring as documented; no pass, and no
sequence of passes, changes results.
"""

import random
from importlib import import_module
from importlib.util import find_spec
from textwrap import dedent

import pytest

from tests.lower.fused_calls import deviations, values_of
from tests.lower.mixed_graphs import graph
from tests.passes.graphs import evaluate_graph
from tests.programs import with_target
from webkiln.backends.table import REGISTRY
from webkiln.ir.text import print_graph
from webkiln.lower.lower import unfused
from webkiln.nest.parse import parse
from webkiln.nest.run import run_program
from webkiln.nest.text import print_program
from webkiln.nest.verify import verify
from webkiln.ops.evaluate import constant_values
from webkiln.program_builder.backend import Settings

SMALL = with_target(REGISTRY["wasm"], chain_bytes={"products": 2048, "windows": 2048})
"""A backend whose caches are so small that small programs are tiled."""
DRAWS = with_target(REGISTRY["webgl"], runs={"targets": 1})
HALF = with_target(REGISTRY["webgpu"], precision="float16")
BACKENDS = (*REGISTRY.values(), DRAWS, HALF, SMALL)
PASSES = {item.name: item for backend in BACKENDS for item in backend.passes()}


def examples(name):
    """The programs before and after a pass, from each example in its docstring."""
    folder = "lower" if find_spec(f"webkiln.lower.{name}") else "plan"
    _, *parts = import_module(f"webkiln.{folder}.{name}").__doc__.split("before:\n")
    return [[dedent(text).strip() + "\n" for text in part.split("after:\n")] for part in parts]


EXAMPLES = {
    f"{name}{number or ''}": (item, *pair)
    for name, item in PASSES.items()
    for number, pair in enumerate(examples(name))
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_in_the_docstring(name):
    item, before, after = EXAMPLES[name]
    program = parse(before)
    verify(program)
    result = item.run(program)
    verify(result)
    assert print_program(result) == after


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"fast_convolutions"}))
def test_passes_are_idempotent_on_their_examples(name):
    item, _, after = EXAMPLES[name]
    program = parse(after)
    assert item.run(program) == program


def check(program, model, memory, reference, what):
    verify(program)
    results = run_program(program, memory)
    outputs = {
        output: results[program.root(name)]
        .reshape(model.type(name).shape)
        .astype(model.type(name).dtype)
        for output, name in model.outputs.items()
    }
    errors = deviations(outputs, reference)
    assert not errors, f"{what}: {errors}\n{print_graph(model)}\n{print_program(program)}"


@pytest.mark.parametrize("start", range(0, 200, 25))
def test_no_pass_changes_results(start):
    for seed in range(start, start + 25):
        model = graph(seed)
        values = values_of(model, seed)
        memory = constant_values(model, values) | {name: values[name] for name in model.inputs}
        for backend in (SMALL, DRAWS):
            reference = evaluate_graph(model, values, backend.target)
            program = unfused(model)
            for item in backend.passes():
                program = item.run(program)
                check(program, model, memory, reference, f"seed {seed}, {item.name}")


@pytest.mark.parametrize("start", range(1000, 1100, 25))
def test_no_sequence_of_passes_changes_results(start):
    for seed in range(start, start + 25):
        model = graph(seed)
        values = values_of(model, seed)
        memory = constant_values(model, values) | {name: values[name] for name in model.inputs}
        generator = random.Random(seed)
        program = unfused(model)
        sequence = [generator.choice(SMALL.rewriting(Settings(SMALL.target))) for _ in range(6)]
        held = any(item.name == "hold_float16" for item in sequence)
        reference = evaluate_graph(model, values, SMALL.target if held else None)
        for item in sequence:
            program = item.run(program)
        names = ", ".join(item.name for item in sequence)
        check(program, model, memory, reference, f"seed {seed}, {names}")
