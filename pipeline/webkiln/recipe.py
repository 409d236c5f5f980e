"""`models/<name>/recipe.toml`: where a model comes from and what is built of it."""

import re
import sys
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from webkiln.errors import MissingPackageError, RecipeError, did_you_mean, install_hint

BACKENDS = ("webgpu", "wasm", "webgl", "js")
"""Best first."""
USUAL_BACKENDS = ("wasm", "js")
"""What is built where nothing is said: what runs everywhere, in browsers and in Node."""
ENCODINGS = ("float32", "float16", "int8", "eightbit")
FLOAT16, ARITHMETIC = "float16", "float16-arithmetic"
PRECISIONS = ("float32", FLOAT16, ARITHMETIC)
"""Of numbers between layers in memory, and of the products of large contractions."""
FLOAT16_BACKENDS = ("webgpu", "webgl")
"""The backends whose memory can hold float16 between layers."""
FLOAT16_ARITHMETIC_BACKENDS = ("webgpu",)
"""Those that can compute products in float16, too."""
TOLERANCES = {"float32": 1e-4, "float16": 2e-3, "int8": 0.1, "eightbit": 0.1, "precision": 5e-3}
"""Of encodings, and of memory that holds float16 between layers."""


@dataclass(frozen=True, slots=True)
class PathSource:
    """A model file; of an architecture (JSON or YAML) also the file of its `weights`."""

    path: Path
    weights: Path | None = None


@dataclass(frozen=True, slots=True)
class UrlSource:
    url: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ExportSource:
    """A Python script whose `function(path, **parameters)` writes the model file."""

    script: Path
    function: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A Python module below the folder `root`, whose `function(**parameters)` returns the model;
    with `weights` from a file, where it does not have them.
    """

    root: Path
    module: str
    function: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    weights: Path | None = None


@dataclass(frozen=True, slots=True)
class LabelsFile:
    """Labels that are downloaded: a JSON list of names, or a table of them by number, or text with
    one
    name a line. `when` is what the parameters of the source must be for the outputs to have them.
    """

    file: UrlSource
    when: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImageInput:
    """How an image becomes an input: its channels, in the order of `color`, are `(pixel - mean) /
    scale`, with pixels of 0 to 255.

    `size` is (height, width), as default what the input's shape says.
    """

    size: tuple[int, int] | None = None
    fit: str = "stretch"
    color: str = "RGB"
    mean: float | tuple[float, ...] = 0.0
    scale: float | tuple[float, ...] = 1.0
    layout: str = "HWC"


IMAGE_WORDS = {
    "fit": ("stretch", "crop"),
    "color": ("RGB", "BGR", "GREY", "RGBA", "BGRA"),
    "layout": ("HWC", "CHW"),
}
DEPTHS = {color: 1 if color == "GREY" else len(color) for color in IMAGE_WORDS["color"]}


@dataclass(frozen=True)
class Form:
    """How a bundle is written: a `folder` for a web server, an `npm` package, or a `single` file
    with
    everything inside.

    `hashed`: what `index.js` refers to has names that follow the bytes, so that caches may keep it
    for ever. `package`: what package.json says.
    """

    kind: str = "folder"
    hashed: bool = False
    package: Mapping[str, str] = field(default_factory=dict)


FORMS = ("folder", "npm", "single")
PACKAGE: dict[str, re.Pattern[str]] = {
    "name": re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*"),
    "version": re.compile(
        r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?"
    ),
    "license": re.compile(r"[^\n]+"),
    "description": re.compile(r"[^\n]+"),
}
"""What a recipe may say of an npm package, as npm and semver.org (2.0.0) want it."""

Source = PathSource | UrlSource | ExportSource | ModuleSource

SIZE_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is asked for one model; paths are absolute. What is built `on_request` is left out where
    no model is named.
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
    tuned: Path | None = None

    @property
    def roots(self) -> tuple[Path, ...]:
        """Where the model's own code may read: the project, the folders of its files, and what
        `reads` lists. Empty where it has no such code.
        """
        files = [
            *self.plugins,
            *self.operators,
            *([self.source.script] if isinstance(self.source, ExportSource) else []),
        ]
        folders = [path.parent for path in files] + (
            [self.source.root] if isinstance(self.source, ModuleSource) else []
        )
        return (
            tuple(dict.fromkeys((self.project, *folders, *self.reads)))
            if folders or self.trust_source
            else ()
        )

    def stores_float16(self, backend: str) -> bool:
        """Whether the memory of a backend holds float16 between layers."""
        return self.precision_of(backend) != "float32"

    def precision_of(self, backend: str) -> str:
        """Of the numbers between layers, as far as the backend has it."""
        if backend not in FLOAT16_BACKENDS:
            return "float32"
        return (
            FLOAT16
            if self.precision == ARITHMETIC and backend not in FLOAT16_ARITHMETIC_BACKENDS
            else self.precision
        )

    def tolerance(self, backend: str, encoding: str) -> float:
        """The largest error that verification lets pass."""
        bound = self.tolerances[encoding]
        return max(bound, self.tolerances["precision"]) if self.stores_float16(backend) else bound

    @property
    def labels_file(self) -> UrlSource | None:
        """Where the labels are downloaded from, if they are, and the parameters are those that they
        belong to.
        """
        if not isinstance(self.labels, LabelsFile):
            return None
        given = (
            self.source.parameters if isinstance(self.source, ExportSource | ModuleSource) else {}
        )
        return self.labels.file if self.labels.when.items() <= given.items() else None


def choose(
    what: str, values: Collection[str], valid: Collection[str], where: str = ""
) -> tuple[str, ...]:
    """Check names against the valid ones and put them in the order of those; raises RecipeError
    that lists them.
    """
    for value in values:
        if value not in valid:
            raise RecipeError(
                f"{where + ': ' if where else ''}unknown {what} {value!r}; valid:"
                f" {', '.join(valid)}{did_you_mean(value, valid)}"
            )
    if not values:
        raise RecipeError(
            f"{where + ': ' if where else ''}no {what} given; valid: {', '.join(valid)}"
        )
    return tuple(value for value in valid if value in values)


def read_recipes(folder: Path) -> dict[str, Recipe]:
    """All recipes below a folder, by name."""
    if not folder.is_dir():
        raise RecipeError(
            f"{folder}: no such folder; it should hold one folder per model, each with a"
            " recipe.toml"
        )
    return {path.parent.name: read_recipe(path) for path in sorted(folder.glob("*/recipe.toml"))}


def read_recipe(path: Path) -> Recipe:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RecipeError(f"{path}: {error}") from error
    return parse_recipe(path.parent.name, data, path)


def parse_recipe(name: str, data: Mapping[str, Any], path: Path) -> Recipe:
    """A recipe from its TOML table; `path` is the recipe file that relative paths start from."""
    where = str(path)
    folder = path.parent.absolute()
    choose("key", data.keys() or ["(nothing)"], KEYS, where)
    if "source" not in data:
        raise RecipeError(
            f"{where}: the key source is missing: a path, module:function, {{url, sha256}}, or"
            " {script, function}"
        )
    for key, value in data.items():
        if not KEYS[key][1](value):
            raise RecipeError(f"{where}: {key} is {value!r}, expected {KEYS[key][0]}")
    tolerances = data.get("tolerances", {})
    if tolerances:
        choose("encoding in tolerances", tolerances.keys(), TOLERANCES, where)
    recipe = Recipe(
        name=name,
        source=_source(data["source"], data.get("parameters", {}), folder, where),
        source_format=data.get("source_format", ""),
        signature=data.get("signature", ""),
        input_shapes={key: tuple(shape) for key, shape in data.get("input_shapes", {}).items()},
        sample_sizes=dict(data.get("sample_sizes", {})),
        reference=folder / data["reference"] if "reference" in data else None,
        batch_size=data.get("batch_size", 1),
        backends=choose("backend", data.get("backends", USUAL_BACKENDS), BACKENDS, where),
        encodings=choose("encoding", data.get("encodings", ["float32"]), ENCODINGS, where),
        tolerances=TOLERANCES | {key: float(value) for key, value in tolerances.items()},
        labels=_labels(data.get("labels", ()), where),
        images={
            key: _image(value, f"{where}: inputs.{key}")
            for key, value in data.get("inputs", {}).items()
        },
        plugins=tuple(folder / plugin for plugin in data.get("plugins", ())),
        operators=tuple(folder / file for file in data.get("operators", ())),
        trust_source=data.get("trust_source", False),
        on_request=data.get("on_request", False),
        dims=dict(data.get("dims", {})),
        values=dict(data.get("values", {})),
        from_layers=tuple(data.get("from_layers", ())),
        to_layers=tuple(data.get("to_layers", ())),
        project=folder.parents[min(1, len(folder.parents) - 1)],
        reads=tuple(folder / item for item in data.get("reads", ())),
        winograd=data.get("winograd", "on") == "on",
        precision=data.get("precision", "float32"),
        tuned=folder / data["tuned"] if "tuned" in data else None,
        form=Form(
            data.get("format", "folder"), data.get("hashed", False), dict(data.get("package", {}))
        ),
    )
    return checked(recipe, where)


def checked(recipe: Recipe, where: str) -> Recipe:
    """The recipe; RecipeError where it says what its form or its backends do not have."""
    _check_form(recipe.form, where)
    able = FLOAT16_ARITHMETIC_BACKENDS if recipe.precision == ARITHMETIC else FLOAT16_BACKENDS
    if recipe.precision != "float32" and not set(able) & set(recipe.backends):
        names = (
            f"{', '.join(recipe.backends)}, which compute in float32; add {' or '.join(able)}, or"
            " leave precision out"
        )
        raise RecipeError(
            f"{where}: precision is {recipe.precision!r}, and the backends are {names} (encoding ="
            " 'float16' halves the weights of all)"
        )
    return recipe


def _check_form(form: Form, where: str) -> None:
    choose("format", [form.kind], FORMS, where)
    choose("key in package", form.package.keys() or ["name"], PACKAGE, where)
    for key, value in form.package.items():
        if not PACKAGE[key].fullmatch(value) or len(value) > 214:
            raise RecipeError(
                f"{where}: package.{key} is {value!r}, which npm does not take; expected such as"
                f" {EXAMPLES[key]}"
            )
    if form.kind == "npm" and not {"name", "version"} <= form.package.keys():
        raise RecipeError(
            f"{where}: an npm package needs a name and a version: [package] in a recipe, or"
            " --package @me/model@1.0.0"
        )
    if form.kind == "single" and form.hashed:
        raise RecipeError(
            f"{where}: a single file refers to no other, so that nothing in it can be hashed; leave"
            " hashed out"
        )


EXAMPLES = {"name": "@me/model", "version": "1.2.0", "license": "MIT", "description": "one line"}


def with_parameters(recipe: Recipe, given: Mapping[str, Any]) -> Recipe:
    """The recipe with other values for parameters of its export function."""
    if not given:
        return recipe
    if not isinstance(recipe.source, ExportSource | ModuleSource):
        raise RecipeError(
            f"{recipe.name}: its source is a file, which takes no parameter {', '.join(given)}"
        )
    return replace(
        recipe, source=replace(recipe.source, parameters={**recipe.source.parameters, **given})
    )


def _source(value: Any, parameters: Mapping[str, Any], folder: Path, where: str) -> Source:
    if isinstance(value, str) and MODULE.fullmatch(value):
        return replace(
            find_module(value, (folder, *folder.parents[:2]), where), parameters=parameters
        )
    if isinstance(value, dict) and set(value) == {"module", "weights"}:
        if not MODULE.fullmatch(value["module"]):
            raise RecipeError(
                f"{where}: source.module is {value['module']!r}, expected module:function"
            )
        made = find_module(value["module"], (folder, *folder.parents[:2]), where)
        return replace(made, parameters=parameters, weights=folder / value["weights"])
    if parameters and not (isinstance(value, dict) and "script" in value):
        raise RecipeError(
            f"{where}: parameters are for a function that makes the model, and source names none"
        )
    if isinstance(value, str):
        return PathSource(folder / value)
    if set(value) == {"url", "sha256"}:
        return _url(value, f"{where}: source")
    if set(value) == {"path", "weights"}:
        return PathSource(folder / value["path"], folder / value["weights"])
    if set(value) == {"script", "function"}:
        return ExportSource(folder / value["script"], value["function"], parameters)
    raise RecipeError(
        f"{where}: source has the keys {', '.join(value)}; expected url and sha256, path and"
        " weights, module and weights, or script and function"
    )


def find_module(value: str, folders: Sequence[Path], where: str) -> ModuleSource:
    """`module:function`, with the module looked for in `folders` and then on Python's path."""
    module, _, function = value.partition(":")
    for root in (*folders, *map(Path, sys.path)):
        if module_file(root, module) is not None:
            return ModuleSource(root.absolute(), module, function)
    advice = install_hint(module)
    if advice is not None and not any(
        module_file(root, module.partition(".")[0]) for root in map(Path, sys.path)
    ):
        raise MissingPackageError(f"{where}: {advice}", module.partition(".")[0])
    raise RecipeError(
        f"{where}: there is no module {module} in {', '.join(map(str, folders))} or on Python's"
        " path"
    )


def module_file(root: Path, module: str) -> Path | None:
    """The file that a module of this name has below `root`, if any."""
    path = root.joinpath(*module.split("."))
    return next(filter(Path.is_file, (path.with_suffix(".py"), path / "__init__.py")), None)


def _url(value: Mapping[str, str], where: str) -> UrlSource:
    digest = value["sha256"]
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise RecipeError(
            f"{where}.sha256 is {digest!r}, expected 64 lower-case hexadecimal digits"
        )
    return UrlSource(value["url"], digest)


def _labels(value: Any, where: str) -> Mapping[str, tuple[str, ...]] | tuple[str, ...] | LabelsFile:
    if _labels_file(value):
        return LabelsFile(_url(value, f"{where}: labels"), dict(value.get("when", {})))
    return (
        {key: tuple(names) for key, names in value.items()}
        if isinstance(value, dict)
        else tuple(value)
    )


def _image(table: Mapping[str, Any], where: str) -> ImageInput:
    choose("key", table.keys() or ["(nothing)"], [key.name for key in fields(ImageInput)], where)
    for key, words in IMAGE_WORDS.items():
        if key in table:
            choose(key, [table[key]], words, where)
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
    }
    image = ImageInput(**values)
    if image.size is not None and not (
        isinstance(image.size, tuple) and len(image.size) == 2 and all(map(_size, image.size))
    ):
        raise RecipeError(f"{where}: size is {table['size']!r}, expected [height, width]")
    depth = DEPTHS[image.color]
    for key in ("mean", "scale"):
        value = getattr(image, key)
        numbers = value if isinstance(value, tuple) else (value,)
        if not all(type(number) in (int, float) for number in numbers) or (
            key == "scale" and 0 in numbers
        ):
            raise RecipeError(
                f"{where}: {key} is {table[key]!r}, expected a"
                f" number{' that is not 0' * (key == 'scale')}, or a list of {depth}"
            )
        if isinstance(value, tuple) and len(value) != depth:
            raise RecipeError(
                f"{where}: {key} has {len(value)} numbers, expected {depth}, one for each channel"
                f" of {image.color}"
            )
    return image


def _size(value: Any) -> bool:
    return type(value) is int and value > 0


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _table(value: Any, fits: Any) -> bool:
    return isinstance(value, dict) and all(map(fits, value.values()))


def _shape(value: Any) -> bool:
    return isinstance(value, list) and all(
        _size(size) or (isinstance(size, str) and SIZE_NAME.fullmatch(size)) for size in value
    )


def _plain(value: Any) -> bool:
    return type(value) in (str, int, float, bool)


def _labels_file(value: Any) -> bool:
    if (
        not isinstance(value, dict)
        or {"url", "sha256"} - set(value)
        or set(value) - {"url", "sha256", "when"}
    ):
        return False
    return (
        isinstance(value["url"], str)
        and isinstance(value["sha256"], str)
        and _table(value.get("when", {}), _plain)
    )


def _size_or_name(value: Any) -> bool:
    return _size(value) or (isinstance(value, str) and SIZE_NAME.fullmatch(value) is not None)


def _constant(value: Any) -> bool:
    return type(value) in (int, float, bool) or (
        isinstance(value, list) and bool(value) and all(map(_constant, value))
    )


def _number(value: Any) -> bool:
    return type(value) in (int, float) and value > 0


KEYS: dict[str, tuple[str, Any]] = {
    "source": (
        "a path or a table of strings",
        lambda v: isinstance(v, str) or _table(v, lambda item: isinstance(item, str)),
    ),
    "source_format": (
        "the name of a model format, where the source does not tell",
        lambda v: isinstance(v, str),
    ),
    "input_shapes": (
        "a table: input name = [positive sizes, or names of sizes that are set at run time]",
        lambda v: _table(v, _shape),
    ),
    "sample_sizes": (
        "a table: name of a size = the positive size that verification uses",
        lambda v: _table(v, _size),
    ),
    "batch_size": ("a positive integer", _size),
    "backends": ("a list of strings", _strings),
    "encodings": ("a list of strings", _strings),
    "tolerances": (
        "a table: encoding, or precision = positive number",
        lambda v: _table(v, _number),
    ),
    "labels": (
        (
            "a list of strings, or a table: output name = [strings], or {url, sha256, when} of a"
            " file that has them"
        ),
        lambda v: _strings(v) or _table(v, _strings) or _labels_file(v),
    ),
    "inputs": (
        "a table: input name = {size, fit, color, mean, scale, layout}",
        lambda v: _table(v, lambda item: isinstance(item, dict)),
    ),
    "plugins": ("a list of Python files", _strings),
    "operators": ("a list of Python files", _strings),
    "reads": ("a list of files and folders", _strings),
    "trust_source": ("true or false", lambda v: isinstance(v, bool)),
    "parameters": ("a table: name = string, number or truth value", lambda v: _table(v, _plain)),
    "dims": (
        "a table: name of a size in the model file = a positive size, or another name",
        lambda v: _table(v, _size_or_name),
    ),
    "format": (f"one of {', '.join(FORMS)}", lambda v: isinstance(v, str)),
    "hashed": ("true or false", lambda v: isinstance(v, bool)),
    "package": (
        f"a table: one of {', '.join(PACKAGE)} = string",
        lambda v: _table(v, lambda item: isinstance(item, str)),
    ),
    "values": (
        (
            "a table: name of an input of the model file = the number, truth value or list of these"
            " that it always is"
        ),
        lambda v: _table(v, _constant),
    ),
    "signature": (
        "the name of a signature or graph, of files that hold several",
        lambda v: isinstance(v, str),
    ),
    "from_layers": ("a list of layers, whose outputs are the inputs of what is built", _strings),
    "to_layers": ("a list of layers, whose outputs are the outputs of what is built", _strings),
    "reference": (
        "the path of an .npz file of inputs and outputs that the framework computed",
        lambda v: isinstance(v, str) and bool(v),
    ),
    "winograd": ("'on' or 'off'", lambda v: v in ("on", "off")),
    "precision": (f"one of {', '.join(PRECISIONS)}", lambda v: v in PRECISIONS),
    "tuned": (
        "the path of the file that webkiln tune writes",
        lambda v: isinstance(v, str) and bool(v),
    ),
    "on_request": ("true or false", lambda v: isinstance(v, bool)),
}
