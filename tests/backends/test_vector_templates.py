"""The templates of vectors, and of blocks of rows and codes, on webgpu compute what the numpy
reference does, for sizes that divide no block of theirs; codes stay codes in GPU memory.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.backends.block_jobs import FLOAT, FORMS, TOLERANCE, job, templates_of
from tests.backends.harness import Job, Prepared, prepare, run_programs
from webkiln.backends.table import REGISTRY
from webkiln.codegen import wgsl_workgroups
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import RULES
from webkiln.plan import launch_size, vector_products
from webkiln.plan.vector_products import MOST_CODED_ROWS, MOST_ROWS

WEBGPU = REGISTRY["webgpu"]
VECTORS, BLOCKS = "vector_product", "decoded_blocks"
SHAPES = [
    ((1,), 70, 3, 32),
    ((1, 1), 40, 2, 64),
    ((3,), 21, 1, 32),
    ((2, 3), 9, 5, 16),
    ((MOST_CODED_ROWS,), 33, 3, 24),
    ((MOST_CODED_ROWS + 1,), 31, 3, 32),
    ((65,), 64, 3, 24),
]
"""Shape of the rows, columns, blocks, and the length of a block. The bytes of some blocks are no
multiple of 16."""
FLOATS = [
    (1, 64, 4, False),
    (1, 768, 37, True),
    (1, 60, 2, False),
    (3, 100, 130, False),
    (MOST_ROWS, 260, 33, True),
]
"""Rows, length of the sum, columns, and whether the file has columns along memory."""


def float_job(rows: int, depth: int, columns: int, along: bool) -> Job:
    """A product with a bias, an activation and a residual behind it."""
    rng = np.random.default_rng(depth)
    b = GraphBuilder("g", RULES)
    x, shortcut = b.input("x", "float32", (rows, depth)), b.input("r", "float32", (rows, columns))
    shape = (columns, depth) if along else (depth, columns)
    values = {"w": rng.standard_normal(shape, np.float32), "b": rng.standard_normal(columns)}
    values = {name: value.astype(np.float32) for name, value in values.items()}
    w, bias = (b.slot(name, value) for name, value in values.items())
    sums = b.op("MatMul", [x, w], {"transpose_b": along})
    y = b.op("Add", [b.op("Tanh", [b.op("Add", [sums, bias])]), shortcut])
    inputs = {"x": (rows, depth), "r": (rows, columns)}
    given = {name: rng.standard_normal(shape, np.float32) for name, shape in inputs.items()}
    return Job(b.graph({"y": y, "sums": sums}), given, values)


def check(jobs: Sequence[Job], folder: Path) -> list[Prepared]:
    """Results are those of the reference."""
    prepared = [prepare(item, WEBGPU) for item in jobs]
    results = run_programs(prepared, "webgpu", folder)
    for item, outputs in zip(jobs, results, strict=True):
        expected, _ = run_graph(item.graph, item.inputs, item.weights)
        bound = TOLERANCE * np.abs(expected["sums"]).max()
        for name, value in expected.items():
            np.testing.assert_allclose(outputs[name], value, rtol=0, atol=bound, err_msg=name)
    return prepared


@pytest.fixture(params=["by subgroups", "by workgroups"])
def _groups(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_products, "FEW_WEIGHTS", 0)
    if request.param == "by workgroups":
        monkeypatch.setattr(wgsl_workgroups, "variants", lambda kernel: iter(()))


@pytest.mark.usefixtures("_groups")
def test_vectors_of_floats(tmp_path: Path) -> None:
    for item in check([float_job(*sizes) for sizes in FLOATS], tmp_path):
        assert VECTORS in templates_of(item.program)


@pytest.mark.usefixtures("_groups")
def test_rows_of_floats_by_codes(tmp_path: Path) -> None:
    shapes = [SHAPES[0], SHAPES[2], SHAPES[4]]
    for item in check([job(FLOAT, *sizes) for sizes in product_of(shapes)], tmp_path):
        assert VECTORS in templates_of(item.program)


def test_every_shape_of_codes(tmp_path: Path) -> None:
    sizes = [(*shape, FORMS[n % len(FORMS)]) for n, shape in enumerate(SHAPES * 4)]
    for (rows, *_), item in zip(
        sizes, check([job(FLOAT, *each) for each in sizes], tmp_path), strict=True
    ):
        expected = VECTORS if np.prod(rows) <= MOST_CODED_ROWS else BLOCKS
        assert expected in templates_of(item.program)


def product_of(shapes: Sequence[tuple]) -> list[tuple]:
    return [(*shape, form) for shape, form in product(shapes, FORMS)]


def test_workgroups_compute_several_columns(tmp_path: Path, monkeypatch) -> None:
    """If there are more columns than workgroups."""
    monkeypatch.setattr(launch_size, "MOST_GROUPS", 3)
    check([float_job(1, 64, 70, along=True), job(FLOAT, (6,), 70, 3, 32, FORMS[0])], tmp_path)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_codes_stay_codes_in_memory(form) -> None:
    """The constants that products read have the bytes of the file, but for scales of 32 bits."""
    item = job(FLOAT, (1,), 40, 4, 32, form)
    program = WEBGPU.plan(item.graph)
    read = {view.name: view for call in program.calls for view in call.inputs}
    codes = [view for view in read.values() if view.type.dtype in ("int8", "uint8")]
    assert [program.buffers[view.name].storage for view in codes] == [form.dtype]
    assert codes[0].type.size == item.weights["packed"].size


def test_a_tied_table_of_codes_is_read_by_both(tmp_path: Path) -> None:
    """Rows that are selected from weights are decoded after they are selected."""
    rng = np.random.default_rng(0)
    b = GraphBuilder("g", RULES)
    ids, x = b.input("ids", "int32", (3,)), b.input("x", "float32", (1, 64))
    values = {
        "packed": rng.integers(0, 255, (100, 32), np.uint8, endpoint=True),
        "scales": rng.uniform(0.01, 0.1, (100, 2)).astype(np.float32),
    }
    packed, scales = (b.slot(name, value) for name, value in values.items())
    codes = b.op("UnpackBits", [packed], {"bits": 4})
    moved = b.op("Sub", [b.op("Cast", [codes], {"dtype": "float32"}), b.constant(8, "float32")])
    factors = b.op("Repeat", [scales], {"axis": 1, "times": 32, "size": 64})
    w = b.op("Mul", [moved, factors])
    outputs = {
        "sums": b.op("MatMul", [x, w], {"transpose_b": True}),
        "rows": b.op("Gather", [w, ids], {"axis": 0}),
    }
    inputs = {"x": rng.standard_normal((1, 64), np.float32), "ids": np.array([99, 0, 7], np.int32)}
    item = Job(b.graph(outputs), inputs, values)
    (ready,) = check([item], tmp_path)
    assert VECTORS in templates_of(ready.program)
    assert WEBGPU.plan(item.graph).buffers["packed"].storage == "uint8"
