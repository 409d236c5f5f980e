"""Every operator, every sample case, every backend, against the numpy references."""

import numpy as np
import pytest

from tests.backends.harness import expected, node_job, run
from tests.parts import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.table import TARGETS
from webkiln.ops.table import OPERATORS

EVERY = [("js", "", 1), ("wasm", "relaxed", 1), ("wasm", "simd", 1), ("webgpu", "", 1), ("webgl", "", 1)]
A_THIRD = [("webgpu", "", 3), ("webgl", "", 3)]
"""On software GPUs the first case of each operator and every third of the others."""


def held(value, backend):
    """Whether a backend holds these whole numbers; what it does not is refused where it enters (test_webgpu_engine.py)."""
    stored = np.dtype(TARGETS[backend].stored(str(value.dtype)))
    return value.dtype.kind not in "iu" or stored.itemsize >= value.dtype.itemsize or np.array_equal(value.astype(stored), value)


@pytest.mark.parametrize(("backend", "variant", "step"), representative([*EVERY, *A_THIRD], *EVERY[:2], *A_THIRD))
def test_operators_agree_with_their_references(backend, variant, step, tmp_path):
    """All cases in one go, or one of `step`: one compiler call, one Node process or page."""
    tried, jobs = [], []
    for name, operator in OPERATORS.items():
        cases = list(enumerate(operator.cases()))
        assert cases, f"{name} has no sample case"
        for number, case in cases[::step]:
            reference = expected(name, case)
            if not all(held(value, backend) for value in (*case.inputs, *reference.values())):
                continue
            for trained in (False, True) if len(case.inputs) > 1 else (False,):
                tried.append((f"{name} {case.name or number} {'trained' if trained else 'given'} {case.attrs}", reference, case.tolerance))
                jobs.append(node_job(name, case, trained=trained))
    results = run(jobs, backend, tmp_path, variant)
    assert {at: wrong for (at, *wanted), outputs in zip(tried, results, strict=True) if (wrong := disagreement(outputs, *wanted))} == {}


def disagreement(outputs, reference, tolerance):
    """How what was computed differs; nothing where it does not."""
    if {name: value.dtype for name, value in outputs.items()} != {name: value.dtype for name, value in reference.items()}:
        return f"outputs {outputs.keys()} instead of {reference.keys()}, or of other types"
    errors = {name: relative_error(outputs[name], value) for name, value in reference.items()}
    return {name: found for name, found in errors.items() if not found <= tolerance}
