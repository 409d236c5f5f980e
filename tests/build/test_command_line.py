"""`webkiln build` and `generate_descriptor` run the same actions without a dodo.py."""

import re
from pathlib import Path

import pytest

from tests.build.tree import Tree, prebuilt, python, warm
from webkiln import cli

TUTORIAL = """
import numpy as np
from webkiln.build.descriptor import generate_descriptor
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.types import Type
vector = Type("float32", (2,))
graph = Graph(
    name="bias", inputs=("x",), outputs={"y": "y"}, slots=frozenset({"b"}),
    variables={name: Variable(name, vector) for name in "xby"},
    nodes=(Node("conv", ("x", "b"), ("y",)),),
    weights={"b": np.array([1, 2], np.float32)},
)
generate_descriptor("wasm", graph).save("output")
generate_descriptor("js", graph).save("output")
"""


def test_build_shares_its_actions_with_the_dag(toy: Tree) -> None:
    prebuilt(toy)
    output = python(
        toy,
        "-m",
        "webkiln.cli",
        "build",
        "models/toy/model.json",
        "--name",
        "toy",
        "-o",
        "public/toy",
    )
    lines = output.splitlines()
    printed = next(number for number, line in enumerate(lines) if line.startswith("public/toy: "))
    assert all(line.endswith("  cached") for line in lines[:printed])
    published = {path.name: path.read_bytes() for path in (toy.root / "public" / "toy").iterdir()}
    assert published == toy.bytes()


def test_build_prints_user_errors_in_one_line(toy: Tree) -> None:
    cases = {
        ("nowhere.keras",): "no such file",
        (
            "models/toy/model.json",
            "--backend",
            "wasn",
        ): "unknown backend 'wasn'; valid: webgpu, wasm, webgl, js",
        ("models/toy/model.json", "--encoding", "float8"): "unknown encoding 'float8'",
        ("models/toy/model.json", "--input-shape", "1,-2"): "expected sizes such as",
        ("models/toy/recipe.toml",): "not a toy model",
    }
    for arguments, message in cases.items():
        output = python(toy, "-m", "webkiln.cli", "build", *arguments, "-o", "public/m", status=2)
        assert message in output
        assert "Traceback" not in output
        assert not (toy.root / "public").exists()


def webkiln(tree: Tree, *arguments: str, status: int = 0) -> str:
    return python(tree, "-m", "webkiln.cli", *arguments, status=status)


def test_the_last_line_of_a_build_names_the_bundle(toy: Tree) -> None:
    command = ("build", "models/toy/model.json", "-o", "public/toy")
    printed = webkiln(toy, *command)
    assert re.search(
        r"^public/toy: written\n  backends  wasm, js\n  encoding  float32\n"
        r"  code      .*, .* with Brotli\n  weights   .*, .* with Brotli\n"
        r"  import \{ load \} from '\./public/toy/index\.js';$",
        printed,
        re.MULTILINE,
    )
    assert re.search(r"^\[ *1/\d\d\] fetch:model  \d+\.\d s", printed, re.MULTILINE)
    assert webkiln(toy, *command).startswith("public/toy: up to date\n")
    assert "(wasm removed)" in webkiln(toy, *command, "--backend", "js")


def test_encodings_are_a_list(toy: Tree) -> None:
    printed = webkiln(
        toy,
        "build",
        "models/toy/model.json",
        "-o",
        "public/toy",
        "--encoding",
        "int8,float32",
        "--backend",
        "js",
    )
    assert re.findall(
        r"^(public/\S+): written\n  backends  js\n  encoding  (\w+)", printed, re.MULTILINE
    ) == [
        ("public/toy", "float32"),
        ("public/toy-int8", "int8"),
    ]


def test_user_files_in_the_way_are_reported_before_the_build(toy: Tree) -> None:
    public = toy.root / "public"
    public.mkdir()
    (public / "package.json").write_text("{}")
    printed = webkiln(
        toy, "build", "models/toy/model.json", "-o", "public", "--name", "toy", status=2
    )
    assert printed.startswith("error: ")
    assert "package.json would be overwritten (no build wrote it)" in printed
    webkiln(warm(toy), "build", "models/toy/model.json", "-o", "public", "--force")
    assert "error: " in webkiln(toy, "build", "models/toy/model.json", "-o", "dodo.py/x", status=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("biuld",),
            (
                "unknown command 'biuld'; valid: build, cache, diff, explain, init, inspect,"
                " lower, profile, run, serve, tools, tune, worker; did you mean build?"
            ),
        ),
        (
            ("build", "x.keras", "-o", "p", "--encodin=int8"),
            "unknown option '--encodin=int8'; did you mean --encoding?",
        ),
        (("build", "models/toy/model.json", "-o", "p", "--backend", "wsm"), "did you mean wasm?"),
        (
            ("build", "models/toy/model.json", "-o", "p", "--encoding", "flaot32"),
            "did you mean float32?",
        ),
        (("build", "digist", "-o", "p"), "did you mean digits?"),
    ],
)
def test_misspelt_names_get_suggestions(
    unbuilt: Tree,
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(unbuilt.root)
    try:
        status = cli.main(arguments)
    except SystemExit as end:
        status = int(end.code or 0)
    printed = capsys.readouterr().err
    assert status == 2
    assert message in printed
    assert "Traceback" not in printed


def test_the_version(unbuilt: Tree) -> None:
    assert re.fullmatch(r"webkiln \d[\w.]*\n", webkiln(unbuilt, "--version"))


def test_a_descriptor_adds_backends_to_one_bundle(toy: Tree, tmp_path: Path) -> None:
    script = tmp_path / "tutorial.py"
    script.write_text(TUTORIAL)
    python(toy, str(script))
    names = {path.name for path in (toy.root / "output").iterdir()}
    assert {"wasm.js", "js.js", "simd.wasm", "relaxed.wasm", "manifest.json"} <= names


@pytest.mark.parametrize("source", ["toy", "models/toy"])
def test_a_recipe_of_the_project_is_built_by_its_name_or_folder(toy: Tree, source: str) -> None:
    prebuilt(toy)
    printed = webkiln(toy, "build", source, "-o", "public/toy", "--depfile", "public/toy.d")
    assert "backends  wasm, js" in printed
    assert {
        path.name: path.read_bytes() for path in (toy.root / "public" / "toy").iterdir()
    } == toy.bytes()
    folder = toy.root / "models" / "toy"
    assert (toy.root / "public" / "toy.d").read_text().splitlines() == sorted(
        map(str, (folder / "model.json", folder / "recipe.toml"))
    )
