"""Which format the source of a recipe has: as the recipe says, by the bytes of a file, by the end of a name."""

from webkiln.errors import RecipeError
from webkiln.frontends.foreign import ForeignFormat
from webkiln.frontends.formats import BY_NAME, FORMATS, format_of_file, format_of_name, recognise
from webkiln.frontends.keras.format import KERAS
from webkiln.frontends.model_format import ModelFormat
from webkiln.frontends.torch.format import TORCH
from webkiln.recipe import ModuleSource, PathSource, Recipe, UrlSource, choose


def format_of(recipe: Recipe) -> ModelFormat:
    """The format of what a recipe builds; RecipeError where it says what that format does not have."""
    found = _format(recipe)
    for option, given, advice in (
        ("dims", bool(recipe.dims), "sizes have no names there; use input_shapes"),
        ("values", bool(recipe.values), "inputs cannot be fixed there; make them constants of the model"),
        ("cut", bool(recipe.from_layers or recipe.to_layers), "a part of it cannot be built (from_layers, to_layers)"),
        ("signature", bool(recipe.signature), "it has no signatures to choose from"),
        ("weights", isinstance(recipe.source, PathSource) and recipe.source.weights is not None, "its weights are in it"),
        ("module_weights", _module_weights(recipe), "the function that makes the model also gives it its weights"),
        ("batch_size", recipe.batch_size != 1, "no axis is left out there; set sizes by dims or input_shapes"),
    ):
        if given and not found.takes_anywhere(option):
            others = ", ".join(row.title for row in FORMATS if row.takes_anywhere(option))
            raise RecipeError(f"{recipe.name}: its source is {found.title}, and {advice}; {option} is for {others}")
    return found


def _module_weights(recipe: Recipe) -> bool:
    return isinstance(recipe.source, ModuleSource) and recipe.source.weights is not None


def _format(recipe: Recipe) -> ModelFormat:
    if recipe.source_format:
        return BY_NAME[choose("source_format", [recipe.source_format], BY_NAME, recipe.name)[0]]
    match recipe.source:
        case PathSource(path, weights) if not path.exists() or (weights is not None and isinstance(recognise(path), ForeignFormat)):
            return format_of_name(path.name)
        case PathSource(path):
            return format_of_file(path)
        case UrlSource(url):
            return format_of_name(url.partition("?")[0])
    return TORCH if _module_weights(recipe) else KERAS
