"""Sampling of images at positions that are data (grid sampling)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import INT, Expr, apply, cast, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.nest.steps import View
from webkiln.ops.interpolate import MODES, cubic_weight
from webkiln.ops.operator import Case, Cost, Operator, define

PADDINGS = ("zeros", "border", "reflection")
SAMPLING = (*MODES, "largest")


@dataclass(frozen=True, slots=True)
class Sample(Attributes):
    mode: str
    padding: str
    corners: bool = False


def _sample_types(attrs: Sample, types: Sequence[Type]) -> tuple[Type, ...]:
    x, grid = types
    count = x.rank - 2
    groups = grid.shape[1] if grid.rank > 2 else 0
    if (
        grid.rank < 3
        or grid.shape[0] != x.shape[0]
        or grid.shape[-1] != count
        or not groups
        or x.shape[1] % groups
    ):
        raise ShapeError(
            f"the grid is {grid}, expected [batch, groups, ..., {count}] for x, which is {x}"
        )
    if attrs.mode not in SAMPLING or attrs.padding not in PADDINGS or x.dtype != grid.dtype:
        raise ShapeError(
            f"mode is {attrs.mode}, padding is {attrs.padding}, x is {x}, the grid is {grid};"
            f" expected one of {', '.join(SAMPLING)}, one of {', '.join(PADDINGS)} and the same"
            " dtype"
        )
    return (Type(x.dtype, (*x.shape[:2], *grid.shape[2:-1])),)


def _taps(mode: str) -> tuple[int, ...]:
    """The offsets of the elements that are read, from the position rounded down."""
    return {"nearest": (0,), "linear": (0, 1), "largest": (0, 1), "cubic": (-1, 0, 1, 2)}[mode]


def _borders(attrs: Sample, size: Any) -> tuple[Any, Any]:
    """The positions at which reflection mirrors an axis."""
    return (0, size - 1) if attrs.corners else (-0.5, size - 0.5)


def _reflect_array(attrs: Sample, position: Array, size: int) -> Array:
    first, last = _borders(attrs, size)
    if first == last:
        return np.zeros_like(position)
    offset = np.mod(position - first, 2 * (last - first))
    return np.asarray(first + np.minimum(offset, 2 * (last - first) - offset))


def _sample_work(attrs: Sample, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """All taps of each output, which are retained."""
    spatial = inputs[0].rank - 2
    return int(8 * len(_taps(attrs.mode)) ** spatial * (spatial + 1) * outputs[0].size)


def _sample_reference(attrs: Sample, x: Array, grid: Array) -> tuple[Array, ...]:
    batch, channels = x.shape[:2]
    sizes, count = x.shape[2:], x.ndim - 2
    out = np.zeros((batch, channels, *grid.shape[2:-1]))
    wide = np.repeat(grid.astype(np.float64), channels // grid.shape[1], axis=1)
    numbers = np.indices(out.shape)[:2]
    position = [
        np.rint(wide[..., d]) if attrs.mode == "nearest" else wide[..., d] for d in range(count)
    ]
    if attrs.padding == "border":
        position = [np.clip(p, 0, size - 1) for p, size in zip(position, sizes, strict=True)]
    elif attrs.padding == "reflection":
        position = [_reflect_array(attrs, p, size) for p, size in zip(position, sizes, strict=True)]
    values = []
    for tap in product(_taps(attrs.mode), repeat=count):
        weight, in_bounds = np.ones(out.shape), np.ones(out.shape, bool)
        index = []
        for p, step, size in zip(position, tap, sizes, strict=True):
            element = np.floor(p) + step
            distance = np.abs(p - element)
            weight = weight * (
                1
                if attrs.mode == "nearest"
                else cubic_weight(distance, -0.75)
                if attrs.mode == "cubic"
                else 1 - distance
            )
            if attrs.padding == "reflection":
                element = np.floor(_reflect_array(attrs, element, size))
            in_bounds &= (element >= 0) & (element < size) | (attrs.padding != "zeros")
            index.append(np.clip(element, 0, size - 1).astype(int))
        values.append(weight * np.where(in_bounds, x[(numbers[0], numbers[1], *index)], 0))
    return (np.max(values, axis=0) if attrs.mode == "largest" else np.sum(values, axis=0),)


def _reflect(attrs: Sample, position: Expr, size: Expr) -> Expr:
    """Mirror a position at the borders until it is between them; 0 on an axis of one element."""
    first, last = _borders(attrs, size)
    span = last - first
    offset = (position - first) - apply("floor", (position - first) / (2.0 * span)) * (2.0 * span)
    mirrored = apply("min", offset, 2.0 * span - offset) + first
    return select(apply("gt", span, const(0, span.type)), mirrored, const(0, span.type))


def _lower_sample(low: Lowering, attrs: Sample) -> None:
    """The channels of a group share the positions."""
    x, grid = low.inputs
    type_ = COMPUTE[x.type.dtype]
    groups = grid[1]
    split = (x[0], groups, x[1] // groups)
    nest = low.nest()
    index = nest.axes((*split, *grid.shape[2:-1]))
    sizes = [cast(nest.argument(size), type_) for size in x.shape[2:]]
    position: list[Expr] = []
    for d, size in enumerate(sizes):
        point = nest.load(grid, (*index[:2], *index[3:], nest.number(d)))
        point = apply("rint", point) if attrs.mode == "nearest" else point
        if attrs.padding == "border":
            point = apply("min", apply("max", point, const(0, type_)), size - 1.0)
        position.append(_reflect(attrs, point, size) if attrs.padding == "reflection" else point)
    view = x.reshaped((*split, *x.shape[2:]))
    taps = product(_taps(attrs.mode), repeat=len(sizes))
    total, *others = (
        _weighted_tap(nest, attrs, view, index[:3], position, sizes, tap) for tap in taps
    )
    for value in others:
        total = apply("max", total, value) if attrs.mode == "largest" else total + value
    nest.store(low.outputs[0].reshaped((*split, *grid.shape[2:-1])), total)
    nest.done()


def _weighted_tap(
    nest: NestBuilder,
    attrs: Sample,
    x: View,
    lead: Sequence[Expr],
    position: Sequence[Expr],
    sizes: Sequence[Expr],
    tap: Sequence[int],
) -> Expr:
    """The weighted element at an offset from the position; x is [batch, groups, channels, ...]."""
    weights: list[Expr] = []
    checks: list[Expr] = []
    index: list[Expr] = []
    for d, step in enumerate(tap):
        element = apply("floor", position[d]) + float(step)
        distance = apply("abs", position[d] - element)
        weights.append(_cubic(distance) if attrs.mode == "cubic" else 1.0 - distance)
        if attrs.padding == "reflection":
            element = _reflect(attrs, element, sizes[d])
        source = cast(apply("floor", element), INT)
        if attrs.padding == "zeros":
            checks.append(nest.in_bounds(source, x[d + 3]))
        else:
            source = apply("min", apply("max", source, const(0, INT)), nest.argument(x[d + 3] - 1))
        index.append(source)
    guard = reduce(lambda a, b: apply("and", a, b), checks) if checks else None
    value = nest.load(x, (*lead, *index), guard)
    return value if attrs.mode == "nearest" else reduce(Expr.__mul__, weights) * value


def _cubic(distance: Expr) -> Expr:
    a = -0.75
    inner = ((a + 2) * distance - (a + 3)) * distance * distance + 1.0
    outer = ((distance * a - 5 * a) * distance + 8 * a) * distance - 4 * a
    return select(apply("le", distance, const(1, distance.type)), inner, outer)


def _sample_cases() -> Iterable[Case]:
    rng = np.random.default_rng(14)
    x = rng.standard_normal((2, 4, 5, 6)).astype(np.float32)
    grid = rng.uniform(-3, 8, (2, 2, 3, 4, 2)).astype(np.float32)
    for mode, padding, corners in product(SAMPLING, PADDINGS, (False, True)):
        yield Case(
            (x, grid),
            {"mode": mode, "padding": padding, "corners": corners},
            2e-5,
            f"{mode} {padding} {corners}",
        )
    line = rng.standard_normal((1, 2, 7)).astype(np.float32)
    yield Case(
        (line, rng.uniform(-2, 8, (1, 1, 9, 1)).astype(np.float32)),
        {"mode": "linear", "padding": "zeros"},
        2e-5,
        "line",
    )


SAMPLE = define(
    Operator(
        "Sample",
        _sample_types,
        _sample_reference,
        _lower_sample,
        Sample,
        (2, 2),
        _sample_cases,
        cost=Cost(_sample_work, _sample_work),
    )
)
"""Samples x [N, C, spatial ...] at the positions of a grid [N, groups, ..., number of spatial
axes], in elements. The output is [N, C, ...]; C / groups channels share the positions of a group.

Attributes:

* `mode`: "nearest", "linear", "cubic", or "largest", the maximum of the weighted elements that
  "linear" sums.
* `padding`: out-of-bounds elements are 0 ("zeros") or those at the border ("border"), or positions
  are mirrored ("reflection").
* `corners`: reflection is at the centres of the first and the last element instead of their outer
  edges.
"""
