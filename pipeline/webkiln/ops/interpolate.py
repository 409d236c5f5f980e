"""Resampling of one axis, with any affine map from output to input positions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Size, is_symbolic, known, known_shape
from webkiln.ir.types import Array, Type, is_float
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import INT, Expr, apply, cast, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.ops.budget import CALL
from webkiln.ops.linear import PRODUCTS
from webkiln.ops.operator import Case, Cost, Operator, define
from webkiln.ops.reduce import check_axes

MODES = ("nearest", "linear", "cubic")
ROUNDINGS = ("floor", "ceil", "prefer_floor", "prefer_ceil")
RADIUS = {"linear": 1, "cubic": 2}


@dataclass(frozen=True, slots=True)
class Resampling(Attributes):
    """The positions of outputs on an axis of the input."""

    axis: int
    size: Size
    scale: Size
    start: Size
    unit: Size


@dataclass(frozen=True, slots=True)
class Interpolate(Resampling):
    mode: str
    rounding: str = "prefer_floor"
    a: float = -0.75
    exclude: bool = False
    antialias: bool = False
    outside: float | None = None


def _types(attrs: Interpolate, types: Sequence[Type]) -> tuple[Type, ...]:
    x = types[0]
    check_axes((attrs.axis,), x.rank)
    if (
        attrs.mode not in MODES
        or attrs.rounding not in ROUNDINGS
        or (attrs.mode != "nearest" and not is_float(x.dtype))
    ):
        raise ShapeError(
            f"mode is {attrs.mode}, rounding is {attrs.rounding}, x is {x}; expected one of"
            f" {', '.join(MODES)} and one of {', '.join(ROUNDINGS)}; only nearest supports integers"
        )
    if attrs.antialias and (is_symbolic(attrs.scale) or is_symbolic(attrs.unit)):
        raise ShapeError("antialiasing requires sizes that are known before the model runs")
    return (
        Type(
            x.dtype,
            tuple(attrs.size if axis == attrs.axis else size for axis, size in enumerate(x.shape)),
        ),
    )


def cubic_weight(distance: Array, a: float) -> Array:
    """The kernel of Keys, Cubic convolution interpolation (1981)."""
    near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    far = a * (distance**3 - 5 * distance**2 + 8 * distance - 4)
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


def _rounded(attrs: Interpolate, numerator: Array) -> Array:
    unit = known(attrs.unit, "the resized axis")
    half = (2 * numerator) % (2 * unit) == unit
    round_half = {
        "floor": np.floor,
        "ceil": np.ceil,
        "prefer_floor": np.floor,
        "prefer_ceil": np.ceil,
    }[attrs.rounding]
    round_rest = np.rint if attrs.rounding.startswith("prefer") else round_half
    position: Array = numerator / unit
    return np.where(half, round_half(position), round_rest(position)).astype(int)


def _shrink(attrs: Interpolate) -> float:
    """The factor by which an antialiasing filter is stretched: input elements per output element,
    at least 1.
    """
    if not attrs.antialias:
        return 1.0
    scale, unit = known_shape((attrs.scale, attrs.unit), "the resized axis")
    return max(scale / unit, 1.0)


def _work(attrs: Interpolate, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """The weights, tap by tap, and a product with their matrix."""
    x, size = inputs[0], attrs.size
    taps = 1 if attrs.mode == "nearest" else 2 * ceil(RADIUS[attrs.mode] * _shrink(attrs))
    return (
        taps * (8 * size + CALL)
        + size * x.shape[attrs.axis]
        + outputs[0].size * x.shape[attrs.axis] // PRODUCTS
    )


def _scratch(attrs: Interpolate, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """The matrix of weights."""
    return attrs.size * inputs[0].shape[attrs.axis]


def _reference(attrs: Interpolate, x: Array) -> tuple[Array, ...]:
    """A product with the matrix of weights, [output, element]."""
    axis, size = attrs.axis, x.shape[attrs.axis]
    out, scale, start, unit = known_shape(
        (attrs.size, attrs.scale, attrs.start, attrs.unit), "the resized axis"
    )
    numerator = np.arange(out) * scale + start
    weights = np.zeros((out, size))
    if attrs.mode == "nearest":
        weights[np.arange(out), np.clip(_rounded(attrs, numerator), 0, size - 1)] = 1
    else:
        position, stretch = numerator / unit, _shrink(attrs)
        radius = ceil(RADIUS[attrs.mode] * stretch)
        for offset in range(1 - radius, radius + 1):
            element = np.floor(position).astype(int) + offset
            distance = np.abs(position - element) / stretch
            weight = (
                np.maximum(1 - distance, 0)
                if attrs.mode == "linear"
                else cubic_weight(distance, attrs.a)
            )
            in_bounds = (element >= 0) & (element < size)
            np.add.at(
                weights,
                (np.arange(out), np.clip(element, 0, size - 1)),
                np.where(in_bounds | (not attrs.exclude), weight, 0),
            )
        weights /= weights.sum(axis=1, keepdims=True)
    moved = np.moveaxis(x.astype(np.float64) if x.dtype.kind == "f" else x, axis, -1) @ weights.T
    if attrs.outside is not None:
        moved = np.where(
            (numerator < 0) | (numerator > (size - 1) * attrs.unit), attrs.outside, moved
        )
    return (np.moveaxis(moved, -1, axis),)


def _lower(low: Lowering, attrs: Interpolate) -> None:
    x, out, axis = low.inputs[0], low.outputs[0], attrs.axis
    size, unit = x[axis], attrs.unit
    nest = low.nest()
    index = list(nest.axes(out.shape))
    numerator = index[axis] * nest.argument(attrs.scale) + nest.argument(attrs.start)

    def load(element: Expr) -> Expr:
        clamped = apply("min", apply("max", element, const(0, INT)), nest.argument(size - 1))
        return nest.load(x, [clamped if d == axis else item for d, item in enumerate(index)])

    type_ = COMPUTE[x.type.dtype]
    if attrs.mode == "nearest":
        value = load(_nearest(nest, attrs, numerator))
    else:
        before = apply("floordiv", numerator, nest.argument(unit))
        fraction = cast(numerator - before * nest.argument(unit), type_) / cast(
            nest.argument(unit), type_
        )
        if attrs.mode == "linear" and not attrs.antialias:
            first, second = load(before), load(before + 1)
            value = first + (second - first) * fraction
        else:
            value = _filter(nest, attrs, size, before, fraction, load)
    if attrs.outside is not None:
        beyond = apply(
            "or",
            apply("lt", numerator, const(0, INT)),
            apply("gt", numerator, nest.argument((size - 1) * unit)),
        )
        value = select(beyond, const(attrs.outside, type_), value)
    nest.store(out, value)
    nest.done()


def _nearest(nest: NestBuilder, attrs: Interpolate, numerator: Expr) -> Expr:
    unit = attrs.unit
    if attrs.rounding == "floor":
        return apply("floordiv", numerator, nest.argument(unit))
    if attrs.rounding == "ceil":
        return -apply("floordiv", -numerator, nest.argument(unit))
    if attrs.rounding == "prefer_floor":
        return -apply("floordiv", nest.argument(unit) - numerator * 2, nest.argument(2 * unit))
    return apply("floordiv", numerator * 2 + nest.argument(unit), nest.argument(2 * unit))


def _filter(
    nest: NestBuilder,
    attrs: Interpolate,
    size: Size,
    before: Expr,
    fraction: Expr,
    load: Callable[[Expr], Expr],
) -> Expr:
    """The weighted mean of the elements within the radius of the filter. The position is element
    `before` plus `fraction`.
    """
    type_, stretch = fraction.type, _shrink(attrs)
    radius = ceil(RADIUS[attrs.mode] * stretch)
    offset = nest.reduce(2 * radius) + nest.argument(1 - radius)
    distance = apply("abs", cast(offset, type_) - fraction) * const(1 / stretch, type_)
    if attrs.mode == "linear":
        weight = apply("max", 1.0 - distance, const(0, type_))
    else:
        a = attrs.a
        inner = ((a + 2) * distance - (a + 3)) * distance * distance + 1.0
        outer = ((distance * a - 5 * a) * distance + 8 * a) * distance - 4 * a
        outer = select(apply("lt", distance, const(2, type_)), outer, const(0, type_))
        weight = select(apply("le", distance, const(1, type_)), inner, outer)
    element = before + offset
    if attrs.exclude:
        weight = select(nest.in_bounds(element, size), weight, const(0, type_))
    return nest.accumulate("sum", weight * load(element)) / nest.accumulate("sum", weight)


def _cases() -> Iterable[Case]:
    x = np.random.default_rng(12).standard_normal((3, 7, 4)).astype(np.float32)
    up = {"axis": 1, "size": 10, "scale": 14, "start": -3, "unit": 20}
    down = {"axis": 1, "size": 3, "scale": 14, "start": 4, "unit": 6}
    for rounding in ROUNDINGS:
        yield Case((x,), up | {"mode": "nearest", "rounding": rounding}, name=rounding)
    for mode, exclude, antialias in product(("linear", "cubic"), (False, True), (False, True)):
        yield Case(
            (x,),
            down | {"mode": mode, "exclude": exclude, "antialias": antialias},
            2e-5,
            f"{mode} {exclude} {antialias}",
        )
    yield Case((x,), up | {"mode": "linear", "outside": -2.5}, 2e-5, "outside")
    yield Case(
        (np.arange(12, dtype=np.int32).reshape(3, 4),),
        {"axis": 0, "size": 5, "scale": 3, "start": 0, "unit": 5, "mode": "nearest"},
    )


INTERPOLATE = define(
    Operator(
        "Interpolate",
        _types,
        _reference,
        _lower,
        Interpolate,
        cases=_cases,
        cost=Cost(_work, _scratch),
    )
)
"""Resamples one axis of x. Output o is at the position (o * scale + start) / unit of the input.

Attributes:

* `axis`, `size` (of the output), `scale`, `start`, `unit`: integers.
* `mode`: "nearest", "linear" or "cubic", with the parameter `a` of the cubic kernel.
* `rounding`: how "nearest" rounds; "prefer_floor" and "prefer_ceil" differ only for ties.
* `antialias`: the filter is stretched by the scale if the output is smaller.
* `exclude`: elements out of bounds have weight 0, instead of repeating the border.
* `outside`: the value of outputs whose position is out of bounds; None: they are filtered, too.
"""
