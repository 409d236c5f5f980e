"""Integers in vectors on wasm, in rows that fill no, one or several vectors and leave a part."""

from pathlib import Path

import numpy as np
import pytest

from tests.backends.harness import TEMPLATES, Job, run
from tests.programs import program, with_target
from webkiln.backends.table import REGISTRY
from webkiln.codegen import c
from webkiln.ir.types import is_integer
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import RULES, parse
from webkiln.plan import kernel as kernels
from webkiln.program_builder.loop_backend import LoopBackend

DTYPES = [dtype for dtype in REGISTRY["wasm"].target.vectors.dtypes if is_integer(dtype)]
WIDTHS = (1, 2, 3, 4, 5, 7, 8, 19, 64)
BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min")
UNARY = ("Neg", "Abs", "Sign")
REDUCTIONS = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd")
ROWS = 5
ROUNDING = {"holds_float16": False}
LEGS = [("wasm", "simd"), ("wasm", "relaxed"), ("webgpu", "")]
OPERANDS = [*DTYPES, "float32", "float16"]
"""The dtypes that are compared and chosen from."""
TURNED = dict.fromkeys(OPERANDS, "Neg")


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


def bool_text(width: int) -> str:
    """Logic on two inputs [ROWS, width], comparisons, choices, and all casts."""
    full = f"[{ROWS},{width}]"
    lines = [f"input a: bool{full}", f"input b: bool{full}", f"input row: bool[1,{width}]"]
    lines += [f"input x_{dtype}: {dtype}{full}" for dtype in OPERANDS]
    made = []

    def node(name: str, type_: str, call: str) -> None:
        lines.append(f"{name}: {type_} = {call}")
        made.append(name)

    for op in ("And", "Or", "Equal", "NotEqual"):
        node(f"y_{op}", f"bool{full}", f"{op}(a, b)")
        node(f"y_{op}_row", f"bool{full}", f"{op}(a, row)")
    node("y_Not", f"bool{full}", "Not(a)")
    node("y_Where", f"bool{full}", "Where(row, a, b)")
    node("y_joined", f"bool[{ROWS},{2 * width}]", 'Concat(a, b) {"axis":1}')
    node("y_turned", f"bool[{width},{ROWS}]", 'Transpose(a) {"perm":[1,0]}')
    for dtype in OPERANDS:
        x = f"x_{dtype}"
        for op in ("Less", "GreaterEqual", "Equal"):
            flipped = f"{x}_{op}"
            lines.append(f"{flipped}: {dtype}{full} = {TURNED[dtype]}({x})")
            node(f"y_{op}_{dtype}", f"bool{full}", f"{op}({x}, {flipped})")
        node(f"y_to_{dtype}", f"{dtype}{full}", f'Cast(a) {{"dtype":"{dtype}"}}')
        node(f"y_from_{dtype}", f"bool{full}", f'Cast({x}) {{"dtype":"bool"}}')
        node(f"y_Where_{dtype}", f"{dtype}{full}", f"Where(a, {x}, {x}_Less)")
    lines += [f"output {name} = {name}" for name in made]
    return "\n".join(["graph g", *lines]) + "\n"


def rounding(backend: str) -> LoopBackend:
    """A backend that rounds float16 tensors."""
    return with_target(REGISTRY[backend], runs=ROUNDING if backend == "wasm" else {})


def check(jobs: list[Job], leg: tuple[str, str], folder: Path) -> None:
    """Results are equal, but for what WGSL leaves open: how integers are rounded to floats."""
    for job, got in zip(jobs, run(jobs, leg[0], folder, leg[1]), strict=True):
        for name, want in run_graph(job.graph, job.inputs)[0].items():
            where = f"{name} of {job.inputs['a'].shape}"
            rounding = 2**-23 if (leg[0], name) == ("webgpu", "y_float") else 0
            np.testing.assert_allclose(got[name], want, rounding, 0, err_msg=where)
            assert got[name].dtype == want.dtype


def values_of(dtype: str, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of both signs, and zeros, of all magnitudes of an integer dtype."""
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if not is_integer(dtype):
        return random.integers(-3, 4, shape).astype(dtype)
    limits = np.iinfo(dtype)
    values = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return np.where(random.integers(0, 3, shape), values, 0).astype(dtype)


@pytest.mark.parametrize("leg", LEGS, ids="-".join)
def test_rows_of_bools(leg: tuple[str, str], tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    jobs = []
    for width in WIDTHS:
        shapes = {"a": (ROWS, width), "b": (ROWS, width), "row": (1, width)}
        given = {name: values_of("bool", random, shape) for name, shape in shapes.items()}
        given |= {f"x_{dtype}": values_of(dtype, random, (ROWS, width)) for dtype in OPERANDS}
        jobs.append(Job(parse(bool_text(width)), given))
    check(jobs, leg, tmp_path)


@pytest.mark.parametrize("leg", LEGS, ids="-".join)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_integers(dtype: str, leg: tuple[str, str], tmp_path: Path) -> None:
    random, limits = np.random.default_rng(0), np.iinfo(dtype)
    jobs = []
    for width in WIDTHS:
        a, b = (
            random.integers(limits.min, limits.max, (ROWS, width), dtype, endpoint=True)
            for _ in range(2)
        )
        f = np.float32(random.uniform(limits.min // 2, limits.max // 2, (ROWS, width)))
        jobs.append(Job(parse(text_of(dtype, width)), {"a": a, "b": b, "f": f}))
    check(jobs, leg, tmp_path)


@pytest.mark.parametrize("leg", LEGS, ids="-".join)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [40, 256])
def test_products_of_integers(size: int, dtype: str, leg: tuple[str, str], tmp_path: Path) -> None:
    """Large enough for panels, unrolled loops, and what would be blocks of a workgroup in float."""
    random = np.random.default_rng(0)
    a, w = (values_of(dtype, random, (size, size)) for _ in range(2))
    text = f"""
        input a: {dtype}[{size},{size}]
        slot w: {dtype}[{size},{size}]
        p: {dtype}[{size},{size}] = MatMul(a, w)
        y: bool[{size},{size}] = Less(p, a)
        z: {dtype}[{size}] = ReduceMax(p) {{"axes":[1]}}
        output p = p
        output y = y
        output z = z
    """
    graph = parse(text)
    job = Job(graph, {"a": a}, {"w": w})
    (got,) = run([job], leg[0], tmp_path, leg[1])
    product = (a.astype(np.int64) @ w.astype(np.int64)).astype(dtype)
    want = {"p": product, "y": product < a, "z": product.max(axis=1)}
    for name, value in want.items():
        np.testing.assert_array_equal(got[name], value, name)


STORES = {
    "round": ("", "float16", 'Cast(p) {"dtype":"float16"}'),
    "saturate": ("", "int8", 'Cast(p) {"dtype":"int8"}'),
    "wrap": ('t: int32[64,64] = Cast(p) {"dtype":"int32"}', "uint8", 'Cast(t) {"dtype":"uint8"}'),
    "compare": ("", "bool", "Less(p, x)"),
}


@pytest.mark.parametrize("backend", ["wasm", "webgpu"])
@pytest.mark.parametrize("kind", STORES)
def test_a_narrow_store_leaves_a_product_in_vectors(kind: str, backend: str) -> None:
    between, dtype, call = STORES[kind]
    text = f"""
        input x: float32[64,64]
        slot w: float32[64,64]
        p: float32[64,64] = MatMul(x, w)
        {between}
        y: {dtype}[64,64] = {call}
        output y = y
    """
    document = program(parse(text), rounding(backend), "float32")
    assert [step["kernel"] for step in document["main"] if step.get("scalar")] == []
    (contraction,) = {step["kernel"] for step in document["main"] if step["flops"] >= 2 * 64**3}
    (out,) = kernels.from_json(document["kernels"][contraction]).nest.outputs
    assert out.operand.dtype == REGISTRY[backend].target.stored(dtype)


@pytest.mark.parametrize("backend", ["wasm", "webgpu"])
@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "float16"])
def test_maps_are_computed_in_vectors(dtype: str, backend: str) -> None:
    op = "And" if dtype == "bool" else "Max"
    text = f"graph g\ninput x: {dtype}[19]\ny: {dtype}[19] = {op}(x, x)\noutput y = y\n"
    document = program(parse(text), rounding(backend), "float32")
    assert not any(step.get("scalar") for step in document["main"])


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_computed_in_vectors(dtype: str) -> None:
    text = f"graph g\ninput x: {dtype}[19]\ny: {dtype}[19] = Add(x, x)\noutput y = y\n"
    document = program(parse(text), REGISTRY["wasm"], "float32")
    (kernel,) = document["kernels"].values()
    source = c.print_kernel(kernels.from_json(kernel), TEMPLATES)
    body = source[source.index("void k_") :]
    assert "wasm_i32x4_add" in body
    assert ("wasm_v128_load" if dtype.endswith("32") else f"wk_load_{dtype}(") in body


@pytest.mark.parametrize("leg", LEGS[:2])
def test_quotients_by_constants(leg: tuple[str, str], tmp_path: Path) -> None:
    edges = [-(2**31), -(2**31) + 1, -(2**20), -9, -8, -1, 0, 1, 7, 8, 2**20 - 1, 2**31 - 1]
    x = np.array([edges * 2], np.int32)
    jobs = []
    for divisor in (0, 1, 2, 7, 8, 1 << 20, 1 << 30, -1, -8, -(2**31), 2**31 - 1):
        b = GraphBuilder("g", RULES)
        y = b.op("Div", [b.input("a", "int32", x.shape), b.constant(divisor, "int32")])
        jobs.append(Job(b.graph({"y": y}), {"a": x}, {}))
        document = program(jobs[-1].graph, REGISTRY["wasm"])
        assert not any(step.get("scalar") for step in document["main"])
    check(jobs, leg, tmp_path)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_bytes_are_moved_sixteen_at_a_time(dtype: str) -> None:
    """A transposition moves rows of bytes."""
    text = f"""
        graph g
        input x: {dtype}[5,7,64]
        y: {dtype}[7,5,64] = Transpose(x) {{"perm":[1,0,2]}}
        output y = y
    """
    document = program(parse(text), REGISTRY["wasm"], "float32")
    (kernel,) = document["kernels"].values()
    source = c.print_kernel(kernels.from_json(kernel), TEMPLATES)
    assert "wasm_v128_load(x0" in source
    assert "wk_store_8" not in source
