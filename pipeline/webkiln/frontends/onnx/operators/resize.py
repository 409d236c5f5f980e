"""Resize and Upsample."""

from fractions import Fraction
from math import floor

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.ir.dim import Shape, Size, known_shape
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.interpolate import Interpolation, Scale, factor, resize_axis, scaled


def interpolation(call: NodeCall) -> Interpolation:
    since_11 = call.version >= 11
    return Interpolation(
        call.attr("mode", "nearest"),
        call.attr("coordinate_transformation_mode", "half_pixel" if since_11 else "asymmetric"),
        call.attr("nearest_mode", "round_prefer_floor" if since_11 else "floor"),
        call.attr("cubic_coeff_a", -0.75),
        call.flag("exclude_outside"),
        call.flag("antialias"),
        call.attr("extrapolation_value", 0.0),
    )


def resize(call: NodeCall) -> Tensor:
    """Operands: x and scales before opset 11; x, roi, and scales or sizes since then."""
    x = call.tensor(0)
    axes = [call.axis(axis, x.type.rank) for axis in call.attr("axes") or range(x.type.rank)]
    how, roi = interpolation(call), (0.0,) * len(axes) + (1.0,) * len(axes)
    position = 1 if call.version < 11 else 2
    if how.coordinates == "tf_crop_and_resize":
        roi = tuple(call.numbers(1).tolist())
    dtype = x.dtype
    y = cast(call, x, "float32") if how.mode != "nearest" and not is_float(dtype) else x
    if call.has(position) and call.type(position).size:
        scales = [factor(scale) for scale in call.value(position).tolist()]
        sizes = [scaled(x.shape[axis], scale) for axis, scale in zip(axes, scales, strict=True)]
        pairs: list[tuple[Size, Scale | None]] = list(zip(sizes, scales, strict=True))
    else:
        pairs = _fitted(call, x, axes, call.sizes(3))
    for position_, (axis, (out, scale)) in enumerate(zip(axes, pairs, strict=True)):
        window = (roi[position_], roi[position_ + len(axes)])
        if out != x.shape[axis] or scale not in (None, 1) or window != (0.0, 1.0):
            y = resize_axis(call.builder, y, axis, out, scale, how, window)
    return cast(call, call.op("Round", [y]) if y.dtype != dtype else y, dtype)


def _fitted(
    call: NodeCall, x: Tensor, axes: list[int], sizes: Shape
) -> list[tuple[Size, Scale | None]]:
    """The requested sizes, or sizes of the same aspect ratio that they bound."""
    policy = call.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return [(size, None) for size in sizes]
    own = known_shape((x.shape[axis] for axis in axes), "x")
    ratios = [Fraction(*pair) for pair in zip(known_shape(sizes, "the result"), own, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [(floor(scale * size + Fraction(1, 2)), scale) for size in own]


def upsample(call: NodeCall) -> Tensor:
    x, how = call.tensor(0), interpolation(call)
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
            x = resize_axis(call.builder, x, axis, scaled(x.shape[axis], scale), scale, how)
    return x


RESIZE: dict[str, NodeHandler] = {"Resize": resize, "Upsample": upsample}
