"""Prefetched panels: which kernels have them, and that results are bit-identical for all sizes."""

from itertools import product

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.programs import program, with_target
from webkiln.backends.launches import launches
from webkiln.backends.table import REGISTRY
from webkiln.ops.table import parse
from webkiln.plan import loops, tile_shapes
from webkiln.recipe.values import WASM_VARIANTS

POINTWISE = (
    '{"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],'
    '"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}'
)
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


def prefetches(document):
    return [data["schedule"].get("prefetch", False) for data in document["kernels"].values()]


@pytest.mark.parametrize("variant", WASM_VARIANTS)
@pytest.mark.sample("relaxed")
def test_prefetching_changes_no_bit(variant, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    jobs = []
    for text in TEXTS:
        graph = parse(text)
        values = {
            name: rng.standard_normal(graph.type(name).shape).astype(np.float32)
            for name in (*graph.inputs, *sorted(graph.slots))
        }
        jobs.append(Job(graph, {"x": values.pop("x")}, values))
    monkeypatch.setattr(loops, "MIN_PREFETCH_BYTES", 0)
    monkeypatch.setattr(loops, "MIN_PREFETCH_ROWS", 0)
    for module in (loops, tile_shapes):
        monkeypatch.setattr(module, "CACHED_BYTES", 0)
    results = []
    for ahead in (False, True):
        monkeypatch.setitem(
            REGISTRY, "wasm", with_target(REGISTRY["wasm"], runs={"prefetch": ahead})
        )
        used = [any(prefetches(program(job.graph, REGISTRY["wasm"], "float32"))) for job in jobs]
        assert all(used) if ahead else not any(used)
        results.append(run(jobs, "wasm", tmp_path / str(ahead), variant))
    for text, plain, prefetched in zip(TEXTS, *results, strict=True):
        assert np.array_equal(plain["out"], prefetched["out"]), text


def product_prefetches(*sizes):
    document = program(parse(product_of(*sizes)), REGISTRY["wasm"], "float32")
    (step,) = launches(document["main"])
    return document["kernels"][step["kernel"]]["schedule"].get("prefetch", False)


def test_only_large_constants_with_enough_rows_are_prefetched():
    """The decision is monotonic in the number of rows and columns."""
    by_rows = [product_prefetches(rows, 384, 384) for rows in range(1, 130, 16)]
    by_columns = [product_prefetches(128, 384, columns) for columns in range(8, 400, 48)]
    for decisions in (by_rows, by_columns):
        assert decisions == sorted(decisions)
        assert (decisions[0], decisions[-1]) == (False, True)


@pytest.mark.parametrize("backend", ["js", "webgpu", "webgl"])
def test_other_backends_do_not_prefetch(backend):
    assert not any(
        prefetches(program(parse(product_of(128, 384, 384)), REGISTRY[backend], "float32"))
    )
