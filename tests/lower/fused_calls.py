"""Run fused calls with the interpreter of nests, and compare their outputs with references."""

import numpy as np

from webkiln.backends.compare import relative_error
from webkiln.ir import symbols
from webkiln.lower.lower import lower
from webkiln.nest.interpret import interpret
from webkiln.nest.steps import Repeat
from webkiln.ops.evaluate import constant_values

TOLERANCE = 1e-4


def values_of(graph, seed):
    rng = np.random.default_rng(seed)
    return {
        name: (rng.standard_normal(graph.type(name).shape) * 1.3).astype(np.float32)
        for name in (*graph.inputs, *sorted(graph.slots))
    }


def run_calls(graph, values, target=None):
    """Run the fused calls with the interpreter of nests."""
    memory = constant_values(graph, values) | {name: values[name] for name in graph.inputs}
    lowered = lower(graph, target=target)
    _run_steps(lowered.steps, memory, {})
    return {
        output: memory[lowered.roots[name]].reshape(graph.type(name).shape)
        for output, name in graph.outputs.items()
    }


def _run_steps(steps, memory, counters):
    for step in steps:
        if isinstance(step, Repeat):
            for number in range(step.count):
                _run_steps(step.steps, memory, counters | {step.counter: number})
            continue
        for view in step.outputs:
            memory.setdefault(view.name, np.zeros(view.type.size, view.type.dtype))
        inputs, outputs = (
            [memory[view.name].reshape(view.shape) for view in views]
            for views in (step.inputs, step.outputs)
        )
        with np.errstate(all="ignore"):
            interpret(
                step.nest,
                inputs,
                {name: symbols.substitute(value, counters) for name, value in step.args.items()},
                outputs,
            )


def deviations(results, reference):
    """The outputs whose relative error exceeds the tolerance, with the error."""
    errors = {name: relative_error(results[name], value) for name, value in reference.items()}
    return {name: error for name, error in errors.items() if not error <= TOLERANCE}
