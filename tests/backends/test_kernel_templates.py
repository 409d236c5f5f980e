"""Kernel templates compute what the numpy reference of their step does, for sizes that divide no
block, every dtype and every layout.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle, product
from typing import Any

import numpy as np
import pytest

from tests.backends import modules
from tests.backends.dot_engines import ENGINES, simulate
from tests.backends.harness import Job, expected, node_job, prepare, run, run_programs
from tests.convolutions import PLAIN_2D
from tests.programs import program, with_target
from webkiln.backends.table import REGISTRY
from webkiln.errors import InternalError
from webkiln.ir import symbols
from webkiln.nest.kernel_template import Template, read_template, templates
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.operator import Case
from webkiln.ops.table import RULES
from webkiln.recipe.values import VARIANTS
from webkiln.shared_files import shared_root

MANY_GOPS = 1e6
TEMPLATES = [
    item
    for backend in REGISTRY
    for item in templates(backend)
    if item.step not in ("block_product", "vector_product")
]
PRODUCTS = [item for item in TEMPLATES if item.step == "product"]
WASM = [item for item in PRODUCTS if item.backend == "wasm"]
WEBGPU = [item for item in PRODUCTS if item.backend == "webgpu"]
DOT_PRODUCT = "packed_4x8_integer_dot_product"
"""The language feature of WGSL that shaders replace where it is missing."""


def edges(*sizes: int) -> list[int]:
    """Sizes around multiples of these."""
    return sorted({1, *(size + step for size in sizes for step in (-1, 0, 1) if size + step > 0)})


def integers(seed: int) -> Callable[..., np.ndarray]:
    """A function that makes arrays of a dtype and a shape, of all its numbers."""
    rng = np.random.default_rng(seed)

    def make(dtype: str, *shape: int) -> np.ndarray:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    return make


def with_dtypes(
    template: Template, items: Sequence[Any], every_pair: bool
) -> Iterator[tuple[tuple[str, str], Any]]:
    """Items with each pair of dtypes of rows and columns, or with pairs in turn."""
    pairs = [*product(sorted(template.rows), sorted(template.columns))]
    return product(pairs, items) if every_pair else zip(cycle(pairs), items, strict=False)


def cases(template: Template, every_pair: bool) -> list[Case]:
    """Products of each size, some of one row."""
    make = integers(0)
    rows, columns = template.block
    sizes = [
        *((size, 37, 70) for size in edges(rows, 2 * rows)),
        *((2 * rows + 1, size, 19) for size in edges(2, 16, *template.depth)),
        *((rows + 1, 33, size) for size in edges(template.panel, columns, 2 * columns)),
        *((1, size, columns + 9) for size in edges(4, 16, template.depth[1])),
        *((1, 35, size) for size in edges(template.panel, columns, 1024 + columns)),
    ]
    return [
        Case((make(a, m, k), make(b, k, n), make(a), make(b)), name=f"{a} {b} {m}x{k}x{n}")
        for (a, b), (m, k, n) in with_dtypes(template, sizes, every_pair)
    ]


def convolutions(template: Template, every_pair: bool) -> list[Case]:
    """Windows with padding, strides and dilation, in both layouts of x, w and the result, with one
    zero point per feature; sums and rows that divide no block.
    """
    make = integers(1)
    windows = [
        {},
        {"strides": (2, 1), "pad_low": (1, 2), "pad_high": (0, 1)},
        {"strides": (1, 2), "dilation": (2, 1), "pad_low": (2, 0), "pad_high": (2, 1)},
    ]
    found = []
    kinds = [*enumerate(product(windows, (False, True)))]
    for (left, right), (number, (window, first)) in with_dtypes(template, kinds, every_pair):
        channels, features, taps = (5, 19, (3, 2)) if number % 2 else (16, 70, (1, 3))
        x, w = (2, channels, 9, 8), (features, channels, *taps)
        dims = (0, 1, 2, 3) if first else (0, 3, 1, 2)
        turn = tuple(np.argsort(dims))
        zeros = (make(left), make(right, *((features,) if number > 2 else ())))
        operands = (make(left, *x).transpose(turn), make(right, *w).transpose(turn), *zeros)
        attrs = PLAIN_2D | window | {"x_dims": dims, "w_dims": dims, "out_dims": dims}
        found.append(Case(operands, attrs, name=f"{left} {right} {number}"))
    return found


def depthwise(template: Template) -> list[Case]:
    """Windows with padding, strides and dilation, of odd and even numbers of taps; channels and
    pixels that divide no block; weights without a zero point.
    """
    make = integers(2)
    _, columns = template.block
    windows = [
        ((3, 3), {"pad_low": (1, 1), "pad_high": (1, 1)}),
        ((2, 3), {"strides": (2, 1), "pad_low": (0, 2), "pad_high": (2, 0)}),
        ((2, 4), {"dilation": (3, 1)}),
        ((5, 5), {"pad_low": (2, 2), "pad_high": (2, 2)}),
    ]
    found = []
    for dtype, (taps, window), channels in product(
        sorted(template.rows), windows, (2, 17, columns, columns + 16, 2 * columns + 24)
    ):
        operands = (
            make(dtype, 2, 7, 6, channels),
            make("int8", 1, *taps, channels),
            make(dtype),
            np.zeros((), np.int8),
        )
        dims = {"x_dims": (0, 3, 1, 2), "w_dims": (3, 0, 1, 2), "out_dims": (0, 3, 1, 2)}
        attrs = PLAIN_2D | window | dims | {"groups": channels}
        found.append(Case(operands, attrs, name=f"{dtype} {taps} {channels}"))
    return found


def table(template: Template, every_pair: bool = False) -> list[tuple[str, Case, bool]]:
    """Operators with the template's step, and whether it computes them."""
    if template.step == "depthwise":
        return [("ConvInteger", case, True) for case in depthwise(template)]
    found = []
    for case in cases(template, every_pair):
        rows, depth = case.inputs[0].shape[:2]
        least, most = max(template.depth[0], 2), template.depth[1]
        fits = (
            (rows > 1 or template.backend == "wasm")
            and least <= depth <= most
            and case.inputs[1].shape[1] > 1
        )
        found.append(("MatMulInteger", case, fits))
    return found + [("ConvInteger", case, True) for case in convolutions(template, every_pair)]


def trained_job(template: Template, op: str, case: Case) -> Job:
    """A graph of one node, whose operands but the first are trained. The zero point of the weights
    of a depthwise convolution is a constant.
    """
    if template.step == "product":
        return node_job(op, case, trained=True)
    return with_constant_zero(op, case)


def with_constant_zero(op: str, case: Case) -> Job:
    """A graph of one node, whose last operand is a constant; the first is an input."""
    b = GraphBuilder("g", RULES)
    values = {f"x{position}": value for position, value in enumerate(case.inputs[:3])}
    x = b.input("x0", str(values["x0"].dtype), values["x0"].shape)
    slots = [b.slot(name, values[name]) for name in ("x1", "x2")]
    y = b.op(op, [x, *slots, b.constant(case.inputs[3], "int8")], case.attrs)
    return Job(b.graph({"y0": y}), {"x0": values.pop("x0")}, values)


def check(
    template: Template, rows, folder, monkeypatch, variant: str, browser: str = "", hidden=()
) -> None:
    """With only this template, and with a speed that makes it the choice wherever it fits."""
    backend = with_target(
        REGISTRY[template.backend], templates=(replace(template, gops=MANY_GOPS),)
    )
    monkeypatch.setitem(REGISTRY, template.backend, backend)
    prepared = [prepare(trained_job(template, op, case), backend) for op, case, _ in rows]
    for (_, case, fits), item in zip(rows, prepared, strict=True):
        used = {kernel["schedule"].get("template") for kernel in item.program["kernels"].values()}
        assert (template.name in used) == fits, case.name
    results = run_programs(prepared, template.backend, folder, variant, browser, hidden)
    for (op, case, _), outputs in zip(rows, results, strict=True):
        for name, value in expected(op, case).items():
            assert np.array_equal(outputs[name], value), (variant, case.name)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda item: item.name)
def test_results(template, tmp_path, monkeypatch):
    for variant in VARIANTS[template.backend] or ("",):
        folder = tmp_path / (variant or "only")
        check(template, table(template), folder, monkeypatch, variant, "chromium")


@pytest.mark.long
@pytest.mark.parametrize("template", PRODUCTS, ids=lambda item: item.name)
def test_every_pair_of_dtypes_with_every_size(template, tmp_path, monkeypatch):
    for variant in VARIANTS[template.backend] or ("",):
        folder = tmp_path / (variant or "only")
        rows = table(template, every_pair=True)
        check(template, rows, folder, monkeypatch, variant, "chromium")


@pytest.mark.parametrize("template", WEBGPU, ids=lambda item: item.name)
def test_results_without_the_language_feature(template, tmp_path, monkeypatch):
    """Every fourth case: what replaces the feature does not depend on sizes."""
    check(template, table(template)[::4], tmp_path, monkeypatch, "", "chromium", [DOT_PRODUCT])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("template", WASM, ids=lambda item: item.name)
def test_every_engine_gives_the_same_bits(template, engine, tmp_path, monkeypatch):
    """Simulated dot products, which the probe in each kernel meets instead of the engine's."""
    simulate(engine, tmp_path, monkeypatch)
    monkeypatch.setattr(modules, "OBJECTS", tmp_path / "objects")
    check(template, table(template), tmp_path / "code", monkeypatch, "relaxed")


def test_declarations_are_checked(tmp_path):
    path = tmp_path / "wrong.toml"
    text = (shared_root() / "kernels" / f"{PRODUCTS[0].name}.toml").read_text()
    path.write_text(text + "speed = 3\n")
    with pytest.raises(InternalError, match=r"wrong.toml: unknown or missing: speed"):
        read_template(path)
    path.write_text(text.replace('"product"', '"sum"'))
    with pytest.raises(InternalError, match=r"wrong.toml: step is 'sum', expected product"):
        read_template(path)


@pytest.mark.parametrize("template", PRODUCTS, ids=lambda item: item.name)
def test_depths_that_are_not_known_are_not_computed(template):
    """The nominal value of a depth is below the limit of the template, but the depth exceeds it."""
    b = GraphBuilder("g", RULES)
    x = b.input("x", "int8", (4096, symbols.placeholder("T")))
    w = b.slot("w", np.ones((2 * template.depth[1], 70), "int8"))
    zero = b.constant(0, "int8")
    graph = b.graph({"y": b.op("MatMulInteger", [x, w, zero, zero])})
    document = program(graph, REGISTRY[template.backend])
    main = [document["kernels"][step["kernel"]]["schedule"] for step in document["main"]]
    assert "template" not in [schedule["kind"] for schedule in main]


@pytest.mark.parametrize("backend", REGISTRY)
def test_sums_of_one_product_are_no_sums(backend, tmp_path):
    """A depthwise convolution of one tap, and products of one row and one column."""
    make = integers(3)
    dims = {"x_dims": (0, 3, 1, 2), "w_dims": (0, 3, 1, 2), "out_dims": (0, 3, 1, 2)}
    zeros = (np.array(3, "uint8"), np.zeros((), "int8"))
    image = (make("uint8", 1, 7, 5, 3), make("int8", 3, 1, 1, 1), *zeros)
    matrix = (make("uint8", 9, 1), make("int8", 1, 35), *zeros)
    cases = [
        ("ConvInteger", Case(image, PLAIN_2D | dims | {"groups": 3})),
        ("MatMulInteger", Case(matrix)),
    ]
    jobs = [with_constant_zero(op, case) for op, case in cases]
    for (op, case), outputs in zip(cases, run(jobs, backend, tmp_path), strict=True):
        assert np.array_equal(outputs["y0"], expected(op, case)["y0"]), op


@pytest.mark.parametrize("template", WEBGPU, ids=lambda item: item.name)
def test_columns_that_loops_read_too_are_words(template, tmp_path):
    """A single row is no product of rows and columns. What only the template reads stays narrow."""
    backend = with_target(REGISTRY["webgpu"], templates=(replace(template, gops=MANY_GOPS),))
    rng = np.random.default_rng(2)
    b = GraphBuilder("g", RULES)
    values = {name: rng.integers(-128, 128, (64, 70)).astype("int8") for name in ("v", "w")}
    x = b.input("x", "int8", (40, 64))
    row = b.input("row", "int8", (1, 64))
    v, w = (b.slot(name, value) for name, value in values.items())
    zero = b.constant(0, "int8")
    pairs = {"shared": (x, w), "single": (row, w), "own": (x, v)}
    outputs = {name: b.op("MatMulInteger", [*pair, zero, zero]) for name, pair in pairs.items()}
    graph = b.graph(outputs)
    document = program(graph, backend)
    kernels = [document["kernels"][step["kernel"]] for step in document["main"]]
    kinds = sorted(item["schedule"]["kind"] for item in kernels)
    assert kinds == ["invocations", "invocations", "template"]
    inputs = {
        "x": rng.integers(-128, 128, (40, 64)).astype("int8"),
        "row": rng.integers(-128, 128, (1, 64)).astype("int8"),
    }
    (found,) = run(
        [Job(graph, inputs, values)], "webgpu", tmp_path, templates=backend.target.templates
    )
    for name, (left, right) in {
        "shared": ("x", "w"),
        "single": ("row", "w"),
        "own": ("x", "v"),
    }.items():
        assert np.array_equal(found[name], inputs[left].astype(int) @ values[right]), name
