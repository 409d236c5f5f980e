"""How the values of options change a recipe. An update names the field that it changes after the
records that it is in: `assign("reading", "signature")`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln.recipe import checks
from webkiln.recipe import quantization as quantizing
from webkiln.recipe.images import parse_image
from webkiln.recipe.recipe import Bundle, LabelsFile, Recipe, with_parameters
from webkiln.recipe.sources import parse_url
from webkiln.recipe.values import MIXED, TOLERANCES, choose

Update = Callable[[Recipe, Any, Path, str], Recipe]
"""(recipe, value, folder of relative paths, where the value was given) -> the changed recipe."""


def _changed(record: Any, path: Sequence[str], change: Callable[[Any], Any]) -> Any:
    """A record with a change of the field at `path`: its name, after those of enclosing records."""
    name, *rest = path
    value = getattr(record, name)
    changes = {name: _changed(value, rest, change) if rest else change(value)}
    return replace(record, **changes)


def _update(path: Sequence[str], change: Callable[[Any, Any, Path, str], Any]) -> Update:
    """The update by `change`: (the field's value, the option's, folder, where) -> the new one."""

    def update(recipe: Recipe, value: Any, folder: Path, where: str) -> Recipe:
        changed: Recipe = _changed(recipe, path, lambda old: change(old, value, folder, where))
        return changed

    return update


def assign(*path: str) -> Update:
    return _update(path, lambda old, value, folder, where: value)


def assign_switch(*path: str) -> Update:
    return _update(path, lambda old, value, folder, where: value == "on")


def merge(*path: str) -> Update:
    return _update(path, lambda old, value, folder, where: {**old, **value})


def assign_path(*path: str) -> Update:
    return _update(path, lambda old, value, folder, where: folder / value)


def append_paths(*path: str) -> Update:
    return _update(
        path, lambda old, value, folder, where: (*old, *(folder / item for item in value))
    )


def layers(*path: str) -> Update:
    return _update(path, lambda old, value, folder, where: tuple(dict.fromkeys(value)))


def choose_from(*path: str, what: str, valid: Sequence[str]) -> Update:
    return _update(path, lambda old, value, folder, where: choose(what, value, valid, where))


def set_item(key: str, *path: str) -> Update:
    return _update(path, lambda old, value, folder, where: {**old, key: value})


def shapes(*path: str) -> Update:
    return _update(
        path,
        lambda old, value, folder, where: {
            **old,
            **{name: tuple(shape) for name, shape in value.items()},
        },
    )


def tolerances(*path: str) -> Update:
    def change(old: Any, value: Any, folder: Path, where: str) -> Any:
        if value:
            choose("encoding in tolerances", value.keys(), TOLERANCES, where)
        return {**old, **{name: float(bound) for name, bound in value.items()}}

    return _update(path, change)


def labels(*path: str) -> Update:
    def change(old: Any, value: Any, folder: Path, where: str) -> Any:
        if checks.is_labels_file(value):
            return LabelsFile(parse_url(value, f"{where}: labels"), dict(value.get("when", {})))
        if isinstance(value, dict):
            return {name: tuple(names) for name, names in value.items()}
        return tuple(value)

    return _update(path, change)


def images(*path: str) -> Update:
    def change(old: Any, value: Any, folder: Path, where: str) -> Any:
        images = {
            name: parse_image(table, f"{where}: inputs.{name}") for name, table in value.items()
        }
        return {**old, **images}

    return _update(path, change)


def quantization(key: str = "") -> Update:
    """Update the table [quantize], or one key of it."""

    def change(old: Any, value: Any, folder: Path, where: str) -> Any:
        return quantizing.update(old, {key: value} if key else value, folder, where)

    return _update(("bundle", "quantization"), change)


def chosen_by_error(recipe: Recipe, value: Any, folder: Path, where: str) -> Recipe:
    """Set the largest error. An encoding that nobody named is the one that it chooses."""
    recipe = quantization("max_error")(recipe, value, folder, where)
    if recipe.bundle.encodings == Bundle().encodings:
        recipe = _changed(recipe, ("bundle", "encodings"), lambda old: (MIXED,))
    return recipe


def parameters(recipe: Recipe, value: Any, folder: Path, where: str) -> Recipe:
    return with_parameters(recipe, value)
