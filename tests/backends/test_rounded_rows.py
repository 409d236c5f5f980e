"""On webgpu, few rows that are rounded to 8 bits are multiplied by codes as numpy does, and as wasm
does, by dot products of words on GPUs and by floats on emulated ones.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, product
from pathlib import Path

import numpy as np
import pytest

from tests.backends.adapters import ADAPTERS
from tests.backends.block_jobs import FORMS, QUANTIZED, TOLERANCE, Form, Shape, job, templates_of
from tests.backends.harness import TEMPLATES, Job, Prepared, prepare, run_programs
from tests.backends.shaders import validate_wgsl
from webkiln.backends.table import REGISTRY
from webkiln.codegen import wgsl, wgsl_workgroups
from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.nest.program import Program
from webkiln.nest.schedule import TemplateSchedule
from webkiln.nest.steps import DeviceBranch, NestCall, Parallel, Step, Workgroups
from webkiln.nest.verify import verify
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import RULES
from webkiln.plan import kernel as kernels
from webkiln.plan import launch_size
from webkiln.plan.vector_products import MOST_CODED_ROWS
from webkiln.program_builder.backend import Options

WEBGPU = REGISTRY["webgpu"]
WORDS, FLOATS = "vector_dot", "vector_product"
SHAPES: list[Shape] = [
    ((1,), 70, 3, 32),
    ((MOST_CODED_ROWS,), 33, 3, 24),
    ((3,), 21, 1, 128),
    ((2, 3), 9, 5, 16),
    ((1, 1), 130, 20, 64),
]
"""Shape of the rows, columns, blocks, and the length of a block: columns that divide no block of
the template, bytes of blocks that are no multiple of 16, more of them than invocations.
"""
DOT = "fn wk_dot_int8(a: u32, b: u32) -> i32 { return dot4I8Packed(a, b); }\n"
GROUPS = (wgsl_workgroups.ANYWHERE, wgsl_workgroups.Subgroups())
DEVICES = {"GPU": (ADAPTERS[132], ()), "emulated": (None, ())}
DEVICES["without dot products"] = (ADAPTERS[132], ("packed_4x8_integer_dot_product",))


def compared(jobs: Sequence[Job], folder: Path, device: str = "GPU") -> list[Prepared]:
    """Results are those of the reference."""
    prepared = [prepare(item, WEBGPU) for item in jobs]
    adapter, hidden = DEVICES[device]
    results = run_programs(prepared, "webgpu", folder, hidden=hidden, adapter=adapter)
    for item, outputs in zip(jobs, results, strict=True):
        expected, _ = run_graph(item.graph, item.inputs, item.weights)
        bound = TOLERANCE * np.abs(expected["sums"]).max()
        for name, value in expected.items():
            np.testing.assert_allclose(outputs[name], value, rtol=0, atol=bound, err_msg=name)
    return prepared


def jobs_of(shapes: Sequence[Shape], forms: Sequence[Form] = FORMS) -> list[Job]:
    return [job(QUANTIZED, *shape, form) for shape, form in product(shapes, forms)]


def test_every_shape(tmp_path: Path) -> None:
    several = [job(QUANTIZED, *SHAPES[2 + n % 3], form) for n, form in enumerate(FORMS)]
    for item in compared([*jobs_of(SHAPES[:2]), *several], tmp_path):
        assert {WORDS, FLOATS} <= templates_of(item.program)


@pytest.mark.parametrize("device", list(DEVICES)[1:])
def test_other_devices(device: str, tmp_path: Path) -> None:
    compared(jobs_of(SHAPES[1:2]), tmp_path, device)


@pytest.mark.parametrize("device", list(DEVICES)[:2])
def test_without_subgroups_and_with_few_workgroups(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wgsl_workgroups, "variants", lambda kernel: iter(()))
    monkeypatch.setattr(launch_size, "MOST_GROUPS", 3)
    compared(jobs_of([((5,), 30, 2, 32)], FORMS[::3]), tmp_path, device)


def test_shaders_are_valid() -> None:
    """In all variants."""
    texts = []
    for item in jobs_of([SHAPES[0]]):
        for data in prepare(item, WEBGPU).program["kernels"].values():
            kernel = kernels.from_json(data)
            if data["schedule"].get("template") != WORDS:
                continue
            texts += [wgsl.print_kernel(kernel, TEMPLATES, groups) + DOT for groups in GROUPS]
    assert len(texts) == 2 * len(FORMS)
    validate_wgsl(texts)


class Product:
    """Activations [rows, depth] by weights [columns, depth] of codes: the nodes of a file, and what
    numpy computes of it.
    """

    def __init__(self, form: Form, block: int, depth: int, columns: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.form, self.block, self.depth, self.columns = form, block, depth, columns
        limits = np.iinfo(form.dtype)
        shape = (columns, depth * form.bits // 8)
        self.packed = rng.integers(limits.min, limits.max, shape, form.dtype, endpoint=True)
        self.packed[0] = limits.min
        self.blocks = depth // block if block else 1
        parameters = (columns, self.blocks)
        self.scales = rng.uniform(0.01, 0.1, parameters).astype(np.float32)
        self.zeros = rng.integers(0, 15, parameters, np.uint8)

    @property
    def has_zeros(self) -> bool:
        return "offsets" in self.form.how

    def node(self, b: GraphBuilder, x: str, name: str, values: dict[str, Array]) -> str:
        values[f"{name}/packed"] = self.packed
        values[f"{name}/scales"] = self.scales
        codes = b.slot(f"{name}/packed", self.packed)
        if self.form.bits == 4:
            codes = b.op("UnpackBits", [codes], {"bits": 4})
        real = b.op("Cast", [codes], {"dtype": "float32"})
        scales = self._wide(b, b.slot(f"{name}/scales", self.scales))
        if self.has_zeros:
            values[f"{name}/zeros"] = self.zeros
            zeros = b.op("Cast", [b.slot(f"{name}/zeros", self.zeros)], {"dtype": "float32"})
            real = b.op("Sub", [real, self._wide(b, zeros)])
        elif self.form.center:
            real = b.op("Sub", [real, b.constant(self.form.center, "float32")])
        return b.op("MatMul", [x, b.op("Mul", [real, scales])], {"transpose_b": True})

    def _wide(self, b: GraphBuilder, name: str) -> str:
        attrs = {"axis": 1, "times": self.block, "size": self.depth}
        return b.op("Repeat", [name], attrs) if self.block else name

    def computed(self, x: Array) -> Array:
        """With rows that are rounded in blocks."""
        step = self.block or 32
        parts = x.reshape(*x.shape[:-1], -1, step)
        scales = np.abs(parts).max(-1, keepdims=True) / np.float32(127)
        rounded = np.rint(parts / np.where(scales > 0, scales, 1)) * scales.astype(np.float64)
        codes = self.packed.astype(np.float64)
        if self.form.bits == 4:
            codes = np.stack([self.packed & 15, self.packed >> 4], -1).reshape(self.columns, -1)
        wide = self.depth // self.blocks
        zero = np.repeat(self.zeros, wide, 1) if self.has_zeros else self.form.center
        weights = (codes.astype(np.float64) - zero) * np.repeat(self.scales, wide, 1)
        return rounded.reshape(x.shape) @ weights.T


def graph_of(rows: Size, *products: Product) -> tuple[Graph, dict[str, Array]]:
    """The products of one input, `x`, and the values of their weights."""
    b, values = GraphBuilder("g", RULES), dict[str, Array]()
    x = b.input("x", "float32", (rows, products[0].depth))
    outputs = {f"y{n}": item.node(b, x, f"w{n}", values) for n, item in enumerate(products)}
    return b.graph(outputs), values


FILES = [
    Product(form, block, depth, columns)
    for (form, block), (depth, columns) in product(
        (
            (Form(4, "uint8", 8), 32),
            (Form(4, "uint8", 0, "offsets"), 64),
            (Form(4, "uint8", 8), 0),
            (Form(8, "int8", 0), 128),
            (Form(8, "int8", 0), 0),
            (Form(8, "uint8", 128), 32),
        ),
        ((256, 66), (384, 69)),
    )
]
"""Weights of the formats: symmetric and with zero points, in blocks and by columns."""


@pytest.mark.parametrize("device", ["GPU", "emulated"])
def test_files(device: str, tmp_path: Path) -> None:
    """With `dot`, the products of files are those of rounded rows."""
    rng, jobs, expected = np.random.default_rng(1), list[Job](), list[Array]()
    for n, item in enumerate(FILES[:: 1 + (device == "emulated")]):
        graph, values = graph_of(rows := (1, 4, MOST_CODED_ROWS)[n % 3], item)
        x = rng.standard_normal((rows, item.depth), np.float32)
        jobs.append(Job(graph, {"x": x}, values, products="dot"))
        expected.append(item.computed(x))
    prepared = [prepare(item, WEBGPU) for item in jobs]
    assert all(item.program["products"] == "dot" for item in prepared)
    results = run_programs(prepared, "webgpu", tmp_path, adapter=DEVICES[device][0])
    for outputs, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(
            outputs["y0"], value, rtol=0, atol=TOLERANCE * np.abs(value).max()
        )


@pytest.mark.parametrize("device", ["GPU", "emulated"])
def test_rows_that_are_not_finite(device: str, tmp_path: Path) -> None:
    """A row with a NaN or an infinity becomes NaN, as on wasm; other rows do not change."""
    item = Product(Form(4, "uint8", 8), 32, 64, 70)
    graph, values = graph_of(5, item)
    x = np.random.default_rng(2).standard_normal((5, 64), np.float32)
    x[1, 40], x[2, 3], x[3], x[4, 63] = np.nan, np.inf, 0, -np.inf
    given = Job(graph, {"x": x}, values, products="dot")
    found = {
        name: run_programs(
            [prepare(given, REGISTRY[name])],
            name,
            tmp_path / name,
            adapter=DEVICES[device][0] if name == "webgpu" else None,
        )[0]["y0"]
        for name in ("wasm", "webgpu")
    }
    assert np.isnan(found["webgpu"]).all(1).tolist() == [False, True, True, False, True]
    np.testing.assert_allclose(found["webgpu"], found["wasm"], rtol=1e-5, atol=1e-5)


def steps_of(graph: Graph) -> tuple[Program, list[Step]]:
    """The plan with `dot`, and its steps on the largest GPUs."""
    plan = WEBGPU.configured(Options(products="dot")).plan(graph)
    verify(plan)

    def taken(steps: Sequence[Step]) -> Iterator[Step]:
        for step in steps:
            yield from taken(step.then) if isinstance(step, DeviceBranch) else [step]

    return plan, list(taken(plan.steps))


def names_of(steps: Sequence[Step]) -> list[str]:
    calls = (step.steps if isinstance(step, Parallel) else (step,) for step in steps)
    return [
        step.schedule.template if isinstance(step, NestCall) else type(step).__name__
        for step in chain.from_iterable(calls)
        if isinstance(step, Workgroups)
        or (isinstance(step, NestCall) and isinstance(step.schedule, TemplateSchedule))
    ]


def test_products_of_one_input_share_its_rounding() -> None:
    """In one launch, as they share the next one."""
    graph, _ = graph_of(1, *FILES[:1] * 3)
    _, steps = steps_of(graph)
    assert names_of(steps) == ["Workgroups", WORDS, WORDS, WORDS]
    assert len(steps) == 2


@pytest.mark.parametrize("rows", [MOST_CODED_ROWS + 1, symbols.placeholder("N")])
def test_more_rows_are_exact(rows: Size) -> None:
    graph, _ = graph_of(rows, FILES[0])
    plan, _ = steps_of(graph)
    assert plan == WEBGPU.plan(graph)
    assert "products" not in WEBGPU.compile(graph, Options(products="dot"))


@pytest.mark.parametrize("depth", [250, 144])
def test_other_blocks_are_decoded(depth: int) -> None:
    """Sums that do not consist of blocks of words."""
    block = 0 if depth == 250 else 12
    graph, _ = graph_of(1, Product(Form(8, "int8", 0), block, depth, 70))
    document = WEBGPU.compile(graph, Options(products="dot"))
    assert "products" not in document
    assert templates_of(document).isdisjoint({WORDS})
