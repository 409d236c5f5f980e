"""Kernel templates compute what the numpy reference of their step does, for sizes that divide no
block, every dtype and every layout.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.backends.harness import expected, node_job, run
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
TEMPLATES = [item for backend in REGISTRY for item in templates(backend)]


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
        *((rows + 1, size, 19) for size in edges(2, 16, template.depth)),
        *((rows + 1, 33, size) for size in edges(template.panel, columns, 2 * columns)),
    ]
    return [
        Case((make(a, m, k), make(b, k, n), make(a), make(b)), name=f"{a} {b} {m}x{k}x{n}")
        for a, b in product(sorted(template.rows), sorted(template.columns))
        for m, k, n in sizes
    ]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda item: item.name)
def test_results(template, tmp_path, monkeypatch):
    """With only this template, and with a speed that makes it the choice wherever it fits."""
    backend = with_target(
        REGISTRY[template.backend], templates=(replace(template, gops=MANY_GOPS),)
    )
    monkeypatch.setitem(REGISTRY, template.backend, backend)
    table = cases(template)
    jobs = [node_job("MatMulInteger", case, trained=True) for case in table]
    for case, job in zip(table, jobs, strict=True):
        document = program(job.graph, backend)
        used = {item["schedule"].get("template") for item in document["kernels"].values()}
        rows, depth = case.inputs[0].shape
        is_used = template.name in used
        assert is_used == (
            rows > 1 and depth > 1 and depth <= template.depth and case.inputs[1].shape[1] > 1
        ), case.name
    for variant in VARIANTS[template.backend] or ("",):
        results = run(jobs, template.backend, tmp_path / (variant or "only"), variant)
        for case, outputs in zip(table, results, strict=True):
            for name, value in expected("MatMulInteger", case).items():
                assert np.array_equal(outputs[name], value), (variant, case.name)


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
    w = b.slot("w", np.ones((2 * template.depth, 70), "int8"))
    zero = b.constant(0, "int8")
    graph = b.graph({"y": b.op("MatMulInteger", [x, w, zero, zero])})
    document = program(graph, REGISTRY[template.backend])
    main = [document["kernels"][step["kernel"]]["schedule"] for step in document["main"]]
    assert "template" not in [schedule["kind"] for schedule in main]
