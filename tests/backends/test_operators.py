"""Every operator, every sample case, every backend, against the numpy references."""

import numpy as np
import pytest

from tests.backends.harness import error, expected, node_job, run
from webkiln.backends.table import TARGETS
from webkiln.ops.table import OPERATORS

LEGS = [("js", ""), ("wasm", "simd"), ("wasm", "relaxed"), ("webgpu", ""), ("webgl", "")]


def held(value, backend):
    """Whether a backend holds these whole numbers; what it does not is refused where it enters (test_webgpu_engine.py)."""
    stored = np.dtype(TARGETS[backend].stored(str(value.dtype)))
    return value.dtype.kind not in "iu" or stored.itemsize >= value.dtype.itemsize or np.array_equal(value.astype(stored), value)


@pytest.fixture(scope="module", params=LEGS, ids=lambda leg: "-".join(filter(None, leg)))
def results(request, tmp_path_factory):
    """All cases in one go: one compiler call, one Node process."""
    backend, variant = request.param
    keys, jobs = [], []
    for name, operator in OPERATORS.items():
        for number, case in enumerate(operator.cases()):
            if not all(held(value, backend) for value in (*case.inputs, *expected(name, case).values())):
                continue
            for trained in (False, True) if len(case.inputs) > 1 else (False,):
                keys.append((name, number, trained))
                jobs.append(node_job(name, case, trained=trained))
    return dict(zip(keys, run(jobs, backend, tmp_path_factory.mktemp("jobs"), variant), strict=True))


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operator_agrees_with_its_reference(results, name):
    cases = list(OPERATORS[name].cases())
    assert cases, f"{name} has no sample case"
    for (op, number, trained), outputs in results.items():
        if op == name:
            case = cases[number]
            reference = expected(name, case)
            assert outputs.keys() == reference.keys()
            for output, value in reference.items():
                assert outputs[output].dtype == value.dtype
                where = (case.name or number, "trained" if trained else "given", case.attrs, output)
                assert error(outputs[output], value) <= case.tolerance, where
