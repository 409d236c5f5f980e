"""Each option that describes the source, and each key of a recipe, changes its part of the recipe
and nothing else.
"""

import argparse
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import Parsed
from tests.commands.option_rows import HERE, ROWS, SOURCES, TOML, absolute, changes
from webkiln.commands import build
from webkiln.errors import RecipeError
from webkiln.recipe.read import KEYS, parse_recipe
from webkiln.recipe.sources import ExportSource, PathSource


def test_every_option_has_a_row() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    build.add_source_arguments(parser)
    assert {action.dest for action in parser._actions} - {"source"} == ROWS.keys()


@pytest.mark.parametrize("option", ROWS)
def test_an_option_changes_the_recipe(option: str, parsed: Parsed, tmp_path: Path) -> None:
    source, arguments, expected = ROWS[option]
    assert changes(parsed(*source), parsed(*source, *arguments)) == {
        name: absolute(value, tmp_path) for name, value in expected.items()
    }


KNOWN: dict[tuple[str, ...], dict[str, Any]] = {
    (): {},
    ("--name", "other"): {"name": "other"},
    ("--signature", "new"): {"reading.signature": "new"},
    ("--backend", "wasm"): {"backends": ("wasm",)},
    ("--dim", "N=3"): {"inputs.dims": {"N": 3, "M": 8}},
    ("--value", "b=2"): {"inputs.values": {"factor": 1.5, "b": 2}},
    ("--value", "factor=2"): {"inputs.values": {"factor": 2}},
    ("--input-shape", "x=3"): {"inputs.shapes": {"other": (1, 2), "x": (3,)}},
    ("--input-shape", "x="): {"inputs.shapes": {"other": (1, 2), "x": ()}},
    ("--from-layer", "b"): {"reading.from_layers": ("b",)},
    ("--to-layer", "c"): {"reading.to_layers": ("c",)},
    ("--reference", "here.npz"): {"verification.reference": HERE},
    ("--reads", "more"): {"user_code.reads": (Path("known/data"), Path("more"))},
    ("--plugin", "p.py"): {"user_code.plugins": (Path("known/plugin.py"), Path("p.py"))},
    ("--operators", "o.py"): {"user_code.operators": (Path("known/operators.py"), Path("o.py"))},
    ("--trust-source",): {"user_code.trust_source": True},
    ("--labels", "scores=names.txt"): {"bundle.labels": {"scores": ("a cat", "dog, big")}},
}
"""The effect of options on a recipe with values of its own."""


@pytest.mark.parametrize("arguments", KNOWN, ids=" ".join)
def test_an_option_extends_or_replaces_the_recipe(
    arguments: tuple[str, ...], parsed: Parsed, tmp_path: Path
) -> None:
    expected = {name: absolute(value, tmp_path) for name, value in KNOWN[arguments].items()}
    assert changes(parsed("known"), parsed("known", *arguments)) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ("--batch-size", "0"),
        ("--weights", "w.h5"),
        ("--dim", "N=3", "--dim", "N=4"),
        ("--dim", "=3"),
        ("--dim", "N=0"),
        ("--value", "a"),
        ("--value", "a=[[1,2],[3]]"),
        ("--value", "=3"),
        ("--input-shape", "x=0"),
        ("--parameter", "size"),
        ("--parameter", "size=3"),
        ("--precision", "float16"),
        ("--precision", "half"),
        ("--batch-size", "x"),
        ("--winograd", "yes"),
        ("--subgroup-matrices", "on"),
        ("--tolerance", "int8=x"),
        ("--tolerance", "int8=0"),
        ("--tolerance", "int9=1"),
        ("--sample-size", "T=0"),
        ("--sample-size", "T"),
        ("--image", "x=crop"),
        ("--image", 'x={fit="cut"}'),
        ("--labels", "nothing.txt"),
        ("--labels", "names.txt", "--labels", "y=names.txt"),
    ],
    ids=" ".join,
)
def test_invalid_option_values_are_errors(arguments: tuple[str, ...], parsed: Parsed) -> None:
    with pytest.raises(RecipeError):
        parsed("known", *arguments)


def test_the_batch_size_of_a_recipe_is_preserved(parsed: Parsed, tmp_path: Path) -> None:
    (tmp_path / "known" / "recipe.toml").write_text(
        'source = "model.bin"\nsource_format = "keras"\nbatch_size = 4\nprecision ='
        ' "float16"\nbackends = ["webgl"]\n'
    )
    recipe = parsed("known")
    assert (recipe.inputs.batch_size, recipe.computation.precision, recipe.name) == (
        4,
        "float16",
        "known",
    )
    assert parsed("known", "--batch-size", "1").inputs.batch_size == 1
    assert parsed("known", "--precision", "float32").computation.precision == "float32"


def test_every_key_has_a_row() -> None:
    assert TOML.keys() | {"tolerances"} == set(KEYS)


@pytest.mark.parametrize("key", TOML)
def test_a_key_changes_the_recipe(key: str, tmp_path: Path) -> None:
    text, expected = TOML[key]
    source = "script" if key == "parameters" else "file"
    path = tmp_path / "m" / "recipe.toml"
    before, after = (
        parse_recipe("m", tomllib.loads(SOURCES[source] + extra), path) for extra in ("", text)
    )
    if key == "source":
        assert before.source == PathSource(path.parent / "model.bin")
        return
    changed = changes(before, after)
    if key == "parameters":
        expected = {"source": ExportSource(path.parent / "make.py", "save", {"size": 3})}
    assert changed == {name: absolute(value, path.parent) for name, value in expected.items()}


def test_tolerances_of_a_recipe_extend_the_defaults(tmp_path: Path) -> None:
    data = {"source": "model.bin", "tolerances": {"int8": 0.5}}
    recipe, default = (
        parse_recipe("m", arguments, tmp_path / "recipe.toml")
        for arguments in (data, {"source": "model.bin"})
    )
    assert recipe.tolerance("js", "int8") == 0.5
    assert recipe.tolerance("js", "float32") == default.tolerance("js", "float32")
