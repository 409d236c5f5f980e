"""What one doit command is about: the recipes and variables that it was given, the engine, and the checkout."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from webkiln.build import progress
from webkiln.build.backends import backends_of, buildable, missing_compilers
from webkiln.build.engine import Engine
from webkiln.build.graph import BROWSERS, ModelGraph, Selection
from webkiln.build.lock import CheckoutLock
from webkiln.build.share import Share
from webkiln.errors import RecipeError
from webkiln.recipe import BACKENDS, ENCODINGS, ExportSource, ModuleSource, Recipe, choose, read_recipes, with_parameters

VARIABLES = ("model", "backend", "encoding", "browser", "layers", "weights", "force")


@dataclass(frozen=True, slots=True)
class Variables:
    """The `name=value` arguments of a doit command, checked."""

    models: Mapping[str, Recipe]
    backends: tuple[str, ...] | None
    encodings: tuple[str, ...] | None
    browsers: tuple[str, ...]
    layers: bool
    force: bool = False


@dataclass(frozen=True)
class Session:
    """`folder` holds the recipes; `given` are the variables of the command line."""

    engine: Engine
    folder: Path
    given: Mapping[str, str]
    lock: CheckoutLock

    @cached_property
    def variables(self) -> Variables:
        """Raises RecipeError where a recipe or a variable is wrong."""
        return read_variables(self.given, self.all_recipes())

    def all_recipes(self) -> Mapping[str, Recipe]:
        """Those of all models, whichever were asked for."""
        return read_recipes(self.folder)

    def read_again(self, share: Share) -> Iterator[tuple[ModelGraph, str, Variables]]:
        """The models that were asked for, in each encoding, as the recipes say now."""
        variables = read_variables(self.given, self.all_recipes())
        for recipe in variables.models.values():
            graph = ModelGraph(recipe, share)
            for encoding in variables.encodings or recipe.encodings:
                yield graph, encoding, variables


def read_variables(given: Mapping[str, str], recipes: Mapping[str, Recipe]) -> Variables:
    for name in given:
        choose("variable", [name], VARIABLES)
    lists = {name: tuple(filter(None, value.split(","))) for name, value in given.items()}
    unasked = tuple(name for name, recipe in recipes.items() if not recipe.on_request)
    models = choose("model", lists["model"], recipes.keys()) if "model" in lists else unasked
    if not models:
        raise RecipeError("no models: a model is a folder with a recipe.toml")
    layers, force = (choose(f"value of {name}", lists.get(name, ("no",)), ("no", "yes")) for name in ("layers", "force"))
    return Variables(
        models={name: _weighted(recipes[name], given.get("weights")) for name in models},
        backends=choose("backend", lists["backend"], BACKENDS) if "backend" in lists else None,
        encodings=choose("encoding", lists["encoding"], ENCODINGS) if "encoding" in lists else None,
        browsers=choose("browser", lists["browser"], BROWSERS) if "browser" in lists else BROWSERS[:1],
        layers="yes" in layers,
        force="yes" in force,
    )


def _weighted(recipe: Recipe, weights: str | None) -> Recipe:
    """The recipe with `weights` for that parameter of the function that makes the model, if it has it."""
    source = recipe.source
    takes = isinstance(source, ExportSource | ModuleSource) and "weights" in source.parameters
    return with_parameters(recipe, {"weights": weights}) if weights is not None and takes else recipe


def destination(model: str, choice: Selection) -> Path:
    """`dist/<model>`, or `dist/<model>-<encoding>`, and `-layers` where layers are kept."""
    return Path("dist") / (model + choice.suffix.replace(":", "-"))


def choice_of(engine: Engine, graph: ModelGraph, encoding: str, variables: Variables) -> Selection:
    """What is built in one encoding. Where compilers are missing, and the cache has no result of theirs, wasm is left out unless it was asked for."""
    recipe = graph.recipe
    folder = destination(recipe.name, Selection((), encoding, variables.layers))
    choice = Selection(backends_of(recipe, variables.backends, folder), encoding, variables.layers)
    possible = choice if "wasm" in (variables.backends or ()) else buildable(engine, graph, choice)
    if possible != choice:
        progress.warn("; ".join([f"{folder} is built without wasm", *missing_compilers()]))
    return possible
