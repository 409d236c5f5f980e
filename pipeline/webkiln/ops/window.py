"""Sliding windows, for convolution, pooling and padding."""

from collections.abc import Iterable, Sequence

from webkiln.errors import ShapeError
from webkiln.nest.build import Lowering, NestBuilder, View
from webkiln.nest.expr import Expr, apply


def window_size(size: int, window: int, stride: int, dilation: int, low: int, high: int) -> int:
    """How often a dilated window fits into a padded axis; ShapeError when it does not fit."""
    span = (window - 1) * dilation + 1
    padded = size + low + high
    if padded < span:
        raise ShapeError(f"a window of {window} with dilation {dilation} spans {span}, the padded axis has {padded}")
    return (padded - span) // stride + 1


def window_index(nest: NestBuilder, out: Expr, inner: Expr, stride: int, dilation: int, low: int) -> Expr:
    """The input position that tap `inner` of window `out` reads."""
    return out * nest.number(stride) + inner * nest.number(dilation) - nest.number(low)


def all_inside(nest: NestBuilder, checks: Iterable[tuple[Expr, int]]) -> Expr | None:
    guard: Expr | None = None
    for index, size in checks:
        inside = nest.inside(index, size)
        guard = inside if guard is None else apply("and", guard, inside)
    return guard


def write_padded(low: Lowering, x: View, out: View, before: Sequence[int], value: float) -> None:
    """Store `x` into `out` behind `before` elements on each axis, `value` around it."""
    nest = low.nest()
    source = [item - nest.number(count) for item, count in zip(nest.axes(out.shape), before, strict=True)]
    padded = [(item, size) for item, size, wide in zip(source, x.shape, out.shape, strict=True) if size != wide]
    nest.store(out, nest.load(x, source, all_inside(nest, padded), value))
    nest.done()
