"""Run fused calls with the interpreter of nests, and compare their outputs with references."""

import numpy as np

from tests.programs import lower, rewritten
from webkiln.backends.compare import relative_error
from webkiln.nest.run import run_program
from webkiln.ops.evaluate import constant_values

TOLERANCE = 1e-4


def values_of(graph, seed):
    rng = np.random.default_rng(seed)
    return {
        name: (rng.standard_normal(graph.type(name).shape) * 1.3).astype(np.float32)
        for name in (*graph.inputs, *sorted(graph.slots))
    }


def run_calls(graph, values, backend=None):
    """Run the fused calls, or those of a backend, with the interpreter of programs."""
    memory = constant_values(graph, values) | {name: values[name] for name in graph.inputs}
    program = lower(graph) if backend is None else rewritten(graph, backend)
    results = run_program(program, memory)
    return {
        output: results[program.root(name)].reshape(graph.type(name).shape)
        for output, name in graph.outputs.items()
    }


def deviations(results, reference):
    """The outputs whose relative error exceeds the tolerance, with the error."""
    errors = {name: relative_error(results[name], value) for name, value in reference.items()}
    return {name: error for name, error in errors.items() if not error <= TOLERANCE}
