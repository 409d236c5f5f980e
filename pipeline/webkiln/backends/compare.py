"""Errors of a bundle against a reference: outputs, and layers up to the first that diverges."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from webkiln.backends.frame import KeptLayer
from webkiln.ir.types import Array

LEAST_SCALE = 1e-6
NOISE_FLOOR = 1e-5
NOISE_FACTOR = 10.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """The error of `got`. `relative` is None if non-finite values do not match `reference`."""

    max_abs: float | None
    relative: float | None
    cosine: float | None


@dataclass(frozen=True, slots=True)
class LayerError:
    """The error of one layer, and the element with the largest error."""

    layer: str
    shape: tuple[int, ...]
    relative: float | None
    bound: float
    index: tuple[int, ...]
    got: float
    expected: float

    @property
    def passed(self) -> bool:
        return self.relative is not None and self.relative <= self.bound

    def __str__(self) -> str:
        size = (
            "non-finite values differ"
            if self.relative is None
            else f"relative error {self.relative:.3g}, bound {self.bound:.3g}"
        )
        worst = f"; worst at {list(self.index)}: got {self.got:.6g}, expected {self.expected:.6g}"
        return f"{self.layer} {list(self.shape)} ({size}{'' if self.passed else worst})"


def relative_error(got: Array, reference: Array) -> float:
    """max|got - reference| / max(max|reference|, 1e-6) over the elements that are finite in
    `reference`, in float64. Never NaN.

    Infinite if the shapes differ, or if NaNs or infinities differ in their positions or signs.
    Dtypes are not compared.
    """
    return (
        float(relative_errors(got, reference).max(initial=0.0))
        if got.shape == reference.shape
        else np.inf
    )


def relative_errors(got: Array, reference: Array) -> Array:
    """The elementwise errors whose maximum is `relative_error`. Both arrays have the same shape."""
    a, b = got.astype(np.float64), reference.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    return np.where(np.isnan(difference), np.inf, difference) / max(
        _max_abs(b[np.isfinite(b)]), LEAST_SCALE
    )


def compare(got: Array, reference: Array) -> Comparison:
    """`relative_error` of arrays whose shapes may differ but whose element counts are equal."""
    a, b = got.astype(np.float64).ravel(), reference.astype(np.float64).ravel()
    relative = relative_error(a, b)
    if np.isinf(relative):
        return Comparison(None, None, None)
    a, b = a[np.isfinite(b)], b[np.isfinite(b)]
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    cosine = float(a @ b) / norm if norm > 0 and np.isfinite(norm) else None
    return Comparison(_max_abs(a - b), relative, cosine)


def _max_abs(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))


def bound_of(tolerance: float, noise: float) -> float:
    """The error bound: ten times the framework's own noise, and at least 1e-5."""
    return max(tolerance, NOISE_FACTOR * noise) if noise > NOISE_FLOOR else tolerance


def layer_errors(
    kept: Sequence[KeptLayer], expected: Mapping[str, Array], bound: float
) -> Iterator[LayerError]:
    """The errors of the layers that both sides have, in program order, up to the first above the
    bound.

    The output of a layer is the last value recorded for it. If layers were fused (`conv+norm`), the
    value belongs to the last of them.
    """
    for layer, got in {kept_layer.layer: kept_layer.value for kept_layer in kept}.items():
        reference = expected.get(layer, expected.get(layer.rpartition("+")[2]))
        if reference is None or reference.size != got.size:
            continue
        error = _layer_error(layer, got, reference.reshape(got.shape), bound)
        yield error
        if not error.passed:
            return


def _layer_error(layer: str, got: Array, reference: Array, bound: float) -> LayerError:
    index = np.unravel_index(int(relative_errors(got, reference).argmax()), got.shape)
    place = tuple(int(i) for i in index)
    return LayerError(
        layer,
        got.shape,
        compare(got, reference).relative,
        bound,
        place,
        float(got[place]),
        float(reference[place]),
    )


def sets_of(archive: Mapping[str, Array], part: str) -> dict[str, dict[str, Array]]:
    """`<set>/<part>/<name>` -> {set: {name: array}}, in the archive's order."""
    found: dict[str, dict[str, Array]] = {}
    for key, value in archive.items():
        name, kind, rest = key.split("/", 2)
        if kind == part:
            found.setdefault(name, {})[rest] = value
    return found


def layers_of(archive: Mapping[str, Array], name: str) -> dict[str, Array]:
    """`<set>/<layer>` -> the layers of the set `name`."""
    return {
        key.removeprefix(f"{name}/"): value
        for key, value in archive.items()
        if key.startswith(f"{name}/")
    }
