"""Functions that move data."""

import re
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import Dim, Size, is_symbolic, known, maximum
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import (
    FLOAT,
    Argument,
    Operation,
    axes_of,
    full,
    operands,
    tensor,
)
from webkiln.ops.functional.slices import bounds
from webkiln.ops.pieces import part, reshaped, sized, squeezed

PADDING = ("edge", "reflect", "wrap")


def reshape(b: GraphBuilder, x: Argument, newshape: Sequence[Size] | Size) -> Tensor:
    x = tensor(b, x)
    target = [newshape] if isinstance(newshape, int | Dim) else list(newshape)
    product = prod(n for n in target if n is not None and n != -1)
    divisor = product if is_symbolic(product) else max(product, 1)
    shape = tuple(x.type.size // divisor if n in (-1, None) else n for n in target)
    return b.op("Reshape", [x], {"shape": shape})


def ravel(b: GraphBuilder, x: Argument) -> Tensor:
    return reshape(b, x, -1)


def expand_dims(b: GraphBuilder, x: Argument, axis: int | Sequence[int]) -> Tensor:
    x = tensor(b, x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    added = axes_of(axes, x.type.rank + len(axes))
    sizes = iter(x.shape)
    return b.op(
        "Reshape",
        [x],
        {"shape": tuple(1 if a in added else next(sizes) for a in range(x.type.rank + len(axes)))},
    )


def squeeze(b: GraphBuilder, x: Argument, axis: int | Sequence[int] | None = None) -> Tensor:
    x = tensor(b, x)
    if axis is None:
        return squeezed(b, x)
    gone = axes_of(axis, x.type.rank)
    return b.op("Reshape", [x], {"shape": tuple(n for a, n in enumerate(x.shape) if a not in gone)})


def transpose(b: GraphBuilder, x: Argument, axes: Sequence[int] | None = None) -> Tensor:
    x = tensor(b, x)
    perm = (
        tuple(reversed(range(x.type.rank)))
        if axes is None
        else tuple(a % x.type.rank for a in axes)
    )
    return b.op("Transpose", [x], {"perm": perm})


def swapaxes(b: GraphBuilder, x: Argument, axis1: int, axis2: int) -> Tensor:
    perm = list(range(tensor(b, x).type.rank))
    perm[axis1], perm[axis2] = perm[axis2], perm[axis1]
    return transpose(b, x, perm)


def moveaxis(
    b: GraphBuilder, x: Argument, source: int | Sequence[int], destination: int | Sequence[int]
) -> Tensor:
    rank = tensor(b, x).type.rank
    order = np.moveaxis(np.empty(tuple(range(1, rank + 1))), source, destination).shape
    return transpose(b, x, [size - 1 for size in order])


def concatenate(b: GraphBuilder, xs: Sequence[Argument], axis: int = 0) -> Tensor:
    inputs = operands(b, *xs)
    return b.op("Concat", inputs, {"axis": axis % inputs[0].type.rank})


def stack(b: GraphBuilder, x: Sequence[Argument], axis: int = 0) -> Tensor:
    inputs = operands(b, *x)
    axis %= inputs[0].type.rank + 1
    return b.op("Concat", [expand_dims(b, one, axis) for one in inputs], {"axis": axis})


def split(
    b: GraphBuilder, x: Argument, indices_or_sections: int | Sequence[Size], axis: int = 0
) -> list[Tensor]:
    x = tensor(b, x)
    axis %= x.type.rank
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        cuts = [size * place // indices_or_sections for place in range(1, indices_or_sections)]
    else:
        cuts = [bounds(size, 0, cut, 1)[1] for cut in indices_or_sections]
    return [
        part(b, x, axis, low, maximum([high - low, 0]))
        for low, high in zip([0, *cuts], [*cuts, size], strict=True)
    ]


def split_along(axis: int) -> Operation:
    """vsplit, dsplit, and hsplit, which splits a vector along its only axis."""

    def apply(
        b: GraphBuilder, x: Argument, indices_or_sections: int | Sequence[Size]
    ) -> list[Tensor]:
        return split(
            b, x, indices_or_sections, 0 if axis == 1 and tensor(b, x).type.rank == 1 else axis
        )

    return apply


def array_split(
    b: GraphBuilder, x: Argument, indices_or_sections: int, axis: int = 0
) -> list[Tensor]:
    """Sections whose sizes differ by at most one, the larger ones first."""
    size = known(tensor(b, x).shape[axis], "the size of the split axis")
    each, larger = divmod(size, indices_or_sections)
    return split(
        b,
        x,
        [number * each + min(number, larger) for number in range(1, indices_or_sections)],
        axis,
    )


def unstack(b: GraphBuilder, x: Argument, axis: int = 0, **_: Any) -> list[Tensor]:
    x = tensor(b, x)
    axis %= x.type.rank
    return [squeeze(b, part(b, x, axis, index, 1), axis) for index in range(x.shape[axis])]


def pad(
    b: GraphBuilder,
    x: Argument,
    pad_width: Any,
    mode: str = "constant",
    constant_values: Any = None,
) -> Tensor:
    y = tensor(b, x)
    pairs = np.broadcast_to(np.asarray(pad_width), (y.type.rank, 2)).tolist()
    low, high = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    if mode == "constant":
        if isinstance(constant_values, Tensor):
            raise ShapeError(
                f"{b.layer}: padding with a tensor is not supported; pad with 0 and use"
                " keras.ops.where"
            )
        return b.op("Pad", [y], {"low": low, "high": high, "value": float(constant_values or 0)})
    if mode in PADDING:
        return b.op("PadFrom", [y], {"low": low, "high": high, "mode": mode})
    if mode != "symmetric":
        raise ShapeError(
            f"{b.layer}: padding mode {mode!r} is not supported; use constant, symmetric or"
            f" {', '.join(PADDING)}"
        )
    for axis, (before, after) in enumerate(pairs):
        size = y.shape[axis]
        first = [part(b, y, axis, before - 1, before, -1)] if before else []
        last = [part(b, y, axis, size - 1, after, -1)] if after else []
        y = b.op("Concat", [*first, y, *last], {"axis": axis}) if first or last else y
    return y


def broadcast_to(b: GraphBuilder, x: Argument, shape: Sequence[Size]) -> Tensor:
    return b.op("Broadcast", [tensor(b, x)], {"shape": tuple(shape)})


def tile(b: GraphBuilder, x: Argument, repeats: int | Sequence[Size]) -> Tensor:
    x = tensor(b, x)
    times = [repeats] if isinstance(repeats, int) else list(repeats)
    rank = max(len(times), x.type.rank)
    times = [1] * (rank - len(times)) + times
    shape = (1,) * (rank - x.type.rank) + x.shape
    pairs = tuple(n for size in shape for n in (1, size))
    wide = tuple(n for count, size in zip(times, shape, strict=True) for n in (count, size))
    y = b.op("Broadcast", [b.op("Reshape", [x], {"shape": pairs})], {"shape": wide})
    return b.op(
        "Reshape",
        [y],
        {"shape": tuple(count * size for count, size in zip(times, shape, strict=True))},
    )


def repeat(
    b: GraphBuilder, x: Argument, repeats: int | Sequence[int], axis: int | None = None
) -> Tensor:
    x = tensor(b, x) if axis is not None else ravel(b, x)
    axis = (axis or 0) % x.type.rank
    if isinstance(repeats, Tensor):
        raise ShapeError(
            f"{b.layer}: the number of repeats is a tensor, so its size depends on the data;"
            " pass the counts as numbers"
        )
    times = np.asarray(repeats).reshape(-1).tolist()
    if len(times) > 1:
        return b.op(
            "Gather",
            [x, b.constant(np.repeat(np.arange(len(times)), times), "int32")],
            {"axis": axis},
        )
    before, size, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    y = b.op("Reshape", [x], {"shape": (*before, size, 1, *after)})
    y = b.op("Broadcast", [y], {"shape": (*before, size, times[0], *after)})
    return b.op("Reshape", [y], {"shape": (*before, size * times[0], *after)})


def flip(b: GraphBuilder, x: Argument, axis: int | Sequence[int] | None = None) -> Tensor:
    x = tensor(b, x)
    axes = axes_of(axis, x.type.rank)
    starts = tuple(n - 1 if a in axes else 0 for a, n in enumerate(x.shape))
    return b.op(
        "Slice",
        [x],
        {
            "starts": starts,
            "sizes": x.shape,
            "steps": tuple(-1 if a in axes else 1 for a in range(x.type.rank)),
        },
    )


def flip_along(axis: int) -> Operation:
    return lambda b, x: flip(b, x, axis)


def rot90(b: GraphBuilder, array: Argument, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """k quarter turns from the first axis to the second."""
    x = tensor(b, array)
    first, second = (axis % x.type.rank for axis in axes)
    if k % 4 >= 2:
        x = flip(b, x, [first, second])
    return flip(b, swapaxes(b, x, first, second), first) if k % 2 else x


def roll(
    b: GraphBuilder,
    x: Argument,
    shift: Size | Sequence[Size],
    axis: int | Sequence[int] | None = None,
) -> Tensor:
    """Rotate elements along an axis."""
    y = tensor(b, x)
    if isinstance(shift, Tensor):
        raise ShapeError(
            f"{b.layer}: its shift is a tensor; pass the shift as a number, or use keras.ops.take"
        )
    if axis is None:
        return reshaped(b, roll(b, ravel(b, y), shift, 0), y.shape)
    axes = [axis] if isinstance(axis, int) else list(axis)
    for number, steps in zip(
        axes, np.broadcast_to(np.asarray(shift), (len(axes),)).tolist(), strict=True
    ):
        d, size = number % y.type.rank, y.shape[number]
        by = steps % size if steps else 0
        if by != 0:
            y = b.op(
                "Concat", [part(b, y, d, size - by, by), part(b, y, d, 0, size - by)], {"axis": d}
            )
    return y


def append(b: GraphBuilder, x1: Argument, x2: Argument, axis: int | None = None) -> Tensor:
    return (
        concatenate(b, [x1, x2], axis)
        if axis is not None
        else concatenate(b, [ravel(b, x1), ravel(b, x2)])
    )


def vstack(b: GraphBuilder, xs: Sequence[Argument]) -> Tensor:
    return concatenate(b, xs)


def hstack(b: GraphBuilder, xs: Sequence[Argument]) -> Tensor:
    return concatenate(b, xs, 0 if tensor(b, xs[0]).type.rank == 1 else 1)


def dstack(b: GraphBuilder, xs: Sequence[Argument]) -> Tensor:
    """Stack along the third axis. Tensors of lower rank get an axis in front, if they have one, and
    at the end.
    """
    tensors = [tensor(b, x) for x in xs]
    wide = [
        reshaped(b, x, (*(1,) * (2 - x.type.rank), *x.shape, 1)) if x.type.rank < 3 else x
        for x in tensors
    ]
    return concatenate(b, wide, 2)


def meshgrid(b: GraphBuilder, *x: Argument, indexing: str = "xy") -> list[Tensor]:
    rows = [ravel(b, row) for row in x]
    order = (
        [1, 0, *range(2, len(rows))]
        if indexing == "xy" and len(rows) > 1
        else list(range(len(rows)))
    )
    shape = [rows[number].shape[0] for number in order]
    spread = [
        reshaped(b, row, [row.shape[0] if number == own else 1 for number in order])
        for own, row in enumerate(rows)
    ]
    return [b.op("Broadcast", [row], {"shape": tuple(shape)}) for row in spread]


def rearrange(b: GraphBuilder, /, tensor: Argument, pattern: str, **sizes: int) -> Tensor:
    """einops: axes by name; those in parentheses are one axis."""
    before, after = (
        [group.strip("()").split() for group in re.findall(r"\w+|\(.*?\)", side)]
        for side in pattern.split("->")
    )
    x = operands(b, tensor)[0]
    extents: dict[str, Size] = dict(sizes)
    for group, size in zip(before, x.shape, strict=True):
        missing = [name for name in group if name not in extents]
        if missing:
            extents[missing[0]] = size // prod(extents[name] for name in group if name in extents)
    names = [name for group in before for name in group]
    x = reshaped(b, x, [extents[name] for name in names])
    x = transpose(b, x, [names.index(name) for group in after for name in group])
    return reshaped(b, x, [prod(extents[name] for name in group) for group in after])


def filled_with(
    b: GraphBuilder, fill_value: Argument, shape: Sequence[int], dtype: str | None = None
) -> Tensor:
    return full(b, fill_value, dtype or FLOAT, shape)


def size_of(b: GraphBuilder, x: Argument) -> Tensor:
    return sized(b, tensor(b, x).type.size, "int32")


def rank_of(b: GraphBuilder, x: Argument) -> Tensor:
    return b.constant(tensor(b, x).type.rank, "int32")
