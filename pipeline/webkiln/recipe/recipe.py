"""Recipes as values: where a model comes from and what is built from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from webkiln.errors import RecipeError
from webkiln.recipe.form import Form, check_form
from webkiln.recipe.images import ImageInput
from webkiln.recipe.sources import ExportSource, ModuleSource, Source, UrlSource
from webkiln.recipe.values import (
    FLOAT16,
    FLOAT16_ARITHMETIC,
    FLOAT16_ARITHMETIC_BACKENDS,
    FLOAT16_BACKENDS,
    HOLDING_BACKENDS,
    TOLERANCES,
    USUAL_BACKENDS,
)


@dataclass(frozen=True, slots=True)
class LabelsFile:
    """Labels that are downloaded.

    The file is a JSON list of names, a JSON object of names by index, or text with one name a line.
    Outputs have these labels if the source's parameters include `when`.
    """

    file: UrlSource
    when: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of one model. Paths are absolute.

    A recipe with `on_request` is built only if its model is named.
    """

    name: str
    source: Source
    source_format: str = ""
    signature: str = ""
    input_shapes: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    sample_sizes: Mapping[str, int] = field(default_factory=dict)
    reference: Path | None = None
    batch_size: int = 1
    backends: tuple[str, ...] = USUAL_BACKENDS
    encodings: tuple[str, ...] = ("float32",)
    tolerances: Mapping[str, float] = field(default_factory=lambda: TOLERANCES)
    labels: Mapping[str, tuple[str, ...]] | tuple[str, ...] | LabelsFile = ()
    images: Mapping[str, ImageInput] = field(default_factory=dict)
    plugins: tuple[Path, ...] = ()
    operators: tuple[Path, ...] = ()
    trust_source: bool = False
    on_request: bool = False
    dims: Mapping[str, int | str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    from_layers: tuple[str, ...] = ()
    to_layers: tuple[str, ...] = ()
    project: Path = field(default_factory=Path.cwd)
    reads: tuple[Path, ...] = ()
    form: Form = field(default_factory=Form)
    winograd: bool = True
    precision: str = "float32"
    float16: str = "held"
    tuned: Path | None = None

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders that user code of the model may read; empty if the model has no such code."""
        files = [*self.plugins, *self.operators]
        if isinstance(self.source, ExportSource):
            files.append(self.source.script)
        folders = [path.parent for path in files]
        if isinstance(self.source, ModuleSource):
            folders.append(self.source.root)
        if not folders and not self.trust_source:
            return ()
        return tuple(dict.fromkeys((self.project, *folders, *self.reads)))

    def stores_float16(self, backend: str) -> bool:
        """Whether a backend stores float16 between layers."""
        return self.precision_of(backend) != "float32"

    def rounds_float16(self, backend: str) -> bool:
        """Whether a backend that could hold float16 tensors as float32 rounds them."""
        return self.float16 == "rounded" and backend in HOLDING_BACKENDS

    def precision_of(self, backend: str) -> str:
        """The recipe's precision, or the closest one that the backend has."""
        if backend not in FLOAT16_BACKENDS:
            return "float32"
        arithmetic = self.precision == FLOAT16_ARITHMETIC
        if arithmetic and backend not in FLOAT16_ARITHMETIC_BACKENDS:
            return FLOAT16
        return self.precision

    def tolerance(self, backend: str, encoding: str) -> float:
        """The largest relative error that verification accepts."""
        bound = self.tolerances[encoding]
        return max(bound, self.tolerances["precision"]) if self.stores_float16(backend) else bound

    @property
    def labels_file(self) -> UrlSource | None:
        """The file of labels to download, if the source's parameters match its `when`."""
        if not isinstance(self.labels, LabelsFile):
            return None
        source = self.source
        parameters = source.parameters if isinstance(source, ExportSource | ModuleSource) else {}
        return self.labels.file if self.labels.when.items() <= parameters.items() else None


def checked(recipe: Recipe, where: str) -> Recipe:
    """The recipe. Raises RecipeError for settings that its form or its backends cannot have."""
    check_form(recipe.form, where)
    arithmetic = recipe.precision == FLOAT16_ARITHMETIC
    able = FLOAT16_ARITHMETIC_BACKENDS if arithmetic else FLOAT16_BACKENDS
    if recipe.precision != "float32" and not set(able) & set(recipe.backends):
        raise RecipeError(
            f"{where}: precision is {recipe.precision!r}, and the backends are"
            f" {', '.join(recipe.backends)}, which compute in float32; add {' or '.join(able)}, or"
            " leave precision out (encoding = 'float16' halves the weights of all)"
        )
    return recipe


def with_parameters(recipe: Recipe, parameters: Mapping[str, Any]) -> Recipe:
    """The recipe with these parameters of its export function, in addition to its own."""
    if not parameters:
        return recipe
    source = recipe.source
    if not isinstance(source, ExportSource | ModuleSource):
        raise RecipeError(
            f"{recipe.name}: its source is a file, which takes no parameter {', '.join(parameters)}"
        )
    return replace(recipe, source=replace(source, parameters={**source.parameters, **parameters}))
