"""keras.ops operations that move data."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.frontends.keras.operations.arguments import Argument, axes_of, operands, tensor
from webkiln.ir.demands import demand
from webkiln.ir.dim import is_symbolic, least
from webkiln.ops.builder import GraphBuilder, Tensor


def reshape(b: GraphBuilder, x: Argument, newshape: Sequence[int] | int) -> Tensor:
    x = tensor(b, x)
    target = [newshape] if isinstance(newshape, int) else list(newshape)
    known = prod(n for n in target if n is not None and n != -1)
    shape = tuple(x.type.size // max(known, 1) if n in (-1, None) else n for n in target)
    return b.op("Reshape", [x], {"shape": shape})


def ravel(b: GraphBuilder, x: Argument) -> Tensor:
    return reshape(b, x, -1)


def expand_dims(b: GraphBuilder, x: Argument, axis: int | Sequence[int]) -> Tensor:
    x = tensor(b, x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    added = axes_of(axes, x.type.rank + len(axes))
    sizes = iter(x.shape)
    return b.op("Reshape", [x], {"shape": tuple(1 if a in added else next(sizes) for a in range(x.type.rank + len(axes)))})


def squeeze(b: GraphBuilder, x: Argument, axis: int | Sequence[int] | None = None) -> Tensor:
    x = tensor(b, x)
    gone = [a for a, n in enumerate(x.shape) if n == 1] if axis is None else axes_of(axis, x.type.rank)
    return b.op("Reshape", [x], {"shape": tuple(n for a, n in enumerate(x.shape) if a not in gone)})


def transpose(b: GraphBuilder, x: Argument, axes: Sequence[int] | None = None) -> Tensor:
    x = tensor(b, x)
    perm = tuple(reversed(range(x.type.rank))) if axes is None else tuple(a % x.type.rank for a in axes)
    return b.op("Transpose", [x], {"perm": perm})


def swapaxes(b: GraphBuilder, x: Argument, axis1: int, axis2: int) -> Tensor:
    perm = list(range(tensor(b, x).type.rank))
    perm[axis1], perm[axis2] = perm[axis2], perm[axis1]
    return transpose(b, x, perm)


def moveaxis(b: GraphBuilder, x: Argument, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
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


def split(b: GraphBuilder, x: Argument, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    x = tensor(b, x)
    axis %= x.type.rank
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        cuts = [size * part // indices_or_sections for part in range(1, indices_or_sections)]
    else:
        cuts = [slice(0, cut).indices(size)[1] for cut in indices_or_sections]
    return [_cut(b, x, axis, low, high) for low, high in zip([0, *cuts], [*cuts, size], strict=True)]


def unstack(b: GraphBuilder, x: Argument, axis: int = 0, **_: Any) -> list[Tensor]:
    x = tensor(b, x)
    axis %= x.type.rank
    return [squeeze(b, _cut(b, x, axis, index, index + 1), axis) for index in range(x.shape[axis])]


def _cut(b: GraphBuilder, x: Tensor, axis: int, low: int, high: int) -> Tensor:
    starts = tuple(low if a == axis else 0 for a in range(x.type.rank))
    sizes = tuple(high - low if a == axis else n for a, n in enumerate(x.shape))
    return b.op("Slice", [x], {"starts": starts, "sizes": sizes, "steps": (1,) * x.type.rank})


def get_item(b: GraphBuilder, x: Argument, key: Any) -> Tensor:
    """x[key] for integers, slices, None and Ellipsis."""
    x = tensor(b, x)
    keys = list(key) if isinstance(key, list | tuple) else [key]
    if any(isinstance(k, Tensor | np.ndarray | list) for k in keys):
        raise ShapeError(f"{b.layer}: indexing with a tensor is not supported; use keras.ops.take")
    taken = sum(1 for k in keys if k is not None and k is not Ellipsis)
    fill = [slice(None)] * (x.type.rank - taken)
    keys = [k for key in keys for k in (fill if key is Ellipsis else [key])] if Ellipsis in keys else keys + fill
    starts, sizes, steps, shape = [], [], [], []
    axis = 0
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        start, count, step = _positions(size, k) if isinstance(k, slice) else (k if k >= 0 else size + k, 1, 1)
        if not isinstance(k, slice):
            message = f"{b.layer}: index {k} is outside axis {axis} of {list(x.shape)}"
            demand(start, message)
            demand(size - 1 - start, message)
        starts.append(start)
        sizes.append(count)
        steps.append(step)
        axis += 1
        if isinstance(k, slice):
            shape.append(count)
    whole = tuple(sizes) == x.shape and all(step == 1 for step in steps)
    y = x if whole else b.op("Slice", [x], {"starts": tuple(starts), "sizes": tuple(sizes), "steps": tuple(steps)})
    return y if tuple(shape) == y.shape else b.op("Reshape", [y], {"shape": tuple(shape)})


def _positions(size: int, key: slice) -> tuple[int, int, int]:
    """Start, count and step of a slice. Of a symbolic size, what it skips must be there: a guard sees to it."""
    if not is_symbolic(size):
        index = range(size)[key]
        return (index.start if len(index) else 0), len(index), index.step
    step = 1 if key.step is None else key.step

    def place(value: int | None, default: int) -> int:
        return default if value is None else value if value >= 0 else size + value

    start = place(key.start, 0 if step > 0 else size - 1)
    if step < 0:
        return start, (start - place(key.stop, -1) - step - 1) // -step, step
    return start, (least(place(key.stop, size), size) - start + step - 1) // step, step


def slice_(b: GraphBuilder, inputs: Argument, start_indices: Any, shape: Sequence[int]) -> Tensor:
    x = tensor(b, inputs)
    starts = start_indices.tolist() if isinstance(start_indices, np.ndarray) else start_indices
    if isinstance(starts, Tensor) or any(isinstance(start, Tensor) for start in starts):
        raise ShapeError(f"{b.layer}: a slice that starts where a tensor says is not supported; use keras.ops.take")
    sizes = tuple(x.shape[a] - start if n == -1 else n for a, (start, n) in enumerate(zip(starts, shape, strict=True)))
    return b.op("Slice", [x], {"starts": tuple(starts), "sizes": sizes, "steps": (1,) * x.type.rank})


def pad(b: GraphBuilder, x: Argument, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> Tensor:
    x = tensor(b, x)
    if mode != "constant":
        raise ShapeError(f"{b.layer}: padding by {mode!r} is not supported; there is constant")
    pairs = np.broadcast_to(np.asarray(pad_width), (x.type.rank, 2)).tolist()
    return b.op("Pad", [x], {"low": tuple(p[0] for p in pairs), "high": tuple(p[1] for p in pairs), "value": float(constant_values or 0)})


def broadcast_to(b: GraphBuilder, x: Argument, shape: Sequence[int]) -> Tensor:
    return b.op("Broadcast", [tensor(b, x)], {"shape": tuple(shape)})


def tile(b: GraphBuilder, x: Argument, repeats: int | Sequence[int]) -> Tensor:
    x = tensor(b, x)
    times = [repeats] if isinstance(repeats, int) else list(repeats)
    rank = max(len(times), x.type.rank)
    times = [1] * (rank - len(times)) + times
    shape = (1,) * (rank - x.type.rank) + x.shape
    pairs = tuple(n for size in shape for n in (1, size))
    wide = tuple(n for count, size in zip(times, shape, strict=True) for n in (count, size))
    y = b.op("Broadcast", [b.op("Reshape", [x], {"shape": pairs})], {"shape": wide})
    return b.op("Reshape", [y], {"shape": tuple(count * size for count, size in zip(times, shape, strict=True))})


def repeat(b: GraphBuilder, x: Argument, repeats: int, axis: int | None = None) -> Tensor:
    x = tensor(b, x) if axis is not None else ravel(b, x)
    if not isinstance(repeats, int):
        raise ShapeError(f"{b.layer}: repeat by a different count for each element is not supported; use keras.ops.take")
    axis = (axis or 0) % x.type.rank
    before, size, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    y = b.op("Reshape", [x], {"shape": (*before, size, 1, *after)})
    y = b.op("Broadcast", [y], {"shape": (*before, size, repeats, *after)})
    return b.op("Reshape", [y], {"shape": (*before, size * repeats, *after)})


def take(b: GraphBuilder, x: Argument, indices: Argument, axis: int | None = None) -> Tensor:
    x = tensor(b, x) if axis is not None else ravel(b, x)
    index = tensor(b, indices, None if isinstance(indices, Tensor) else "int32")
    size = x.shape[(axis or 0) % x.type.rank]
    if not isinstance(indices, Tensor):
        index = b.constant(np.asarray(indices) % size, "int32")
    return b.op("Gather", [x, index], {"axis": (axis or 0) % x.type.rank})


def flip(b: GraphBuilder, x: Argument, axis: int | Sequence[int] | None = None) -> Tensor:
    x = tensor(b, x)
    axes = axes_of(axis, x.type.rank)
    starts = tuple(n - 1 if a in axes else 0 for a, n in enumerate(x.shape))
    return b.op("Slice", [x], {"starts": starts, "sizes": x.shape, "steps": tuple(-1 if a in axes else 1 for a in range(x.type.rank))})
