"""Resizing of axes: nearest, linear, area, and convolution filters with or without antialiasing."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, pi, prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Shape, Size, is_symbolic, known, known_shape, maximum
from webkiln.ir.size_checks import require_non_negative
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import FLOAT, INT, Expr, apply, cast, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.nest.steps import View
from webkiln.ops.linear import PRODUCTS
from webkiln.ops.operator import Case, Cost, Operator, define
from webkiln.ops.reduce import check_axes


@dataclass(frozen=True, slots=True)
class Filter:
    """The weight of an element as a function of its distance, at least 0 and below `radius`, beyond
    which it is 0.
    """

    radius: float
    formula: Callable[[Expr], Expr]
    reference: Callable[[Array], Array]


def keys(a: float) -> Filter:
    """Keys, Cubic convolution interpolation (1981); `a` is the slope at distance 1."""

    def formula(distance: Expr) -> Expr:
        inner = ((a + 2) * distance - (a + 3)) * distance * distance + 1.0
        outer = ((distance * a - 5 * a) * distance + 8 * a) * distance - 4 * a
        return select(apply("lt", distance, const(1.0)), inner, outer)

    def reference(d: Array) -> Array:
        return np.where(
            d < 1, (a + 2) * d**3 - (a + 3) * d**2 + 1, a * (d**3 - 5 * d**2 + 8 * d - 4)
        )

    return Filter(2, formula, reference)


def lanczos(radius: int) -> Filter:
    """Duchon, Lanczos filtering (1979): sinc(d) sinc(d / radius)."""

    def formula(distance: Expr) -> Expr:
        product_of_sincs = (
            apply("sin", distance * pi)
            * apply("sin", distance * (pi / radius))
            * (radius / pi**2)
            / (distance * distance)
        )
        return select(apply("lt", distance, const(1e-3)), const(1.0), product_of_sincs)

    return Filter(radius, formula, lambda d: np.sinc(d) * np.sinc(d / radius))


FILTERS = {
    "triangle": Filter(1, lambda distance: 1.0 - distance, lambda d: 1 - d),
    "cubic": keys(-0.5),
    "lanczos3": lanczos(3),
    "lanczos5": lanczos(5),
}
METHODS = ("nearest", "linear", "area", *FILTERS)
COORDINATES = ("half_pixel", "asymmetric", "align_corners")


@dataclass(frozen=True, slots=True)
class Line:
    """The resizing of one axis. Output o is at the position (o * `scale` + `start`) / `unit` of the
    input.
    """

    axis: int
    size: Size
    out: Size
    scale: Size
    start: Size
    unit: Size


@dataclass(frozen=True, slots=True)
class Resize(Attributes):
    axes: tuple[int, ...]
    sizes: Shape
    method: str
    coordinates: str = "half_pixel"
    antialias: bool = False
    resolution: int = 0


def _lines(attrs: Resize, x: Type) -> list[Line]:
    lines = []
    for axis, out in zip(attrs.axes, attrs.sizes, strict=True):
        size = x.shape[axis]
        if attrs.coordinates == "align_corners":
            lines.append(Line(axis, size, out, size - 1, 0, maximum([out - 1, 1])))
        elif attrs.coordinates == "half_pixel":
            lines.append(Line(axis, size, out, 2 * size, size - out, 2 * out))
        else:
            lines.append(Line(axis, size, out, size, 0, out))
    return lines


def _types(attrs: Resize, types: Sequence[Type]) -> tuple[Type, ...]:
    x = types[0]
    check_axes(attrs.axes, x.rank)
    message = (
        f"sizes is {list(attrs.sizes)}, expected a positive size for each of the axes"
        f" {list(attrs.axes)}"
    )
    if len(attrs.sizes) != len(attrs.axes):
        raise ShapeError(message)
    for size in attrs.sizes:
        require_non_negative(size - 1, message)
    if attrs.method not in METHODS or attrs.coordinates not in COORDINATES:
        raise ShapeError(
            f"method is {attrs.method!r}, coordinates is {attrs.coordinates!r}; expected one"
            f" of {', '.join(METHODS)} and one of {', '.join(COORDINATES)}"
        )
    if attrs.method != "nearest" and x.dtype != "float32":
        raise ShapeError(f"x is {x}; the method {attrs.method} requires float32")
    shape = list(x.shape)
    for line in _lines(attrs, x):
        shape[line.axis] = line.out
        if _is_averaged(attrs) and (is_symbolic(line.size) or is_symbolic(line.out)):
            option = "antialias" if attrs.antialias else "area"
            raise ShapeError(
                f"axis {line.axis} is resized from {line.size} to {line.out}; {option} requires"
                " sizes that are known before the model runs"
            )
    return (Type(x.dtype, tuple(shape)),)


def _is_averaged(attrs: Resize) -> bool:
    """Whether the number of elements per output depends on the scale."""
    return attrs.method == "area" or (attrs.antialias and attrs.method in FILTERS)


def _weights(attrs: Resize, line: Line) -> Array:
    """The weights of inputs, [output, input]."""
    size, out, scale, start, unit = known_shape(
        (line.size, line.out, line.scale, line.start, line.unit), "a resized axis"
    )
    fractions = [Fraction(o * scale + start, unit) for o in range(out)]
    if attrs.method == "nearest":
        nearest = [min(max((2 * p + 1).__floor__() // 2, 0), size - 1) for p in fractions]
        return np.eye(size)[nearest]
    position = np.array([float(p) for p in fractions])
    if attrs.resolution:
        position = (
            np.floor(position)
            + np.rint((position - np.floor(position)) * attrs.resolution) / attrs.resolution
        )
    distance = np.abs(position[:, None] - np.arange(size))
    step = scale / unit
    if attrs.method == "linear":
        distance = np.abs(np.clip(position, 0, size - 1)[:, None] - np.arange(size))
        weights = np.maximum(1 - distance, 0)
    elif attrs.method == "area":
        weights = np.clip(0.5 + step / 2 - distance, 0, min(1, step))
    else:
        kernel = FILTERS[attrs.method]
        scaled = distance / (max(step, 1) if attrs.antialias else 1)
        weights = np.where(scaled < kernel.radius, kernel.reference(scaled), 0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _work(attrs: Resize, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """The weights of each axis, whose positions are computed as fractions in Python, and a product
    with their matrix.
    """
    total: Size = 0
    shape = list(inputs[0].shape)
    for line in _lines(attrs, inputs[0]):
        shape[line.axis] = line.out
        total += 256 * line.out + 8 * line.out * line.size + prod(shape) * line.size // PRODUCTS
    return total


def _scratch(attrs: Resize, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """The largest matrix of weights, and the largest intermediate tensor."""
    lines, shape = _lines(attrs, inputs[0]), list(inputs[0].shape)
    largest: Size = 0
    for line in lines:
        shape[line.axis] = line.out
        largest = max(largest, prod(shape))
    return largest + 4 * max((line.out * line.size for line in lines), default=0)


def _reference(attrs: Resize, x: Array) -> tuple[Array, ...]:
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    for line in _lines(attrs, Type(str(x.dtype), x.shape)):
        wide = np.moveaxis(
            np.tensordot(wide, _weights(attrs, line), axes=([line.axis], [1])), -1, line.axis
        )
    return (np.asarray(wide),)


def _lower(low: Lowering, attrs: Resize) -> None:
    x, out = low.inputs[0], low.outputs[0]
    lines = _lines(attrs, x.type)
    if attrs.method in ("nearest", "linear"):
        (_lower_nearest if attrs.method == "nearest" else _lower_linear)(low, lines)
        return
    changed = [line for line in lines if line.size != line.out] or lines[:1]
    for line in changed:
        shape = list(x.shape)
        shape[line.axis] = line.out
        y = out if line is changed[-1] else low.temporary(x.type.dtype, shape)
        _lower_line(low, attrs, line, x, y)
        x = y


def _numerator(nest: NestBuilder, line: Line, index: Expr) -> Expr:
    """The position of output `index`, times `line.unit`."""
    return index * nest.argument(line.scale) + nest.argument(line.start)


def _clamp(nest: NestBuilder, index: Expr, size: Size) -> Expr:
    return apply("min", apply("max", index, const(0, INT)), nest.argument(size - 1))


def _lower_nearest(low: Lowering, lines: Sequence[Line]) -> None:
    nest = low.nest()
    index = list(nest.axes(low.outputs[0].shape))
    for line in lines:
        doubled = _numerator(nest, line, index[line.axis]) * 2 + nest.argument(line.unit)
        index[line.axis] = _clamp(
            nest, apply("floordiv", doubled, nest.argument(2 * line.unit)), line.size
        )
    nest.store(low.outputs[0], nest.load(low.inputs[0], index))
    nest.done()


def _lower_linear(low: Lowering, lines: Sequence[Line]) -> None:
    """One nest, which interpolates between the corners around the position, axis by axis."""
    nest, type_ = low.nest(), COMPUTE[low.inputs[0].type.dtype]
    index = list(nest.axes(low.outputs[0].shape))
    corners: list[tuple[Expr, Expr]] = []
    fractions: list[Expr] = []
    for line in lines:
        unit, numerator = nest.argument(line.unit), _numerator(nest, line, index[line.axis])
        before = apply("floordiv", numerator, unit)
        corners.append((_clamp(nest, before, line.size), _clamp(nest, before + 1, line.size)))
        fractions.append(cast(numerator - before * unit, type_) / cast(unit, type_))

    def load(sides: tuple[int, ...]) -> Expr:
        source = list(index)
        for line, pair, side in zip(lines, corners, sides, strict=True):
            source[line.axis] = pair[side]
        return nest.load(low.inputs[0], source)

    values = [load(sides) for sides in product((0, 1), repeat=len(lines))]
    for fraction in reversed(fractions):
        values = [
            first + (second - first) * fraction
            for first, second in zip(values[::2], values[1::2], strict=True)
        ]
    nest.store(low.outputs[0], values[0])
    nest.done()


def _lower_line(low: Lowering, attrs: Resize, line: Line, x: View, y: View) -> None:
    """Three nests: the sum of the weights of each output, the table of normalised weights, and the
    weighted sum of elements.
    """
    step = 1.0
    if _is_averaged(attrs):
        step = known(line.scale, "a resized axis") / known(line.unit, "a resized axis")
    radius = ceil(
        0.5 + step / 2 if attrs.method == "area" else FILTERS[attrs.method].radius * max(step, 1.0)
    )
    taps = 2 * radius
    total = low.temporary("float32", (line.out,))
    table = low.temporary("float32", (line.out, taps))

    nest = low.nest()
    (row,) = nest.axes((line.out,))
    nest.store(
        total, nest.accumulate("sum", _weight(nest, attrs, line, radius, row, nest.reduce(taps)))
    )
    nest.done()

    nest = low.nest()
    row, tap = nest.axes((line.out, taps))
    nest.store(table, _weight(nest, attrs, line, radius, row, tap) / nest.load(total, (row,)))
    nest.done()

    nest = low.nest()
    index = list(nest.axes(y.shape))
    row, tap = index[line.axis], nest.reduce(taps)
    before = apply("floordiv", _numerator(nest, line, row), nest.argument(line.unit))
    first = before - nest.argument(radius - 1)
    index[line.axis] = _clamp(nest, first + tap, line.size)
    value = nest.load(x, index)
    nest.store(y, nest.accumulate("sum", value * cast(nest.load(table, (row, tap)), value.type)))
    nest.done()


def _weight(
    nest: NestBuilder, attrs: Resize, line: Line, radius: int, row: Expr, tap: Expr
) -> Expr:
    """The unnormalised weight of element `tap` for output `row`; 0 for elements out of bounds."""
    unit, numerator = nest.argument(line.unit), _numerator(nest, line, row)
    before = apply("floordiv", numerator, unit)
    fraction = cast(numerator - before * unit, FLOAT) / cast(unit, FLOAT)
    if attrs.resolution:
        fraction = apply("rint", fraction * attrs.resolution) / attrs.resolution
    distance = apply("abs", fraction + cast(nest.argument(radius - 1) - tap, FLOAT))
    step = cast(nest.argument(line.scale), FLOAT) / cast(unit, FLOAT)
    if attrs.method == "area":
        overlap = apply("max", 0.5 + step * 0.5 - distance, const(0.0))
        weight = apply("min", overlap, apply("min", step, const(1.0)))
    else:
        kernel = FILTERS[attrs.method]
        scaled = distance / apply("max", step, const(1.0)) if attrs.antialias else distance
        weight = select(
            apply("lt", scaled, const(kernel.radius)), kernel.formula(scaled), const(0.0)
        )
    return select(
        nest.in_bounds(before - nest.argument(radius - 1) + tap, line.size), weight, const(0.0)
    )


def _cases() -> Iterable[Case]:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((2, 5, 7, 3)).astype(np.float32)
    plane = {"axes": (1, 2), "sizes": (9, 4)}
    for method, coordinates in product(("nearest", "linear"), COORDINATES):
        yield Case(
            (x,),
            plane | {"method": method, "coordinates": coordinates},
            name=f"{method} {coordinates}",
        )
    yield Case(
        (rng.integers(0, 9, (4, 6)).astype(np.int32),),
        {"axes": (1,), "sizes": (4,), "method": "nearest"},
        name="integers",
    )
    yield Case(
        (x,), {"axes": (1, 2, 3), "sizes": (10, 14, 5), "method": "linear"}, name="three axes"
    )
    for method, antialias in product(("area", *FILTERS), (False, True)):
        yield Case(
            (x,), plane | {"method": method, "antialias": antialias}, 2e-5, f"{method} {antialias}"
        )
    yield Case((x,), plane | {"method": "cubic", "resolution": 1024}, 2e-5, "resolution")
    yield Case((x,), {"axes": (2,), "sizes": (7,), "method": "cubic"}, 2e-5, "same size")
    yield Case(
        (x[:, :, :, 0],),
        {"axes": (2, 1), "sizes": (1, 1), "method": "cubic", "coordinates": "align_corners"},
        2e-5,
        "one pixel",
    )


RESIZE = define(
    Operator(
        "Resize",
        _types,
        _reference,
        _lower,
        Resize,
        cases=_cases,
        cost=Cost(_work, _scratch),
    )
)
"""Resizes the `axes` of x to `sizes`.

Attributes:

* `method`: one of `METHODS`.
* `coordinates`: "half_pixel" aligns the edges of the first and last elements, "align_corners" their
  centres; "asymmetric" multiplies indices by the scale.
* `antialias`: filters are stretched by the scale if the output is smaller.
* `resolution`: positions are rounded to 1 / resolution, as in tables of weights; 0: exact.
"""
