"""Recipes as values: where a model comes from and what is built from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from webkiln.errors import RecipeError
from webkiln.recipe.form import Form, check_form
from webkiln.recipe.images import ImageInput
from webkiln.recipe.quantization import Quantization, check_quantization
from webkiln.recipe.sources import ExportSource, ModuleSource, Source, UrlSource
from webkiln.recipe.values import (
    DOT_BACKENDS,
    FLOAT16,
    FLOAT16_ARITHMETIC,
    FLOAT16_ARITHMETIC_BACKENDS,
    FLOAT16_BACKENDS,
    HOLDING_BACKENDS,
    MATRIX_BACKENDS,
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
class Reading:
    """How a source is read: its `format`, if the file does not show it, and which part of it."""

    format: str = ""
    signature: str = ""
    from_layers: tuple[str, ...] = ()
    to_layers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is known of the inputs before the model runs: sizes that the source leaves open, and
    constant `values`. Sizes that have names in `shapes` and `dims` are set at run time.
    """

    batch_size: int = 1
    shapes: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    dims: Mapping[str, int | str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Computation:
    """How backends compute. `tuned`: the file that `webkiln tune` writes."""

    precision: str = "float32"
    float16: str = "held"
    products: str = "auto"
    caches: str = "float32"
    winograd: bool = True
    matrices: bool = False
    tuned: Path | None = None

    def precision_of(self, backend: str) -> str:
        """The recipe's precision, or the closest one that the backend has."""
        if backend not in FLOAT16_BACKENDS:
            return "float32"
        arithmetic = self.precision == FLOAT16_ARITHMETIC
        if arithmetic and backend not in FLOAT16_ARITHMETIC_BACKENDS:
            return FLOAT16
        return self.precision

    def stores_float16(self, backend: str) -> bool:
        """Whether a backend stores float16 between layers."""
        return self.precision_of(backend) != "float32"

    def rounds_float16(self, backend: str) -> bool:
        """Whether a backend that could hold float16 tensors as float32 rounds them."""
        return self.float16 == "rounded" and backend in HOLDING_BACKENDS

    def matrices_of(self, backend: str) -> bool:
        """Whether a backend may multiply by subgroup matrices."""
        return self.matrices and backend in MATRIX_BACKENDS

    @property
    def rounds_caches(self) -> bool:
        """Whether caches of keys and values are rounded when they are written."""
        return self.caches != "float32"

    def products_of(self, backend: str) -> str:
        """How a backend multiplies weights of 4 and 8 bits."""
        return self.products if backend in DOT_BACKENDS else "exact"


@dataclass(frozen=True, slots=True)
class Verification:
    """What bundles are verified against: `reference`, a file of recorded outputs, or what the
    framework computes, with the sizes `sample_sizes`.
    """

    reference: Path | None = None
    tolerances: Mapping[str, float] = field(default_factory=lambda: TOLERANCES)
    sample_sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserCode:
    """The user's code that a build runs, and what it may read besides its own folders: files in the
    folder `project`, and the files and folders `reads`.
    """

    plugins: tuple[Path, ...] = ()
    operators: tuple[Path, ...] = ()
    trust_source: bool = False
    project: Path = field(default_factory=Path.cwd)
    reads: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """What bundles have besides programs: weights, with a bundle for each of `encodings`; labels of
    outputs; how images become inputs. `form`: how a bundle is written. `quantization`: how the
    encodings that choose codes do it.
    """

    encodings: tuple[str, ...] = ("float32",)
    labels: Mapping[str, tuple[str, ...]] | tuple[str, ...] | LabelsFile = ()
    images: Mapping[str, ImageInput] = field(default_factory=dict)
    form: Form = field(default_factory=Form)
    quantization: Quantization = field(default_factory=Quantization)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of one model. Paths are absolute.

    A recipe with `on_request` is built only if its model is named.
    """

    name: str
    source: Source
    reading: Reading = Reading()
    inputs: Inputs = field(default_factory=Inputs)
    backends: tuple[str, ...] = USUAL_BACKENDS
    computation: Computation = Computation()
    verification: Verification = field(default_factory=Verification)
    user_code: UserCode = field(default_factory=UserCode)
    bundle: Bundle = field(default_factory=Bundle)
    on_request: bool = False

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders that user code of the model may read; empty if the model has no such code."""
        code = self.user_code
        files = [*code.plugins, *code.operators, *self.bundle.quantization.code]
        if isinstance(self.source, ExportSource):
            files.append(self.source.script)
        folders = [path.parent for path in files]
        if isinstance(self.source, ModuleSource):
            folders.append(self.source.root)
        if not folders and not code.trust_source:
            return ()
        return tuple(dict.fromkeys((code.project, *folders, *code.reads)))

    def tolerance(self, backend: str, encoding: str) -> float:
        """The largest relative error that verification accepts, of products that are exact."""
        tolerances, computation = self.verification.tolerances, self.computation
        bounds = [tolerances[encoding]]
        if computation.stores_float16(backend):
            bounds.append(tolerances["precision"])
        return max(bounds)

    @property
    def labels_file(self) -> UrlSource | None:
        """The file of labels to download, if the source's parameters match its `when`."""
        labels, source = self.bundle.labels, self.source
        if not isinstance(labels, LabelsFile):
            return None
        parameters = source.parameters if isinstance(source, ExportSource | ModuleSource) else {}
        return labels.file if labels.when.items() <= parameters.items() else None


def checked(recipe: Recipe, where: str) -> Recipe:
    """The recipe. Raises RecipeError for settings that its form or its backends cannot have."""
    check_form(recipe.bundle.form, where)
    check_quantization(recipe.bundle.quantization, recipe.bundle.encodings, where)
    precision = recipe.computation.precision
    arithmetic = precision == FLOAT16_ARITHMETIC
    able = FLOAT16_ARITHMETIC_BACKENDS if arithmetic else FLOAT16_BACKENDS
    if precision != "float32" and not set(able) & set(recipe.backends):
        raise RecipeError(
            f"{where}: precision is {precision!r}, and the backends are"
            f" {', '.join(recipe.backends)}, which compute in float32; add {' or '.join(able)}, or"
            " leave precision out (encoding = 'float16' halves the weights of all)"
        )
    if recipe.computation.matrices:
        check_matrices(recipe, where)
    return recipe


def check_matrices(recipe: Recipe, where: str) -> None:
    """Raises RecipeError unless subgroup matrices multiply what a backend stores as float16."""
    precision = recipe.computation.precision
    if precision != FLOAT16:
        raise RecipeError(
            f"{where}: subgroup_matrices is 'on', and precision is {precision!r}; subgroup matrices"
            f" multiply float16, so set precision = {FLOAT16!r}, or leave subgroup_matrices out"
        )
    if not set(MATRIX_BACKENDS) & set(recipe.backends):
        raise RecipeError(
            f"{where}: subgroup_matrices is 'on', and the backends are"
            f" {', '.join(recipe.backends)}, which have none; add {' or '.join(MATRIX_BACKENDS)},"
            " or leave subgroup_matrices out"
        )


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
