"""The format of the source of a recipe: from the recipe, from the bytes of the file, or from the
suffix of its name.
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
    """The format of a recipe's source. Raises RecipeError for options that this format does not
    have.
    """
    source_format = _format(recipe)
    for option, is_set, advice in (
        (
            "values",
            bool(recipe.inputs.values),
            "inputs cannot be fixed in it; make them constants of the model",
        ),
        (
            "cut",
            bool(recipe.reading.from_layers or recipe.reading.to_layers),
            "subgraphs cannot be selected (from_layers, to_layers)",
        ),
        ("signature", bool(recipe.reading.signature), "it has no signatures to choose from"),
        (
            "weights",
            isinstance(recipe.source, PathSource) and recipe.source.weights is not None,
            "its weights are part of it",
        ),
        (
            "modules",
            isinstance(recipe.source, ModuleSource),
            "functions cannot return one; write a file in an export script",
        ),
        (
            "module_weights",
            module_weights(recipe) is not None,
            "the function that returns the model also sets its weights",
        ),
        (
            "batch_size",
            recipe.inputs.batch_size != 1,
            "it has no batch axis to set; set sizes by dims or input_shapes",
        ),
    ):
        if is_set and not source_format.accepts(option):
            others = ", ".join(row.title for row in FORMATS if row.accepts(option))
            raise RecipeError(
                f"{recipe.name}: its source is {source_format.title}, and {advice}; {option} is"
                f" for {others}"
            )
    return source_format


def _format(recipe: Recipe) -> ModelFormat:
    if recipe.reading.format:
        return BY_NAME[choose("source_format", [recipe.reading.format], BY_NAME, recipe.name)[0]]
    match recipe.source:
        case PathSource(path, weights):
            return _format_of_path(path, weights)
        case UrlSource(url):
            return format_of_name(url.partition("?")[0])
    option = "modules" if module_weights(recipe) is None else "module_weights"
    return next(row for row in FORMATS if row.accepts(option))


def _format_of_path(path: Path, weights: Path | None) -> ModelFormat:
    """The format of a file. One that is not recognised alone may be half of a model, whose other
    half is its weights.
    """
    if not path.exists() or (
        weights is not None and isinstance(recognise_format(path), UnsupportedFormat)
    ):
        return format_of_name(path.name)
    return format_of_file(path)
