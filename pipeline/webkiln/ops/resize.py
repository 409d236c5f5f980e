"""Resampling to another size, axis by axis: nearest, linear, and kernels of any reach with or
without antialiasing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, pi, prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import is_symbolic, maximum
from webkiln.ir.graph import Attributes
from webkiln.ir.size_checks import require_non_negative
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import FLOAT, INT, Expr, apply, cast, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.nest.steps import View
from webkiln.ops.linear import PRODUCTS
from webkiln.ops.operator import REQUIRED, Case, Operator, define
from webkiln.ops.reduce import check_axes


@dataclass(frozen=True, slots=True)
class Filter:
    """How much an element at a distance weighs: nothing from `radius` on. `formula` takes the
    distance, at least 0 and below the radius.
    """

    radius: float
    formula: Callable[[Expr], Expr]
    reference: Callable[[Array], Array]


def keys(a: float) -> Filter:
    """Keys 1981, cubic convolution; `a` is the slope at 1."""

    def weigh(near: Expr) -> Expr:
        inner = ((a + 2) * near - (a + 3)) * near * near + 1.0
        return select(
            apply("lt", near, const(1.0)), inner, ((near * a - 5 * a) * near + 8 * a) * near - 4 * a
        )

    def reference(d: Array) -> Array:
        return np.where(
            d < 1, (a + 2) * d**3 - (a + 3) * d**2 + 1, a * (d**3 - 5 * d**2 + 8 * d - 4)
        )

    return Filter(2, weigh, reference)


def lanczos(radius: int) -> Filter:
    """Duchon 1979: sinc under a wider sinc."""

    def weigh(near: Expr) -> Expr:
        wave = (
            apply("sin", near * pi)
            * apply("sin", near * (pi / radius))
            * (radius / pi**2)
            / (near * near)
        )
        return select(apply("lt", near, const(1e-3)), const(1.0), wave)

    return Filter(radius, weigh, lambda d: np.sinc(d) * np.sinc(d / radius))


FILTERS = {
    "triangle": Filter(1, lambda near: 1.0 - near, lambda d: 1 - d),
    "cubic": keys(-0.5),
    "lanczos3": lanczos(3),
    "lanczos5": lanczos(5),
}
METHODS = ("nearest", "linear", "area", *FILTERS)
COORDINATES = ("half_pixel", "asymmetric", "align_corners")


@dataclass(frozen=True, slots=True)
class Line:
    """An axis that is resized. Output o lies at position (o * `scale` + `start`) / `unit` of the
    input.
    """

    axis: int
    size: int
    out: int
    scale: int
    start: int
    unit: int


def _lines(attrs: Attributes, x: Type) -> list[Line]:
    lines = []
    for axis, out in zip(attrs["axes"], attrs["sizes"], strict=True):
        size = x.shape[axis]
        if attrs["coordinates"] == "align_corners":
            lines.append(Line(axis, size, out, size - 1, 0, maximum([out - 1, 1])))
        elif attrs["coordinates"] == "half_pixel":
            lines.append(Line(axis, size, out, 2 * size, size - out, 2 * out))
        else:
            lines.append(Line(axis, size, out, size, 0, out))
    return lines


def _types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    x = types[0]
    check_axes(attrs["axes"], x.rank)
    what = (
        f"sizes {list(attrs['sizes'])} do not give each of the axes {list(attrs['axes'])} a size of"
        " 1 or more"
    )
    if len(attrs["sizes"]) != len(attrs["axes"]):
        raise ShapeError(what)
    for size in attrs["sizes"]:
        require_non_negative(size - 1, what)
    if attrs["method"] not in METHODS or attrs["coordinates"] not in COORDINATES:
        raise ShapeError(
            f"method {attrs['method']!r} at {attrs['coordinates']!r}: there are"
            f" {', '.join(METHODS)} at {', '.join(COORDINATES)}"
        )
    if attrs["method"] != "nearest" and x.dtype != "float32":
        raise ShapeError(f"{attrs['method']} resizes float32, x is {x}")
    shape = list(x.shape)
    for line in _lines(attrs, x):
        shape[line.axis] = line.out
        if _is_averaged(attrs) and (is_symbolic(line.size) or is_symbolic(line.out)):
            how = "antialias" if attrs["antialias"] else "area"
            raise ShapeError(
                f"axis {line.axis} goes from {line.size} to {line.out}; {how} needs sizes that are"
                " known before the model runs"
            )
    return (Type(x.dtype, tuple(shape)),)


def _is_averaged(attrs: Attributes) -> bool:
    """Whether an output takes from more elements the more are made one."""
    return attrs["method"] == "area" or (attrs["antialias"] and attrs["method"] in FILTERS)


def _weights(attrs: Attributes, line: Line) -> Array:
    """What each output [row] takes of each input [column]."""
    positions = [Fraction(o * line.scale + line.start, line.unit) for o in range(line.out)]
    if attrs["method"] == "nearest":
        chosen = [min(max((2 * p + 1).__floor__() // 2, 0), line.size - 1) for p in positions]
        return np.eye(line.size)[chosen]
    place = np.array([float(p) for p in positions])
    if attrs["resolution"]:
        place = (
            np.floor(place)
            + np.rint((place - np.floor(place)) * attrs["resolution"]) / attrs["resolution"]
        )
    distance = np.abs(place[:, None] - np.arange(line.size))
    step = line.scale / line.unit
    if attrs["method"] == "linear":
        distance = np.abs(np.clip(place, 0, line.size - 1)[:, None] - np.arange(line.size))
        weights = np.maximum(1 - distance, 0)
    elif attrs["method"] == "area":
        weights = np.clip(0.5 + step / 2 - distance, 0, min(1, step))
    else:
        kernel = FILTERS[attrs["method"]]
        near = distance / (max(step, 1) if attrs["antialias"] else 1)
        weights = np.where(near < kernel.radius, kernel.reference(near), 0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """The weights of each line, whose places are fractions of Python, and a product with their
    matrix.
    """
    total, shape = 0, list(inputs[0].shape)
    for line in _lines(attrs, inputs[0]):
        shape[line.axis] = line.out
        total += 256 * line.out + 8 * line.out * line.size + prod(shape) * line.size // PRODUCTS
    return total


def _scratch(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """The largest matrix of weights, and what lies between two lines."""
    lines, shape, most = _lines(attrs, inputs[0]), list(inputs[0].shape), 0
    for line in lines:
        shape[line.axis] = line.out
        most = max(most, prod(shape))
    return most + 4 * max((line.out * line.size for line in lines), default=0)


def _reference(attrs: Attributes, x: Array) -> tuple[Array, ...]:
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    for line in _lines(attrs, Type(str(x.dtype), x.shape)):
        wide = np.moveaxis(
            np.tensordot(wide, _weights(attrs, line), axes=([line.axis], [1])), -1, line.axis
        )
    return (np.asarray(wide),)


def _lower(low: Lowering, attrs: Attributes) -> None:
    x, out = low.inputs[0], low.outputs[0]
    lines = _lines(attrs, x.type)
    if attrs["method"] in ("nearest", "linear"):
        (_lower_nearest if attrs["method"] == "nearest" else _lower_linear)(low, lines)
        return
    changed = [line for line in lines if line.size != line.out] or lines[:1]
    for line in changed:
        shape = list(x.shape)
        shape[line.axis] = line.out
        y = out if line is changed[-1] else low.temporary(x.type.dtype, shape)
        _lower_line(low, attrs, line, x, y)
        x = y


def _scaled(nest: NestBuilder, line: Line, index: Expr) -> Expr:
    """The position of output `index` in units."""
    return index * nest.argument(line.scale) + nest.argument(line.start)


def _bounded(nest: NestBuilder, index: Expr, size: int) -> Expr:
    return apply("min", apply("max", index, const(0, INT)), nest.argument(size - 1))


def _lower_nearest(low: Lowering, lines: Sequence[Line]) -> None:
    nest = low.nest()
    index = list(nest.axes(low.outputs[0].shape))
    for line in lines:
        doubled = _scaled(nest, line, index[line.axis]) * 2 + nest.argument(line.unit)
        index[line.axis] = _bounded(
            nest, apply("floordiv", doubled, nest.argument(2 * line.unit)), line.size
        )
    nest.store(low.outputs[0], nest.load(low.inputs[0], index))
    nest.done()


def _lower_linear(low: Lowering, lines: Sequence[Line]) -> None:
    """One nest: the elements around the position, weighed axis after axis."""
    nest, type_ = low.nest(), COMPUTE[low.inputs[0].type.dtype]
    index = list(nest.axes(low.outputs[0].shape))
    corners: list[tuple[Expr, Expr]] = []
    shares: list[Expr] = []
    for line in lines:
        unit, place = nest.argument(line.unit), _scaled(nest, line, index[line.axis])
        before = apply("floordiv", place, unit)
        corners.append((_bounded(nest, before, line.size), _bounded(nest, before + 1, line.size)))
        shares.append(cast(place - before * unit, type_) / cast(unit, type_))

    def at(choice: tuple[int, ...]) -> Expr:
        place = list(index)
        for line, pair, side in zip(lines, corners, choice, strict=True):
            place[line.axis] = pair[side]
        return nest.load(low.inputs[0], place)

    values = [at(choice) for choice in product((0, 1), repeat=len(lines))]
    for share in reversed(shares):
        values = [
            first + (second - first) * share
            for first, second in zip(values[::2], values[1::2], strict=True)
        ]
    nest.store(low.outputs[0], values[0])
    nest.done()


def _lower_line(low: Lowering, attrs: Attributes, line: Line, x: View, y: View) -> None:
    """A table of weights, whose rows sum to 1, and the sum of what they weigh."""
    step = line.scale / line.unit if _is_averaged(attrs) else 1.0
    reach = ceil(
        0.5 + step / 2
        if attrs["method"] == "area"
        else FILTERS[attrs["method"]].radius * max(step, 1.0)
    )
    taps = 2 * reach
    total = low.temporary("float32", (line.out,))
    table = low.temporary("float32", (line.out, taps))

    nest = low.nest()
    (row,) = nest.axes((line.out,))
    nest.store(
        total, nest.accumulate("sum", _weight(nest, attrs, line, reach, row, nest.reduce(taps)))
    )
    nest.done()

    nest = low.nest()
    row, tap = nest.axes((line.out, taps))
    nest.store(table, _weight(nest, attrs, line, reach, row, tap) / nest.load(total, (row,)))
    nest.done()

    nest = low.nest()
    index = list(nest.axes(y.shape))
    row, tap = index[line.axis], nest.reduce(taps)
    first = apply("floordiv", _scaled(nest, line, row), nest.argument(line.unit)) - nest.argument(
        reach - 1
    )
    index[line.axis] = _bounded(nest, first + tap, line.size)
    value = nest.load(x, index)
    nest.store(y, nest.accumulate("sum", value * cast(nest.load(table, (row, tap)), value.type)))
    nest.done()


def _weight(
    nest: NestBuilder, attrs: Attributes, line: Line, reach: int, row: Expr, tap: Expr
) -> Expr:
    """What output `row` takes of its element `tap`, before the sum is made 1; nothing of elements
    outside.
    """
    unit, place = nest.argument(line.unit), _scaled(nest, line, row)
    before = apply("floordiv", place, unit)
    share = cast(place - before * unit, FLOAT) / cast(unit, FLOAT)
    if attrs["resolution"]:
        share = apply("rint", share * attrs["resolution"]) / attrs["resolution"]
    distance = apply("abs", share + cast(nest.argument(reach - 1) - tap, FLOAT))
    step = cast(nest.argument(line.scale), FLOAT) / cast(unit, FLOAT)
    if attrs["method"] == "area":
        room = apply("max", 0.5 + step * 0.5 - distance, const(0.0))
        weight = apply("min", room, apply("min", step, const(1.0)))
    else:
        kernel = FILTERS[attrs["method"]]
        near = distance / apply("max", step, const(1.0)) if attrs["antialias"] else distance
        weight = select(apply("lt", near, const(kernel.radius)), kernel.formula(near), const(0.0))
    return select(
        nest.in_bounds(before - nest.argument(reach - 1) + tap, line.size), weight, const(0.0)
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


define(
    Operator(
        "Resize",
        _types,
        _reference,
        _lower,
        {
            "axes": REQUIRED,
            "sizes": REQUIRED,
            "method": REQUIRED,
            "coordinates": "half_pixel",
            "antialias": False,
            "resolution": 0,
        },
        cases=_cases,
        work=_work,
        scratch=_scratch,
    )
)
