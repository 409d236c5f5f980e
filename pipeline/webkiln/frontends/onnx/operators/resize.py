"""Resize and Upsample, axis by axis. Positions are exact fractions, so nothing is rounded before an
element is selected.
"""

from fractions import Fraction
from math import floor
from typing import Any

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.ir.dim import is_symbolic
from webkiln.ir.rational import Rational
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor

Scale = Fraction | Rational
MAX_DENOMINATOR = 10000
"""The largest denominator of a scale: the float32 0.6 denotes 3/5."""
ROUNDINGS = {
    "floor": "floor",
    "ceil": "ceil",
    "round_prefer_floor": "prefer_floor",
    "round_prefer_ceil": "prefer_ceil",
}


def fraction(value: float) -> Fraction:
    return Fraction(float(value)).limit_denominator(MAX_DENOMINATOR)


def factor(value: float | Rational) -> Scale:
    return value if isinstance(value, Rational) else fraction(value)


def coordinate_map(
    call: NodeCall, size: int, out: int, scale: Scale | None, roi: tuple[float, float]
) -> dict[str, Any]:
    """The map from output indices to positions, with integer coefficients: (o * scale + start) /
    unit. Without a scale, it is out / size.
    """
    mode = call.attr(
        "coordinate_transformation_mode", "half_pixel" if call.version >= 11 else "asymmetric"
    )
    if mode == "align_corners":
        return _aligned(size, out, scale)
    if mode == "tf_crop_and_resize":
        return _cropped(size, out, *map(fraction, roi))
    p, q = (scale.numerator, scale.denominator) if scale is not None else (out, size)
    if mode == "asymmetric":
        return {"scale": q, "start": 0, "unit": p}
    if mode == "tf_half_pixel_for_nn":
        return {"scale": 2 * q, "start": q, "unit": 2 * p}
    if mode == "pytorch_half_pixel" and not is_symbolic(out) and out == 1:
        return {"scale": 0, "start": 0, "unit": 1}
    if mode == "half_pixel_symmetric" and isinstance(scale, Fraction) and not is_symbolic(size):
        offset = Fraction(size, 2) * (1 - Fraction(out) / (scale * size))
        begin = offset + 1 / (2 * scale) - Fraction(1, 2)
        return _over_one_unit(1 / scale, begin)
    return {"scale": 2 * q, "start": q - p, "unit": 2 * p}


def _aligned(size: int, out: int, scale: Scale | None) -> dict[str, Any]:
    """The last output is at the last element, if the scaled size is an integer."""
    if is_symbolic(out) or is_symbolic(size):
        return {"scale": size - 1, "start": 0, "unit": out - 1}
    last = scale * size - 1 if isinstance(scale, Fraction) else Fraction(out - 1)
    return (
        _over_one_unit(Fraction(size - 1) / last, Fraction(0))
        if out > 1
        else {"scale": 0, "start": 0, "unit": 1}
    )


def _cropped(size: int, out: int, first: Fraction, last: Fraction) -> dict[str, Any]:
    if out > 1:
        return _over_one_unit((last - first) * (size - 1) / (out - 1), first * (size - 1))
    return _over_one_unit(Fraction(0), (first + last) * (size - 1) / 2)


def _over_one_unit(step: Fraction, begin: Fraction) -> dict[str, Any]:
    unit = step.denominator * begin.denominator
    return {"scale": int(step * unit), "start": int(begin * unit), "unit": unit}


def resize_axis(
    call: NodeCall,
    x: Tensor,
    axis: int,
    out: int,
    scale: Scale | None,
    roi: tuple[float, float] = (0.0, 1.0),
) -> Tensor:
    mode = call.attr("mode", "nearest")
    attrs = {
        "axis": axis,
        "size": out,
        **coordinate_map(call, x.shape[axis], out, scale, roi),
        "mode": {"bilinear": "linear"}.get(mode, mode),
        "rounding": ROUNDINGS[
            call.attr("nearest_mode", "round_prefer_floor" if call.version >= 11 else "floor")
        ],
        "a": call.attr("cubic_coeff_a", -0.75),
        "exclude": bool(call.attr("exclude_outside", 0)),
        "antialias": bool(call.attr("antialias", 0)),
    }
    if call.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
        attrs["outside"] = call.attr("extrapolation_value", 0.0)
    return call.op("Interpolate", [x], attrs)


def resize(call: NodeCall) -> Tensor:
    """Operands: x and scales before opset 11; x, roi, and scales or sizes since then."""
    x = call.tensor(0)
    axes = [call.axis(axis, x.type.rank) for axis in call.attr("axes") or range(x.type.rank)]
    mode, roi = call.attr("mode", "nearest"), (0.0,) * len(axes) + (1.0,) * len(axes)
    position = 1 if call.version < 11 else 2
    if call.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
        roi = tuple(call.numbers(1).tolist())
    dtype = x.dtype
    y = cast(call, x, "float32") if mode != "nearest" and not is_float(dtype) else x
    if call.has(position) and call.type(position).size:
        scales = [factor(scale) for scale in call.value(position).tolist()]
        sizes = [_scaled(x.shape[axis], scale) for axis, scale in zip(axes, scales, strict=True)]
        pairs: list[tuple[int, Scale | None]] = list(zip(sizes, scales, strict=True))
    else:
        pairs = _fitted(call, x, axes, call.sizes(3))
    for position_, (axis, (out, scale)) in enumerate(zip(axes, pairs, strict=True)):
        window = (roi[position_], roi[position_ + len(axes)])
        if out != x.shape[axis] or scale not in (None, 1) or window != (0.0, 1.0):
            y = resize_axis(call, y, axis, out, scale, window)
    return cast(call, call.op("Round", [y]) if y.dtype != dtype else y, dtype)


def _scaled(size: int, scale: Scale) -> int:
    if isinstance(scale, Rational):
        return (Rational.of_size(size, "float32") * scale).floor()
    return size * scale.numerator // scale.denominator


def _fitted(
    call: NodeCall, x: Tensor, axes: list[int], sizes: tuple[int, ...]
) -> list[tuple[int, Scale | None]]:
    """The requested sizes, or sizes of the same aspect ratio that they bound."""
    policy = call.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return [(size, None) for size in sizes]
    ratios = [Fraction(size, x.shape[axis]) for size, axis in zip(sizes, axes, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [(floor(scale * x.shape[axis] + Fraction(1, 2)), scale) for axis in axes]


def upsample(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    scales = (
        [call.attr("height_scale", 1.0), call.attr("width_scale", 1.0)]
        if call.version < 7
        else None
    )
    scales = (
        [1.0] * (x.type.rank - 2) + scales
        if scales is not None
        else list(call.attr("scales") or call.value(1).tolist())
    )
    for axis, scale in enumerate(map(factor, scales)):
        if scale != 1:
            x = resize_axis(call, x, axis, _scaled(x.shape[axis], scale), scale)
    return x


RESIZE: dict[str, NodeHandler] = {"Resize": resize, "Upsample": upsample}
