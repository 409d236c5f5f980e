"""Indexing, gather, scatter and one-hot encodings."""

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size, is_at_least, is_symbolic, known, maximum, minimum
from webkiln.ir.rational import positive
from webkiln.ir.size_checks import require_non_negative
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import (
    FLOAT,
    Argument,
    countable,
    like,
    numbers,
    tensor,
)
from webkiln.ops.pieces import cast, filled, iota, largest, part, reshaped, sized


def get_item(b: GraphBuilder, x: Argument, key: Any) -> Tensor:
    """x[key] for integers, slices, None and Ellipsis."""
    x = tensor(b, x)
    keys = [
        int(k) if isinstance(k, np.ndarray) and k.ndim == 0 else k
        for k in (key if isinstance(key, list | tuple) else [key])
    ]
    if any(isinstance(k, Tensor | np.ndarray | list) for k in keys):
        raise ShapeError(f"{b.layer}: indexing with a tensor is not supported; use keras.ops.take")
    indexed = sum(1 for k in keys if k is not None and k is not Ellipsis)
    fill = [slice(None)] * (x.type.rank - indexed)
    keys = (
        [k for key in keys for k in (fill if key is Ellipsis else [key])]
        if Ellipsis in keys
        else keys + fill
    )
    starts: list[Size] = []
    sizes: list[Size] = []
    steps: list[int] = []
    shape: list[Size] = []
    axis = 0
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        start, count, step = (
            _positions(size, k) if isinstance(k, slice) else (k if k >= 0 else size + k, 1, 1)
        )
        if not isinstance(k, slice):
            message = f"{b.layer}: index {k} is outside axis {axis} of {list(x.shape)}"
            require_non_negative(start, message)
            require_non_negative(size - 1 - start, message)
        starts.append(start)
        sizes.append(count)
        steps.append(step)
        axis += 1
        if isinstance(k, slice):
            shape.append(count)
    unchanged = tuple(sizes) == x.shape and all(step == 1 for step in steps)
    y = (
        x
        if unchanged
        else b.op(
            "Slice", [x], {"starts": tuple(starts), "sizes": tuple(sizes), "steps": tuple(steps)}
        )
    )
    return y if tuple(shape) == y.shape else b.op("Reshape", [y], {"shape": tuple(shape)})


def _positions(size: Size, key: slice) -> tuple[Size, Size, int]:
    """The start, count and step of a slice. With dynamic sizes, a guard requires that skipped
    elements exist.
    """
    if not is_symbolic(size) and not is_symbolic(key.start) and not is_symbolic(key.stop):
        index = range(size)[key]
        return (index.start if len(index) else 0), len(index), index.step
    step = 1 if key.step is None else key.step

    def bound(value: Size | None, default: Size) -> Size:
        if value is None:
            return default
        if is_at_least(value, 0) or is_at_least(-1, value):
            return value if is_at_least(value, 0) else size + value
        return maximum([value + size * positive(-value), 0])

    start = bound(key.start, 0 if step > 0 else size - 1)
    if step > 0 and any(
        value is not None and not is_at_least(value, 0) and not is_at_least(-1, value)
        for value in (key.start, key.stop)
    ):
        start = minimum(start, size)
        count = (minimum(bound(key.stop, size), size) - start + step - 1) // step
        return start, maximum([count, 0]), step
    if step < 0:
        return start, (start - bound(key.stop, -1) - step - 1) // -step, step
    return start, (minimum(bound(key.stop, size), size) - start + step - 1) // step, step


def take(b: GraphBuilder, x: Argument, indices: Argument, axis: int | None = None) -> Tensor:
    x = tensor(b, x) if axis is not None else _flat(b, x)
    return b.op("Gather", [x, _index(b, indices)], {"axis": (axis or 0) % x.type.rank})


def _index(b: GraphBuilder, indices: Argument) -> Tensor:
    index = tensor(b, indices)
    return index if index.dtype.startswith(("int", "uint")) else cast(b, index, "int32")


def _flat(b: GraphBuilder, x: Argument) -> Tensor:
    x = tensor(b, x)
    return reshaped(b, x, (x.type.size,))


def take_along_axis(
    b: GraphBuilder, x: Argument, indices: Argument, axis: int | None = None
) -> Tensor:
    x, index = (tensor(b, x) if axis is not None else _flat(b, x)), _index(b, indices)
    axis = (axis or 0) % x.type.rank
    shape = [
        max(n, m, key=lambda size: size != 1) for n, m in zip(x.shape, index.shape, strict=True)
    ]
    wide, chosen = (
        [x.shape[axis] if d == axis else n for d, n in enumerate(shape)],
        [index.shape[axis] if d == axis else n for d, n in enumerate(shape)],
    )
    x, index = _spread(b, x, wide), _spread(b, index, chosen)
    return b.op("GatherElements", [x, index], {"axis": axis})


def _spread(b: GraphBuilder, x: Tensor, shape: Sequence[Size]) -> Tensor:
    return x if x.shape == tuple(shape) else b.op("Broadcast", [x], {"shape": tuple(shape)})


def _starts(b: GraphBuilder, argument: Argument, rank: int) -> list[int | Tensor]:
    """The start of a slice on each axis: numbers, and int32 scalars."""
    if isinstance(argument, Tensor):
        return [
            cast(b, reshaped(b, part(b, argument, 0, axis, 1), ()), "int32") for axis in range(rank)
        ]
    listed = argument.tolist() if isinstance(argument, np.ndarray) else argument
    return [
        cast(b, reshaped(b, start, ()), "int32") if isinstance(start, Tensor) else int(start)
        for start in listed
    ]


def slice_(
    b: GraphBuilder, inputs: Argument, start_indices: Argument, shape: Sequence[Size]
) -> Tensor:
    """A part of this shape. A computed start is clamped so that the part lies inside."""
    x = tensor(b, inputs)
    starts = _starts(b, start_indices, x.type.rank)
    fixed = [0 if isinstance(start, Tensor) else start for start in starts]
    for start, size in zip(starts, shape, strict=True):
        if isinstance(start, Tensor) and size == -1:
            raise ShapeError(
                f"{b.layer}: its size depends on a start that is a tensor; give the size of each"
                " axis"
            )
    sizes: list[Size] = [
        x.shape[a] - start if n == -1 else n
        for a, (start, n) in enumerate(zip(fixed, shape, strict=True))
    ]
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        if isinstance(start, Tensor):
            x = b.op(
                "Gather",
                [
                    x,
                    b.op(
                        "Add",
                        [numbers(b, size, "int32"), _clamped(b, start, x.shape[axis], size)],
                    ),
                ],
                {"axis": axis},
            )
        else:
            x = part(b, x, axis, start, size)
    return x


def _clamped(b: GraphBuilder, start: Tensor, whole: Size, size: Size) -> Tensor:
    """The start, clamped so that this number of elements lies inside."""
    return b.op("Max", [b.op("Min", [start, sized(b, whole - size, "int32")]), like(b, 0, start)])


def slice_update(
    b: GraphBuilder, inputs: Argument, start_indices: Argument, updates: Argument
) -> Tensor:
    """Write the updates at a start, which is clamped so that they lie inside."""
    x = tensor(b, inputs)
    new = cast(b, tensor(b, updates), x.dtype)
    rank, inside = x.type.rank, []
    for axis, start in enumerate(_starts(b, start_indices, rank)):
        size = new.shape[axis]
        if size == x.shape[axis]:
            continue
        first = _clamped(
            b,
            start if isinstance(start, Tensor) else b.constant(start, "int32"),
            x.shape[axis],
            size,
        )
        place = b.op("Sub", [numbers(b, x.shape[axis], "int32"), first])
        known = b.op(
            "And",
            [b.binary("GreaterEqual", place, 0), b.op("Less", [place, sized(b, size, "int32")])],
        )
        inside.append(reshaped(b, known, [x.shape[axis] if d == axis else 1 for d in range(rank)]))
        new = b.op("Gather", [new, place], {"axis": axis})
    return (
        b.op("Where", [reduce(lambda one, other: b.op("And", [one, other]), inside), new, x])
        if inside
        else new
    )


def scatter(b: GraphBuilder, indices: Argument, values: Argument, shape: Sequence[Size]) -> Tensor:
    """The sums of the values for each index."""
    new = tensor(b, values)
    return scatter_update(b, filled(b, 0, new.dtype, shape), indices, new, "add")


def scatter_update(
    b: GraphBuilder,
    inputs: Argument,
    indices: Argument,
    updates: Argument,
    reduction: str | None = None,
) -> Tensor:
    x, index = tensor(b, inputs), _index(b, indices)
    depth = known(index.shape[-1], "the number of indices of an element")
    shape = (*index.shape[:-1], *x.shape[depth:])
    new = _spread(b, cast(b, tensor(b, updates), x.dtype), shape)
    return b.op("ScatterND", [x, index, new], {"reduction": reduction or "none"})


def unravel_index(b: GraphBuilder, indices: Argument, shape: Sequence[int]) -> list[Tensor]:
    """Multi-dimensional indices of row-major indices."""
    index = tensor(b, indices)
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return [
        b.binary("Mod", b.binary("FloorDiv", index, stride), size)
        for stride, size in zip(strides, shape, strict=True)
    ]


def nonzero(b: GraphBuilder, x: Argument) -> list[Tensor]:
    """The indices of non-zero elements, one tensor per axis. Their number is data-dependent."""
    x = tensor(b, x)
    found = cast(b, b.nonzero(x), "int32")
    return [reshaped(b, part(b, found, 0, axis, 1), found.shape[1:]) for axis in range(x.type.rank)]


def is_index(b: GraphBuilder, indices: Tensor, depth: Size, axis: int = -1) -> Tensor:
    """Whether each number up to `depth`, along a new axis, is the index; none is for an invalid
    one.
    """
    axis %= indices.type.rank + 1
    wide = reshaped(b, indices, (*indices.shape[:axis], 1, *indices.shape[axis:]))
    return b.op("Equal", [wide, numbers(b, depth, indices.dtype, axis, indices.type.rank + 1)])


def one_hot(
    b: GraphBuilder,
    x: Argument,
    num_classes: Size,
    axis: int = -1,
    dtype: str | None = None,
    sparse: bool = False,
) -> Tensor:
    """1 at the index, 0 elsewhere; all 0 for an invalid index. Sparse results are dense here."""
    same = is_index(b, cast(b, tensor(b, x), "int64"), num_classes, axis)
    return cast(b, same, dtype or FLOAT)


def multi_hot(
    b: GraphBuilder,
    inputs: Argument,
    num_classes: int,
    axis: int = -1,
    dtype: str | None = None,
    sparse: bool = False,
) -> Tensor:
    """The maximum over the axis after the batch: 1 at any of the indices."""
    x = tensor(b, inputs)
    rows = countable(b, one_hot(b, x, num_classes, axis, dtype))
    return cast(b, largest(b, rows, 1 if x.type.rank > 1 else 0), dtype or FLOAT)


def reverse_sequence(
    b: GraphBuilder, x: Tensor, lengths: Tensor, time: int = 0, batch: int = 1
) -> Tensor:
    """Reverse the first `lengths[i]` elements of each row i."""
    lengths = cast(b, lengths, "int32")
    rank, steps = x.type.rank, x.shape[time]
    numbers = reshaped(b, iota(b, steps, "int32"), [steps if d == time else 1 for d in range(rank)])
    length = reshaped(b, lengths, [x.shape[batch] if d == batch else 1 for d in range(rank)])
    indices = b.op("Where", [b.op("Less", [numbers, length]), length - 1 - numbers, numbers])
    return b.op(
        "GatherElements", [x, b.op("Broadcast", [indices], {"shape": x.shape})], {"axis": time}
    )
