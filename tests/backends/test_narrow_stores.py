"""Rescaled numbers that are stored as bytes have the bits of the reference."""

from pathlib import Path

import numpy as np
import pytest

from tests.backends.harness import TEMPLATES, Job, run
from tests.programs import program
from webkiln.backends.table import REGISTRY
from webkiln.codegen import c
from webkiln.codegen.narrow_stores import Clamped, match_clamped
from webkiln.nest.expr import INT, apply, arg, const
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import OPERATORS, RULES
from webkiln.plan import kernel as kernels

WIDTHS = (3, 16, 21, 36)
BOUNDS = [
    ("int8", {"zero": -7, "min": -128, "max": 127}),
    ("int8", {"zero": 3, "min": -100, "max": 119}),
    ("uint8", {"zero": 128, "min": 0, "max": 255}),
    ("uint8", {"zero": 0, "min": 5, "max": 250}),
    ("uint8", {"zero": -7, "min": -128, "max": 119}),
]
"""The last bounds are not those of the dtype, whose bytes wrap."""


def stored(op: str, dtype: str, attrs: dict[str, int], width: int) -> Job:
    """The first case of an operator, cut to a width, and cast."""
    case = next(iter(OPERATORS[op].cases()))
    b = GraphBuilder("g", RULES)
    values = [value[..., :width] if value.ndim else value for value in case.inputs]
    inputs = {f"x{position}": value for position, value in enumerate(values)}
    operands = [b.input(name, str(value.dtype), value.shape) for name, value in inputs.items()]
    y = b.op(op, operands, {**case.attrs, **attrs})
    return Job(b.graph({"y": b.op("Cast", [y], {"dtype": dtype})}), inputs, {})


@pytest.mark.parametrize("variant", ["relaxed", "simd"])
@pytest.mark.parametrize("op", ["Requantize", "RequantizeSum"])
def test_bytes(op: str, variant: str, tmp_path: Path) -> None:
    jobs = [stored(op, dtype, attrs, width) for dtype, attrs in BOUNDS for width in WIDTHS]
    results = run(jobs, "wasm", tmp_path, variant)
    for job, result in zip(jobs, results, strict=True):
        expected, _ = run_graph(job.graph, job.inputs, {})
        assert np.array_equal(result["y"], expected["y"])


@pytest.mark.parametrize(("dtype", "attrs"), BOUNDS)
def test_sixteen_are_stored_at_a_time(dtype: str, attrs: dict[str, int]) -> None:
    document = program(stored("Requantize", dtype, attrs, 36).graph, REGISTRY["wasm"])
    (kernel,) = document["kernels"].values()
    source = c.print_kernel(kernels.from_json(kernel), TEMPLATES)
    wraps = attrs["min"] < np.iinfo(dtype).min
    assert ("wk_low16x8(" if wraps else f"wk_filtered_{dtype}(") in source[
        source.index("void k_") :
    ]


@pytest.mark.parametrize("variant", ["relaxed", "simd"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantized_floats(dtype: str, variant: str, tmp_path: Path) -> None:
    """Ties, numbers beyond all integers, infinities and NaN, in rows that divide no vector."""
    special = [0.5, 1.5, -0.5, 1e10, -1e10, 3e38, np.inf, -np.inf, np.nan, -0.0, 126.5, -127.5]
    x = np.resize(np.array(special, np.float32), (3, 37))
    limits = np.iinfo(dtype)
    b = GraphBuilder("g", RULES)
    bounds = {"min": float(limits.min), "max": float(limits.max)}
    y = b.op("Clip", [b.op("Round", [b.input("x", "float32", x.shape)])], bounds)
    job = Job(b.graph({"y": b.op("Cast", [y], {"dtype": dtype})}), {"x": x}, {})
    (kernel,) = program(job.graph, REGISTRY["wasm"])["kernels"].values()
    assert "WK_TRUNC(" in c.print_kernel(kernels.from_json(kernel), TEMPLATES)
    (result,) = run([job], "wasm", tmp_path, variant)
    expected = np.nan_to_num(np.clip(np.rint(x), limits.min, limits.max)).astype(dtype)
    assert np.array_equal(result["y"], expected)


def test_clamped_values_are_recognised() -> None:
    value = arg("p0")
    clamped = apply("min", apply("max", value, const(-100, INT)), const(90, INT))
    assert match_clamped(clamped + 7) == Clamped(value, 7, -93, 97)
    assert match_clamped(clamped) == Clamped(value, 0, -100, 90)
    assert match_clamped(value + 7) is None
