"""Panels that are read before their turn: which kernels do, and that nothing else changes, whatever
the sizes.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.backends.harness import Job, run
from webkiln.backends.launches import launches
from webkiln.backends.table import TARGETS
from webkiln.backends.wasm import VARIANTS
from webkiln.ir.text import parse
from webkiln.plan import schedule
from webkiln.program import program

POINTWISE = '{"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}'
PADDED = POINTWISE.replace('"pad_high":[0,0],"pad_low":[0,0]', '"pad_high":[1,1],"pad_low":[1,1]')


def product_of(rows, inner, columns):
    return f"""graph g
input x: float32[{rows},{inner}]
slot w: float32[{inner},{columns}]
y: float32[{rows},{columns}] = MatMul(x, w)
output out = y
"""


def convolution(height, width, channels, features, size, attrs):
    return f"""graph g
input x: float32[1,{height},{width},{channels}]
slot w: float32[{size},{size},{channels},{features}]
slot b: float32[{features}]
c: float32[1,{height},{width},{features}] = Conv(x, w, b) {attrs}
y: float32[1,{height},{width},{features}] = Relu(c)
output out = y
"""


TEXTS = [
    *(product_of(*sizes) for sizes in product((6, 13, 200), (2, 9, 130), (12, 40))),
    product_of(128, 384, 96),
    product_of(16, 130, 96),
    convolution(5, 7, 24, 32, 1, POINTWISE),
    convolution(30, 31, 16, 24, 1, POINTWISE),
    convolution(15, 14, 16, 40, 3, PADDED),
]


def reads_ahead(made):
    return [data["schedule"].get("ahead", False) for data in made["kernels"].values()]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.sample("relaxed")
def test_no_bit_changes(variant, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    jobs = []
    for text in TEXTS:
        made = parse(text)
        values = {
            name: rng.standard_normal(made.type(name).shape).astype(np.float32)
            for name in (*made.inputs, *sorted(made.slots))
        }
        jobs.append(Job(made, {"x": values.pop("x")}, values))
    for bound in ("AHEAD_BYTES", "AHEAD_ROWS", "CACHED_BYTES"):
        monkeypatch.setattr(schedule, bound, 0)
    results = []
    for ahead in (False, True):
        monkeypatch.setitem(TARGETS, "wasm", replace(TARGETS["wasm"], prefetch=ahead))
        used = [any(reads_ahead(program(job.graph, TARGETS["wasm"], "float32"))) for job in jobs]
        assert all(used) if ahead else not any(used)
        results.append(run(jobs, "wasm", tmp_path / str(ahead), variant))
    for text, plain, early in zip(TEXTS, *results, strict=True):
        assert np.array_equal(plain["out"], early["out"]), text


def product_reads_ahead(*sizes):
    made = program(parse(product_of(*sizes)), TARGETS["wasm"], "float32")
    (step,) = launches(made["main"])
    return made["kernels"][step["kernel"]]["schedule"].get("ahead", False)


def test_what_caches_hold_comes_by_itself():
    """Nothing is read before its turn for few rows or small constants; from some size on, all of it
    is.
    """
    by_rows = [product_reads_ahead(rows, 384, 384) for rows in range(1, 130, 16)]
    by_columns = [product_reads_ahead(128, 384, columns) for columns in range(8, 400, 48)]
    for found in (by_rows, by_columns):
        assert found == sorted(found)
        assert (found[0], found[-1]) == (False, True)


@pytest.mark.parametrize("backend", ["js", "webgpu", "webgl"])
def test_other_backends_do_not(backend):
    assert not any(
        reads_ahead(program(parse(product_of(128, 384, 384)), TARGETS[backend], "float32"))
    )
