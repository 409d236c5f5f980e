"""Kernel templates compute what the numpy reference of their step does, for sizes that divide no
block, every dtype and every layout.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.backends import modules
from tests.backends.harness import Job, expected, node_job, run
from tests.convolutions import PLAIN_2D
from tests.programs import program, with_target
from webkiln.backends import toolchain
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
    item for backend in REGISTRY for item in templates(backend) if item.step != "block_product"
]
WASM = [item for item in TEMPLATES if item.backend == "wasm"]
WEBGPU = templates("webgpu")
DOT_PRODUCT = "packed_4x8_integer_dot_product"
"""The language feature of WGSL that shaders replace where it is missing."""


def edges(*sizes: int) -> list[int]:
    """Sizes around multiples of these."""
    return sorted({1, *(size + step for size in sizes for step in (-1, 0, 1) if size + step > 0)})


def cases(template: Template) -> list[Case]:
    """Products for all pairs of dtypes; each size appears with each pair."""
    rng = np.random.default_rng(0)

    def make(dtype: str, *shape: int) -> np.ndarray:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    rows, columns = template.block
    sizes = [
        *((size, 37, 70) for size in edges(rows, 2 * rows)),
        *((rows + 1, size, 19) for size in edges(2, 16, *template.depth)),
        *((rows + 1, 33, size) for size in edges(template.panel, columns, 2 * columns)),
    ]
    return [
        Case((make(a, m, k), make(b, k, n), make(a), make(b)), name=f"{a} {b} {m}x{k}x{n}")
        for a, b in product(sorted(template.rows), sorted(template.columns))
        for m, k, n in sizes
    ]


def convolutions(template: Template) -> list[Case]:
    """Windows with padding, strides and dilation, in both layouts of x, w and the result, with one
    zero point per feature; sums and rows that divide no block.
    """
    rng = np.random.default_rng(1)

    def make(dtype: str, *shape: int) -> np.ndarray:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    windows = [
        {},
        {"strides": (2, 1), "pad_low": (1, 2), "pad_high": (0, 1)},
        {"strides": (1, 2), "dilation": (2, 1), "pad_low": (2, 0), "pad_high": (2, 1)},
    ]
    found = []
    for left, right in product(sorted(template.rows), sorted(template.columns)):
        for number, (window, first) in enumerate(product(windows, (False, True))):
            channels, features, taps = (5, 19, (3, 2)) if number % 2 else (16, 70, (1, 3))
            x, w = (2, channels, 9, 8), (features, channels, *taps)
            dims = (0, 1, 2, 3) if first else (0, 3, 1, 2)
            turn = tuple(np.argsort(dims))
            zeros = (make(left), make(right, *((features,) if number > 2 else ())))
            operands = (make(left, *x).transpose(turn), make(right, *w).transpose(turn), *zeros)
            attrs = PLAIN_2D | window | {"x_dims": dims, "w_dims": dims, "out_dims": dims}
            found.append(Case(operands, attrs, name=f"{left} {right} {number}"))
    return found


SIMULATED = """#include <wasm_simd128.h>
static v128_t simulated_dot(v128_t a, v128_t b, v128_t sums) {
  signed char x[16], y[16];
  int total[4];
  wasm_v128_store(x, a), wasm_v128_store(y, b), wasm_v128_store(total, sums);
  for (int lane = 0; lane < 4; lane++) {
    for (int pair = 0; pair < 2; pair++) {
      int sum = 0;
      for (int k = 0; k < 2; k++) {
        const int at = 4 * lane + 2 * pair + k;
        sum += x[at] * (SECOND)y[at];
      }
      total[lane] += LIMIT(sum);
    }
  }
  return wasm_v128_load(total);
}
"""
SATURATE = "(s < -32768 ? -32768 : s > 32767 ? 32767 : s)"
ENGINES = {
    "unsigned": ("unsigned char", "(s)"),
    "signed": ("signed char", "(s)"),
    "saturating": ("unsigned char", SATURATE),
}
"""What engines compute when the second operand has 8 bits: its type, and the sum of a pair."""


def check(
    template: Template, folder, monkeypatch, variant: str, browser: str = "", hidden=()
) -> None:
    """With only this template, and with a speed that makes it the choice wherever it fits."""
    backend = with_target(
        REGISTRY[template.backend], templates=(replace(template, gops=MANY_GOPS),)
    )
    monkeypatch.setitem(REGISTRY, template.backend, backend)
    table = [
        *(("MatMulInteger", case) for case in cases(template)),
        *(("ConvInteger", case) for case in convolutions(template)),
    ]
    jobs = [node_job(op, case, trained=True) for op, case in table]
    for (op, case), job in zip(table, jobs, strict=True):
        document = program(job.graph, backend)
        used = {item["schedule"].get("template") for item in document["kernels"].values()}
        rows, depth = case.inputs[0].shape[:2]
        least, most = max(template.depth[0], 2), template.depth[1]
        fits = rows > 1 and least <= depth <= most and case.inputs[1].shape[1] > 1
        assert (template.name in used) == (op == "ConvInteger" or fits), case.name
    results = run(jobs, template.backend, folder, variant, browser, hidden=hidden)
    for (op, case), outputs in zip(table, results, strict=True):
        for name, value in expected(op, case).items():
            assert np.array_equal(outputs[name], value), (variant, case.name)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda item: item.name)
def test_results(template, tmp_path, monkeypatch):
    for variant in VARIANTS[template.backend] or ("",):
        check(template, tmp_path / (variant or "only"), monkeypatch, variant, "chromium")


@pytest.mark.parametrize("template", WEBGPU, ids=lambda item: item.name)
def test_results_without_the_language_feature(template, tmp_path, monkeypatch):
    check(template, tmp_path, monkeypatch, "", "chromium", [DOT_PRODUCT])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("template", WASM, ids=lambda item: item.name)
def test_every_engine_gives_the_same_bits(template, engine, tmp_path, monkeypatch):
    """Simulated dot products, which the probe in each kernel meets instead of the engine's."""
    header = tmp_path / "simulated.h"
    header.write_text(SIMULATED)
    second, limit = ENGINES[engine]
    flags = (f"-DSECOND={second}", f"-DLIMIT(s)={limit}", "-DWK_DOT=simulated_dot")
    relaxed = (*toolchain.VARIANT_FLAGS["relaxed"], *flags, "-include", str(header))
    monkeypatch.setitem(toolchain.VARIANT_FLAGS, "relaxed", relaxed)
    monkeypatch.setattr(modules, "OBJECTS", tmp_path / "objects")
    check(template, tmp_path / "code", monkeypatch, "relaxed")


def test_declarations_are_checked(tmp_path):
    path = tmp_path / "wrong.toml"
    text = (shared_root() / "kernels" / f"{TEMPLATES[0].name}.toml").read_text()
    path.write_text(text + "speed = 3\n")
    with pytest.raises(InternalError, match=r"wrong.toml: unknown or missing: speed"):
        read_template(path)
    path.write_text(text.replace('"product"', '"sum"'))
    with pytest.raises(InternalError, match=r"wrong.toml: step is 'sum', expected product"):
        read_template(path)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda item: item.name)
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
