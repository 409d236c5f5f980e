"""The template of products of blocks computes what the numpy reference does, for sizes that divide
no block of it.
"""

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
SHAPES = [
    *(((rows,), 70, 3, 32) for rows in (1, 2, 3, 4, 5, 9)),
    *(((5,), columns, 3, 32) for columns in (2, 7, 8, 9, 31, 33, 63, 64, 65, 130)),
    *(((3,), 19, blocks, block) for blocks, block in ((2, 16), (5, 64), (2, 128), (3, 256))),
    ((2, 3), 40, 2, 32),
    ((1, 1), 40, 2, 32),
    ((2,), 9, TEMPLATE.depth[1] // 16, 16),
]
"""Shape of the rows, columns, blocks, and the length of a block."""


def job(
    rows: tuple[int, ...], columns: int, blocks: int, block: int, center: int, *, offsets: bool
) -> Job:
    """A product of quantized rows, with a bias and an activation behind it."""
    rng = np.random.default_rng(columns * blocks)
    depth = blocks * block
    b = GraphBuilder("g", RULES)
    x = b.input("x", "float32", (*rows, depth))
    values = {
        "packed": rng.integers(0, 255, (columns, depth // 2), np.uint8, endpoint=True),
        "factors": rng.uniform(0.01, 0.1, (columns, blocks)).astype(np.float32),
        "offsets": rng.uniform(-0.5, 0.5, (columns, blocks)).astype(np.float32),
        "bias": rng.uniform(-1, 1, columns).astype(np.float32),
    }
    if not offsets:
        del values["offsets"]
    slots = {name: b.slot(name, value) for name, value in values.items()}
    codes, scales = b.ops("QuantizeBlocks", [x], {"block": block})
    operands = [codes, scales, *(slots[name] for name in slots if name != "bias")]
    y = b.op("MatMulBlocks", operands, {"block": block, "center": center})
    graph = b.graph({"y": b.op("Tanh", [b.op("Add", [y, slots["bias"]])]), "sums": y})
    inputs = {"x": rng.normal(0, 1, (*rows, depth)).astype(np.float32)}
    return Job(graph, inputs, values)


def check(folder, variant: str, browser: str) -> None:
    jobs = [
        job(*shape, center, offsets=offsets)
        for shape, (center, offsets) in product(SHAPES, ((8, False), (0, True), (3, True)))
    ]
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
    """Codes have four bits, so that no engine takes a sign or saturates."""
    simulate(engine, tmp_path, monkeypatch)
    monkeypatch.setattr(modules, "OBJECTS", tmp_path / "objects")
    check(tmp_path / "code", "relaxed", "")


@pytest.mark.parametrize(("block", "blocks"), [(8, 4), (12, 3), (16, TEMPLATE.depth[1] // 16 + 1)])
def test_other_blocks_are_computed_by_loops(block: int, blocks: int, tmp_path) -> None:
    item = job((3,), 19, blocks, block, 8, offsets=False)
    document = program(item.graph, REGISTRY["wasm"])
    used = {kernel["schedule"].get("template") for kernel in document["kernels"].values()}
    assert used == {None}
    (outputs,) = run([item], "wasm", tmp_path)
    expected, _ = run_graph(item.graph, item.inputs, item.weights)
    np.testing.assert_allclose(
        outputs["sums"], expected["sums"], rtol=0, atol=TOLERANCE * np.abs(expected["sums"]).max()
    )
