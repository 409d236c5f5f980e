"""Warnings about kernels that stay scalar."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.commands.conftest import Command
from webkiln.build import progress
from webkiln.build.scalar_kernels import warnings


@pytest.fixture(autouse=True)
def _each_warning_is_new() -> None:
    progress.warn.cache_clear()


def launch(kernel: str, layer: str, flops: int | str, *, scalar: bool = True) -> dict[str, Any]:
    why = f"why of {kernel}" if scalar else "4 of a0 at a time"
    entry = {"kernel": kernel, "layer": layer, "flops": flops, "why": why}
    return entry | {"scalar": True} if scalar else entry


def test_one_warning_per_backend_names_all_kernels_longest_first() -> None:
    launches = {
        "wasm": [
            launch("k_rest", "c1", 700, scalar=False),
            launch("k_short", "c2", 40),
            launch("k_long", "c3", 60),
            *(launch("k_long", f"d{n}", 38) for n in range(5)),
            launch("k_tiny", "c4", 10),
        ],
        "webgpu": [launch("k_rest", "c1", 700, scalar=False), launch("k_tiny", "c4", 7)],
        "js": [launch("k_rest", "c1", 700, scalar=False)],
    }
    (text,) = warnings("m", launches)
    assert text.splitlines() == [
        "m, wasm: 29 % of the operations are not vectorised",
        "  25 % in c3, d0, d1, d2, d3 and 1 more: why of k_long",
        "  4 % in c2: why of k_short",
    ]


def test_open_sizes_count_at_nominal_values() -> None:
    (text,) = warnings("m", {"wasm": [launch("k", "c1", "2*N"), launch("r", "c2", 128)]})
    assert "50 % in c1" in text


def test_nothing_is_said_of_models_without_operations() -> None:
    assert list(warnings("m", {"wasm": [launch("k", "copy", 0)]})) == []


def write(path: Path, dtype: str, operator: str) -> Path:
    """Write operator(x @ w, w), or operator(x @ w), of [64, 64] matrices."""
    w = np.ones((64, 64), dtype)
    kind = helper.np_dtype_to_tensor_dtype(w.dtype)
    operands = ["a", "w"] if operator == "Mod" else ["a"]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "product"),
        helper.make_node(operator, operands, ["y"], "last"),
    ]
    x, y = (helper.make_tensor_value_info(name, kind, [64, 64]) for name in "xy")
    graph = helper.make_graph(nodes, "graph", [x], [y], [numpy_helper.from_array(w, "w")])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


@pytest.mark.parametrize("options", [(), ("--kernels",), ("--json",)], ids=str)
def test_inspect_warns_about_backends_with_vectors(
    options: tuple[str, ...], webkiln: Command, tmp_path: Path
) -> None:
    source = write(tmp_path / "m.onnx", "float32", "Sin")
    done = webkiln("inspect", source, *options, "--backend", "webgpu,wasm,js")
    assert done.returncode == 0
    heads = [line for line in done.stderr.splitlines() if not line.startswith(" ")]
    assert heads == [
        f"warning: m, {backend}: 100 % of the operations are not vectorised"
        for backend in ("webgpu", "wasm")
    ]
    assert "  100 % in product+last: no axis can be the vector axis (a1: sin is" in done.stderr


def test_build_warns_about_the_bundles_it_writes(webkiln: Command, tmp_path: Path) -> None:
    source = write(tmp_path / "m.onnx", "float32", "Sin")
    done = webkiln("build", source, "--backend", "wasm,js", "--encoding", "float32,float16")
    assert done.returncode == 0
    assert done.stderr.count("warning") == 1
    assert "warning: m, wasm: 100 % of the operations are not vectorised\n" in done.stderr


def test_vectorised_models_have_no_warning(webkiln: Command, tmp_path: Path) -> None:
    source = write(tmp_path / "m.onnx", "float32", "Tanh")
    done = webkiln("inspect", source, "--backend", "webgpu,wasm")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_operations_of_integer_products_count(webkiln: Command, tmp_path: Path) -> None:
    source = write(tmp_path / "m.onnx", "int32", "Mod")
    done = webkiln("inspect", source, "--kernels", "--backend", "wasm")
    assert "m, wasm: 100 % of the operations are not vectorised" in done.stderr
    assert f"  {2 * 64**3:,}  " in done.stdout
