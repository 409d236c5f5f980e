"""Which format the source of a recipe has: as the recipe says, by the bytes of a file, by the end
of a name.
"""

from pathlib import Path

from webkiln.build.format_parameters import module_weights
from webkiln.errors import RecipeError
from webkiln.frontends.core.formats import (
    BY_NAME,
    FORMATS,
    format_of_file,
    format_of_name,
    recognise_format,
)
from webkiln.frontends.core.model_format import ModelFormat
from webkiln.frontends.core.unsupported_formats import UnsupportedFormat
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import ModuleSource, PathSource, UrlSource
from webkiln.recipe.values import choose


def format_of(recipe: Recipe) -> ModelFormat:
    """The format of what a recipe builds; RecipeError where it says what that format does not have."""
    found = _format(recipe)
    for option, given, advice in (
        ("dims", bool(recipe.dims), "sizes have no names there; use input_shapes"),
        (
            "values",
            bool(recipe.values),
            "inputs cannot be fixed there; make them constants of the model",
        ),
        (
            "cut",
            bool(recipe.from_layers or recipe.to_layers),
            "a part of it cannot be built (from_layers, to_layers)",
        ),
        ("signature", bool(recipe.signature), "it has no signatures to choose from"),
        (
            "weights",
            isinstance(recipe.source, PathSource) and recipe.source.weights is not None,
            "its weights are in it",
        ),
        (
            "modules",
            isinstance(recipe.source, ModuleSource),
            "functions cannot return one; write a file in an export script",
        ),
        (
            "module_weights",
            module_weights(recipe) is not None,
            "the function that makes the model also gives it its weights",
        ),
        (
            "batch_size",
            recipe.batch_size != 1,
            "no axis is left out there; set sizes by dims or input_shapes",
        ),
    ):
        if given and not found.accepts(option):
            others = ", ".join(row.title for row in FORMATS if row.accepts(option))
            raise RecipeError(
                f"{recipe.name}: its source is {found.title}, and {advice}; {option} is for"
                f" {others}"
            )
    return found


def _format(recipe: Recipe) -> ModelFormat:
    if recipe.source_format:
        return BY_NAME[choose("source_format", [recipe.source_format], BY_NAME, recipe.name)[0]]
    match recipe.source:
        case PathSource(path, weights):
            return _format_of_path(path, weights)
        case UrlSource(url):
            return format_of_name(url.partition("?")[0])
    taken = "modules" if module_weights(recipe) is None else "module_weights"
    return next(row for row in FORMATS if row.accepts(taken))


def _format_of_path(path: Path, weights: Path | None) -> ModelFormat:
    """What a file is; one that is not read alone may be half of a model, whose other half is its
    weights.
    """
    if not path.exists() or (
        weights is not None and isinstance(recognise_format(path), UnsupportedFormat)
    ):
        return format_of_name(path.name)
    return format_of_file(path)
