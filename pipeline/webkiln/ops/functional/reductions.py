"""Reductions of axes, and accumulations along them."""

from collections.abc import Sequence

import numpy as np

from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.elementary import nan_to_num
from webkiln.ops.functional.linear import WIDE, AxisArgument, variance
from webkiln.ops.functional.operands import (
    Argument,
    Operation,
    as_dtype,
    axes_of,
    countable,
    floating,
    like,
    operands,
    tensor,
    wide,
)
from webkiln.ops.pieces import cast, part, reshaped


def reduction(
    op: str, *, real: bool = False, widened: bool = False, skipped: float | None = None
) -> Operation:
    """A reduction. `real` casts integers to float first, `widened` casts narrow ones to 32 bits;
    the extremes of bools are bools. NaN is replaced by `skipped`.
    """

    def apply(
        b: GraphBuilder,
        x: Argument,
        axis: AxisArgument = None,
        keepdims: bool = False,
        *,
        dtype: str | None = None,
        initial: Argument = None,
    ) -> Tensor:
        x = floating(b, x) if real else tensor(b, x)
        if skipped is not None and is_float(x.dtype):
            x = b.op("Where", [b.op("IsNaN", [x]), like(b, skipped, x), x])
        result = dtype or (WIDE.get(x.dtype, x.dtype) if widened else x.dtype)
        y = b.op(
            op,
            [countable(b, cast(b, x, result))],
            {"axes": axes_of(axis, x.type.rank), "keepdims": keepdims},
        )
        if initial is not None:
            y = b.op(op.removeprefix("Reduce"), [y, as_dtype(b, initial, y.dtype)])
        return cast(b, y, result)

    return apply


def _all(b: GraphBuilder, x: Tensor, axes: Sequence[int], *, keepdims: bool) -> Tensor:
    return cast(
        b,
        b.op("ReduceMin", [cast(b, x, "int32")], {"axes": tuple(axes), "keepdims": keepdims}),
        "bool",
    )


def nan_extreme(op: str) -> Operation:
    """nanmax, nanmin: NaN if all elements are NaN."""
    least = -np.inf if op == "ReduceMax" else np.inf

    def apply(
        b: GraphBuilder, x: Argument, axis: AxisArgument = None, keepdims: bool = False
    ) -> Tensor:
        x = tensor(b, x)
        y: Tensor = reduction(op, skipped=least)(b, x, axis, keepdims)
        if not is_float(x.dtype):
            return y
        lost = _all(b, b.op("IsNaN", [x]), axes_of(axis, x.type.rank), keepdims=keepdims)
        return b.op("Where", [lost, like(b, np.nan, y), y])

    return apply


def truth(op: str) -> Operation:
    """any, all."""

    def apply(
        b: GraphBuilder, x: Argument, axis: AxisArgument = None, keepdims: bool = False
    ) -> Tensor:
        x = cast(b, cast(b, tensor(b, x), "bool"), "int32")
        return cast(
            b, b.op(op, [x], {"axes": axes_of(axis, x.type.rank), "keepdims": keepdims}), "bool"
        )

    return apply


def index_of(op: str, *, lost: int | None = None) -> Operation:
    """argmax, argmin; without an axis, of the flattened operand. NaN is ignored; if all elements
    are NaN, the result is `lost`.
    """
    last = -np.inf if op == "ArgMax" else np.inf

    def apply(
        b: GraphBuilder, x: Argument, axis: int | None = None, keepdims: bool = False
    ) -> Tensor:
        x = countable(b, tensor(b, x))
        rank = x.type.rank
        flat = x if axis is not None else reshaped(b, x, (x.type.size,))
        attrs = {"axis": (axis or 0) % max(rank, 1), "keepdims": keepdims and axis is not None}
        missing = b.op("IsNaN", [flat]) if is_float(x.dtype) else None
        y = b.op(
            op,
            [flat if missing is None else b.op("Where", [missing, like(b, last, x), flat])],
            attrs,
        )
        if lost is not None and missing is not None:
            y = b.op(
                "Where",
                [
                    _all(b, missing, [attrs["axis"]], keepdims=attrs["keepdims"]),
                    like(b, lost, y),
                    y,
                ],
            )
        return reshaped(b, y, (1,) * rank) if keepdims and axis is None else y

    return apply


def nan_mean(
    b: GraphBuilder, x: Argument, axis: AxisArgument = None, keepdims: bool = False
) -> Tensor:
    x = floating(b, x)
    return cast(
        b, _mean_of_present(b, wide(b, x), axes_of(axis, x.type.rank), keepdims=keepdims), x.dtype
    )


def _present(b: GraphBuilder, x: Tensor) -> Tensor:
    return b.op("Not", [b.op("IsNaN", [x])])


def _mean_of_present(b: GraphBuilder, x: Tensor, axes: Sequence[int], *, keepdims: bool) -> Tensor:
    attrs = {"axes": tuple(axes), "keepdims": keepdims}
    present = _present(b, x)
    total = b.op("ReduceSum", [b.op("Where", [present, x, like(b, 0, x)])], attrs)
    return b.op("Div", [total, b.op("ReduceSum", [cast(b, present, x.dtype)], attrs)])


def nan_variance(
    b: GraphBuilder, x: Argument, axis: AxisArgument = None, keepdims: bool = False
) -> Tensor:
    original = floating(b, x)
    x, axes = wide(b, original), axes_of(axis, original.type.rank)
    squares = b.op("Square", [b.op("Sub", [x, _mean_of_present(b, x, axes, keepdims=True)])])
    return cast(
        b,
        _mean_of_present(b, b.op("Where", [_present(b, x), squares, x]), axes, keepdims=keepdims),
        original.dtype,
    )


def nan_deviation(
    b: GraphBuilder, x: Argument, axis: AxisArgument = None, keepdims: bool = False
) -> Tensor:
    return b.op("Sqrt", [nan_variance(b, x, axis, keepdims)])


def peak_to_peak(
    b: GraphBuilder, x: Argument, axis: AxisArgument = None, keepdims: bool = False
) -> Tensor:
    high, low = (reduction(op)(b, x, axis, keepdims) for op in ("ReduceMax", "ReduceMin"))
    return b.op("Sub", [high, low])


def average(
    b: GraphBuilder, x: Argument, weights: Argument = None, axis: AxisArgument = None
) -> Tensor:
    """Weighted by a tensor of the same shape, or by one along the axis."""
    if weights is None:
        mean: Tensor = reduction("ReduceMean", real=True)(b, x, axis)
        return mean
    x, weights = operands(b, x, weights, floating=True)
    axes = axes_of(axis, x.type.rank)
    if weights.type.rank != x.type.rank:
        weights = reshaped(b, weights, [n if d in axes else 1 for d, n in enumerate(x.shape)])
    attrs = {"axes": axes, "keepdims": False}
    total = b.op("ReduceSum", [weights], attrs)
    return b.op("Div", [b.op("ReduceSum", [b.op("Mul", [x, weights])], attrs), total])


def count_nonzero(b: GraphBuilder, x: Argument, axis: AxisArgument = None) -> Tensor:
    nonzero = cast(b, cast(b, tensor(b, x), "bool"), "int32")
    return b.op(
        "ReduceSum", [nonzero], {"axes": axes_of(axis, nonzero.type.rank), "keepdims": False}
    )


def cumulative(op: str, *, nan: float | None = None) -> Operation:
    """cumsum, cumprod; without an axis, of the flattened operand. NaN is replaced by `nan`."""

    def apply(
        b: GraphBuilder, x: Argument, axis: int | None = None, dtype: str | None = None
    ) -> Tensor:
        x = tensor(b, x) if nan is None else nan_to_num(b, x, nan)
        x = countable(b, cast(b, x, dtype or x.dtype))
        x = reshaped(b, x, (x.type.size,)) if axis is None else x
        return b.op(op, [x], {"axis": (axis or 0) % x.type.rank})

    return apply


def diff(b: GraphBuilder, a: Argument, n: int = 1, axis: int = -1) -> Tensor:
    x = tensor(b, a)
    axis %= x.type.rank
    for _ in range(n):
        size = x.shape[axis] - 1
        x = b.op(
            "NotEqual" if x.dtype == "bool" else "Sub",
            [part(b, x, axis, 1, size), part(b, x, axis, 0, size)],
        )
    return x


def trapezoid(
    b: GraphBuilder, y: Argument, x: Argument = None, dx: float = 1.0, axis: int = -1
) -> Tensor:
    y = floating(b, y)
    axis %= y.type.rank
    size = y.shape[axis] - 1
    heights = b.op("Add", [part(b, y, axis, 1, size), part(b, y, axis, 0, size)]) * 0.5
    if x is None:
        areas = heights * float(dx)
    else:
        widths = as_dtype(b, x, y.dtype)
        widths = diff(b, widths, 1, axis if widths.type.rank > 1 else 0)
        if widths.type.rank == 1:
            widths = reshaped(b, widths, [size if d == axis else 1 for d in range(y.type.rank)])
        areas = b.op("Mul", [heights, widths])
    return b.op("ReduceSum", [areas], {"axes": (axis,), "keepdims": False})


def deviation(
    b: GraphBuilder, x: Argument, axis: AxisArgument = None, keepdims: bool = False
) -> Tensor:
    return b.op("Sqrt", [variance(b, x, axis, keepdims)])


def log_sum_exp(b: GraphBuilder, x: Tensor, axes: Sequence[int], *, keepdims: bool) -> Tensor:
    """log(sum(exp(x - max))) + max, which does not overflow; an infinite maximum is not
    subtracted.
    """
    attrs = {"axes": tuple(axes), "keepdims": True}
    largest = b.op("ReduceMax", [x], attrs)
    finite = b.op("Where", [b.op("IsInf", [largest]), b.constant(0, x.dtype), largest])
    total = b.op("Log", [b.op("ReduceSum", [b.op("Exp", [x - finite])], attrs)]) + finite
    if keepdims:
        return total
    return reshaped(b, total, [size for axis, size in enumerate(x.shape) if axis not in axes])
