"""Samples of the inputs of a model, by which ranges and errors are measured.

An array has one more axis than its input, the first, along which samples are; or as many, and its
first axis consists of samples of the input's size there, 1 if that is open. Or there is a folder
for each sample: `SAMPLE/inputs/NAME`, as in recorded references (docs/references.md).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from webkiln.errors import RecipeError, did_you_mean
from webkiln.ir.dim import Shape, is_symbolic
from webkiln.ir.types import Array
from webkiln.random_inputs import STRING

INPUTS = "/inputs/"
MAX_SAMPLES = 1024
Signature = Mapping[str, tuple[str, Shape]]
"""Name -> (dtype, shape) of the inputs."""


def from_function(result: Any, signature: Signature, where: str) -> list[dict[str, Array]]:
    """The samples that a function returned: a table of arrays, or tables of one sample each."""
    if isinstance(result, Mapping):
        return from_arrays({k: np.asarray(v) for k, v in result.items()}, signature, where)
    arrays = {}
    if not isinstance(result, Iterable):
        raise RecipeError(f"{where} returned {type(result).__name__}, expected tables of inputs")
    for number, sample in enumerate(result):
        if not isinstance(sample, Mapping):
            raise RecipeError(
                f"{where} returned {type(sample).__name__} as sample {number}, expected a table:"
                " input = array"
            )
        for name, value in sample.items():
            arrays[f"{number:04}{INPUTS}{name}"] = np.asarray(value)
        if number >= MAX_SAMPLES:
            break
    return from_arrays(arrays, signature, where)


def from_arrays(
    arrays: Mapping[str, Array], signature: Signature, where: str
) -> list[dict[str, Array]]:
    """The samples of named arrays. Raise RecipeError, listing every problem, if they do not fit
    the inputs.
    """
    problems: list[str] = []
    split: dict[str, dict[str, Array]] = defaultdict(dict)
    counts: dict[str, int] = {}
    for key, value in arrays.items():
        sample, folder, name = key.partition(INPUTS)
        name = name if folder else key
        if name not in signature:
            problems.append(
                f"{name} is no input{did_you_mean(name, signature)}; inputs are"
                f" {', '.join(signature)}"
            )
            continue
        dtype, shape = signature[name]
        parts = [value] if folder else _parts(value, shape)
        if parts is None or not all(_fits(part.shape, shape) for part in parts):
            shown = ", ".join(map(str, shape))
            problems.append(f"{name} is {list(value.shape)}, expected samples of [{shown}]")
            continue
        counts[name] = counts.get(name, 0) + len(parts)
        for number, part in enumerate(parts):
            split[sample if folder else f"{number:04}"][name] = _converted(
                part, dtype, name, problems
            )
    missing = [
        f"sample {sample} lacks {name}"
        for sample, values in split.items()
        for name in signature
        if name not in values
    ]
    if not split and not problems:
        problems.append("there are no samples")
    if problems or missing:
        raise RecipeError(
            "\n  ".join([f"{where} does not fit the model:", *dict.fromkeys(problems + missing)])
        )
    if len(split) > MAX_SAMPLES:
        raise RecipeError(f"{where} has {len(split)} samples, expected at most {MAX_SAMPLES}")
    return [split[key] for key in sorted(split)]


def _parts(value: Array, shape: Shape) -> list[Array] | None:
    if value.ndim == len(shape) + 1:
        return list(value)
    if value.ndim != len(shape) or not shape:
        return None
    size = 1 if is_symbolic(shape[0]) else int(shape[0])
    if size < 1 or len(value) % size:
        return None
    return [value[start : start + size] for start in range(0, len(value), size)]


def _fits(sizes: tuple[int, ...], shape: Shape) -> bool:
    return len(sizes) == len(shape) and all(
        is_symbolic(wanted) or size == wanted for size, wanted in zip(sizes, shape, strict=True)
    )


def _converted(part: Array, dtype: str, name: str, problems: list[str]) -> Array:
    """The values in the dtype of the input, if that changes none of them by more than rounding."""
    if dtype == STRING:
        if part.dtype.kind != "U":
            problems.append(f"{name} is {part.dtype}, expected strings")
        return part
    wanted = np.dtype(dtype)
    if part.dtype.kind not in "biuf" or (part.dtype.kind == "f" and wanted.kind != "f"):
        problems.append(f"{name} is {part.dtype}, expected {dtype}")
        return part
    converted = part.astype(wanted)
    if wanted.kind in "biu" and not np.array_equal(converted, part):
        problems.append(f"{name} has values that {dtype} does not have")
    if wanted.kind == "f" and not np.isfinite(converted).all():
        problems.append(f"{name} has infinities or NaNs")
    return converted
