"""The arguments of a format's stages from a recipe, by the names in `ModelFormat.parameters`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webkiln.build.action import Folder, Input, Local, Modules
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import ModuleSource, PathSource

CONFIGS = ("quantize_config.json", "quant_config.json", "config.json")
"""Files of settings of quantized weights, the most specific first."""


def companion(weights: Path) -> str:
    """The name of a weights file in the build. It does not depend on the file's own name."""
    return f"weights{weights.suffix}"


@dataclass(frozen=True)
class StageArguments:
    """Inputs, parameters, and user files that run as code."""

    inputs: Mapping[str, Input] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    code: tuple[Path, ...] = ()

    def __or__(self, other: "StageArguments") -> "StageArguments":
        return StageArguments(
            {**self.inputs, **other.inputs},
            {**self.params, **other.params},
            (*self.code, *other.code),
        )


def stage_arguments(recipe: Recipe, names: Sequence[str]) -> StageArguments:
    arguments = StageArguments()
    for name in names:
        arguments |= PARAMETERS[name](recipe)
    return arguments


def _plugins(recipe: Recipe) -> StageArguments:
    files = _distinct(recipe.user_code.plugins)
    return StageArguments(
        {"plugins/": Folder(files)} if files else {},
        {"plugins": [name for name, _ in files]},
        recipe.user_code.plugins,
    )


def operators(recipe: Recipe) -> StageArguments:
    files = _distinct(recipe.user_code.operators)
    return StageArguments(
        {"operators/": Folder(files)} if files else {}, {}, recipe.user_code.operators
    )


def _modules(recipe: Recipe) -> StageArguments:
    """The function that returns the model, and its module."""
    source = recipe.source
    if not isinstance(source, ModuleSource):
        return StageArguments()
    params = {
        "module": source.module,
        "function": source.function,
        "parameters": dict(source.parameters),
    }
    return StageArguments({"modules/": Modules(source.root, source.module)}, params)


def module_weights(recipe: Recipe) -> Path | None:
    """The weights file of a model that a function returns."""
    return recipe.source.weights if isinstance(recipe.source, ModuleSource) else None


def _module_weights(recipe: Recipe) -> StageArguments:
    weights = module_weights(recipe)
    return StageArguments({} if weights is None else {"weights": Local(weights)})


def _weights_config(recipe: Recipe) -> StageArguments:
    """The file next to a weights file that says how quantized weights are stored."""
    weights = module_weights(recipe)
    files = () if weights is None else (weights.with_name(name) for name in CONFIGS)
    found = next((path for path in files if path.is_file()), None)
    return StageArguments({} if found is None else {"weights.json": Local(found)})


def _weights(recipe: Recipe) -> StageArguments:
    """The name of the weights file among the companion files."""
    source = recipe.source
    return StageArguments(
        params=(
            {"weights": companion(source.weights)}
            if isinstance(source, PathSource) and source.weights is not None
            else {}
        )
    )


def _cut(recipe: Recipe) -> StageArguments:
    cut = {"from_layers": recipe.reading.from_layers, "to_layers": recipe.reading.to_layers}
    return StageArguments(params={key: list(names) for key, names in cut.items() if names})


def _input_shapes(recipe: Recipe) -> StageArguments:
    return StageArguments(
        params={"input_shapes": {name: list(shape) for name, shape in recipe.inputs.shapes.items()}}
    )


PARAMETERS: Mapping[str, Callable[[Recipe], StageArguments]] = {
    "plugins": _plugins,
    "modules": _modules,
    "module_weights": _module_weights,
    "weights_config": _weights_config,
    "trust": lambda recipe: StageArguments(params={"trust_source": recipe.user_code.trust_source}),
    "weights": _weights,
    "cut": _cut,
    "batch_size": lambda recipe: StageArguments(params={"batch_size": recipe.inputs.batch_size}),
    "input_shapes": _input_shapes,
    "dims": lambda recipe: StageArguments(params={"dims": dict(recipe.inputs.dims)}),
    "values": lambda recipe: StageArguments(
        params={"values": dict(recipe.inputs.values)} if recipe.inputs.values else {}
    ),
    "signature": lambda recipe: StageArguments(
        params={"signature": recipe.reading.signature} if recipe.reading.signature else {}
    ),
    "samples": lambda recipe: StageArguments(
        params={"sample_sizes": dict(sizes)} if (sizes := recipe.verification.sample_sizes) else {}
    ),
}


def _distinct(paths: Sequence[Path]) -> tuple[tuple[str, Path], ...]:
    """Files by name. Equal names from several folders get numbers from the second on."""
    files: dict[str, Path] = {}
    for path in paths:
        name, number = path.name, 1
        while name in files:
            number += 1
            name = f"{path.stem}.{number}{path.suffix}"
        files[name] = path
    return tuple(files.items())
