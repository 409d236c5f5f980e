"""Kernel templates compute what the numpy reference of their step does, for sizes that divide no
block, every dtype and every layout.
"""

from itertools import product

import numpy as np
import pytest

from tests.backends.harness import expected, node_job, run
from tests.programs import program
from webkiln.backends.table import REGISTRY
from webkiln.ir import symbols
from webkiln.nest.kernel_template import Template, templates
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.operator import Case
from webkiln.ops.table import RULES
from webkiln.recipe.values import VARIANTS

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


def schedule_kinds(case: Case, backend: str) -> list[str]:
    job = node_job("MatMulInteger", case, trained=True)
    document = program(job.graph, REGISTRY[backend])
    main = [document["kernels"][step["kernel"]]["schedule"] for step in document["main"]]
    return [schedule["kind"] for schedule in main]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda item: item.name)
def test_results(template, tmp_path):
    table = cases(template)
    fits = [case for case in table if case.inputs[0].shape[1] <= template.depth]
    used = [schedule_kinds(case, template.backend) == ["template"] for case in fits]
    assert sum(used) > len(fits) / 2, "the template is used for most sizes"
    jobs = [node_job("MatMulInteger", case, trained=True) for case in table]
    for variant in VARIANTS[template.backend] or ("",):
        results = run(jobs, template.backend, tmp_path / (variant or "only"), variant)
        for case, outputs in zip(table, results, strict=True):
            for name, value in expected("MatMulInteger", case).items():
                assert np.array_equal(outputs[name], value), (variant, case.name)


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
