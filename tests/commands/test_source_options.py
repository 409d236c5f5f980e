"""What each option that says something of the source, and each key of a recipe, changes, and
nothing else.
"""

import argparse
import json
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.commands.small import write_model
from webkiln.build.engine import Engine
from webkiln.commands import build, diff, init
from webkiln.commands import changes as init_changes
from webkiln.errors import RecipeError
from webkiln.recipe.form import Form
from webkiln.recipe.images import ImageInput
from webkiln.recipe.read import KEYS, parse_recipe
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import ExportSource, ModuleSource, PathSource
from webkiln.recipe.values import TOLERANCES

RECIPE = """
source = "model.bin"
source_format = "tflite"
signature = "old"
backends = ["js"]
batch_size = 1
dims = { N = 7, M = 8 }
values = { factor = 1.5 }
input_shapes = { other = [1, 2] }
from_layers = ["early"]
to_layers = ["data_dependent"]
reference = "old.npz"
reads = ["data"]
plugins = ["plugin.py"]
operators = ["operators.py"]
"""
Parsed = Callable[..., Recipe]


@pytest.fixture
def parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Parsed:
    """The recipe that options of `webkiln build` amount to."""
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "model.onnx")
    (tmp_path / "model.bin").write_bytes(b"")
    (tmp_path / "makes.py").write_text("def net(size=3): ...\n")
    (tmp_path / "names.txt").write_text("a cat\ndog, big\n\n")
    (tmp_path / "known").mkdir()
    (tmp_path / "known" / "recipe.toml").write_text(RECIPE)
    parser = argparse.ArgumentParser(allow_abbrev=False)
    build.add_source_arguments(parser)
    return lambda *words: build.recipe_of(parser.parse_args([*map(str, words)]))


def changes(before: Recipe, after: Recipe) -> dict[str, Any]:
    return {
        item.name: getattr(after, item.name)
        for item in fields(Recipe)
        if getattr(before, item.name) != getattr(after, item.name)
    }


KERAS, TFLITE = (
    ("model.bin", "--source-format", "keras"),
    ("model.bin", "--source-format", "tflite"),
)
HERE = Path("here.npz")
ROWS: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]]] = {
    "source_format": (KERAS, ("--source-format", "torch"), {"source_format": "torch"}),
    "reference": (KERAS, ("--reference", "here.npz"), {"reference": HERE}),
    "name": (KERAS, ("--name", "other"), {"name": "other"}),
    "backend": (KERAS, ("--backend", "js,webgl"), {"backends": ("webgl", "js")}),
    "precision": (
        (*KERAS, "--backend", "webgpu"),
        ("--precision", "float16"),
        {"precision": "float16"},
    ),
    "batch_size": (KERAS, ("--batch-size", "5"), {"batch_size": 5}),
    "input_shape": (
        KERAS,
        ("--input-shape", "2,T", "--input-shape", "y=3"),
        {"input_shapes": {"": (2, "T"), "y": (3,)}},
    ),
    "dim": (TFLITE, ("--dim", "N=3", "--dim", "M=K"), {"dims": {"N": 3, "M": "K"}}),
    "value": (
        TFLITE,
        ("--value", "a=2", "--value", "b=[1,2.5]"),
        {"values": {"a": 2, "b": [1, 2.5]}},
    ),
    "signature": (TFLITE, ("--signature", "serve"), {"signature": "serve"}),
    "from_layer": (
        TFLITE,
        ("--from-layer", "a", "--from-layer", "b", "--from-layer", "a"),
        {"from_layers": ("a", "b")},
    ),
    "to_layer": (TFLITE, ("--to-layer", "c", "--to-layer", "d"), {"to_layers": ("c", "d")}),
    "plugin": (
        KERAS,
        ("--plugin", "p.py", "--plugin", "q.py"),
        {"plugins": (Path("p.py"), Path("q.py"))},
    ),
    "operators": (KERAS, ("--operators", "o.py"), {"operators": (Path("o.py"),)}),
    "reads": (
        KERAS,
        ("--reads", "data", "--reads", "more"),
        {"reads": (Path("data"), Path("more"))},
    ),
    "trust_source": (KERAS, ("--trust-source",), {"trust_source": True}),
    "winograd": (KERAS, ("--winograd", "off"), {"winograd": False}),
    "tuned": (KERAS, ("--tuned", "fast.json"), {"tuned": Path("fast.json")}),
    "tolerance": (
        KERAS,
        ("--tolerance", "int8=0.5", "--tolerance", "precision=1e-3"),
        {"tolerances": {**TOLERANCES, "int8": 0.5, "precision": 1e-3}},
    ),
    "sample_size": (
        TFLITE,
        ("--sample-size", "T=20", "--sample-size", "N=3"),
        {"sample_sizes": {"T": 20, "N": 3}},
    ),
    "image": (
        KERAS,
        ("--image", 'x={fit="crop", mean=[1, 2, 3]}'),
        {"images": {"x": ImageInput(fit="crop", mean=(1, 2, 3))}},
    ),
    "labels": (KERAS, ("--labels", "names.txt"), {"labels": ("a cat", "dog, big")}),
    "weights": (
        KERAS,
        ("--weights", "w.h5"),
        {"source": PathSource(Path("model.bin"), Path("w.h5"))},
    ),
    "parameter": (
        ("makes:net",),
        ("--parameter", "size=4", "--parameter", "kind=a b", "--parameter", "on=true"),
        {"source": ModuleSource(Path(), "makes", "net", {"size": 4, "kind": "a b", "on": True})},
    ),
}
"""Of each option: the source, what is given, and what that changes; paths are below the working
folder.
"""


def absolute(value: Any, folder: Path) -> Any:
    """A value of a row as recipes have it."""
    match value:
        case Path():
            return folder / value
        case tuple():
            return tuple(absolute(item, folder) for item in value)
        case PathSource(path, weights):
            return PathSource(folder / path, None if weights is None else folder / weights)
        case ModuleSource(root, module, function, parameters):
            return ModuleSource(folder / root, module, function, parameters)
    return value


def test_every_option_has_a_row() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    build.add_source_arguments(parser)
    assert {action.dest for action in parser._actions} - {"source"} == ROWS.keys()


@pytest.mark.parametrize("option", ROWS)
def test_an_option_changes_the_recipe(option: str, parsed: Parsed, tmp_path: Path) -> None:
    source, given, wanted = ROWS[option]
    assert changes(parsed(*source), parsed(*source, *given)) == {
        name: absolute(value, tmp_path) for name, value in wanted.items()
    }


KNOWN: dict[tuple[str, ...], dict[str, Any]] = {
    (): {},
    ("--name", "other"): {"name": "other"},
    ("--signature", "new"): {"signature": "new"},
    ("--backend", "wasm"): {"backends": ("wasm",)},
    ("--dim", "N=3"): {"dims": {"N": 3, "M": 8}},
    ("--value", "b=2"): {"values": {"factor": 1.5, "b": 2}},
    ("--value", "factor=2"): {"values": {"factor": 2}},
    ("--input-shape", "x=3"): {"input_shapes": {"other": (1, 2), "x": (3,)}},
    ("--from-layer", "b"): {"from_layers": ("b",)},
    ("--to-layer", "c"): {"to_layers": ("c",)},
    ("--reference", "here.npz"): {"reference": HERE},
    ("--reads", "more"): {"reads": (Path("known/data"), Path("more"))},
    ("--plugin", "p.py"): {"plugins": (Path("known/plugin.py"), Path("p.py"))},
    ("--operators", "o.py"): {"operators": (Path("known/operators.py"), Path("o.py"))},
    ("--trust-source",): {"trust_source": True},
    ("--labels", "scores=names.txt"): {"labels": {"scores": ("a cat", "dog, big")}},
}
"""What options do to a recipe that says something itself."""


@pytest.mark.parametrize("given", KNOWN, ids=" ".join)
def test_an_option_extends_or_replaces_the_recipe(
    given: tuple[str, ...], parsed: Parsed, tmp_path: Path
) -> None:
    wanted = {name: absolute(value, tmp_path) for name, value in KNOWN[given].items()}
    assert changes(parsed("known"), parsed("known", *given)) == wanted


@pytest.mark.parametrize("given", [("--batch-size", "0"), ("--weights", "w.h5"), ("--dim", "N=3", "--dim", "N=4"), ("--dim", "=3"),
                                   ("--dim", "N=0"), ("--value", "a"), ("--value", "=3"), ("--input-shape", "x=0"), ("--input-shape", "x="),
                                   ("--parameter", "size"), ("--parameter", "size=3"), ("--precision", "float16"), ("--precision", "half"),
                                   ("--batch-size", "x"), ("--winograd", "yes"), ("--tolerance", "int8=x"), ("--tolerance", "int8=0"),
                                   ("--tolerance", "int9=1"), ("--sample-size", "T=0"), ("--sample-size", "T"), ("--image", "x=crop"),
                                   ("--image", 'x={fit="cut"}'), ("--labels", "nothing.txt"),
                                   ("--labels", "names.txt", "--labels", "y=names.txt")], ids=" ".join)  # fmt: skip
def test_invalid_option_values_are_errors(given: tuple[str, ...], parsed: Parsed) -> None:
    with pytest.raises(RecipeError):
        parsed("known", *given)


def test_the_batch_size_of_a_recipe_is_preserved(parsed: Parsed, tmp_path: Path) -> None:
    (tmp_path / "known" / "recipe.toml").write_text(
        'source = "model.bin"\nsource_format = "keras"\nbatch_size = 4\nprecision ='
        ' "float16"\nbackends = ["webgl"]\n'
    )
    recipe = parsed("known")
    assert (recipe.batch_size, recipe.precision, recipe.name) == (4, "float16", "known")
    assert parsed("known", "--batch-size", "1").batch_size == 1
    assert parsed("known", "--precision", "float32").precision == "float32"


SOURCES = {
    "script": 'source = { script = "make.py", function = "save" }\n',
    "file": 'source = "model.bin"\n',
}
TOML: dict[str, tuple[str, dict[str, Any]]] = {
    "source": ("", {"source": PathSource(Path("model.bin"))}),
    "source_format": ('source_format = "onnx"', {"source_format": "onnx"}),
    "input_shapes": ('input_shapes = { x = [1, "T"] }', {"input_shapes": {"x": (1, "T")}}),
    "sample_sizes": ("sample_sizes = { T = 5 }", {"sample_sizes": {"T": 5}}),
    "batch_size": ("batch_size = 3", {"batch_size": 3}),
    "backends": ('backends = ["js", "webgpu"]', {"backends": ("webgpu", "js")}),
    "encodings": ('encodings = ["int8", "float16"]', {"encodings": ("float16", "int8")}),
    "labels": ('labels = ["a", "b"]', {"labels": ("a", "b")}),
    "inputs": (
        'inputs = { x = { color = "BGR", mean = 2 } }',
        {"images": {"x": ImageInput(color="BGR", mean=2.0)}},
    ),
    "plugins": ('plugins = ["p.py"]', {"plugins": (Path("p.py"),)}),
    "operators": ('operators = ["o.py"]', {"operators": (Path("o.py"),)}),
    "reads": ('reads = ["../data"]', {"reads": (Path("../data"),)}),
    "trust_source": ("trust_source = true", {"trust_source": True}),
    "parameters": (
        "parameters = { size = 3 }",
        {"source": ExportSource(Path("make.py"), "save", {"size": 3})},
    ),
    "dims": ('dims = { N = 3, M = "K" }', {"dims": {"N": 3, "M": "K"}}),
    "format": ('format = "single"', {"form": Form("single")}),
    "hashed": ("hashed = true", {"form": Form(hashed=True)}),
    "package": ('package = { license = "MIT" }', {"form": Form(package={"license": "MIT"})}),
    "values": ("values = { a = [1, 2] }", {"values": {"a": [1, 2]}}),
    "signature": ('signature = "serve"', {"signature": "serve"}),
    "from_layers": ('from_layers = ["a"]', {"from_layers": ("a",)}),
    "to_layers": ('to_layers = ["b"]', {"to_layers": ("b",)}),
    "reference": ('reference = "r.npz"', {"reference": Path("r.npz")}),
    "winograd": ('winograd = "off"', {"winograd": False}),
    "precision": (
        'precision = "float16"\nbackends = ["webgl"]',
        {"precision": "float16", "backends": ("webgl",)},
    ),
    "tuned": ('tuned = "tuned.json"', {"tuned": Path("tuned.json")}),
    "on_request": ("on_request = true", {"on_request": True}),
}


def test_every_key_has_a_row() -> None:
    assert TOML.keys() | {"tolerances"} == set(KEYS)


@pytest.mark.parametrize("key", TOML)
def test_a_key_changes_the_recipe(key: str, tmp_path: Path) -> None:
    text, wanted = TOML[key]
    source = "script" if key == "parameters" else "file"
    place = tmp_path / "m" / "recipe.toml"
    before, after = (
        parse_recipe("m", tomllib.loads(SOURCES[source] + more), place) for more in ("", text)
    )
    if key == "source":
        assert before.source == PathSource(place.parent / "model.bin")
        return
    found = changes(before, after)
    if key == "parameters":
        wanted = {"source": ExportSource(place.parent / "make.py", "save", {"size": 3})}
    assert found == {name: absolute(value, place.parent) for name, value in wanted.items()}


def test_tolerances_of_a_recipe_join_the_usual_ones(tmp_path: Path) -> None:
    data = {"source": "model.bin", "tolerances": {"int8": 0.5}}
    recipe, usual = (
        parse_recipe("m", given, tmp_path / "recipe.toml")
        for given in (data, {"source": "model.bin"})
    )
    assert recipe.tolerance("js", "int8") == 0.5
    assert recipe.tolerance("js", "float32") == usual.tolerance("js", "float32")


NOT_OF_DIFF = {
    *("name", "backend", "precision", "batch_size", "input_shape", "dim"),
    *("winograd", "tuned", "tolerance", "image", "labels"),
}
"""What the manifest of the bundle states, and what does not change the framework's outputs."""


@pytest.mark.parametrize("option", [option for option in ROWS if option not in NOT_OF_DIFF])
def test_what_a_bundle_is_compared_with_is_built_as_it_was(
    option: str, parsed: Parsed, tmp_path: Path
) -> None:
    """`diff` makes the recipe anew of its own options and of the bundle's manifest."""
    (source, *before), given, wanted = ROWS[option]
    parser = argparse.ArgumentParser(allow_abbrev=False)
    diff.add_arguments(parser)
    tensors = [
        {"name": "x", "shape": [4, "T"]},
        {"name": "noise", "shape": [2], "distribution": {}},
    ]
    manifest = {
        "name": "m",
        "backends": {"js": {}, "webgl": {"precision": "float16"}},
        "inputs": tensors,
        "encoding": "float32",
    }
    with Engine(tmp_path / "state", cache=tmp_path / "cache") as engine:
        recipe, changed = (
            diff._actions(
                parser.parse_args(["bundle", "--source", source, *before, *more]),
                manifest,
                engine,
                "",
            ).recipe
            for more in ((), given)
        )
    assert (recipe.name, recipe.backends, recipe.precision) == ("m", ("webgl", "js"), "float16")
    assert recipe.input_shapes == {"x": (4, "T")}
    assert changes(recipe, changed) == {
        name: absolute(value, tmp_path) for name, value in wanted.items()
    }


@pytest.mark.parametrize("given", [(), ("--reference", "here.npz")], ids=["recorded", "elsewhere"])
def test_a_model_of_the_project_is_compared_with_its_recipe(
    given: tuple[str, ...], parsed: Parsed, tmp_path: Path
) -> None:
    (tmp_path / "models" / "m").mkdir(parents=True)
    (tmp_path / "models" / "m" / "recipe.toml").write_text(
        'source = "../../model.onnx"\nreference = "own.npz"\nwinograd = "off"\n'
    )
    parser = argparse.ArgumentParser(allow_abbrev=False)
    diff.add_arguments(parser)
    manifest = {
        "name": "m",
        "backends": {"js": {}},
        "inputs": [{"name": "x", "shape": [4, 4]}],
        "encoding": "float32",
    }
    with Engine(tmp_path / "state", cache=tmp_path / "cache") as engine:
        recipe = diff._actions(parser.parse_args(["bundle", *given]), manifest, engine, "").recipe
    assert (recipe.winograd, recipe.input_shapes) == (False, {"x": (4, 4)})
    assert recipe.reference == (
        tmp_path / "here.npz" if given else Path("models/m/own.npz").absolute()
    )


def test_options_of_init_are_written_to_the_recipe(parsed: Parsed, tmp_path: Path) -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    init.add_arguments(parser)
    root = tmp_path / "app"
    root.mkdir()
    words = [
        "model.onnx",
        "--name",
        "net",
        "--source-format",
        "onnx",
        "--plugin",
        "app/p.py",
        "--trust-source",
    ]
    given = init.given_model(root, parser.parse_args(words))
    (text,) = (
        item.data.decode() for item in given.files if item.path == Path("models/net/recipe.toml")
    )
    said = {
        "source": "model.onnx",
        "source_format": "onnx",
        "plugins": ["../../p.py"],
        "trust_source": True,
    }
    assert tomllib.loads(text) == said
    assert (given.recipe.name, given.recipe.plugins, given.recipe.trust_source) == (
        "net",
        (root / "p.py",),
        True,
    )
    (root / "makes.py").write_text("")
    made = init.given_model(root, parser.parse_args(["makes:net", "--trust-source"]))
    assert tomllib.loads(made.files[0].data.decode()) == {
        "source": "makes:net",
        "trust_source": True,
    }
    assert (made.recipe.name, made.recipe.trust_source) == ("net", True)


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("there", [None, b"mine", b"new"])
def test_init_overwrites_existing_files_only_with_force(
    there: bytes | None, force: bool, dry: bool, tmp_path: Path
) -> None:
    path = tmp_path / "page.js"
    if there is not None:
        path.write_bytes(there)
    told = init_changes.apply(
        tmp_path, init_changes.Addition(Path("page.js"), b"new"), force=force, dry=dry
    )
    writes = not dry and (there is None or force)
    left = path.read_bytes() if path.exists() else None
    assert left == (b"new" if writes else there)
    assert ("kept" in told) == (there == b"mine" and not force)
    assert ("would" in told) == (dry and there != b"new" and (there is None or force))


def test_a_dry_run_of_init_changes_no_file(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}\n")
    change = init_changes.Amendment(
        Path("package.json"), lambda text: text + "more\n", "scripts", ""
    )
    assert "would change" in init_changes.apply(tmp_path, change, force=False, dry=True)
    assert (tmp_path / "package.json").read_text() == "{}\n"
    assert "changed" in init_changes.apply(tmp_path, change, force=False, dry=False)
    assert (tmp_path / "package.json").read_text() == "{}\nmore\n"


def test_a_model_is_inspected_as_it_is_built(parsed: Parsed, webkiln: Any) -> None:
    done = webkiln(
        "inspect",
        "model.onnx",
        "--json",
        "--dim",
        "N=5",
        "--value",
        "factor=2.5",
        "--name",
        "other",
    )
    found = json.loads(done.stdout)
    assert [(item["name"], item["shape"]) for item in found["inputs"]] == [("x", [5, 4])]
    assert (found["name"], found["format"], found["converts"]) == ("other", "onnx", True)
