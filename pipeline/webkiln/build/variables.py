"""The variables of a doit command, and what they ask for."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from webkiln.backends import compilers
from webkiln.build import progress
from webkiln.build.backends import backends_of, buildable, missing_compilers
from webkiln.build.engine import Engine
from webkiln.build.graph import BROWSERS, ModelGraph, Selection
from webkiln.build.package_installer import install_and_restart
from webkiln.errors import RecipeError
from webkiln.recipe.options import OPTIONS
from webkiln.recipe.recipe import Recipe, with_parameters
from webkiln.recipe.sources import ExportSource, ModuleSource
from webkiln.recipe.values import BACKENDS, ENCODINGS, choose

VARIABLES: Mapping[str, str] = {
    "model": "the models to build; default: all whose recipe does not say on_request",
    **{option.variable: option.help for option in OPTIONS if option.variable},
    "browser": "the browsers that verify bundles; default: chromium",
    "layers": "yes: bundles that also return the output of every layer",
    "weights": "the parameter `weights` of a recipe's function, such as random",
    "force": "yes: overwrite files in dist/ that no build wrote, or that have changed since",
}
"""The variables of doit, with their help."""


@dataclass(frozen=True, slots=True)
class Variables:
    """The `name=value` arguments of a doit command, checked."""

    models: Mapping[str, Recipe]
    backends: tuple[str, ...] | None
    encodings: tuple[str, ...] | None
    browsers: tuple[str, ...]
    layers: bool
    force: bool = False
    keep_backends: bool = False
    """Retain the backends of published bundles that neither the recipe nor `backend=` names."""


def read_variables(given: Mapping[str, str], recipes: Mapping[str, Recipe]) -> Variables:
    for name in given:
        choose("variable", [name], VARIABLES)
    lists = {name: tuple(filter(None, value.split(","))) for name, value in given.items()}
    unasked = tuple(name for name, recipe in recipes.items() if not recipe.on_request)
    models = choose("model", lists["model"], recipes.keys()) if "model" in lists else unasked
    if not models:
        raise RecipeError("no models: a model is a folder with a recipe.toml")
    layers, force = (
        choose(f"value of {name}", lists.get(name, ("no",)), ("no", "yes"))
        for name in ("layers", "force")
    )
    return Variables(
        models={name: _weighted(recipes[name], given.get("weights")) for name in models},
        backends=choose("backend", lists["backend"], BACKENDS) if "backend" in lists else None,
        encodings=choose("encoding", lists["encoding"], ENCODINGS) if "encoding" in lists else None,
        browsers=choose("browser", lists["browser"], BROWSERS)
        if "browser" in lists
        else BROWSERS[:1],
        layers="yes" in layers,
        force="yes" in force,
    )


def _weighted(recipe: Recipe, weights: str | None) -> Recipe:
    """The recipe with `weights` for that parameter of the function that makes the model, if it has
    it.
    """
    source = recipe.source
    takes = isinstance(source, ExportSource | ModuleSource) and "weights" in source.parameters
    return (
        with_parameters(recipe, {"weights": weights}) if weights is not None and takes else recipe
    )


def destination(model: str, choice: Selection) -> Path:
    """`dist/<model>`, or `dist/<model>-<encoding>`, and `-layers` where layers are kept."""
    return Path("dist") / (model + choice.suffix.replace(":", "-"))


def choice_of(engine: Engine, graph: ModelGraph, encoding: str, variables: Variables) -> Selection:
    """What is built in one encoding. Where compilers are missing, and the cache has no result of
    theirs, wasm is left out unless it was asked for, or a compiler is installed
    (`WEBKILN_INSTALL`).
    """
    recipe = graph.recipe
    folder = destination(recipe.name, Selection((), encoding, variables.layers))
    backends = backends_of(recipe, variables.backends, folder, keep=variables.keep_backends)
    choice = Selection(backends, encoding, variables.layers)
    possible = choice if "wasm" in (variables.backends or ()) else buildable(engine, graph, choice)
    if possible != choice:
        if compilers.forced() in {None, "zig"}:
            install_and_restart([compilers.PACKAGE], engine.close)
        progress.warn("; ".join([f"{folder} is built without wasm", *missing_compilers()]))
    return possible
