"""Shaders with subgroup matrices are valid, within the limits of every device, and only in the code
of bundles that have the option.
"""

import re
from itertools import product
from pathlib import Path

import pytest

from tests.backends.adapters import ADAPTERS
from tests.backends.harness import TEMPLATES, run_programs, write_program
from tests.dawn import tint
from tests.dawn.matrix_graphs import (
    CHAIN,
    COLUMNS,
    DEPTHS,
    OTHERS,
    ROWS,
    backend,
    parsed,
    prepared,
    products,
    values_of,
)
from tests.passes.graphs import evaluate_graph
from tests.programs import program
from webkiln.backends.compare import relative_error
from webkiln.codegen import wgsl
from webkiln.codegen.wgsl_workgroups import MATRIX_SIZES, MatrixWorkgroup, variants
from webkiln.nest.target import WORKGROUP_BYTES
from webkiln.plan import matrix_forms
from webkiln.plan.kernel import from_json

ENGINE = "subgroupMatrixConfigs"
"""What only the part of the engine has that chooses variants with matrices."""
BYTES = {"f16": 2, "f32": 4}


def shaders(text: str) -> dict[str, str]:
    """The variants with subgroup matrices of the kernels of a graph."""
    kernels = map(from_json, program(parsed(text), backend())["kernels"].values())
    return {
        f"{kernel.name}_{groups.matrix}": wgsl.print_kernel(kernel, TEMPLATES, groups)
        for kernel in kernels
        for groups in variants(kernel)
        if isinstance(groups, MatrixWorkgroup)
    }


@pytest.fixture
def _small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_forms, "LEAST_TERMS", 1)


@pytest.mark.usefixtures("_small_products")
def test_shaders_are_valid_and_within_the_limits_of_every_device(tmp_path: Path) -> None:
    found = {}
    for name, text in {**products(), **OTHERS, "chain": CHAIN}.items():
        own = shaders(text)
        assert len(own) == len(MATRIX_SIZES) * (2 if name == "chain" else 1), name
        found |= own
    tint.validate(found, tmp_path)
    for text in found.values():
        arrays = re.findall(r"var<workgroup> \w+: array<(\w+), (\d+)>", text)
        assert sum(BYTES[type_] * int(count) for type_, count in arrays) <= WORKGROUP_BYTES
        assert "@workgroup_size(256)" in text


def test_an_invalid_shader_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="'f16' type used without"):
        tint.validate({"broken": "var<private> a: subgroup_matrix_left<f16, 16, 16>;"}, tmp_path)


def written(folder: Path, matrices: bool, text: str = CHAIN) -> str:
    write_program(program(parsed(text), backend(matrices)), folder)
    return (folder / "webgpu.js").read_text()


@pytest.mark.usefixtures("_small_products")
def test_only_code_with_matrices_contains_their_engine(tmp_path: Path) -> None:
    code = written(tmp_path / "on", matrices=True)
    assert ENGINE in code
    assert all(f"'chromium-experimental-subgroup-matrix {size}': {{" in code for size in (16, 8))
    assert "subgroup-matrix" not in written(tmp_path / "off", matrices=False)


def test_small_products_have_the_code_that_they_have_without_the_option(tmp_path: Path) -> None:
    texts = products()
    for number, (rows, columns, depth) in enumerate(product(ROWS, COLUMNS, DEPTHS)):
        text = texts[f"{rows}x{depth}x{columns} residual"]
        on, off = (
            written(tmp_path / f"{number} {on}", matrices=on, text=text) for on in (True, False)
        )
        assert on == off


@pytest.mark.usefixtures("_small_products")
def test_browsers_without_the_feature_compute_the_plain_form(tmp_path: Path) -> None:
    texts = {"chain": CHAIN, **OTHERS}
    graphs = {name: parsed(text) for name, text in texts.items()}
    values = {name: values_of(graph) for name, graph in graphs.items()}
    items = [prepared(graphs[name], values[name]) for name in graphs]
    results = run_programs(items, "webgpu", tmp_path, adapter=ADAPTERS[132])
    for (name, graph), outputs in zip(graphs.items(), results, strict=True):
        (reference,) = evaluate_graph(graph, values[name]).values()
        assert relative_error(outputs["y"], reference) < 1e-3, name
