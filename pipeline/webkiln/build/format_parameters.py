"""What a program of a model format takes of a recipe, by the names that `ModelFormat.parameters` uses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webkiln.build.action import Folder, Input, Local, Modules
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import ModuleSource, PathSource


def companion(weights: Path) -> str:
    """What the file of a model's weights is called in the build, whatever its user calls it."""
    return f"weights{weights.suffix}"


@dataclass(frozen=True)
class Taken:
    """Inputs, parameters, and files of the user's that run as code."""

    inputs: Mapping[str, Input] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    code: tuple[Path, ...] = ()

    def __or__(self, other: "Taken") -> "Taken":
        return Taken(
            {**self.inputs, **other.inputs},
            {**self.params, **other.params},
            (*self.code, *other.code),
        )


def take(recipe: Recipe, names: Sequence[str]) -> Taken:
    found = Taken()
    for name in names:
        found |= TAKEN[name](recipe)
    return found


def _plugins(recipe: Recipe) -> Taken:
    files = _distinct(recipe.plugins)
    return Taken(
        {"plugins/": Folder(files)} if files else {},
        {"plugins": [name for name, _ in files]},
        recipe.plugins,
    )


def operators(recipe: Recipe) -> Taken:
    files = _distinct(recipe.operators)
    return Taken({"operators/": Folder(files)} if files else {}, {}, recipe.operators)


def _modules(recipe: Recipe) -> Taken:
    """A function that returns the model, and where it is."""
    source = recipe.source
    if not isinstance(source, ModuleSource):
        return Taken()
    params = {
        "module": source.module,
        "function": source.function,
        "parameters": dict(source.parameters),
    }
    return Taken({"modules/": Modules(source.root, source.module)}, params)


def module_weights(recipe: Recipe) -> Path | None:
    """The file of weights for the model that a function returns."""
    return recipe.source.weights if isinstance(recipe.source, ModuleSource) else None


def _module_weights(recipe: Recipe) -> Taken:
    weights = module_weights(recipe)
    return Taken({} if weights is None else {"weights": Local(weights)})


def _weights(recipe: Recipe) -> Taken:
    """The file of a model's weights, by its name among the files beside."""
    source = recipe.source
    return Taken(
        params=(
            {"weights": companion(source.weights)}
            if isinstance(source, PathSource) and source.weights is not None
            else {}
        )
    )


def _cut(recipe: Recipe) -> Taken:
    cut = {"from_layers": recipe.from_layers, "to_layers": recipe.to_layers}
    return Taken(params={key: list(names) for key, names in cut.items() if names})


def _input_shapes(recipe: Recipe) -> Taken:
    return Taken(
        params={"input_shapes": {name: list(shape) for name, shape in recipe.input_shapes.items()}}
    )


TAKEN: Mapping[str, Callable[[Recipe], Taken]] = {
    "plugins": _plugins,
    "modules": _modules,
    "module_weights": _module_weights,
    "trust": lambda recipe: Taken(params={"trust_source": recipe.trust_source}),
    "weights": _weights,
    "cut": _cut,
    "batch_size": lambda recipe: Taken(params={"batch_size": recipe.batch_size}),
    "input_shapes": _input_shapes,
    "dims": lambda recipe: Taken(params={"dims": dict(recipe.dims)}),
    "values": lambda recipe: Taken(params={"values": dict(recipe.values)} if recipe.values else {}),
    "signature": lambda recipe: Taken(
        params={"signature": recipe.signature} if recipe.signature else {}
    ),
    "samples": lambda recipe: Taken(
        params={"sample_sizes": dict(recipe.sample_sizes)} if recipe.sample_sizes else {}
    ),
}


def _distinct(paths: Sequence[Path]) -> tuple[tuple[str, Path], ...]:
    """Files by their names; of files of one name in several folders, those after the first are
    numbered.
    """
    found: dict[str, Path] = {}
    for path in paths:
        name, number = path.name, 1
        while name in found:
            number += 1
            name = f"{path.stem}.{number}{path.suffix}"
        found[name] = path
    return tuple(found.items())
