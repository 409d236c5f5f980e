"""Tensor creation: constant values, ranges, and values of other tensors."""

from math import ceil
from typing import Any

from webkiln.frontends.torch.aten import AtenCall, AtenHandler, number_dtype, result_dtype
from webkiln.ir.dim import is_symbolic, maximum
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import filled, iota, reshaped, widened


def eye(c: AtenCall) -> Tensor:
    rows = c.number("n")
    columns = c.number("m") if c.has("m") else rows
    same = c.op(
        "Equal", reshaped(c.b, iota(c.b, rows, "int32"), (rows, 1)), iota(c.b, columns, "int32")
    )
    return c.cast(same, c.dtype("float32"))


def full(c: AtenCall) -> Tensor:
    value = c["fill_value"]
    if isinstance(value, Tensor):
        return widened(c.b, c.cast(value, c.dtype(value.dtype)), c.sizes("size"))
    dtype = c.dtype(number_dtype(value))
    return widened(c.b, c.scalar(value, dtype), c.sizes("size"))


def fill(value: Any) -> AtenHandler:
    return lambda c: filled(c.b, value, c.dtype("float32"), c.sizes("size"))


def fill_like(value: Any) -> AtenHandler:
    return lambda c: filled(c.b, value, c.dtype(c.tensor().dtype), c.tensor().shape)


def full_like(c: AtenCall) -> Tensor:
    x, value = c.tensor(), c["fill_value"]
    dtype = c.dtype(x.dtype)
    return widened(
        c.b, c.cast(value, dtype) if isinstance(value, Tensor) else c.scalar(value, dtype), x.shape
    )


def new_fill(value: Any) -> AtenHandler:
    return lambda c: filled(c.b, value, c.dtype(c.tensor().dtype), c.sizes("size"))


def new_full(c: AtenCall) -> Tensor:
    x, value = c.tensor(), c["fill_value"]
    dtype = c.dtype(x.dtype)
    return widened(
        c.b,
        c.cast(value, dtype) if isinstance(value, Tensor) else c.scalar(value, dtype),
        c.sizes("size"),
    )


def filled_with(c: AtenCall) -> Tensor:
    """`fill`: the shape and dtype of a tensor, and one value."""
    x, value = c.tensor(), c["value"]
    return widened(
        c.b,
        c.cast(value, x.dtype) if isinstance(value, Tensor) else c.scalar(value, x.dtype),
        x.shape,
    )


def zeros_of(c: AtenCall) -> Tensor:
    return filled(c.b, 0, c.tensor().dtype, c.tensor().shape)


def scalar_tensor(c: AtenCall) -> Tensor:
    value = c["s"] if c.has("s") else c["data" if c.has("data") else "t"]
    if isinstance(value, tuple):
        return c.b.constant(list(value), c.dtype(result_dtype(list(value))))
    return (
        c.cast(value, c.dtype(value.dtype))
        if isinstance(value, Tensor)
        else c.scalar(value, c.dtype(number_dtype(value)))
    )


def copy(c: AtenCall) -> Tensor:
    x, src = c.tensor(), c.tensor("src")
    return widened(c.b, c.cast(src, x.dtype), x.shape)


def arange(c: AtenCall) -> Tensor:
    start, end, step = c.get("start", 0), c["end"], c.get("step", 1)
    if any(isinstance(item, Tensor) for item in (start, end, step)):
        raise c.unsupported(
            "has a data-dependent bound",
            "Set the size with --dim, or mask a range of known length",
        )
    dtype = c.dtype(
        "float32" if any(isinstance(item, float) for item in (start, end, step)) else "int64"
    )
    is_open = any(map(is_symbolic, (start, end, step)))
    count = (
        maximum([-(-(end - start) // step), 0]) if is_open else max(ceil((end - start) / step), 0)
    )
    steps = iota(c.b, count, dtype)
    steps = (
        steps if not is_symbolic(step) and step == 1 else c.op("Mul", steps, c.scalar(step, dtype))
    )
    return (
        steps
        if not is_symbolic(start) and start == 0
        else c.op("Add", steps, c.scalar(start, dtype))
    )


def linspace(c: AtenCall) -> Tensor:
    """Compute from both ends, like ATen."""
    start, end, count = (c.number(name) for name in ("start", "end", "steps"))
    dtype = c.dtype("float32")
    if is_symbolic(count) or not is_float(dtype):
        raise c.unsupported(
            "has a symbolic number of steps, or an integer dtype", "Use torch.arange"
        )
    if count == 1:
        return c.b.constant([float(start)], dtype)
    step = (end - start) / (count - 1)
    values = [
        start + step * index if index < count // 2 else end - step * (count - 1 - index)
        for index in range(count)
    ]
    return c.b.constant(values, dtype)


def meshgrid(c: AtenCall) -> list[Tensor]:
    xs = [reshaped(c.b, x, (x.type.size,)) for x in c["tensors"]]
    order = list(range(len(xs)))
    if c.get("indexing", "ij") == "xy" and len(xs) > 1:
        order[0], order[1] = 1, 0
    sizes = [xs[index].shape[0] for index in order]
    return [
        widened(
            c.b,
            reshaped(c.b, x, [size if order[d] == number else 1 for d, size in enumerate(sizes)]),
            sizes,
        )
        for number, x in enumerate(xs)
    ]


CREATION: dict[str, AtenHandler] = {
    "eye": eye,
    "full": full,
    "zeros": fill(0),
    "ones": fill(1),
    "empty": fill(0),
    "empty_strided": fill(0),
    "empty_permuted": fill(0),
    "zeros_like": fill_like(0),
    "ones_like": fill_like(1),
    "empty_like": fill_like(0),
    "full_like": full_like,
    "new_zeros": new_fill(0),
    "new_ones": new_fill(1),
    "new_empty": new_fill(0),
    "new_empty_strided": new_fill(0),
    "new_full": new_full,
    "fill": filled_with,
    "zero": zeros_of,
    "scalar_tensor": scalar_tensor,
    "tensor": scalar_tensor,
    "copy": copy,
    "arange": arange,
    "linspace": linspace,
    "meshgrid": meshgrid,
}
