"""Triangles, diagonals and products of matrices."""

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.linear import WIDE, contraction
from webkiln.ops.functional.operands import (
    FLOAT,
    Argument,
    Operation,
    combined,
    countable,
    doubled,
    like,
    numbers,
    operands,
    result_of,
    tensor,
)
from webkiln.ops.functional.shapes import flip, moveaxis
from webkiln.ops.pieces import cast, filled, part, reshaped


def triangle(*, upper: bool) -> Operation:
    """triu, tril: elements on and above, or below, the kth diagonal; 0 elsewhere."""

    def apply(b: GraphBuilder, x: Argument, k: int = 0) -> Tensor:
        x = tensor(b, x)
        apart = b.op(
            "Sub", [numbers(b, x.shape[-1], "int32"), numbers(b, x.shape[-2], "int32", 0, 2)]
        )
        kept = b.binary("GreaterEqual" if upper else "LessEqual", apart, k)
        return b.op("Where", [kept, x, like(b, 0, x)])

    return apply


def diag(b: GraphBuilder, x: Argument, k: int = 0) -> Tensor:
    """A square matrix with a vector as its kth diagonal; for a matrix, its kth diagonal."""
    x = tensor(b, x)
    if x.type.rank == 2:
        return diagonal(b, x, k)
    size = x.shape[0] + abs(k)
    padded = b.op("Pad", [x], {"low": (0,), "high": (abs(k),), "value": 0.0})
    rows, columns = numbers(b, size, "int32", 0, 2), numbers(b, size, "int32")
    values = reshaped(b, padded, (size, 1)) if k >= 0 else padded
    return b.op("Where", [b.op("Equal", [rows + k, columns]), values, like(b, 0, x)])


def diagflat(b: GraphBuilder, x: Argument, k: int = 0) -> Tensor:
    x = tensor(b, x)
    return diag(b, reshaped(b, x, (x.type.size,)), k)


def diagonal(
    b: GraphBuilder, x: Argument, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Tensor:
    """The elements of two axes along a diagonal."""
    x = moveaxis(b, x, [axis1, axis2], [-2, -1])
    *lead, rows, columns = x.shape
    size = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    start = offset if offset >= 0 else -offset * columns
    flat = reshaped(b, x, (*lead, rows * columns))
    return part(b, flat, len(lead), start if size else 0, size, columns + 1)


def trace(b: GraphBuilder, x: Argument, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    x = tensor(b, x)
    y = diagonal(b, cast(b, x, WIDE.get(x.dtype, x.dtype)), offset, axis1, axis2)
    return b.op("ReduceSum", [y], {"axes": (y.type.rank - 1,), "keepdims": False})


def outer(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    x1, x2 = operands(b, x1, x2)
    return combined(
        b, "Mul", reshaped(b, x1, (x1.type.size, 1)), reshaped(b, x2, (1, x2.type.size))
    )


def kron(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    x1, x2 = operands(b, x1, x2)
    rank = max(x1.type.rank, x2.type.rank)
    first, second = ((*(1,) * (rank - x.type.rank), *x.shape) for x in (x1, x2))
    blocks = combined(
        b, "Mul", _between(b, x1, first, behind=True), _between(b, x2, second, behind=False)
    )
    return reshaped(b, blocks, [n * m for n, m in zip(first, second, strict=True)])


def _between(b: GraphBuilder, x: Tensor, shape: Sequence[int], *, behind: bool) -> Tensor:
    return reshaped(b, x, [n for size in shape for n in ((size, 1) if behind else (1, size))])


def tensordot(b: GraphBuilder, x1: Argument, x2: Argument, axes: Any = 2) -> Tensor:
    x1, x2 = operands(b, x1, x2)
    letters = iter(ascii_letters)
    left, right = [next(letters) for _ in x1.shape], [next(letters) for _ in x2.shape]
    if isinstance(axes, int):
        axes = (
            [list(range(x1.type.rank - axes, x1.type.rank)), list(range(axes))]
            if axes > 0
            else [[], []]
        )
    first, second = ([one] if isinstance(one, int) else list(one) for one in axes)
    for one, other in zip(first, second, strict=True):
        right[other] = left[one]
    gone = {left[one] for one in first}
    result = [letter for letter in (*left, *right) if letter not in gone]
    return contraction(b, [x1, x2], f"{''.join(left)},{''.join(right)}->{''.join(result)}")


def inner(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    x1, x2 = operands(b, x1, x2)
    if x1.type.rank == 0 or x2.type.rank == 0:
        return combined(b, "Mul", x1, x2)
    return tensordot(b, x1, x2, [[x1.type.rank - 1], [x2.type.rank - 1]])


def vdot(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    x1, x2 = (reshaped(b, x, (x.type.size,)) for x in operands(b, x1, x2))
    return tensordot(b, x1, x2, 1)


def dot(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    x1, x2 = operands(b, x1, x2)
    if x1.type.rank == 0 or x2.type.rank == 0:
        return combined(b, "Mul", x1, x2)
    return tensordot(b, x1, x2, [[x1.type.rank - 1], [max(x2.type.rank - 2, 0)]])


def cross(
    b: GraphBuilder,
    x1: Argument,
    x2: Argument,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tensor:
    """For vectors in three or two dimensions; the product of two-dimensional ones is perpendicular
    to the plane.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = operands(b, x1, x2)
    x1, x2 = moveaxis(b, x1, axisa, -1), moveaxis(b, x2, axisb, -1)
    flat = x1.shape[-1] == x2.shape[-1] == 2

    def component(x: Tensor, number: int) -> Tensor:
        number %= 3
        last = x.type.rank - 1
        return (
            part(b, x, last, number, 1)
            if number < x.shape[-1]
            else filled(b, 0, x.dtype, (*x.shape[:-1], 1))
        )

    def minor(number: int) -> Tensor:
        first = b.op("Mul", [component(x1, number + 1), component(x2, number + 2)])
        return b.op(
            "Sub", [first, b.op("Mul", [component(x1, number + 2), component(x2, number + 1)])]
        )

    if flat:
        y = minor(2)
        return reshaped(b, y, y.shape[:-1])
    parts = [minor(number) for number in range(3)]
    return moveaxis(b, b.op("Concat", parts, {"axis": parts[0].type.rank - 1}), -1, axisc)


def vander(b: GraphBuilder, x: Argument, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803 - the name that Keras gives it
    """Powers of each element, by multiplication."""
    original = tensor(b, x)
    x = countable(b, original)
    size = x.shape[0] if N is None else N
    wide = b.op("Broadcast", [reshaped(b, x, (*x.shape, 1))], {"shape": (*x.shape, size)})
    y = cast(b, b.op("CumProd", [wide], {"axis": x.type.rank, "exclusive": True}), original.dtype)
    return y if increasing else flip(b, y, -1)


def corrcoef(b: GraphBuilder, x: Argument) -> Tensor:
    """For int64, as in Keras on TensorFlow, from truncated means."""
    original = tensor(b, x)
    last, dtype = original.type.rank - 1, doubled(original.dtype)
    x = (
        original
        if original.dtype == "int64"
        else cast(b, original, FLOAT if dtype == "float16" else dtype)
    )
    centred = b.op("Sub", [x, b.op("ReduceMean", [x], {"axes": (last,), "keepdims": True})])
    centred = cast(b, centred, dtype) if original.dtype == "int64" else centred
    turned = moveaxis(b, centred, -1, -2) if x.type.rank > 1 else centred
    products = b.op("MatMul", [centred, turned])
    deviation = b.op("Sqrt", [diagonal(b, products, 0, -2, -1)])
    across = b.op(
        "Mul",
        [
            reshaped(b, deviation, (*deviation.shape, 1)),
            reshaped(b, deviation, (*deviation.shape[:-1], 1, deviation.shape[-1])),
        ],
    )
    return cast(
        b, b.op("Clip", [b.op("Div", [products, across])], {"min": -1.0, "max": 1.0}), dtype
    )


def correlate(b: GraphBuilder, x1: Argument, x2: Argument, mode: str = "valid") -> Tensor:
    """The products of one vector with every window of the other."""
    dtype = doubled(result_of(x1, x2))
    x1, x2 = (cast(b, tensor(b, x), dtype) for x in (x1, x2))
    size, taps = x1.shape[0], x2.shape[0]
    around = 0 if mode == "valid" else taps - 1
    padded = b.op("Pad", [x1], {"low": (around,), "high": (around,), "value": 0.0})
    count = size + 2 * around - taps + 1
    indices = b.op("Add", [numbers(b, count, "int32", 0, 2), numbers(b, taps, "int32")])
    windows = b.op("Gather", [padded, indices], {"axis": 0})
    y = reshaped(b, b.op("MatMul", [windows, reshaped(b, x2, (taps, 1))]), (count,))
    kept = max(size, taps)
    return part(b, y, 0, (count - kept) // 2, kept) if mode == "same" else y
