"""The effect of each `name=value` of a doit command."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.commands.small import write_model
from webkiln.build import variables
from webkiln.build.backends import backends_of, buildable, present
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.model_tasks import model_tasks
from webkiln.build.variables import choice_of, destination, read_variables
from webkiln.errors import RecipeError
from webkiln.recipe.recipe import Bundle, Inputs, Reading, Recipe
from webkiln.recipe.sources import ExportSource, PathSource

ONNX = Reading("onnx")
FILE = Recipe("file", PathSource(Path("/nowhere/m.onnx")), ONNX, bundle=Bundle(("float32", "int8")))
MADE = Recipe(
    "made",
    ExportSource(Path("/nowhere/make.py"), "save", {"weights": "own", "size": 3}),
    ONNX,
)
SIZED = Recipe(
    "sized",
    ExportSource(Path("/nowhere/make.py"), "save", {"size": 3}),
    ONNX,
    on_request=True,
)
RECIPES = {recipe.name: recipe for recipe in (FILE, MADE, SIZED)}


def test_the_defaults_without_variables() -> None:
    read = read_variables({}, RECIPES)
    assert read.models == {"file": FILE, "made": MADE}
    assert (read.backends, read.encodings, len(read.browsers), read.layers, read.force) == (
        None,
        None,
        1,
        False,
        False,
    )


@pytest.mark.parametrize(("arguments", "expected"), [
    ({"model": "sized,file"}, {"models": {"file": FILE, "sized": SIZED}}),
    ({"backend": "js,webgl"}, {"backends": ("webgl", "js")}),
    ({"encoding": "int8,float16"}, {"encodings": ("float16", "int8")}),
    ({"browser": "firefox,node"}, {"browsers": ("node", "firefox")}),
    ({"layers": "yes"}, {"layers": True}),
    ({"layers": "no"}, {}),
    ({"force": "yes"}, {"force": True}),
    ({"force": "no"}, {}),
])  # fmt: skip
def test_a_variable_changes_the_request(
    arguments: dict[str, str], expected: dict[str, Any]
) -> None:
    plain, read = read_variables({}, RECIPES), read_variables(arguments, RECIPES)
    for name, value in expected.items():
        actual = getattr(read, name)
        assert {*actual} == {*value} if name == "browsers" else actual == value
    others = {"models", "backends", "encodings", "browsers", "layers", "force"} - expected.keys()
    assert {name: getattr(read, name) for name in others} == {
        name: getattr(plain, name) for name in others
    }


def test_weights_are_for_functions_that_accept_them() -> None:
    models = read_variables({"weights": "random", "model": "file,made,sized"}, RECIPES).models
    assert (models["file"], models["sized"]) == (FILE, SIZED)
    source = models["made"].source
    assert isinstance(source, ExportSource)
    assert source.parameters == {"weights": "random", "size": 3}


@pytest.mark.parametrize(
    "arguments",
    [
        {"models": "file"},
        {"model": "fil"},
        {"backend": ""},
        {"encoding": "int9"},
        {"browser": "lynx"},
        {"layers": "maybe"},
        {"force": "1"},
    ],
)
def test_unknown_variables_and_values_are_errors(arguments: dict[str, str]) -> None:
    with pytest.raises(RecipeError, match=r"valid: "):
        read_variables(arguments, RECIPES)
    with pytest.raises(RecipeError):
        read_variables({}, {"sized": SIZED})


def test_each_selection_has_a_folder() -> None:
    folders = {
        destination("m", Selection(("js",), encoding, layers))
        for encoding in ("float32", "int8", "float16")
        for layers in (False, True)
    }
    assert folders == {
        Path("dist") / name
        for name in ("m", "m-layers", "m-int8", "m-int8-layers", "m-float16", "m-float16-layers")
    }


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    with Engine(tmp_path / "state", cache=tmp_path / "cache") as new_engine:
        yield new_engine


def test_requested_backends_join_existing_ones(tmp_path: Path) -> None:
    recipe = Recipe("m", PathSource(tmp_path / "m"), backends=("wasm", "webgl", "js"))
    backends_for = partial(backends_of, recipe, folder=tmp_path)
    assert backends_for(None, keep=False) == ("wasm", "webgl", "js")
    assert backends_for(["js"], keep=False) == ("js",)
    (tmp_path / "manifest.json").write_text('{"backends":{"webgl":{},"webgpu":{}}}')
    assert present(tmp_path) == ["webgpu", "webgl"]
    assert backends_for(["js"], keep=False) == ("webgl", "js")
    assert backends_for(None, keep=False) == ("wasm", "webgl", "js")
    assert backends_for(None, keep=True) == ("webgpu", "wasm", "webgl", "js")
    assert backends_for(["js"], keep=True) == ("webgpu", "webgl", "js")
    (tmp_path / "manifest.json").write_text('{"backends":')
    assert present(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "backends"),
    [({}, ("js",)), ({"backend": "js"}, ("js",)), ({"backend": "wasm,js"}, ("wasm", "js"))],
)
def test_without_compilers_wasm_is_omitted_unless_requested(
    arguments: dict[str, str],
    backends: tuple[str, ...],
    engine: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webkiln.build.backends.missing_compilers", lambda: ["no compiler"])
    monkeypatch.setattr(variables, "missing_compilers", lambda: ["no compiler"])
    monkeypatch.setattr(variables, "install_and_restart", lambda packages, close: None)
    recipe = Recipe("m", PathSource(write_model(tmp_path / "m.onnx")), inputs=Inputs(dims={"N": 2}))
    read = read_variables(arguments, {"m": recipe})
    graph = ModelGraph(recipe, engine.share)
    assert choice_of(engine, graph, "int8", read) == Selection(backends, "int8")
    assert ("no compiler" in capsys.readouterr().err) == (arguments == {})
    assert buildable(engine, graph, Selection(("wasm",))).backends == ("wasm",), (
        "which is then an error that says what is missing"
    )


def tasks_of(
    engine: Engine, arguments: dict[str, str], recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> dict[str, dict[str, Any]]:
    """The task names of a command."""
    monkeypatch.setattr("webkiln.build.backends.missing_compilers", list)
    session = SimpleNamespace(
        engine=engine, folder=Path("models"), variables=read_variables(arguments, {"m": recipe})
    )
    monkeypatch.setattr(
        "webkiln.build.model_tasks.build",
        lambda session, bundles: {"basename": "build", "name": None, "bundles": bundles},
    )
    return {f"{task['basename']}:{task['name']}": task for task in model_tasks(session, "", None)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "bundles", "verified", "tuned"),
    [
        ({}, ["bundle:m", "bundle:m:int8"], {"js:chromium", "webgl:chromium"}, {"js:chromium"}),
        (
            {"encoding": "float16"},
            ["bundle:m:float16"],
            {"js:chromium", "webgl:chromium"},
            {"js:chromium"},
        ),
        (
            {"layers": "yes"},
            ["bundle:m:layers", "bundle:m:int8:layers"],
            {"js:chromium", "webgl:chromium"},
            {"js:chromium"},
        ),
        (
            {"backend": "webgl"},
            ["bundle:m", "bundle:m:int8"],
            {"webgl:chromium"},
            {"webgl:chromium"},
        ),
        (
            {"browser": "firefox", "backend": "js"},
            ["bundle:m", "bundle:m:int8"],
            {"js:firefox"},
            {"js:firefox"},
        ),
    ],
)
def test_variables_name_the_tasks(
    arguments: dict[str, str],
    bundles: list[str],
    verified: set[str],
    tuned: set[str],
    engine: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = Recipe(
        "m",
        PathSource(write_model(tmp_path / "m.onnx")),
        backends=("webgl", "js"),
        bundle=Bundle(("float32", "int8")),
    )
    tasks = tasks_of(engine, arguments, recipe, monkeypatch)
    assert tasks["build:None"]["bundles"] == bundles
    suffix = bundles[0].removeprefix("bundle:m")
    verified_combinations = {
        name.removeprefix("verify:m:").removesuffix(suffix)
        for name in tasks
        if name.startswith("verify:m:") and name.endswith(suffix)
    }
    assert {name for name in verified_combinations if name.count(":") == 1} == verified
    assert {name.removeprefix("tune:m:") for name in tasks if name.startswith("tune:m")} == tuned
