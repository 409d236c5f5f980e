"""Images resized axis by axis. Positions are exact fractions, so nothing is rounded before an
element is selected.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from webkiln.ir.dim import Size, is_symbolic, known, known_shape
from webkiln.ir.rational import Rational
from webkiln.ops.builder import GraphBuilder, Tensor

Scale = Fraction | Rational
MAX_DENOMINATOR = 10000
"""The largest denominator of a scale: the float32 0.6 denotes 3/5."""
MODES = {"bilinear": "linear"}
ROUNDINGS = {
    "floor": "floor",
    "ceil": "ceil",
    "round_prefer_floor": "prefer_floor",
    "round_prefer_ceil": "prefer_ceil",
}


@dataclass(frozen=True, slots=True)
class Interpolation:
    """How elements between pixels are computed, in the terms of ONNX's Resize.

    https://onnx.ai/onnx/operators/onnx__Resize.html
    """

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic_coeff: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    extrapolation: float = 0.0


def fraction(value: float) -> Fraction:
    return Fraction(float(value)).limit_denominator(MAX_DENOMINATOR)


def factor(value: float | Rational) -> Scale:
    return value if isinstance(value, Rational) else fraction(value)


def scaled(size: Size, scale: Scale) -> Size:
    """The size times a scale, rounded down."""
    if isinstance(scale, Rational):
        return (Rational.of_size(size, "float32") * scale).floor()
    return size * scale.numerator // scale.denominator


def coordinate_map(
    coordinates: str, size: Size, out: Size, scale: Scale | None, roi: tuple[float, float]
) -> dict[str, Any]:
    """The map from output indices to positions, with integer coefficients: (o * scale + start) /
    unit. Without a scale, it is out / size.
    """
    if coordinates == "align_corners":
        return _aligned(size, out, scale)
    if coordinates == "tf_crop_and_resize":
        return _cropped(size, out, *map(fraction, roi))
    p, q = (scale.numerator, scale.denominator) if scale is not None else (out, size)
    if coordinates == "asymmetric":
        return {"scale": q, "start": 0, "unit": p}
    if coordinates == "tf_half_pixel_for_nn":
        return {"scale": 2 * q, "start": q, "unit": 2 * p}
    if coordinates == "pytorch_half_pixel" and not is_symbolic(out) and out == 1:
        return {"scale": 0, "start": 0, "unit": 1}
    if (
        coordinates == "half_pixel_symmetric"
        and isinstance(scale, Fraction)
        and not is_symbolic(size)
    ):
        offset = Fraction(size, 2) * (1 - Fraction(known(out, "the resized axis")) / (scale * size))
        begin = offset + 1 / (2 * scale) - Fraction(1, 2)
        return _over_one_unit(1 / scale, begin)
    return {"scale": 2 * q, "start": q - p, "unit": 2 * p}


def _aligned(size: Size, out: Size, scale: Scale | None) -> dict[str, Any]:
    """The last output is at the last element, if the scaled size is an integer."""
    if is_symbolic(out) or is_symbolic(size):
        return {"scale": size - 1, "start": 0, "unit": out - 1}
    last = scale * size - 1 if isinstance(scale, Fraction) else Fraction(out - 1)
    return (
        _over_one_unit(Fraction(size - 1) / last, Fraction(0))
        if out > 1
        else {"scale": 0, "start": 0, "unit": 1}
    )


def _cropped(size: Size, out: Size, first: Fraction, last: Fraction) -> dict[str, Any]:
    size, out = known_shape((size, out), "the resized axis")
    if out > 1:
        return _over_one_unit((last - first) * (size - 1) / (out - 1), first * (size - 1))
    return _over_one_unit(Fraction(0), (first + last) * (size - 1) / 2)


def _over_one_unit(step: Fraction, begin: Fraction) -> dict[str, Any]:
    unit = step.denominator * begin.denominator
    return {"scale": int(step * unit), "start": int(begin * unit), "unit": unit}


def resize_axis(
    b: GraphBuilder,
    x: Tensor,
    axis: int,
    out: Size,
    scale: Scale | None,
    how: Interpolation,
    roi: tuple[float, float] = (0.0, 1.0),
) -> Tensor:
    """x with `out` elements along one axis. `scale` is out / size before rounding, and by default
    after it; `roi` is the part of the axis that tf_crop_and_resize shows.
    """
    attrs = {
        "axis": axis,
        "size": out,
        **coordinate_map(how.coordinates, x.shape[axis], out, scale, roi),
        "mode": MODES.get(how.mode, how.mode),
        "rounding": ROUNDINGS[how.nearest],
        "a": how.cubic_coeff,
        "exclude": how.exclude_outside,
        "antialias": how.antialias,
    }
    if how.coordinates == "tf_crop_and_resize":
        attrs["outside"] = how.extrapolation
    return b.op("Interpolate", [x], attrs)
