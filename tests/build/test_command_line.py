"""`webkiln build` and `generate_descriptor` run the same actions without a dodo.py."""

import subprocess
import sys
from pathlib import Path

from tests.build.tree import Tree

TUTORIAL = """
import numpy as np
from webkiln.build.descriptor import generate_descriptor
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.types import Type
vector = Type("float32", (2,))
graph = Graph(
    name="bias", inputs=("x",), outputs={"y": "y"}, slots=frozenset({"b"}),
    variables={name: Variable(name, vector) for name in "xby"}, nodes=(Node("conv", ("x", "b"), ("y",)),),
    weights={"b": np.array([1, 2], np.float32)},
)
generate_descriptor("wasm", graph).save("output")
generate_descriptor("js", graph).save("output")
"""


def python(tree: Tree, *arguments: str, status: int = 0) -> str:
    process = subprocess.run(
        [sys.executable, *arguments], cwd=tree.root, env=tree.environment(), capture_output=True, text=True, check=False
    )
    assert process.returncode == status, process.stdout + process.stderr
    return process.stdout + process.stderr


def test_build_shares_its_actions_with_the_dag(toy: Tree) -> None:
    toy.build()
    output = python(toy, "-m", "webkiln.cli", "build", "models/toy/model.json", "--name", "toy", "-o", "public/toy")
    lines = output.splitlines()
    told = next(number for number, line in enumerate(lines) if line.startswith("public/toy: "))
    assert all(line.endswith("  cached") for line in lines[:told])
    found = {path.name: path.read_bytes() for path in (toy.root / "public" / "toy").iterdir()}
    assert found == toy.bytes()


def test_build_tells_user_errors_in_one_line(toy: Tree) -> None:
    cases = {
        ("nowhere.keras",): "no such file",
        ("models/toy/model.json", "--backend", "wasn"): "unknown backend 'wasn'; valid: webgpu, wasm, webgl, js",
        ("models/toy/model.json", "--encoding", "float8"): "unknown encoding 'float8'",
        ("models/toy/model.json", "--input-shape", "1,-2"): "expected sizes such as",
        ("models/toy/recipe.toml",): "not a toy model",
    }
    for arguments, message in cases.items():
        output = python(toy, "-m", "webkiln.cli", "build", *arguments, "-o", "public/m", status=2)
        assert message in output
        assert "Traceback" not in output
        assert not (toy.root / "public").exists()


def test_a_descriptor_adds_backends_to_one_bundle(toy: Tree, tmp_path: Path) -> None:
    script = tmp_path / "tutorial.py"
    script.write_text(TUTORIAL)
    python(toy, str(script))
    names = {path.name for path in (toy.root / "output").iterdir()}
    assert {"wasm.js", "js.js", "simd.wasm", "relaxed.wasm", "manifest.json"} <= names
