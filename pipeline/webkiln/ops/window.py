"""Sliding windows for convolution, pooling and padding."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size, is_at_least, is_symbolic
from webkiln.ir.size_checks import require_non_negative
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import Expr, apply
from webkiln.nest.steps import View


@dataclass(frozen=True, slots=True)
class Phase:
    """A subset of the outputs of a window over a dilated axis, which use the same taps.

    The outputs are `start + period * q` for q < `count`. Their taps are `first + every * j` for j <
    `taps`, which read the elements `q * stride + j * dilation - low`. If `padded`, some of these
    are out of bounds.
    """

    start: Size
    period: int
    count: Size
    first: int
    every: int
    taps: Size
    stride: int
    dilation: int
    low: Size
    padded: bool


def check_entries(count: int, each: str, **attributes: Sequence[Size]) -> None:
    """Raise ShapeError for the first attribute that has not `count` entries, one per `each`."""
    for name, values in attributes.items():
        if len(values) != count:
            raise ShapeError(f"{name} has {len(values)} entries, expected {count}, one per {each}")


def window_size(
    size: Size, window: Size, stride: int, dilation: int, low: Size, high: Size, x_dilation: int = 1
) -> Size:
    """The number of positions of a dilated window on a padded axis of `size` elements, dilated by
    `x_dilation`. Raises ShapeError if the window is larger than the axis.
    """
    span = (window - 1) * dilation + 1
    padded = (size - 1) * x_dilation + 1 + low + high
    require_non_negative(
        padded - span,
        f"a window of {window} with dilation {dilation} spans {span} elements, but the padded axis"
        f" has {padded}",
    )
    return (padded - span) // stride + 1


def phases(
    size: Size, count: Size, window: int, stride: int, dilation: int, low: Size, x_dilation: int
) -> list[Phase]:
    """Partition the `count` outputs of a window over an axis, dilated by `x_dilation`, into phases
    by the taps that read elements, so that no tap reads the zeros between them. With `x_dilation`
    1, there is only one phase.
    """
    period, every = x_dilation // gcd(stride, x_dilation), x_dilation // gcd(dilation, x_dilation)
    result = []
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
        step, tap_step = period * stride // x_dilation, every * dilation // x_dilation
        begin = (start * stride + first * dilation - low) // x_dilation
        padded = not (
            is_at_least(begin, 0)
            and is_at_least(size - 1, begin + (outputs - 1) * step + (taps - 1) * tap_step)
        )
        result.append(
            Phase(start, period, outputs, first, every, taps, step, tap_step, -begin, padded)
        )
    return result


def window_index(
    nest: NestBuilder,
    out: Expr,
    inner: Expr,
    stride: int,
    dilation: int,
    low: Size,
    *,
    shared: bool = False,
) -> Expr:
    """The index that tap `inner` of window `out` reads. With `shared`, `low` is always an argument,
    so that phases that differ only in `low` share a kernel.
    """
    before = nest.argument(low) if shared else nest.number(low)
    return out * nest.number(stride) + inner * nest.number(dilation) - before


def all_in_bounds(nest: NestBuilder, checks: Iterable[tuple[Expr, Size]]) -> Expr | None:
    """The conjunction of 0 <= index < size for all pairs (index, size); None if there are none."""
    guard: Expr | None = None
    for index, size in checks:
        in_bounds = nest.in_bounds(index, size)
        guard = in_bounds if guard is None else apply("and", guard, in_bounds)
    return guard


def write_padded(low: Lowering, x: View, out: View, before: Sequence[Size], value: float) -> None:
    """Append a nest that stores `x` to `out`, padded with `value`: by `before` elements at the
    start of each axis, and the rest at the end.
    """
    nest = low.nest()
    source = [
        item - nest.number(count) for item, count in zip(nest.axes(out.shape), before, strict=True)
    ]
    padded = [
        (item, size)
        for item, size, wide in zip(source, x.shape, out.shape, strict=True)
        if size != wide
    ]
    nest.store(out, nest.load(x, source, all_in_bounds(nest, padded), value))
    nest.done()
