"""Sliding windows, for convolution, pooling and padding."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from webkiln.ir.dim import is_at_least, is_symbolic
from webkiln.ir.size_checks import require_non_negative
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import Expr, apply
from webkiln.nest.steps import View


@dataclass(frozen=True, slots=True)
class Phase:
    """Every `period`-th output from `start` on, `count` of them. Output number q of these reads, at
    taps `first + every * j` for j < `taps`, the elements `q * stride + j * dilation - low`; some of
    those lie outside the axis where it is `padded`.
    """

    start: int
    period: int
    count: int
    first: int
    every: int
    taps: int
    stride: int
    dilation: int
    low: int
    padded: bool


def window_size(
    size: int, window: int, stride: int, dilation: int, low: int, high: int, x_dilation: int = 1
) -> int:
    """How often a dilated window fits into a padded axis whose elements lie `x_dilation` apart;
    ShapeError when it does not fit.
    """
    span = (window - 1) * dilation + 1
    padded = (size - 1) * x_dilation + 1 + low + high
    require_non_negative(
        padded - span,
        f"a window of {window} with dilation {dilation} spans {span}, the padded axis has {padded}",
    )
    return (padded - span) // stride + 1


def phases(
    size: int, count: int, window: int, stride: int, dilation: int, low: int, x_dilation: int
) -> list[Phase]:
    """The `count` outputs of a window over an axis whose elements lie `x_dilation` apart, by the
    taps
    that meet elements: no phase multiplies by the zeros between them. Without `x_dilation` there is
    one.
    """
    period, every = x_dilation // gcd(stride, x_dilation), x_dilation // gcd(dilation, x_dilation)
    found = []
    for start in range(period if is_symbolic(count) else min(period, count)):
        first = next(
            (
                tap
                for tap in range(min(every, window))
                if (start * stride + tap * dilation - low) % x_dilation == 0
            ),
            window,
        )
        taps, outputs = -(-(window - first) // every), -(-(count - start) // period)
        step, along = period * stride // x_dilation, every * dilation // x_dilation
        begin = (start * stride + first * dilation - low) // x_dilation
        padded = not (
            is_at_least(begin, 0)
            and is_at_least(size - 1, begin + (outputs - 1) * step + (taps - 1) * along)
        )
        found.append(Phase(start, period, outputs, first, every, taps, step, along, -begin, padded))
    return found


def window_index(
    nest: NestBuilder,
    out: Expr,
    inner: Expr,
    stride: int,
    dilation: int,
    low: int,
    *,
    shared: bool = False,
) -> Expr:
    """The input position that tap `inner` of window `out` reads; `shared` by windows that differ in
    `low` alone.
    """
    before = nest.argument(low) if shared else nest.number(low)
    return out * nest.number(stride) + inner * nest.number(dilation) - before


def all_inside(nest: NestBuilder, checks: Iterable[tuple[Expr, int]]) -> Expr | None:
    guard: Expr | None = None
    for index, size in checks:
        inside = nest.in_bounds(index, size)
        guard = inside if guard is None else apply("and", guard, inside)
    return guard


def write_padded(low: Lowering, x: View, out: View, before: Sequence[int], value: float) -> None:
    """Store `x` into `out` behind `before` elements on each axis, `value` around it."""
    nest = low.nest()
    source = [
        item - nest.number(count) for item, count in zip(nest.axes(out.shape), before, strict=True)
    ]
    padded = [
        (item, size)
        for item, size, wide in zip(source, x.shape, out.shape, strict=True)
        if size != wide
    ]
    nest.store(out, nest.load(x, source, all_inside(nest, padded), value))
    nest.done()
