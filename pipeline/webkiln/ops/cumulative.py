"""Cumulative sums and products."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, apply, const
from webkiln.nest.steps import View
from webkiln.ops.operator import Case, Operator, define
from webkiln.ops.reduce import check_axes


@dataclass(frozen=True, slots=True)
class Cumulative(Attributes):
    axis: int
    exclusive: bool = False
    reverse: bool = False


def _cumulative_types(attrs: Cumulative, types: Sequence[Type]) -> tuple[Type, ...]:
    check_axes((attrs.axis,), types[0].rank)
    return (types[0],)


def _cumulative_reference(
    function: Callable[..., Array], start: int
) -> Callable[..., tuple[Array, ...]]:
    def compute(attrs: Cumulative, x: Array) -> tuple[Array, ...]:
        axis = attrs.axis
        wide = np.moveaxis(x.astype(np.float64) if x.dtype.kind == "f" else x, axis, 0)
        ordered = wide[::-1] if attrs.reverse else wide
        if attrs.exclusive:
            ordered = np.concatenate([np.full_like(ordered[:1], start), ordered[:-1]])
        result = function(ordered, axis=0)
        return (np.moveaxis(result[::-1] if attrs.reverse else result, 0, axis),)

    return compute


SHORT = 32
"""Up to this size, a separate reduction per element is faster than passes over the axis."""


def _lower_cumulative(combiner: str, low: Lowering, attrs: Cumulative) -> None:
    """Short axes, and axes of symbolic size, are reduced separately for each element. Longer ones
    take log2(size) passes (Hillis & Steele 1986): after pass n, an element combines the last 2**n
    ones.
    """
    x, axis = low.inputs[0], attrs.axis
    size = x[axis]
    if is_symbolic(size) or size <= SHORT:
        _reduce_separately(combiner, low, attrs)
        return
    source, distance = x, 1
    dtype = "float32" if x.type.dtype == "float16" else x.type.dtype
    if attrs.exclusive:
        source = low.temporary(dtype, x.shape)
        _combine_at_distance(combiner, low, attrs, x, source, distance, shift_only=True)
    while distance < size:
        last = 2 * distance >= size
        target = low.outputs[0] if last else low.temporary(dtype, x.shape)
        _combine_at_distance(combiner, low, attrs, source, target, distance, shift_only=False)
        source, distance = target, 2 * distance


def _combine_at_distance(
    combiner: str,
    low: Lowering,
    attrs: Cumulative,
    source: View,
    target: View,
    distance: int,
    *,
    shift_only: bool,
) -> None:
    """Combine each element with an earlier one or, with `shift_only`, replace it by that one."""
    axis, identity, zero = attrs.axis, 0 if combiner == "sum" else 1, const(0, INT)
    nest = low.nest()
    index = list(nest.axes(source.shape))
    offset = nest.argument(distance)
    position = index[axis] + offset if attrs.reverse else index[axis] - offset
    guard = (
        apply("lt", position, nest.number(source[axis]))
        if attrs.reverse
        else apply("ge", position, zero)
    )
    before = nest.load(
        source, [position if d == axis else item for d, item in enumerate(index)], guard, identity
    )
    value = (
        before
        if shift_only
        else apply("add" if combiner == "sum" else "mul", nest.load(source, index), before)
    )
    nest.store(target, value)
    nest.done()


def _reduce_separately(combiner: str, low: Lowering, attrs: Cumulative) -> None:
    x, axis = low.inputs[0], attrs.axis
    nest = low.nest()
    index = list(nest.axes(x.shape))
    inner = nest.reduce(x[axis])
    first, second = (index[axis], inner) if attrs.reverse else (inner, index[axis])
    guard = apply("lt" if attrs.exclusive else "le", first, second)
    source = [inner if d == axis else item for d, item in enumerate(index)]
    nest.store(
        low.outputs[0],
        nest.accumulate(combiner, nest.load(x, source, guard, 0 if combiner == "sum" else 1)),
    )
    nest.done()


def _cumulative_cases() -> Iterable[Case]:
    x = np.random.default_rng(13).uniform(0.5, 1.5, (3, 7, 4)).astype(np.float32)
    long = np.random.default_rng(14).uniform(0.9, 1.1, (75, 3)).astype(np.float32)
    for axis in (1, 2):
        for exclusive in (False, True):
            for reverse in (False, True):
                yield Case((x,), {"axis": axis, "exclusive": exclusive, "reverse": reverse})
                yield Case(
                    (long,), {"axis": 0, "exclusive": exclusive, "reverse": reverse}, name="long"
                )
    yield Case((np.arange(1, 6, dtype=np.int32),), {"axis": 0}, name="integers")


# Cumulative operations along `axis`. `exclusive` excludes the element itself; `reverse` starts at
# the end.
for _name, _combiner, _gather, _start in (
    ("CumSum", "sum", np.cumsum, 0),
    ("CumProd", "prod", np.cumprod, 1),
):
    define(
        Operator(
            _name,
            _cumulative_types,
            _cumulative_reference(_gather, _start),
            partial(_lower_cumulative, _combiner),
            Cumulative,
            cases=_cumulative_cases,
        )
    )
