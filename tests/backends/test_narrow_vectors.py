"""Integers in vectors on wasm, in rows that fill no, one or several vectors and leave a part."""

from pathlib import Path

import numpy as np
import pytest

from tests.backends.harness import TEMPLATES, Job, run
from tests.programs import program
from webkiln.backends.table import REGISTRY
from webkiln.codegen import c
from webkiln.ir.types import is_integer
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import parse
from webkiln.plan import kernel as kernels

DTYPES = [dtype for dtype in REGISTRY["wasm"].target.vectors.dtypes if is_integer(dtype)]
WIDTHS = (1, 2, 3, 4, 5, 7, 8, 19, 64)
BINARY = ("Add", "Sub", "Mul", "Max", "Min")
UNARY = ("Neg", "Abs", "Sign")
REDUCTIONS = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd")
ROWS = 5


def text_of(dtype: str, width: int) -> str:
    """All operators on two inputs [ROWS, width], along both axes, and all casts."""
    full, half = f"[{ROWS},{width}]", f"[{ROWS},{2 * width}]"
    lines = [f"input a: {dtype}{full}", f"input b: {dtype}{full}", f"input f: float32{full}"]
    made = []

    def node(name: str, type_: str, call: str) -> None:
        lines.append(f"{name}: {type_} = {call}")
        made.append(name)

    for op in BINARY:
        node(f"y_{op}", f"{dtype}{full}", f"{op}(a, b)")
    for op in UNARY:
        node(f"y_{op}", f"{dtype}{full}", f"{op}(a)")
    for op in REDUCTIONS:
        for axis, size in ((0, width), (1, ROWS)):
            node(f"y_{op}{axis}", f"{dtype}[{size}]", f'{op}(a) {{"axes":[{axis}]}}')
    node("y_chosen", f"{dtype}{full}", "Where(less, a, b)")
    lines.insert(-1, f"less: bool{full} = Less(a, b)")
    node("y_float", f"float32{full}", 'Cast(a) {"dtype":"float32"}')
    node("y_cast", f"{dtype}{full}", f'Cast(f) {{"dtype":"{dtype}"}}')
    node("y_joined", f"{dtype}{half}", 'Concat(a, b) {"axis":1}')
    node("y_turned", f"{dtype}[{width},{ROWS}]", 'Transpose(a) {"perm":[1,0]}')
    for other in DTYPES:
        if other != dtype:
            node(f"y_{other}", f"{other}{full}", f'Cast(a) {{"dtype":"{other}"}}')
    lines += [f"output {name} = {name}" for name in made]
    return "\n".join(["graph g", *lines]) + "\n"


@pytest.mark.parametrize("variant", ["simd", "relaxed"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_integers(dtype: str, variant: str, tmp_path: Path) -> None:
    random, limits = np.random.default_rng(0), np.iinfo(dtype)
    jobs = []
    for width in WIDTHS:
        a, b = (
            random.integers(limits.min, limits.max, (ROWS, width), dtype, endpoint=True)
            for _ in range(2)
        )
        f = np.float32(random.uniform(limits.min // 2, limits.max // 2, (ROWS, width)))
        jobs.append(Job(parse(text_of(dtype, width)), {"a": a, "b": b, "f": f}))
    for job, got in zip(jobs, run(jobs, "wasm", tmp_path, variant), strict=True):
        for name, want in run_graph(job.graph, job.inputs)[0].items():
            np.testing.assert_array_equal(got[name], want, f"{name} of {job.inputs['a'].shape}")
            assert got[name].dtype == want.dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_computed_in_vectors(dtype: str) -> None:
    text = f"graph g\ninput x: {dtype}[19]\ny: {dtype}[19] = Add(x, x)\noutput y = y\n"
    document = program(parse(text), REGISTRY["wasm"], "float32")
    (kernel,) = document["kernels"].values()
    source = c.print_kernel(kernels.from_json(kernel), TEMPLATES)
    body = source[source.index("void k_") :]
    assert "wasm_i32x4_add" in body
    assert ("wasm_v128_load" if dtype.endswith("32") else f"wk_load_{dtype}(") in body
