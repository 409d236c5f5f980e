"""The templates of products of blocks compute what the numpy reference does, for sizes that divide
no block of theirs.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from tests.backends import modules
from tests.backends.block_jobs import (
    FLOAT,
    FORMS,
    QUANTIZED,
    TOLERANCE,
    Shape,
    job,
    templates_of,
)
from tests.backends.dot_engines import ENGINES, simulate
from tests.backends.harness import Job, prepare, run_programs
from tests.sampling import representative
from webkiln.backends.table import REGISTRY
from webkiln.nest.kernel_template import Template
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import RULES
from webkiln.recipe.values import VARIANTS

SHAPES: list[Shape] = [
    *(((rows,), 70, 3, 32) for rows in (1, 2, 3, 4, 5, 9)),
    *(((5,), columns, 3, 32) for columns in (2, 7, 8, 9, 31, 33, 63, 64, 65, 130)),
    *(((3,), 19, blocks, block) for blocks, block in ((2, 16), (5, 64), (2, 128), (3, 256))),
    ((2, 3), 40, 2, 32),
    ((1, 1), 40, 2, 32),
    ((2,), 9, QUANTIZED.depth[1] // 16, 16),
    ((3,), 21, 1, 32),
]
"""Shape of the rows, columns, blocks, and the length of a block."""
FLOAT_SHAPES: list[Shape] = [
    *SHAPES,
    *(((rows,), 35, 9, 32) for rows in (6, 7, 11, 12, 127, 128, 129, 133)),
    ((2,), 9, FLOAT.depth[1] // 16, 16),
    ((5,), 17, 1, 520),
]


def check(
    folder, variant: str, browser: str, template: Template, shapes: Sequence[Shape] = SHAPES
) -> None:
    jobs = [job(template, *shape, form) for shape, form in product(shapes, FORMS)]
    prepared = [prepare(item, REGISTRY["wasm"]) for item in jobs]
    for item, ready in zip(jobs, prepared, strict=True):
        assert template.name in templates_of(ready.program), item.graph.type("x")
    results = run_programs(prepared, "wasm", folder, variant, browser)
    for item, outputs in zip(jobs, results, strict=True):
        expected, _ = run_graph(item.graph, item.inputs, item.weights)
        for name, value in expected.items():
            bound = TOLERANCE * np.abs(expected["sums"]).max()
            np.testing.assert_allclose(outputs[name], value, rtol=0, atol=bound, err_msg=name)


@pytest.mark.parametrize("variant", VARIANTS["wasm"])
def test_products_of_quantized_rows(variant: str, tmp_path) -> None:
    check(tmp_path, variant, "chromium", QUANTIZED)


@pytest.mark.parametrize("variant", VARIANTS["wasm"])
def test_products_of_float_rows(variant: str, tmp_path) -> None:
    check(tmp_path, variant, "chromium", FLOAT, FLOAT_SHAPES)


def test_rows_may_be_parts_of_an_array(tmp_path) -> None:
    """A product reads a slice in place."""
    rng = np.random.default_rng(0)
    b = GraphBuilder("g", RULES)
    x = b.input("x", "float32", (2, 5, 150))
    values = {
        "packed": rng.integers(0, 255, (19, 32), np.uint8, endpoint=True),
        "factors": rng.uniform(0.01, 0.1, (19, 2)).astype(np.float32),
    }
    part = b.op("Slice", [x], {"starts": (0, 2, 70), "sizes": (2, 3, 64), "steps": (1, 1, 1)})
    operands = [part, *(b.slot(name, value) for name, value in values.items())]
    graph = b.graph({"y": b.op("MatMulBlocks", operands, {"block": 32, "center": 8})})
    item = Job(graph, {"x": rng.normal(0, 1, (2, 5, 150)).astype(np.float32)}, values)
    ready = prepare(item, REGISTRY["wasm"])
    assert templates_of(ready.program) == {FLOAT.name, None}
    (outputs,) = run_programs([ready], "wasm", tmp_path)
    expected, _ = run_graph(graph, item.inputs, values)
    np.testing.assert_allclose(outputs["y"], expected["y"], rtol=0, atol=1e-4)


@pytest.mark.parametrize("every", representative([2, 4], 4))
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_do_not_differ(engine: str, every: int, tmp_path, monkeypatch) -> None:
    """Codes of four bits have no sign and do not saturate; those of eight are changed for it."""
    simulate(engine, tmp_path, monkeypatch)
    monkeypatch.setattr(modules, "OBJECTS", tmp_path / "objects")
    check(tmp_path / "code", "relaxed", "", QUANTIZED, SHAPES[::every])


@pytest.mark.parametrize("template", [QUANTIZED, FLOAT], ids=lambda item: item.name)
@pytest.mark.parametrize(("block", "blocks"), [(8, 4), (12, 3), (16, None)])
def test_other_blocks_are_computed_by_loops(
    template: Template, block: int, blocks: int | None, tmp_path
) -> None:
    item = job(template, (3,), 19, blocks or template.depth[1] // 16 + 1, block, FORMS[0])
    ready = prepare(item, REGISTRY["wasm"])
    assert templates_of(ready.program) == {None}
    (outputs,) = run_programs([ready], "wasm", tmp_path)
    expected, _ = run_graph(item.graph, item.inputs, item.weights)
    np.testing.assert_allclose(
        outputs["sums"], expected["sums"], rtol=0, atol=TOLERANCE * np.abs(expected["sums"]).max()
    )
