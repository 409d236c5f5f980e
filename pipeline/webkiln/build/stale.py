"""Outputs that no recipe names any more."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from webkiln.build.published import claimed
from webkiln.build.state import TreeState
from webkiln.recipe import BACKENDS, ENCODINGS, Recipe

LAYERS = "layers"


def stale_bundles(dist: Path, recipes: Mapping[str, Recipe]) -> Iterator[Path]:
    """The folders of bundles in `dist` that belong to no recipe, or to an encoding that its recipe does not list."""
    named = {folder for recipe in recipes.values() for folder in _folders(recipe)}
    for folder in sorted(dist.glob("*/")):
        if folder.name not in named and "manifest.json" in claimed(folder):
            yield folder


def stale_manifests(state: TreeState, recipes: Mapping[str, Recipe]) -> Iterator[Path]:
    """What the tree remembers of tasks of no recipe, or of an encoding or a backend that its recipe does not list. It keeps results alive in the cache."""
    for path in sorted(state.root.glob("*/*.json")):
        recipe = recipes.get(path.parent.name)
        if recipe is None or set(path.stem.split(".")) & _unlisted(recipe):
            yield path


def _folders(recipe: Recipe) -> Iterable[str]:
    for encoding in recipe.encodings:
        name = recipe.name if encoding == "float32" else f"{recipe.name}-{encoding}"
        yield from (name, f"{name}-{LAYERS}")


def _unlisted(recipe: Recipe) -> set[str]:
    return {*ENCODINGS, *BACKENDS} - {*recipe.encodings, *recipe.backends}
