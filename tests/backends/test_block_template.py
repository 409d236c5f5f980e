"""The template of products of blocks computes what the numpy reference does, for sizes that divide
no block of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from tests.backends import modules
from tests.backends.dot_engines import ENGINES, simulate
from tests.backends.harness import Job, run
from tests.programs import program
from webkiln.backends.table import REGISTRY
from webkiln.nest.kernel_template import find_template
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import RULES
from webkiln.recipe.values import VARIANTS

TEMPLATE = find_template("block_product")
ROWS, COLUMNS = TEMPLATE.block
TOLERANCE = 1e-5
Shape = tuple[tuple[int, ...], int, int, int]
SHAPES: list[Shape] = [
    *(((rows,), 70, 3, 32) for rows in (1, 2, 3, 4, 5, 9)),
    *(((5,), columns, 3, 32) for columns in (2, 7, 8, 9, 31, 33, 63, 64, 65, 130)),
    *(((3,), 19, blocks, block) for blocks, block in ((2, 16), (5, 64), (2, 128), (3, 256))),
    ((2, 3), 40, 2, 32),
    ((1, 1), 40, 2, 32),
    ((2,), 9, TEMPLATE.depth[1] // 16, 16),
    ((3,), 21, 1, 32),
]
"""Shape of the rows, columns, blocks, and the length of a block."""


@dataclass(frozen=True)
class Form:
    """The codes of the weights: bits, dtype, center; and what else they have."""

    bits: int
    dtype: str
    center: int
    how: str = ""


FORMS = [
    Form(4, "uint8", 8),
    Form(4, "uint8", 0, "offsets"),
    Form(4, "uint8", 3, "offsets transposed"),
    Form(4, "uint8", 8, "by column"),
    Form(8, "uint8", 128),
    Form(8, "int8", 0, "offsets"),
    Form(8, "int8", -7, "offsets by column"),
    Form(8, "uint8", 255, "offsets by column transposed"),
    Form(8, "int8", 0, "by column transposed"),
]


def job(rows: tuple[int, ...], columns: int, blocks: int, block: int, form: Form) -> Job:
    """A product of quantized rows, with a bias and an activation behind it."""
    rng = np.random.default_rng(columns * blocks)
    depth, limits = blocks * block, np.iinfo(form.dtype)
    parameters = columns, 1 if "column" in form.how else blocks
    b = GraphBuilder("g", RULES)
    x = b.input("x", "float32", (*rows, depth))
    codes = (columns, depth * form.bits // 8)
    values = {
        "packed": rng.integers(limits.min, limits.max, codes, form.dtype, endpoint=True),
        "factors": rng.uniform(0.01, 0.1, parameters).astype(np.float32),
        "offsets": rng.uniform(-0.5, 0.5, parameters).astype(np.float32),
    }
    if "offsets" not in form.how:
        del values["offsets"]
    if "transposed" in form.how:
        values = {name: np.ascontiguousarray(value.T) for name, value in values.items()}
    weights = [b.slot(name, value) for name, value in values.items()]
    values["bias"] = rng.uniform(-1, 1, columns).astype(np.float32)
    bias = b.slot("bias", values["bias"])
    operands = [*b.ops("QuantizeBlocks", [x], {"block": block}), *weights]
    attrs = {
        "block": block,
        "center": form.center,
        "bits": form.bits,
        "transposed": "transposed" in form.how,
    }
    y = b.op("MatMulBlocks", operands, attrs)
    graph = b.graph({"y": b.op("Tanh", [b.op("Add", [y, bias])]), "sums": y})
    inputs = {"x": rng.normal(0, 1, (*rows, depth)).astype(np.float32)}
    return Job(graph, inputs, values)


def check(folder, variant: str, browser: str, shapes: Sequence[Shape] = SHAPES) -> None:
    jobs = [job(*shape, form) for shape, form in product(shapes, FORMS)]
    for item in jobs:
        document = program(item.graph, REGISTRY["wasm"])
        used = {kernel["schedule"].get("template") for kernel in document["kernels"].values()}
        assert TEMPLATE.name in used, item.graph.type("x")
    for item, outputs in zip(jobs, run(jobs, "wasm", folder, variant, browser), strict=True):
        expected, _ = run_graph(item.graph, item.inputs, item.weights)
        for name, value in expected.items():
            bound = TOLERANCE * np.abs(expected["sums"]).max()
            np.testing.assert_allclose(outputs[name], value, rtol=0, atol=bound, err_msg=name)


@pytest.mark.parametrize("variant", VARIANTS["wasm"])
def test_results(variant: str, tmp_path) -> None:
    check(tmp_path, variant, "chromium")


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_do_not_differ(engine: str, tmp_path, monkeypatch) -> None:
    """Codes of four bits have no sign and do not saturate; those of eight are changed for it."""
    simulate(engine, tmp_path, monkeypatch)
    monkeypatch.setattr(modules, "OBJECTS", tmp_path / "objects")
    check(tmp_path / "code", "relaxed", "", SHAPES[::2])


@pytest.mark.parametrize(("block", "blocks"), [(8, 4), (12, 3), (16, TEMPLATE.depth[1] // 16 + 1)])
def test_other_blocks_are_computed_by_loops(block: int, blocks: int, tmp_path) -> None:
    item = job((3,), 19, blocks, block, FORMS[0])
    document = program(item.graph, REGISTRY["wasm"])
    used = {kernel["schedule"].get("template") for kernel in document["kernels"].values()}
    assert used == {None}
    (outputs,) = run([item], "wasm", tmp_path)
    expected, _ = run_graph(item.graph, item.inputs, item.weights)
    np.testing.assert_allclose(
        outputs["sums"], expected["sums"], rtol=0, atol=TOLERANCE * np.abs(expected["sums"]).max()
    )
