"""Winograd convolutions: their transforms, convolutions in every layout and size, and the memory of
their filters.
"""

from itertools import product
from textwrap import dedent

import numpy as np
import pytest

from tests.backends.harness import Job, expected, node_job, run
from tests.convolutions import PLAIN_2D
from tests.programs import program, with_target
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.ir.types import Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, const
from webkiln.nest.interpret import interpret
from webkiln.nest.steps import View, calls
from webkiln.ops.conv_cases import NCHW, NHWC
from webkiln.ops.evaluate import run_graph
from webkiln.ops.operator import Case
from webkiln.ops.table import parse
from webkiln.plan import toom_cook
from webkiln.plan.convolutions import OUTPUTS, SMALL

FORMS = [*OUTPUTS.items(), *SMALL.items()]


@pytest.mark.parametrize(("taps", "count"), FORMS)
def test_transforms_correlate(taps, count):
    rng = np.random.default_rng(0)
    x, w = (
        rng.standard_normal((taps + count - 1, 50)).astype(np.float32),
        rng.standard_normal((taps, 50)).astype(np.float32),
    )
    points = taps + count - 1
    views = [
        View("x", Type("float32", x.shape)),
        View("w", Type("float32", w.shape)),
        View("y", Type("float32", (count, 50))),
    ]
    low = Lowering(views[:2], views[2:], "correlate")
    nest = low.nest()
    (column,) = nest.axes((50,))
    data = toom_cook.data([nest.load(views[0], (const(n, INT), column)) for n in range(points)])
    filters = toom_cook.filters(
        [nest.load(views[1], (const(n, INT), column)) for n in range(taps)], points
    )
    for number, value in enumerate(
        toom_cook.outputs([a * b for a, b in zip(data, filters, strict=True)], count)
    ):
        nest.store(views[2], value, (const(number, INT), column))
    nest.done()
    (call,) = calls(low.steps)
    result = np.empty((count, 50), np.float32)
    interpret(call.nest, [x, w], call.args, [result])
    exact = np.stack([(x[n : n + taps].astype(np.float64) * w).sum(0) for n in range(count)])
    assert relative_error(result, exact.astype(np.float32)) < 2e-5


def convolutions():
    rng = np.random.default_rng(0)

    def case(name, x, w, bias, tolerance=1e-5, **attrs):
        arrays = [
            rng.standard_normal(shape).astype(np.float32)
            for shape in (x, w, *([bias] if bias else []))
        ]
        return Case(tuple(arrays), PLAIN_2D | NHWC | attrs, tolerance, name)

    def pads(low, high):
        return {"pad_low": low, "pad_high": high}

    for height, width in product((15, 16, 17, 18), (13, 20, 23)):
        for pad in (0, 1):
            yield case(
                f"{height}x{width} pad {pad}",
                (1, height, width, 16),
                (3, 3, 16, 20),
                (20,),
                **pads((pad, pad), (pad, pad)),
            )
    for size, features in product((7, 8, 9), (16, 31)):
        yield case(
            f"small {size} of {features}",
            (1, size, size, 24),
            (3, 3, 24, features),
            None,
            **pads((1, 1), (1, 1)),
        )
    yield case("batch", (3, 9, 17, 16), (3, 3, 16, 16), (16,), **pads((1, 0), (0, 2)))
    yield case(
        "channels first", (2, 16, 17, 18), (16, 16, 3, 3), (16,), **NCHW | pads((1, 1), (1, 1))
    )
    yield case("1x7", (1, 17, 17, 16), (1, 7, 16, 32), (32,), 3e-5, **pads((0, 3), (0, 3)))
    yield case("7x1", (1, 17, 18, 16), (7, 1, 16, 32), None, 3e-5, **pads((3, 0), (3, 0)))
    yield case("1x3", (1, 11, 19, 16), (1, 3, 16, 16), None, **pads((0, 1), (0, 1)))
    yield case("5x5", (1, 12, 13, 16), (5, 5, 16, 16), (16,), **pads((2, 2), (2, 2)))
    yield case("2x2", (1, 16, 16, 16), (2, 2, 16, 16), (16,), **pads((0, 0), (0, 0)))
    yield case("2x3", (1, 16, 16, 16), (2, 3, 16, 16), (16,), **pads((1, 1), (0, 1)))
    yield case(
        "transposed",
        (1, 13, 12, 16),
        (4, 4, 16, 16),
        (16,),
        x_dilation=(2, 2),
        **pads((2, 2), (2, 2)),
    )
    yield case(
        "transposed_3",
        (1, 13, 12, 16),
        (3, 3, 16, 16),
        (16,),
        x_dilation=(2, 1),
        **pads((1, 1), (2, 1)),
    )
    yield case("crop", (1, 20, 20, 16), (3, 3, 16, 16), (16,), **pads((-1, 1), (1, -2)))


@pytest.mark.parametrize(
    ("backend", "variant", "every"),
    representative(
        [
            ("js", None, 3),
            ("js", None, 1),
            ("wasm", "relaxed", 1),
            ("wasm", "simd", 1),
            ("webgpu", None, 1),
        ],
        ("js", None, 3),
    ),
)
def test_convolutions(backend, variant, every, tmp_path):
    cases = list(convolutions())[::every]
    jobs = [node_job("Conv", case, trained=True) for case in cases]
    for case, job, outputs in zip(cases, jobs, run(jobs, backend, tmp_path, variant), strict=True):
        assert REGISTRY[backend].plan(job.graph).init, f"{case.name} is computed directly"
        for name, value in expected("Conv", case).items():
            assert relative_error(outputs[name], value) <= case.tolerance, case.name


CONV = (
    '{"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],'
    '"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}'
)
GRAPHS = {
    "epilogue with a residual": (
        f"""
        input x: float32[1,17,18,16]
        slot w: float32[3,3,16,16]
        slot b: float32[16]
        c: float32[1,17,18,16] = Conv(x, w, b) {CONV}
        s: float32[1,17,18,16] = Add(c, x)
        y: float32[1,17,18,16] = Relu(s)
        output out = y
    """
    ),
    "symbolic sizes": (
        f"""
        input x: float32[N,H,W,16]
        slot w: float32[3,3,16,16]
        c: float32[N,H,W,16] = Conv(x, w) {CONV}
        y: float32[N,H,W,16] = Relu(c)
        output out = y
    """
    ),
    "one filter, two convolutions": (
        f"""
        input x: float32[1,16,16,16]
        slot w: float32[3,3,16,16]
        c: float32[1,16,16,16] = Conv(x, w) {CONV}
        y: float32[1,16,16,16] = Conv(c, w) {CONV}
        output out = y
    """
    ),
    "a filter that is an output": (
        f"""
        input x: float32[1,16,16,16]
        slot w: float32[3,3,16,16]
        y: float32[1,16,16,16] = Conv(x, w) {CONV}
        output out = y
        output filter = w
    """
    ),
    "a filter with another reader": (
        f"""
        input x: float32[1,16,16,16]
        slot w: float32[3,3,16,16]
        y: float32[1,16,16,16] = Conv(x, w) {CONV}
        z: float32[3,3,16,16] = Relu(w)
        input k: float32[3,3,16,16]
        u: float32[3,3,16,16] = Mul(w, k)
        output out = y
        output product = u
        output rectified = z
    """
    ),
    "into a concatenation": (
        f"""
        input x: float32[1,17,17,16]
        slot w: float32[3,3,16,16]
        slot v: float32[3,3,16,24]
        a: float32[1,17,17,16] = Conv(x, w) {CONV}
        b: float32[1,17,17,24] = Conv(x, v) {CONV}
        y: float32[1,17,17,40] = Concat(a, b) {{"axis":3}}
        output out = y
    """
    ),
}


VISIBLE_FILTER = "a filter that is an output"
"""A filter that is an output is stored untransformed, so its convolution is direct."""


@pytest.mark.parametrize("backend", ["wasm", "js", "webgpu"])
@pytest.mark.parametrize("encoding", ["float32", "int8"])
@pytest.mark.sample("float32-wasm", "int8-js")
def test_graphs(encoding, backend, tmp_path):
    rng = np.random.default_rng(0)
    jobs = []
    for text in GRAPHS.values():
        graph = parse("graph g\n" + dedent(text).strip() + "\n")
        shapes = {
            name: tuple(
                {"N": 2, "H": 17, "W": 19}.get(str(size), size) for size in graph.type(name).shape
            )
            for name in (*graph.inputs, *graph.slots)
        }
        values = {
            name: (rng.integers(-127, 128, shape) / 127).astype(np.float32)
            for name, shape in shapes.items()
        }
        jobs.append(
            Job(
                graph,
                {name: values[name] for name in graph.inputs},
                {name: values[name] for name in graph.slots},
                encoding,
            )
        )
    for name, job, outputs in zip(GRAPHS, jobs, run(jobs, backend, tmp_path), strict=True):
        assert bool(REGISTRY[backend].plan(job.graph).init) == (name != VISIBLE_FILTER), name
        reference, _ = run_graph(job.graph, job.inputs, job.weights)
        for output, value in reference.items():
            assert relative_error(outputs[output], value) < (
                1e-5 if encoding == "float32" else 2e-2
            ), (name, output)


def test_untransformed_filters_are_not_retained():
    graph = parse("graph g\n" + dedent(GRAPHS["epilogue with a residual"]).strip() + "\n")
    fast, direct = (
        program(graph, with_target(REGISTRY["wasm"], winograd=on), "float32")
        for on in (True, False)
    )
    (transform,) = (entry for entry in fast["init"] if entry["shard"] < 0)
    source, target = transform["operands"]
    assert target + 36 * 16 * 16 * 4 <= source, "it follows the transformed filter"
    assert source + 9 * 16 * 16 * 4 <= fast["staging"]["offset"] < fast["loaded"]
    assert all(entry["shard"] == 0 for entry in direct["init"])


@pytest.mark.parametrize(("change", "why"), [
    ({"strides": (2, 2)}, "strides"), ({"dilation": (2, 2)}, "dilation"), ({"groups": 2}, "groups"),
])  # fmt: skip
def test_other_convolutions_are_direct(change, why):
    rng = np.random.default_rng(0)
    channels = 16 if "groups" in change else 32
    case = Case(
        tuple(
            rng.standard_normal(s).astype(np.float32)
            for s in ((1, 20, 20, 32), (3, 3, channels, 32))
        ),
        PLAIN_2D | NHWC | change,
    )
    assert not REGISTRY["wasm"].plan(node_job("Conv", case, trained=True).graph).init, why
