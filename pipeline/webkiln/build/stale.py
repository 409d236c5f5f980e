"""Outputs of this checkout that no recipe produces any more."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from webkiln.build.publication_record import claimed
from webkiln.build.state import TreeState
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.values import BACKENDS, ENCODINGS

LAYERS = "layers"


def stale_bundles(state: TreeState, dist: Path, recipes: Mapping[str, Recipe]) -> Iterator[Path]:
    """The folders in `dist` of bundles that this checkout built for a recipe that is gone, or in an
    encoding that its recipe does not list.
    """
    for path in sorted(state.root.glob("*/bundle*.json")):
        model, (_, *detail) = path.parent.name, path.stem.split(".")
        folder = dist / "-".join((model, *detail))
        recipe = recipes.get(model)
        encoding = next((part for part in detail if part != LAYERS), "float32")
        wanted = recipe is not None and encoding in recipe.bundle.encodings
        if not wanted and "manifest.json" in claimed(folder):
            yield folder


def stale_manifests(state: TreeState, recipes: Mapping[str, Recipe]) -> Iterator[Path]:
    """The manifests of tasks of a recipe that is gone, or of an encoding or a backend that its
    recipe does not list. They keep results alive in the cache.
    """
    for path in sorted(state.root.glob("*/*.json")):
        recipe = recipes.get(path.parent.name)
        if recipe is None or set(path.stem.split(".")) & _unlisted(recipe):
            yield path


def _unlisted(recipe: Recipe) -> set[str]:
    return {*ENCODINGS, *BACKENDS} - {*recipe.bundle.encodings, *recipe.backends}
