"""Recipes by the names of their fields: `backends`, or `inputs.dims` in a record."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from webkiln.recipe.recipe import (
    Bundle,
    Computation,
    Inputs,
    Reading,
    Recipe,
    UserCode,
    Verification,
)

Record = Reading | Inputs | Computation | Verification | UserCode | Bundle


def fields_of(recipe: Recipe) -> dict[str, Any]:
    """The value of each field."""
    values: dict[str, Any] = {}
    for item in fields(recipe):
        value = getattr(recipe, item.name)
        if isinstance(value, Record):
            values |= {
                f"{item.name}.{part.name}": getattr(value, part.name) for part in fields(value)
            }
        else:
            values[item.name] = value
    return values


def with_fields(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The recipe with other values of some fields."""
    for path, value in changes.items():
        name, _, part = path.partition(".")
        record = getattr(recipe, name)
        change: dict[str, Any] = {name: replace(record, **{part: value}) if part else value}
        recipe = replace(recipe, **change)
    return recipe
