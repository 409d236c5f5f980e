"""The table `[quantize]` of a recipe: how a build quantizes a model."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from webkiln.errors import RecipeError
from webkiln.recipe import checks
from webkiln.recipe.values import LAYER_ENCODINGS, PLAIN_ENCODINGS, RANGES, STATIC, choose

FUNCTION = re.compile(r"(.+\.py):([A-Za-z_]\w*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function of a Python file."""

    file: Path
    function: str


@dataclass(frozen=True, slots=True)
class Quantization:
    """`layers`: patterns of names of layers, and their encodings. `calibration`: samples of the
    inputs, by which ranges of activations and errors are measured; None: the inputs of
    verification. `ranges`: how those ranges are found. `bias_correction`: add what rounding the
    weights changes in the mean. `max_error`: the largest error of a chosen encoding, of the outputs
    or of what the function `metric` returns.
    """

    layers: Mapping[str, str] = field(default_factory=dict)
    calibration: Path | UserFunction | None = None
    ranges: str = RANGES[0]
    bias_correction: bool = True
    max_error: float | None = None
    metric: UserFunction | None = None

    @property
    def code(self) -> list[Path]:
        """The files with the user's functions."""
        functions = (self.calibration, self.metric)
        return [item.file for item in functions if isinstance(item, UserFunction)]


def parse_function(text: str, folder: Path, where: str) -> UserFunction:
    """The function of `file.py:function`."""
    match = FUNCTION.fullmatch(text)
    if match is None:
        raise RecipeError(f"{where} is {text!r}, expected file.py:function")
    return UserFunction(folder / match[1], match[2])


def parse_calibration(text: str, folder: Path, where: str) -> Path | UserFunction:
    """Samples: an .npz file, or a function."""
    if text.endswith(".npz"):
        return folder / text
    if FUNCTION.fullmatch(text) is None:
        raise RecipeError(f"{where} is {text!r}, expected samples.npz or file.py:function")
    return parse_function(text, folder, where)


def _as_it_is(value: Any, folder: Path, where: str) -> Any:
    return value


def _layers(value: Mapping[str, str], folder: Path, where: str) -> Mapping[str, str]:
    for name in value.values():
        choose("encoding", [name], LAYER_ENCODINGS, where)
    return dict(value)


def _ranges(value: str, folder: Path, where: str) -> str:
    return choose("ranges", [value], RANGES, where)[0]


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the table: `is_valid` checks a value, and `read` turns it into that of the field."""

    is_valid: Callable[[Any], bool]
    expected: str
    read: Callable[[Any, Path, str], Any] = _as_it_is


KEYS: Mapping[str, Key] = {
    "layers": Key(checks.table(checks.is_string), "a table: layer = encoding", _layers),
    "calibration": Key(checks.is_path, "samples.npz or file.py:function", parse_calibration),
    "ranges": Key(checks.is_string, f"one of {', '.join(RANGES)}", _ranges),
    "bias_correction": Key(checks.is_boolean, "true or false"),
    "max_error": Key(checks.is_positive, "a positive number"),
    "metric": Key(checks.is_path, "file.py:function", parse_function),
}


def update(old: Quantization, table: Mapping[str, Any], folder: Path, where: str) -> Quantization:
    """The settings with those of a table. Raise RecipeError for an unknown key or value."""
    changes: dict[str, Any] = {}
    for name, value in table.items():
        choose("key of quantize", [name], KEYS, where)
        key, at = KEYS[name], f"{where}: quantize.{name}"
        if not key.is_valid(value):
            raise RecipeError(f"{at} is {value!r}, expected {key.expected}")
        read = key.read(value, folder, at)
        changes[name] = {**old.layers, **read} if name == "layers" else read
    return replace(old, **changes)


def check_quantization(settings: Quantization, encodings: Collection[str], where: str) -> None:
    """Raise RecipeError for encodings that the settings cannot apply to, or that need others."""
    fixed = [name for name in encodings if name in PLAIN_ENCODINGS and name not in LAYER_ENCODINGS]
    if settings.layers and fixed:
        raise RecipeError(
            f"{where}: quantize.layers does not apply to {', '.join(fixed)}; use some of"
            f" {', '.join(LAYER_ENCODINGS)}"
        )
    if STATIC in encodings and settings.calibration is None:
        raise RecipeError(
            f"{where}: {STATIC} rounds activations, whose ranges it has to measure on samples of"
            " the inputs; set --calibration samples.npz, or calibration in the table [quantize]"
        )
