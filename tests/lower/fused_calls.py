"""Fused calls, run by the interpreter of nests, and how their outputs differ from what is right."""

import numpy as np

from webkiln.backends.compare import relative_error
from webkiln.ir import symbols
from webkiln.lower.lower import lower
from webkiln.nest.interpret import interpret
from webkiln.nest.steps import Repeat
from webkiln.ops.evaluate import constant_values

TOLERANCE = 1e-4


def values_of(made, seed):
    rng = np.random.default_rng(seed)
    return {
        name: (rng.standard_normal(made.type(name).shape) * 1.3).astype(np.float32)
        for name in (*made.inputs, *sorted(made.slots))
    }


def run_calls(made, values, target=None):
    """Run the fused calls with the interpreter of nests."""
    memory = constant_values(made, values) | {name: values[name] for name in made.inputs}
    lowered = lower(made, target=target)
    _run_steps(lowered.steps, memory, {})
    return {
        output: memory[lowered.roots[name]].reshape(made.type(name).shape)
        for output, name in made.outputs.items()
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


def wrong(got, reference):
    errors = {name: relative_error(got[name], value) for name, value in reference.items()}
    return {name: error for name, error in errors.items() if not error <= TOLERANCE}
