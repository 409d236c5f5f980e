"""Reading `models/<name>/recipe.toml`."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.errors import RecipeError
from webkiln.recipe.checks import is_source
from webkiln.recipe.options import BY_KEY
from webkiln.recipe.recipe import Recipe, UserCode, checked
from webkiln.recipe.sources import parse_source
from webkiln.recipe.values import choose

SOURCE = "source"
KEYS = (SOURCE, *(key for key in BY_KEY if "." not in key))


def read_recipes(folder: Path) -> dict[str, Recipe]:
    """All recipes below a folder, by name."""
    if not folder.is_dir():
        raise RecipeError(
            f"{folder}: no such folder; it should hold one folder per model, each with a"
            " recipe.toml"
        )
    return {path.parent.name: read_recipe(path) for path in sorted(folder.glob("*/recipe.toml"))}


def read_recipe(path: Path) -> Recipe:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RecipeError(f"{path}: {error}") from error
    return parse_recipe(path.parent.name, data, path)


def parse_recipe(name: str, data: Mapping[str, Any], path: Path) -> Recipe:
    """The recipe of a TOML table. Relative paths in it start from the folder of `path`."""
    where = str(path)
    folder = path.parent.absolute()
    choose("key", data.keys() or ["(nothing)"], KEYS, where)
    if SOURCE not in data:
        raise RecipeError(
            f"{where}: the key source is missing: a path, module:function, {{url, sha256}}, or"
            " {script, function}"
        )
    _check(data, where)
    recipe = Recipe(
        name,
        parse_source(data[SOURCE], data.get("parameters", {}), folder, where),
        user_code=UserCode(project=folder.parents[min(1, len(folder.parents) - 1)]),
    )
    for key, option in BY_KEY.items():
        if key in data and key != "parameters":
            recipe = option.update(recipe, data[key], folder, where)
    return checked(recipe, where)


def _check(data: Mapping[str, Any], where: str) -> None:
    if not is_source(data[SOURCE]):
        raise RecipeError(
            f"{where}: source is {data[SOURCE]!r}, expected a path or a table of strings"
        )
    for key, value in data.items():
        if key != SOURCE and not BY_KEY[key].is_valid(value):
            raise RecipeError(f"{where}: {key} is {value!r}, expected {BY_KEY[key].expected}")
