"""Functions that select and scatter elements."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.functions.shape import (
    broadcast,
    broadcast_to,
    normalised_axes,
    reshape,
    stack,
    transpose,
)
from webkiln.frontends.chainer.sizes import is_open
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node, nodes, sizes

FAR = 1 << 40


def separate(x: Any, axis: int = 0) -> tuple[ChainVariable, ...]:
    x = as_variable(x)
    dim = normalised_axes(x, axis)[0]
    size = x.shape[dim]
    if is_open(size):
        size = size.__index__()
    return tuple(get_item(x, (*[slice(None)] * dim, number)) for number in range(size))


def flip(x: Any, axis: int) -> ChainVariable:
    x = as_variable(x)
    return get_item(
        x,
        tuple(
            slice(None, None, -1) if d == normalised_axes(x, axis)[0] else slice(None)
            for d in range(x.ndim)
        ),
    )


def fliplr(a: Any) -> ChainVariable:
    return flip(a, 1)


def flipud(a: Any) -> ChainVariable:
    return flip(a, 0)


def permutate(x: Any, indices: Any, axis: int = 0, inv: bool = False) -> ChainVariable:
    order = as_variable(indices)
    if inv:
        order = ChainVariable(np.argsort(order.known)) if order.known is not None else nodes(
            "TopK", 2, order, sizes([order.shape[0]]), axis=0, largest=0)[1]  # fmt: skip
    return node("Gather", as_variable(x), order, axis=axis)


def select_item(x: Any, t: Any) -> ChainVariable:
    x, t = as_variable(x), as_variable(t)
    return reshape(node("GatherElements", x, reshape(t, (*t.shape, 1)), axis=1), t.shape)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ChainVariable:
    x = as_variable(x)
    a, b = normalised_axes(x, axis1, axis2)
    rest = [d for d in range(x.ndim) if d not in (a, b)]
    rows, columns = x.shape[a], x.shape[b]
    count = min(rows + min(offset, 0), columns - max(offset, 0))
    moved = transpose(x, (a, b, *rest))
    numbers = np.arange(max(int(count), 0))
    picked = node(
        "GatherND", moved, np.stack([numbers - min(offset, 0), numbers + max(offset, 0)], 1)
    )
    return transpose(picked, (*range(1, picked.ndim), 0))


def get_item(x: Any, slices: Any) -> ChainVariable:
    """numpy indexing: slices, numbers, new axes, an ellipsis, constant arrays of integers or
    booleans, and integer arrays that are not constant.
    """
    x = as_variable(x)
    items = list(slices) if isinstance(slices, tuple) else [slices]
    items = [np.asarray(item) if isinstance(item, list) else item for item in items]
    used = sum(_axes(item) for item in items)
    if used > x.ndim:
        raise IndexError(f"{used} indices for {x.ndim} axes")
    at = next((index for index, item in enumerate(items) if item is Ellipsis), len(items))
    items[at : at + 1] = [slice(None)] * (x.ndim - used)
    items = [part for item in items for part in _unmasked(item)]
    x, target, arrays = _sliced(x, items)
    x = (
        reshape(x, target)
        if len(target) != x.ndim or any(item is None or _is_number(item) for item in items)
        else x
    )
    return _gathered(x, arrays) if arrays else x


def _axes(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1


def _unmasked(item: Any) -> list[Any]:
    return list(np.nonzero(item)) if isinstance(item, np.ndarray) and item.dtype == bool else [item]


def _is_number(item: Any) -> bool:
    return hasattr(item, "__index__") and not isinstance(item, np.ndarray | ChainVariable)


def _sliced(
    x: ChainVariable, items: Sequence[Any]
) -> tuple[ChainVariable, list[Any], dict[int, Any]]:
    """The result of slices and numbers; its shape with new axes and without indexed ones; and
    arrays by the axis that they index then.
    """
    starts, ends, axes, steps = [], [], [], []
    target: list[Any] = []
    arrays: dict[int, Any] = {}
    axis = 0
    retained: list[int | None] = []
    for item in items:
        if item is None:
            retained.append(None)
            continue
        if isinstance(item, slice):
            if (item.start, item.stop, item.step) != (None, None, None):
                step = 1 if item.step is None else item.step
                starts.append((0 if step > 0 else FAR) if item.start is None else item.start)
                ends.append((FAR if step > 0 else -FAR) if item.stop is None else item.stop)
                axes.append(axis)
                steps.append(step)
            retained.append(axis)
        elif _is_number(item):
            starts.append(item)
            ends.append(FAR if not is_open(item) and item == -1 else item + 1)
            axes.append(axis)
            steps.append(1)
        elif isinstance(item, np.ndarray | ChainVariable):
            arrays[len(retained)] = item
            retained.append(axis)
        else:
            raise SourceError(
                f"a variable is indexed with {type(item).__name__}; expected numbers, slices,"
                " arrays, None and an ellipsis"
            )
        axis += 1
    if axes:
        x = node("Slice", x, sizes(starts), sizes(ends), sizes(axes), sizes(steps))
    target = [1 if dim is None else x.shape[dim] for dim in retained]
    return x, target, arrays


def _gathered(x: ChainVariable, arrays: Mapping[int, Any]) -> ChainVariable:
    axes = list(arrays)
    if len(axes) == 1:
        return node("Gather", x, _indices(arrays[axes[0]]), axis=axes[0])
    indices = broadcast(*(_indices(item) for item in arrays.values()))
    rest = [d for d in range(x.ndim) if d not in axes]
    gathered = node("GatherND", transpose(x, (*axes, *rest)), stack(indices, indices[0].ndim))
    count = indices[0].ndim
    if axes != list(range(axes[0], axes[-1] + 1)):
        return gathered
    before = [count + number for number in range(axes[0])]
    return transpose(gathered, (*before, *range(count), *range(count + axes[0], gathered.ndim)))


def _indices(item: Any) -> ChainVariable:
    return item if isinstance(item, ChainVariable) else ChainVariable(np.asarray(item, np.int64))


def scatter_add(a: Any, slices: Any, b: Any) -> ChainVariable:
    """Gather at constant indices."""
    a, b = as_variable(a), as_variable(b)
    if any(map(is_open, a.shape)) or any(
        isinstance(item, ChainVariable)
        for item in (slices if isinstance(slices, tuple) else (slices,))
    ):
        raise SourceError(
            "F.scatter_add: the shape and the indices must be known before the model runs"
        )
    total = int(np.prod(a.shape))
    numbers = np.arange(total).reshape(a.shape)[slices]
    added = reshape(broadcast_to(b, numbers.shape), (-1,))
    return reshape(
        node(
            "ScatterElements",
            reshape(a, (-1,)),
            numbers.reshape(-1),
            added,
            axis=0,
            reduction="add",
        ),
        a.shape,
    )


INDEXING: Mapping[str, Callable[..., Any]] = {
    "separate": separate,
    "flip": flip,
    "fliplr": fliplr,
    "flipud": flipud,
    "permutate": permutate,
    "select_item": select_item,
    "diagonal": diagonal,
    "get_item": get_item,
    "scatter_add": scatter_add,
}
