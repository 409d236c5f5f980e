"""Reductions, softmax and cumulative sums."""

from collections.abc import Callable, Sequence
from math import inf, prod

from webkiln.frontends.torch.aten import AtenCall, AtenHandler, floating
from webkiln.frontends.torch.operators.linear import powered
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import reductions
from webkiln.ops.pieces import reshaped, sized


def dims(c: AtenCall, x: Tensor) -> tuple[int, ...]:
    return c.axes("dim", x.type.rank)


def reduced(c: AtenCall, op: str, x: Tensor, axes: Sequence[int], *, keep: bool = False) -> Tensor:
    return c.op(op, x, axes=tuple(axes), keepdims=keep) if x.type.rank else c.op("Identity", x)


def keepdim(c: AtenCall) -> bool:
    return bool(c.get("keepdim", False))


def summed(op: str) -> AtenHandler:
    """For integers and booleans, in int64."""

    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        x = c.cast(x, c.dtype(x.dtype if is_float(x.dtype) else "int64"))
        return reduced(c, op, x, dims(c, x), keep=keepdim(c))

    return handler


def mean(c: AtenCall) -> Tensor:
    x = c.tensor()
    x = c.cast(x, c.dtype(x.dtype))
    return reduced(c, "ReduceMean", x, dims(c, x), keep=keepdim(c))


def extreme(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        y = reduced(
            c, op, c.cast(x, "uint8") if x.dtype == "bool" else x, dims(c, x), keep=keepdim(c)
        )
        return c.cast(y, x.dtype)

    return handler


def min_or_max(op: str) -> AtenHandler:
    """Over all elements; over one axis, with indices; or of two tensors."""

    def handler(c: AtenCall) -> Tensor | list[Tensor]:
        x = c.tensor()
        if c.has("other"):
            return c.op(op, *c.promoted("self", "other"))
        if not c.has("dim"):
            return extreme(f"Reduce{op}")(c)  # type: ignore[return-value]
        if not x.type.rank:
            return [c.op("Identity", x), c.b.constant(0, "int64")]
        axis = c.axis(c.number("dim"), x.type.rank)
        numbers = c.cast(x, "uint8") if x.dtype == "bool" else x
        indices = c.op(f"Arg{op}", numbers, axis=axis, keepdims=keepdim(c))
        return [
            c.cast(c.op(f"Reduce{op}", numbers, axes=(axis,), keepdims=keepdim(c)), x.dtype),
            c.cast(indices, "int64"),
        ]

    return handler


def arg_reduction(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        if not c.has("dim"):
            flat = reshaped(c.b, x, (x.type.size,))
            y = c.cast(c.op(op, flat, axis=0, keepdims=False), "int64")
            return reshaped(c.b, y, (1,) * x.type.rank) if keepdim(c) else y
        if not x.type.rank:
            return c.b.constant(0, "int64")
        return c.cast(
            c.op(op, x, axis=c.axis(c.number("dim"), x.type.rank), keepdims=keepdim(c)), "int64"
        )

    return handler


def boolean_reduction(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        y = reduced(c, op, c.cast(c.cast(x, "bool"), "uint8"), dims(c, x), keep=keepdim(c))
        return c.cast(y, "bool")

    return handler


def count_nonzero(c: AtenCall) -> Tensor:
    x = c.tensor()
    return reduced(c, "ReduceSum", c.cast(c.cast(x, "bool"), "int64"), dims(c, x))


def spread_of(c: AtenCall, x: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The variance and the mean, with their reduced axes kept."""
    centre = reduced(c, "ReduceMean", x, axes, keep=True)
    centred = x - centre
    correction = c["correction"]
    if correction is None:
        correction = 1 if c.get("unbiased", True) else 0
    count = prod(x.shape[axis] for axis in axes)
    squares = reduced(c, "ReduceSum", centred * centred, axes, keep=True)
    return c.op("Div", squares, sized(c.b, count - int(correction), x.dtype)), centre


def variance(*, root: bool, both: bool) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor | list[Tensor]:
        x = c.tensor()
        axes = dims(c, x)
        spread, centre = spread_of(c, x, axes)
        spread = c.op("Sqrt", spread) if root else spread
        shape = (
            x.shape if not axes else [1 if d in axes else size for d, size in enumerate(x.shape)]
        )
        sizes = shape if keepdim(c) else [size for d, size in enumerate(x.shape) if d not in axes]
        results = [reshaped(c.b, item, sizes) for item in (spread, centre)]
        return results if both else results[0]

    return handler


def norm(c: AtenCall) -> Tensor:
    x = c.floating()
    x = c.cast(x, c.dtype(x.dtype))
    degree = c["ord"] if c.has("ord") else c.get("p", 2)
    degree = {"fro": 2}.get(degree, degree) if isinstance(degree, str) else degree
    axes, size = dims(c, x), c.op("Abs", x)
    if degree in (inf, -inf):
        return reduced(c, "ReduceMax" if degree > 0 else "ReduceMin", size, axes, keep=keepdim(c))
    if degree == 0:
        return reduced(
            c,
            "ReduceSum",
            c.cast(c.b.binary("NotEqual", size, 0.0), x.dtype),
            axes,
            keep=keepdim(c),
        )
    return powered(
        c,
        reduced(c, "ReduceSum", powered(c, size, float(degree)), axes, keep=keepdim(c)),
        1 / float(degree),
    )


def log_sum_exp(c: AtenCall) -> Tensor:
    x = c.floating()
    axes = dims(c, x)
    return reductions.log_sum_exp(c.b, x, axes, keepdims=keepdim(c))


def softmax(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = floating(c.b, c.tensor("self" if c.has("self") else "input"))
        x = c.cast(x, c.dtype(x.dtype))
        if not x.type.rank:
            return reshaped(c.b, c.op(op, reshaped(c.b, x, (1,)), axis=0), ())
        return c.op(op, x, axis=c.axis(c.number("dim"), x.type.rank))

    return handler


def cumulative(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        x = c.cast(x, c.dtype(x.dtype if is_float(x.dtype) else "int64"))
        return (
            c.op(op, x, axis=c.axis(c.number("dim"), x.type.rank), exclusive=False, reverse=False)
            if x.type.rank
            else c.op("Identity", x)
        )

    return handler


def first(handler: Callable[[AtenCall], list[Tensor]]) -> AtenHandler:
    return lambda c: handler(c)[0]


REDUCE: dict[str, AtenHandler] = {
    "sum": summed("ReduceSum"),
    "prod": summed("ReduceProd"),
    "mean": mean,
    "amax": extreme("ReduceMax"),
    "amin": extreme("ReduceMin"),
    "max": min_or_max("Max"),
    "min": min_or_max("Min"),
    "argmax": arg_reduction("ArgMax"),
    "argmin": arg_reduction("ArgMin"),
    "any": boolean_reduction("ReduceMax"),
    "all": boolean_reduction("ReduceMin"),
    "count_nonzero": count_nonzero,
    "var": variance(root=False, both=False),
    "std": variance(root=True, both=False),
    "var_mean": variance(root=False, both=True),
    "std_mean": variance(root=True, both=True),
    "norm": norm,
    "linalg_vector_norm": norm,
    "frobenius_norm": norm,
    "logsumexp": log_sum_exp,
    "_softmax": softmax("Softmax"),
    "softmax": softmax("Softmax"),
    "_log_softmax": softmax("LogSoftmax"),
    "log_softmax": softmax("LogSoftmax"),
    "_safe_softmax": softmax("Softmax"),
    "special_softmax": softmax("Softmax"),
    "special_log_softmax": softmax("LogSoftmax"),
    "cumsum": cumulative("CumSum"),
    "cumprod": cumulative("CumProd"),
}
