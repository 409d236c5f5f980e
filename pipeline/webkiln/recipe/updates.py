"""How the values of options change a recipe."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln.recipe import checks
from webkiln.recipe.images import parse_image
from webkiln.recipe.recipe import LabelsFile, Recipe, with_parameters
from webkiln.recipe.sources import parse_url
from webkiln.recipe.values import (
    TOLERANCES,
    choose,
)

Update = Callable[[Recipe, Any, Path, str], Recipe]
"""(recipe, value, folder of relative paths, where the value was given) -> the changed recipe."""


def _with(recipe: Recipe, field: str, value: Any) -> Recipe:
    changes: dict[str, Any] = {field: value}
    return replace(recipe, **changes)


def assign(field: str) -> Update:
    return lambda recipe, value, folder, where: _with(recipe, field, value)


def merge(field: str) -> Update:
    return lambda recipe, value, folder, where: _with(
        recipe, field, {**getattr(recipe, field), **value}
    )


def assign_path(field: str) -> Update:
    return lambda recipe, value, folder, where: _with(recipe, field, folder / value)


def append_paths(field: str) -> Update:
    return lambda recipe, value, folder, where: _with(
        recipe, field, (*getattr(recipe, field), *(folder / item for item in value))
    )


def layers(field: str) -> Update:
    return lambda recipe, value, folder, where: _with(recipe, field, tuple(dict.fromkeys(value)))


def choose_from(field: str, what: str, valid: Sequence[str]) -> Update:
    return lambda recipe, value, folder, where: _with(
        recipe, field, choose(what, value, valid, where)
    )


def form(field: str) -> Update:
    def apply(recipe: Recipe, value: Any, folder: Path, where: str) -> Recipe:
        changes: dict[str, Any] = {field: value}
        return replace(recipe, form=replace(recipe.form, **changes))

    return apply


def package(recipe: Recipe, value: Any, folder: Path, where: str) -> Recipe:
    return replace(recipe, form=replace(recipe.form, package={**recipe.form.package, **value}))


def input_shapes(recipe: Recipe, value: Any, folder: Path, where: str) -> Recipe:
    shapes = {name: tuple(shape) for name, shape in value.items()}
    return replace(recipe, input_shapes={**recipe.input_shapes, **shapes})


def tolerances(recipe: Recipe, value: Any, folder: Path, where: str) -> Recipe:
    if value:
        choose("encoding in tolerances", value.keys(), TOLERANCES, where)
    bounds = {name: float(bound) for name, bound in value.items()}
    return replace(recipe, tolerances={**recipe.tolerances, **bounds})


def labels(recipe: Recipe, value: Any, folder: Path, where: str) -> Recipe:
    if checks.is_labels_file(value):
        file = LabelsFile(parse_url(value, f"{where}: labels"), dict(value.get("when", {})))
        return replace(recipe, labels=file)
    if isinstance(value, dict):
        named = {name: tuple(names) for name, names in value.items()}
        return replace(recipe, labels=named)
    return replace(recipe, labels=tuple(value))


def images(recipe: Recipe, value: Any, folder: Path, where: str) -> Recipe:
    images = {name: parse_image(table, f"{where}: inputs.{name}") for name, table in value.items()}
    return replace(recipe, images={**recipe.images, **images})


def parameters(recipe: Recipe, value: Any, folder: Path, where: str) -> Recipe:
    return with_parameters(recipe, value)
