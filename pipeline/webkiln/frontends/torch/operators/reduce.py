"""Reductions, sorting, softmax and normalizations."""

from collections.abc import Callable, Sequence
from math import inf, prod

from webkiln.frontends.torch.aten import AtenCall, AtenHandler, floating
from webkiln.frontends.torch.operators.linear import powered
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import part, reshaped, sized, widened


def dims(c: AtenCall, x: Tensor) -> tuple[int, ...]:
    return c.axes("dim", x.type.rank)


def reduced(c: AtenCall, op: str, x: Tensor, axes: Sequence[int], *, keep: bool = False) -> Tensor:
    return c.op(op, x, axes=tuple(axes), keepdims=keep) if x.type.rank else c.op("Identity", x)


def keeps(c: AtenCall) -> bool:
    return bool(c.get("keepdim", False))


def summed(op: str) -> AtenHandler:
    """For integers and booleans, in int64."""

    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        x = c.cast(x, c.dtype(x.dtype if is_float(x.dtype) else "int64"))
        return reduced(c, op, x, dims(c, x), keep=keeps(c))

    return handler


def mean(c: AtenCall) -> Tensor:
    x = c.tensor()
    x = c.cast(x, c.dtype(x.dtype))
    return reduced(c, "ReduceMean", x, dims(c, x), keep=keeps(c))


def extreme(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        y = reduced(
            c, op, c.cast(x, "uint8") if x.dtype == "bool" else x, dims(c, x), keep=keeps(c)
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
        indices = c.op(f"Arg{op}", numbers, axis=axis, keepdims=keeps(c))
        return [
            c.cast(c.op(f"Reduce{op}", numbers, axes=(axis,), keepdims=keeps(c)), x.dtype),
            c.cast(indices, "int64"),
        ]

    return handler


def arg_reduction(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        if not c.has("dim"):
            flat = reshaped(c.b, x, (x.type.size,))
            y = c.cast(c.op(op, flat, axis=0, keepdims=False), "int64")
            return reshaped(c.b, y, (1,) * x.type.rank) if keeps(c) else y
        if not x.type.rank:
            return c.b.constant(0, "int64")
        return c.cast(
            c.op(op, x, axis=c.axis(c.number("dim"), x.type.rank), keepdims=keeps(c)), "int64"
        )

    return handler


def truth(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        y = reduced(c, op, c.cast(c.cast(x, "bool"), "uint8"), dims(c, x), keep=keeps(c))
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
        sizes = shape if keeps(c) else [size for d, size in enumerate(x.shape) if d not in axes]
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
        return reduced(c, "ReduceMax" if degree > 0 else "ReduceMin", size, axes, keep=keeps(c))
    if degree == 0:
        return reduced(
            c, "ReduceSum", c.cast(c.b.binary("NotEqual", size, 0.0), x.dtype), axes, keep=keeps(c)
        )
    return powered(
        c,
        reduced(c, "ReduceSum", powered(c, size, float(degree)), axes, keep=keeps(c)),
        1 / float(degree),
    )


def log_sum_exp(c: AtenCall) -> Tensor:
    x = c.floating()
    axes = dims(c, x)
    largest = reduced(c, "ReduceMax", x, axes, keep=True)
    finite = c.op("Where", c.op("IsInf", largest), c.like(0, x), largest)
    logarithm = (
        c.op("Log", reduced(c, "ReduceSum", c.op("Exp", x - finite), axes, keep=True)) + finite
    )
    return (
        logarithm
        if keeps(c)
        else reshaped(c.b, logarithm, [size for d, size in enumerate(x.shape) if d not in axes])
    )


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


def sort(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    if not x.type.rank:
        return [c.op("Identity", x), c.b.constant(0, "int64")]
    numbers = c.cast(x, "uint8") if x.dtype == "bool" else x
    values, indices = c.b.ops(
        "Sort",
        [numbers],
        {
            "axis": c.axis(c.get("dim", -1), x.type.rank),
            "descending": bool(c.get("descending", False)),
        },
    )
    return [c.cast(values, x.dtype), indices]


def argsort(c: AtenCall) -> Tensor:
    return sort(c)[1]


def top_k(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", -1), x.type.rank)
    ordered = c.b.ops("Sort", [x], {"axis": axis, "descending": bool(c.get("largest", True))})
    return [part(c.b, item, axis, 0, c.number("k")) for item in ordered]


def kth_value(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", -1), x.type.rank)
    return chosen(c, x, axis, c.number("k") - 1)


def chosen(c: AtenCall, x: Tensor, axis: int, index: int) -> list[Tensor]:
    """The k-th smallest element along an axis, and its index."""
    shape = (
        [1 if d == axis else size for d, size in enumerate(x.shape)]
        if keeps(c)
        else [size for d, size in enumerate(x.shape) if d != axis]
    )
    return [
        reshaped(c.b, part(c.b, item, axis, index, 1), shape)
        for item in c.b.ops("Sort", [x], {"axis": axis, "descending": False})
    ]


def median(c: AtenCall) -> Tensor | list[Tensor]:
    x = c.tensor()
    if c.has("dim"):
        axis = c.axis(c.number("dim"), x.type.rank)
        return chosen(c, x, axis, (x.shape[axis] - 1) // 2)
    flat = reshaped(c.b, x, (x.type.size,))
    return chosen(c, flat, 0, (x.type.size - 1) // 2)[0]


def whole(c: AtenCall, x: Tensor, axes: Sequence[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) / deviation; the mean; 1 / deviation."""
    centre = reduced(c, "ReduceMean", x, axes, keep=True)
    centred = x - centre
    inverse = c.op("Rsqrt", reduced(c, "ReduceMean", centred * centred, axes, keep=True) + eps)
    return c.op("Mul", centred, inverse), centre, inverse


def scaled(
    c: AtenCall, x: Tensor, weight: Tensor | None, bias: Tensor | None, axis: int | None = None
) -> Tensor:
    """x times a weight plus a bias, over one axis or the last ones."""

    def fitted(item: Tensor) -> Tensor:
        return (
            item
            if axis is None
            else reshaped(c.b, item, [*[1] * axis, item.type.size, *[1] * (x.type.rank - axis - 1)])
        )

    x = x if weight is None else c.op("Mul", x, fitted(weight))
    return x if bias is None else c.op("Add", x, fitted(bias))


def layer_norm(c: AtenCall) -> list[Tensor]:
    x = c.tensor("input")
    axes = range(x.type.rank - len(c.sizes("normalized_shape")), x.type.rank)
    y, centre, inverse = whole(c, x, axes, float(c["eps"]))
    return [scaled(c, y, c.optional("weight"), c.optional("bias")), centre, inverse]


EPSILON = {
    "float16": 0.0009765625,
    "float32": 1.1920928955078125e-07,
    "float64": 2.220446049250313e-16,
}


def rms_norm(c: AtenCall) -> Tensor:
    x = c.tensor("input")
    axes = range(x.type.rank - len(c.sizes("normalized_shape")), x.type.rank)
    inverse = c.op(
        "Rsqrt",
        reduced(c, "ReduceMean", x * x, axes, keep=True) + float(c.get("eps", EPSILON[x.dtype])),
    )
    return scaled(c, c.op("Mul", x, inverse), c.optional("weight"), None)


def group_norm(c: AtenCall) -> list[Tensor]:
    x = c.tensor("input")
    groups = c["group"] if c.has("group") else c.number("num_groups")
    n, channels, *rest = x.shape
    y, centre, inverse = whole(
        c, reshaped(c.b, x, (n, groups, channels // groups * prod(rest))), (2,), float(c["eps"])
    )
    ends = [reshaped(c.b, item, (n, groups)) for item in (centre, inverse)]
    return [
        scaled(c, reshaped(c.b, y, x.shape), c.optional("weight"), c.optional("bias"), 1),
        *ends,
    ]


def instance_norm(c: AtenCall) -> Tensor:
    if not c.get("use_input_stats", True):
        return batch_norm(c)[0]
    x = c.tensor("input")
    y, _, _ = whole(c, x, range(2, x.type.rank), float(c["eps"]))
    return scaled(c, y, c.optional("weight"), c.optional("bias"), 1)


def batch_norm(c: AtenCall) -> list[Tensor]:
    """Normalise with running statistics. In training mode, or without running statistics, use those
    of the batch.
    """
    x = c.tensor("input" if c.has("input") else "self")
    mean_, variance_ = c.optional("running_mean"), c.optional("running_var")
    empty = c.op("Broadcast", c.like(0, x), shape=(0,))
    if c.get("training", False) or mean_ is None or variance_ is None:
        y, centre, inverse = whole(c, x, [d for d in range(x.type.rank) if d != 1], float(c["eps"]))
        ends = [reshaped(c.b, item, (x.shape[1],)) for item in (centre, inverse)]
        if mean_ is not None and variance_ is not None:
            raise c.call.unsupported(
                "updates its running mean and variance", "Call model.eval() before it is exported"
            )
        return [scaled(c, y, c.optional("weight"), c.optional("bias"), 1), *ends]
    count = (x.shape[1],)
    weight = c.optional("weight") or widened(c.b, c.like(1, x), count)
    bias = c.optional("bias") or widened(c.b, c.like(0, x), count)
    parameters = [c.cast(item, x.dtype) for item in (weight, bias, mean_, variance_)]
    return [c.op("BatchNorm", x, *parameters, axis=1, epsilon=float(c["eps"])), empty, empty]


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
    "any": truth("ReduceMax"),
    "all": truth("ReduceMin"),
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
    "sort": sort,
    "msort": first(sort),
    "argsort": argsort,
    "topk": top_k,
    "kthvalue": kth_value,
    "median": median,
    "native_layer_norm": layer_norm,
    "layer_norm": first(layer_norm),
    "rms_norm": rms_norm,
    "native_group_norm": group_norm,
    "group_norm": first(group_norm),
    "instance_norm": instance_norm,
    "_native_batch_norm_legit_no_training": batch_norm,
    "_native_batch_norm_legit": batch_norm,
    "native_batch_norm": batch_norm,
    "batch_norm": first(batch_norm),
    "_batch_norm_no_update": lambda c: [*batch_norm(c), c.b.constant([], "uint8")],
    "cudnn_batch_norm": batch_norm,
}
