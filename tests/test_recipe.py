from pathlib import Path
from typing import Any

import pytest

from webkiln.errors import RecipeError
from webkiln.recipe import ExportSource, PathSource, UrlSource, parse_recipe, read_recipe, read_recipes, with_parameters

PATH = Path("/models/m/recipe.toml")


def test_a_path_is_all_that_is_needed() -> None:
    recipe = parse_recipe("m", {"source": "m.keras"}, PATH)
    assert recipe.source == PathSource(Path("/models/m/m.keras"))
    assert (recipe.backends, recipe.encodings, recipe.batch_size) == (("wasm", "js"), ("float32",), 1)
    assert recipe.tolerances["float32"] == 1e-4


def test_every_key() -> None:
    data: dict[str, Any] = {
        "source": {"url": "https://example.org/m.keras", "sha256": "0" * 64},
        "input_shapes": {"image": [1, 28, 28, 1]},
        "batch_size": 2,
        "backends": ["js", "wasm"],
        "encodings": ["int8", "float32"],
        "tolerances": {"int8": 0.25},
        "labels": {"scores": ["cat", "dog"]},
        "plugins": ["handlers.py"],
        "trust_source": True,
        "on_request": True,
    }
    recipe = parse_recipe("m", data, PATH)
    assert recipe.source == UrlSource("https://example.org/m.keras", "0" * 64)
    assert recipe.backends == ("wasm", "js"), "the order of a list changes nothing"
    assert recipe.encodings == ("float32", "int8")
    assert recipe.tolerances["int8"] == 0.25
    assert recipe.labels == {"scores": ("cat", "dog")}
    assert recipe.plugins == (Path("/models/m/handlers.py"),)
    assert recipe.trust_source
    assert recipe.on_request


def test_an_export_script_and_its_parameters() -> None:
    source = {"script": "make.py", "function": "save"}
    assert parse_recipe("m", {"source": source}, PATH).source == ExportSource(Path("/models/m/make.py"), "save")
    recipe = parse_recipe("m", {"source": source, "parameters": {"size": 96, "weights": "random"}}, PATH)
    assert recipe.source == ExportSource(Path("/models/m/make.py"), "save", {"size": 96, "weights": "random"})
    changed = with_parameters(recipe, {"size": 32})
    assert changed.source == ExportSource(Path("/models/m/make.py"), "save", {"size": 32, "weights": "random"})
    with pytest.raises(RecipeError, match="m: its source is a file, which takes no parameter size"):
        with_parameters(parse_recipe("m", {"source": "m.keras"}, PATH), {"size": 32})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "unknown key '.nothing.'; valid: source, input_shapes"),
        ({"batch_size": 1}, "the key source is missing"),
        ({"source": "m", "batchsize": 1}, "unknown key 'batchsize'; valid: source, input_shapes, sample_sizes, batch_size"),
        ({"source": "m", "batch_size": 0}, "batch_size is 0, expected a positive integer"),
        ({"source": "m", "batch_size": True}, "expected a positive integer"),
        ({"source": "m", "backends": ["wasn"]}, "unknown backend 'wasn'; valid: webgpu, wasm, webgl, js"),
        ({"source": "m", "backends": "wasm"}, "expected a list of strings"),
        ({"source": "m", "encodings": []}, "no encoding given; valid: float32"),
        ({"source": "m", "tolerances": {"float8": 1}}, "unknown encoding in tolerances 'float8'"),
        ({"source": "m", "input_shapes": {"x": [1, -1]}}, "input_shapes is .* expected a table"),
        ({"source": {"url": "u"}}, "source has the keys url; expected url and sha256"),
        ({"source": {"url": "u", "sha256": "ABC"}}, "expected 64 lower-case hexadecimal digits"),
        ({"source": 3}, "source is 3, expected a path"),
        ({"source": "m", "parameters": {"size": 3}}, "parameters are for a function that makes the model"),
        ({"source": {"script": "m.py", "function": "f"}, "parameters": {"size": [3]}}, "expected a table: name = string, number"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_valid(data: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse_recipe("m", data, PATH)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "m" / "recipe.toml"
    with pytest.raises(RecipeError, match=r"recipe\.toml"):
        read_recipe(path)
    path.parent.mkdir()
    path.write_text("source =")
    with pytest.raises(RecipeError, match="Invalid value"):
        read_recipes(tmp_path)
    with pytest.raises(RecipeError, match="no such folder"):
        read_recipes(tmp_path / "nowhere")
