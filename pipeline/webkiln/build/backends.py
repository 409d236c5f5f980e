"""The backends of a bundle: those of the recipe that can be built here, and those that a command
requests.
"""

import functools
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from webkiln import canonical
from webkiln.backends import compilers
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.errors import ToolError
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.values import BACKENDS, WASM_VARIANTS


def backends_of(
    recipe: Recipe, requested: Sequence[str] | None, folder: Path, *, keep: bool
) -> tuple[str, ...]:
    """The backends of the bundle in `folder`: the requested ones, or those of the recipe.

    Requested backends do not remove backends of the recipe that the bundle already has. `keep` also
    retains backends that it has from an earlier `backend=`, for commands that verify or describe
    what is published.
    """
    if requested is None and not keep:
        return recipe.backends
    published = set(present(folder))
    kept = {
        *(requested or recipe.backends),
        *(published if keep else published & {*recipe.backends}),
    }
    return tuple(backend for backend in BACKENDS if backend in kept)


def present(folder: Path) -> list[str]:
    """The backends of the bundle in a folder; none where there is no bundle."""
    try:
        listed = canonical.read(folder / "manifest.json")["backends"]
        return [name for name in BACKENDS if name in listed]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def missing_compilers() -> list[str]:
    """One line that says why the wasm backend has no compiler, and how to install one; empty if it
    has one.
    """
    names = ("PATH", "EMSDK", compilers.VARIABLE)
    return [*_missing_compilers(*(os.environ.get(name) for name in names))]


@functools.cache
def _missing_compilers(*_: str | None) -> Sequence[str]:
    """Cached by the values of the variables that locate compilers."""
    try:
        compilers.choose()
    except ToolError as error:
        return [str(error)]
    return []


def buildable(engine: Engine, graph: ModelGraph, choice: Selection) -> Selection:
    """The selection as it can be built here: without wasm, if neither compilers nor the cache
    provide it and there are other backends.
    """
    others = tuple(backend for backend in choice.backends if backend != "wasm")
    if (
        engine.fleet is not None
        or not others
        or others == choice.backends
        or not missing_compilers()
        or engine.available(graph.empty_copy().bundle(choice))
    ):
        return choice
    if all(engine.available(graph.link(variant, choice)) for variant in WASM_VARIANTS):
        return choice
    return replace(choice, backends=others)
