"""Commands that read the options of a source: diff, init and inspect."""

import argparse
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import Parsed
from tests.commands.option_rows import ROWS, absolute, changes
from webkiln.build.engine import Engine
from webkiln.commands import changes as init_changes
from webkiln.commands import diff, init

NOT_OF_DIFF = {
    *("name", "backend", "precision", "batch_size", "input_shape", "dim"),
    *("winograd", "tuned", "tolerance", "image", "labels", "float16", "products", "caches"),
    "subgroup_matrices",
}
"""Options that the manifest of the bundle determines, or that do not change the outputs of the
framework.
"""


@pytest.mark.parametrize("option", [option for option in ROWS if option not in NOT_OF_DIFF])
def test_diff_rebuilds_the_model_with_the_options_of_the_bundle(
    option: str, parsed: Parsed, tmp_path: Path
) -> None:
    """`diff` derives the recipe from its own options and the manifest of the bundle."""
    (source, *before), arguments, expected = ROWS[option]
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
                parser.parse_args(["bundle", "--source", source, *before, *optional]),
                manifest,
                engine,
                "",
            ).recipe
            for optional in ((), arguments)
        )
    assert (recipe.name, recipe.backends, recipe.computation.precision) == (
        "m",
        ("webgl", "js"),
        "float16",
    )
    assert recipe.inputs.shapes == {"x": (4, "T")}
    assert changes(recipe, changed) == {
        name: absolute(value, tmp_path) for name, value in expected.items()
    }


@pytest.mark.parametrize(
    "arguments", [(), ("--reference", "here.npz")], ids=["recorded", "elsewhere"]
)
def test_a_model_of_the_project_is_compared_with_its_recipe(
    arguments: tuple[str, ...], parsed: Parsed, tmp_path: Path
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
        recipe = diff._actions(
            parser.parse_args(["bundle", *arguments]), manifest, engine, ""
        ).recipe
    assert (recipe.computation.winograd, recipe.inputs.shapes) == (False, {"x": (4, 4)})
    assert recipe.verification.reference == (
        tmp_path / "here.npz" if arguments else Path("models/m/own.npz").absolute()
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
    model = init.model_setup(root, parser.parse_args(words))
    (text,) = (
        item.data.decode() for item in model.files if item.path == Path("models/net/recipe.toml")
    )
    expected = {
        "source": "model.onnx",
        "source_format": "onnx",
        "plugins": ["../../p.py"],
        "trust_source": True,
    }
    assert tomllib.loads(text) == expected
    assert (
        model.recipe.name,
        model.recipe.user_code.plugins,
        model.recipe.user_code.trust_source,
    ) == (
        "net",
        (root / "p.py",),
        True,
    )
    (root / "makes.py").write_text("")
    returned = init.model_setup(root, parser.parse_args(["makes:net", "--trust-source"]))
    assert tomllib.loads(returned.files[0].data.decode()) == {
        "source": "makes:net",
        "trust_source": True,
    }
    assert (returned.recipe.name, returned.recipe.user_code.trust_source) == ("net", True)


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("existing", [None, b"mine", b"new"])
def test_init_overwrites_existing_files_only_with_force(
    existing: bytes | None, force: bool, dry: bool, tmp_path: Path
) -> None:
    path = tmp_path / "page.js"
    if existing is not None:
        path.write_bytes(existing)
    printed = init_changes.apply(
        tmp_path, init_changes.Addition(Path("page.js"), b"new"), force=force, dry=dry
    )
    writes = not dry and (existing is None or force)
    content = path.read_bytes() if path.exists() else None
    assert content == (b"new" if writes else existing)
    assert ("kept" in printed) == (existing == b"mine" and not force)
    assert ("would" in printed) == (dry and existing != b"new" and (existing is None or force))


def test_a_dry_run_of_init_changes_no_file(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}\n")
    change = init_changes.Amendment(
        Path("package.json"), lambda text: text + "more\n", "scripts", ""
    )
    assert "would change" in init_changes.apply(tmp_path, change, force=False, dry=True)
    assert (tmp_path / "package.json").read_text() == "{}\n"
    assert "changed" in init_changes.apply(tmp_path, change, force=False, dry=False)
    assert (tmp_path / "package.json").read_text() == "{}\nmore\n"


def test_inspect_uses_the_options_of_a_build(parsed: Parsed, webkiln: Any) -> None:
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
    inspected = json.loads(done.stdout)
    assert [(item["name"], item["shape"]) for item in inspected["inputs"]] == [("x", [5, 4])]
    assert (inspected["name"], inspected["format"], inspected["converts"]) == (
        "other",
        "onnx",
        True,
    )
