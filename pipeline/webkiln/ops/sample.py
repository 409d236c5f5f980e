"""Sampling of images at positions that are data (grid sampling)."""

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.graph import Attributes
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import INT, Expr, apply, cast, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.nest.steps import View
from webkiln.ops.interpolate import MODES, cubic_weight
from webkiln.ops.operator import REQUIRED, Case, Operator, define

PADDINGS = ("zeros", "border", "reflection")
SAMPLING = (*MODES, "largest")


def _sample_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    x, places = types
    count = x.rank - 2
    groups = places.shape[1] if places.rank > 2 else 0
    if (
        places.rank < 3
        or places.shape[0] != x.shape[0]
        or places.shape[-1] != count
        or not groups
        or x.shape[1] % groups
    ):
        raise ShapeError(f"places {places} are no [batch, groups, ..., {count}] for {x}")
    if attrs["mode"] not in SAMPLING or attrs["padding"] not in PADDINGS or x.dtype != places.dtype:
        raise ShapeError(
            f"{attrs['mode']} with {attrs['padding']} of {x} at {places}: there are"
            f" {', '.join(SAMPLING)} with {', '.join(PADDINGS)}"
        )
    return (Type(x.dtype, (*x.shape[:2], *places.shape[2:-1])),)


def _taps(mode: str) -> tuple[int, ...]:
    return {"nearest": (0,), "linear": (0, 1), "largest": (0, 1), "cubic": (-1, 0, 1, 2)}[mode]


def _borders(attrs: Attributes, size: Any) -> tuple[Any, Any]:
    """Where reflection turns round."""
    return (0, size - 1) if attrs["corners"] else (-0.5, size - 0.5)


def _turned(attrs: Attributes, place: Array, size: int) -> Array:
    first, last = _borders(attrs, size)
    if first == last:
        return np.zeros_like(place)
    offset = np.mod(place - first, 2 * (last - first))
    return np.asarray(first + np.minimum(offset, 2 * (last - first) - offset))


def _sample_work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """Each output tap by tap, which are all kept."""
    spatial = inputs[0].rank - 2
    return int(8 * len(_taps(attrs["mode"])) ** spatial * (spatial + 1) * outputs[0].size)


def _sample_reference(attrs: Attributes, x: Array, places: Array) -> tuple[Array, ...]:
    batch, channels = x.shape[:2]
    sizes, count = x.shape[2:], x.ndim - 2
    out = np.zeros((batch, channels, *places.shape[2:-1]))
    wide = np.repeat(places.astype(np.float64), channels // places.shape[1], axis=1)
    numbers = np.indices(out.shape)[:2]
    position = [
        np.rint(wide[..., d]) if attrs["mode"] == "nearest" else wide[..., d] for d in range(count)
    ]
    if attrs["padding"] == "border":
        position = [np.clip(p, 0, size - 1) for p, size in zip(position, sizes, strict=True)]
    elif attrs["padding"] == "reflection":
        position = [_turned(attrs, p, size) for p, size in zip(position, sizes, strict=True)]
    found = []
    for tap in product(_taps(attrs["mode"]), repeat=count):
        weight, inside = np.ones(out.shape), np.ones(out.shape, bool)
        where = []
        for p, step, size in zip(position, tap, sizes, strict=True):
            element = np.floor(p) + step
            distance = np.abs(p - element)
            weight = weight * (
                1
                if attrs["mode"] == "nearest"
                else cubic_weight(distance, -0.75)
                if attrs["mode"] == "cubic"
                else 1 - distance
            )
            if attrs["padding"] == "reflection":
                element = np.floor(_turned(attrs, element, size))
            inside &= (element >= 0) & (element < size) | (attrs["padding"] != "zeros")
            where.append(np.clip(element, 0, size - 1).astype(int))
        found.append(weight * np.where(inside, x[(numbers[0], numbers[1], *where)], 0))
    return (np.max(found, axis=0) if attrs["mode"] == "largest" else np.sum(found, axis=0),)


def _reflected(attrs: Attributes, place: Expr, size: Expr) -> Expr:
    """A place inside by reflection at the borders; 0 on an axis of one element."""
    first, last = _borders(attrs, size)
    span = last - first
    offset = (place - first) - apply("floor", (place - first) / (2.0 * span)) * (2.0 * span)
    turned = apply("min", offset, 2.0 * span - offset) + first
    return select(apply("gt", span, const(0, span.type)), turned, const(0, span.type))


def _lower_sample(low: Lowering, attrs: Attributes) -> None:
    """The channels of a group are read at the same places."""
    x, places = low.inputs
    type_ = COMPUTE[x.type.dtype]
    groups = places[1]
    split = (x[0], groups, x[1] // groups)
    nest = low.nest()
    opened = nest.axes((*split, *places.shape[2:-1]))
    sizes = [cast(nest.argument(size), type_) for size in x.shape[2:]]
    position: list[Expr] = []
    for d, size in enumerate(sizes):
        place = nest.load(places, (*opened[:2], *opened[3:], nest.number(d)))
        place = apply("rint", place) if attrs["mode"] == "nearest" else place
        if attrs["padding"] == "border":
            place = apply("min", apply("max", place, const(0, type_)), size - 1.0)
        position.append(
            _reflected(attrs, place, size) if attrs["padding"] == "reflection" else place
        )
    view = x.reshaped((*split, *x.shape[2:]))
    taps = product(_taps(attrs["mode"]), repeat=len(sizes))
    total, *others = (_tapped(nest, attrs, view, opened[:3], position, sizes, tap) for tap in taps)
    for value in others:
        total = apply("max", total, value) if attrs["mode"] == "largest" else total + value
    nest.store(low.outputs[0].reshaped((*split, *places.shape[2:-1])), total)
    nest.done()


def _tapped(
    nest: NestBuilder,
    attrs: Attributes,
    x: View,
    lead: Sequence[Expr],
    position: Sequence[Expr],
    sizes: Sequence[Expr],
    tap: Sequence[int],
) -> Expr:
    """A neighbour, weighed; x is [batch, groups, channels, ...]."""
    weights: list[Expr] = []
    checks: list[Expr] = []
    index: list[Expr] = []
    for d, step in enumerate(tap):
        element = apply("floor", position[d]) + float(step)
        distance = apply("abs", position[d] - element)
        weights.append(_cubic(distance) if attrs["mode"] == "cubic" else 1.0 - distance)
        if attrs["padding"] == "reflection":
            element = _reflected(attrs, element, sizes[d])
        whole = cast(apply("floor", element), INT)
        if attrs["padding"] == "zeros":
            checks.append(nest.in_bounds(whole, x[d + 3]))
        else:
            whole = apply("min", apply("max", whole, const(0, INT)), nest.argument(x[d + 3] - 1))
        index.append(whole)
    guard = reduce(lambda a, b: apply("and", a, b), checks) if checks else None
    value = nest.load(x, (*lead, *index), guard)
    return value if attrs["mode"] == "nearest" else reduce(Expr.__mul__, weights) * value


def _cubic(distance: Expr) -> Expr:
    a = -0.75
    inner = ((a + 2) * distance - (a + 3)) * distance * distance + 1.0
    outer = ((distance * a - 5 * a) * distance + 8 * a) * distance - 4 * a
    return select(apply("le", distance, const(1, distance.type)), inner, outer)


def _sample_cases() -> Iterable[Case]:
    rng = np.random.default_rng(14)
    x = rng.standard_normal((2, 4, 5, 6)).astype(np.float32)
    places = rng.uniform(-3, 8, (2, 2, 3, 4, 2)).astype(np.float32)
    for mode, padding, corners in product(SAMPLING, PADDINGS, (False, True)):
        yield Case(
            (x, places),
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
        {"mode": REQUIRED, "padding": REQUIRED, "corners": False},
        (2, 2),
        _sample_cases,
        work=_sample_work,
        scratch=_sample_work,
    )
)
"""x [N, C, ...] read at places [N, groups, ..., spatial axes], counted in elements. `corners`:
reflection is at the first and last element, not half an element beyond. `largest` is the largest of
the weighed neighbours that `linear` adds.
"""
