"""Functions that move elements."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.errors import ShapeError, SourceError
from webkiln.frontends.chainer.sizes import bare, is_open
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node, nodes, sizes

FAR = 1 << 40


def places(x: ChainVariable, *axes: int) -> tuple[int, ...]:
    """Non-negative axes."""
    for axis in axes:
        if not -x.ndim <= axis < x.ndim:
            raise ShapeError(f"axis {axis} is none of the {x.ndim} of {list(x.shape)}")
    return tuple(axis % x.ndim for axis in axes)


def reshape(x: Any, shape: Any) -> ChainVariable:
    given = as_variable(x)
    wanted = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    same = (
        len(wanted) == given.ndim
        and not any(map(is_open, (*wanted, *given.shape)))
        and wanted == given.shape
    )
    return given if same else node("Reshape", given, sizes(wanted), allowzero=1)


def transpose(x: Any, axes: Any = None, *more: int) -> ChainVariable:
    x = as_variable(x)
    if axes is None:
        return node("Transpose", x, perm=tuple(reversed(range(x.ndim))))
    perm = (axes, *more) if isinstance(axes, int) else tuple(axes)
    return (
        x
        if places(x, *perm) == tuple(range(x.ndim))
        else node("Transpose", x, perm=places(x, *perm))
    )


def swapaxes(x: Any, axis1: int, axis2: int) -> ChainVariable:
    x = as_variable(x)
    a, b = places(x, axis1, axis2)
    perm = list(range(x.ndim))
    perm[a], perm[b] = b, a
    return transpose(x, perm)


def moveaxis(x: Any, source: Any, destination: Any) -> ChainVariable:
    x = as_variable(x)
    moved = np.moveaxis(
        np.zeros([2 + d for d in range(x.ndim)], np.int8), source, destination
    ).shape
    return transpose(x, [size - 2 for size in moved])


def rollaxis(x: Any, axis: int, start: int = 0) -> ChainVariable:
    x = as_variable(x)
    moved = np.rollaxis(np.zeros([2 + d for d in range(x.ndim)], np.int8), axis, start).shape
    return transpose(x, [size - 2 for size in moved])


def expand_dims(x: Any, axis: int) -> ChainVariable:
    return node("Unsqueeze", as_variable(x), axes=(axis,))


def squeeze(x: Any, axis: Any = None) -> ChainVariable:
    x = as_variable(x)
    if axis is None:
        chosen = tuple(d for d, size in enumerate(x.shape) if not is_open(size) and size == 1)
    else:
        chosen = places(x, *((axis,) if isinstance(axis, int) else axis))
    return reshape(x, [size for d, size in enumerate(x.shape) if d not in chosen])


def flatten(x: Any) -> ChainVariable:
    return reshape(x, (-1,))


def broadcast_to(x: Any, shape: Any) -> ChainVariable:
    return node("Expand", as_variable(x), sizes(tuple(shape)))


def broadcast(*xs: Any) -> Any:
    given = tuple(map(as_variable, xs))
    if len(given) == 1:
        return given[0]
    rank = max(x.ndim for x in given)
    wide = [(1,) * (rank - x.ndim) + x.shape for x in given]
    shape = tuple(
        next((size for size in column if is_open(size) or size != 1), 1)
        for column in zip(*wide, strict=True)
    )
    return tuple(broadcast_to(x, shape) for x in given)


def concat(xs: Any, axis: int = 1) -> ChainVariable:
    given = [as_variable(x) for x in xs]
    return given[0] if len(given) == 1 else node("Concat", *given, axis=places(given[0], axis)[0])


def stack(xs: Any, axis: int = 0) -> ChainVariable:
    given = [as_variable(x) for x in xs]
    return concat([expand_dims(x, axis) for x in given], axis)


def vstack(xs: Any) -> ChainVariable:
    given = [as_variable(x) for x in xs]
    return concat([reshape(x, (1, -1)) if x.ndim < 2 else x for x in given], 0)


def hstack(xs: Any) -> ChainVariable:
    given = [as_variable(x) for x in xs]
    return concat(
        [reshape(x, (1,)) if x.ndim == 0 else x for x in given], 0 if given[0].ndim < 2 else 1
    )


def dstack(xs: Any) -> ChainVariable:
    given = [as_variable(x) for x in xs]
    wide = [
        reshape(x, (1, -1, 1)) if x.ndim < 2 else expand_dims(x, 2) if x.ndim == 2 else x
        for x in given
    ]
    return concat(wide, 2)


def split_axis(x: Any, indices_or_sections: Any, axis: int, force_tuple: bool = True) -> Any:
    x = as_variable(x)
    place = places(x, axis)[0]
    size = x.shape[place]
    if isinstance(indices_or_sections, int | np.integer):
        count = int(indices_or_sections)
        if not is_open(size) and size % count:
            raise ShapeError(
                f"{size} elements of axis {place} cannot be split into {count} equal parts"
            )
        counts = [size // count] * count
    else:
        ends = [0, *(int(item) for item in indices_or_sections), size]
        counts = [b - a for a, b in itertools.pairwise(ends)]
    if len(counts) == 1:
        return (x,) if force_tuple else x
    return nodes("Split", len(counts), x, sizes(counts), axis=place)


def separate(x: Any, axis: int = 0) -> tuple[ChainVariable, ...]:
    x = as_variable(x)
    place = places(x, axis)[0]
    size = x.shape[place]
    if is_open(size):
        size = size.__index__()
    return tuple(get_item(x, (*[slice(None)] * place, number)) for number in range(size))


def tile(x: Any, reps: Any) -> ChainVariable:
    x = as_variable(x)
    counts = (reps,) if isinstance(reps, int) else tuple(reps)
    counts = (1,) * (x.ndim - len(counts)) + counts
    return node("Tile", reshape(x, (1,) * (len(counts) - x.ndim) + x.shape), sizes(counts))


def repeat(x: Any, repeats: Any, axis: int | None = None) -> ChainVariable:
    x = as_variable(x)
    if axis is None:
        x, axis = flatten(x), 0
    place = places(x, axis)[0]
    counts = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    size = x.shape[place]
    if len(counts) == 1:
        apart = reshape(x, (*x.shape[: place + 1], 1, *x.shape[place + 1 :]))
        wide = node(
            "Tile", apart, sizes([counts[0] if d == place + 1 else 1 for d in range(x.ndim + 1)])
        )
        return reshape(wide, (*x.shape[:place], size * counts[0], *x.shape[place + 1 :]))
    return node("Gather", x, np.repeat(np.arange(len(counts)), counts), axis=place)


def flip(x: Any, axis: int) -> ChainVariable:
    x = as_variable(x)
    return get_item(
        x,
        tuple(
            slice(None, None, -1) if d == places(x, axis)[0] else slice(None) for d in range(x.ndim)
        ),
    )


def fliplr(a: Any) -> ChainVariable:
    return flip(a, 1)


def flipud(a: Any) -> ChainVariable:
    return flip(a, 0)


def copy(x: Any, dst: Any = None) -> ChainVariable:
    return as_variable(x)


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
    a, b = places(x, axis1, axis2)
    rest = [d for d in range(x.ndim) if d not in (a, b)]
    rows, columns = x.shape[a], x.shape[b]
    count = min(rows + min(offset, 0), columns - max(offset, 0))
    moved = transpose(x, (a, b, *rest))
    numbers = np.arange(max(int(count), 0))
    picked = node(
        "GatherND", moved, np.stack([numbers - min(offset, 0), numbers + max(offset, 0)], 1)
    )
    return transpose(picked, (*range(1, picked.ndim), 0))


def pad(x: Any, pad_width: Any, mode: str, **keywords: Any) -> ChainVariable:
    x = as_variable(x)
    widths = (
        np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
        if np.ndim(pad_width) < 2 or len(pad_width) == 1
        else np.asarray(pad_width)
    )
    flat = [int(width) for width in (*widths[:, 0], *widths[:, 1])]
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise SourceError(
            f"F.pad: mode {mode!r} is not converted; there are constant, reflect, edge and wrap"
        )
    values = keywords.pop("constant_values", 0)
    if keywords or np.size(values) != 1:
        raise SourceError(
            f"F.pad: {', '.join(keywords) or 'several constant_values'} cannot be given; one"
            " constant value can"
        )
    fill = float(np.asarray(values).reshape(-1)[0])
    return node("Pad", x, sizes(flat), fill if mode == "constant" else None, mode=mode)


def pad_sequence(xs: Any, length: Any = None, padding: float = 0) -> ChainVariable:
    given = [as_variable(x) for x in xs]
    longest = max(x.shape[0] for x in given) if length is None else length
    rows = [
        pad(
            x,
            [(0, bare(longest - x.shape[0])), *[(0, 0)] * (x.ndim - 1)],
            "constant",
            constant_values=padding,
        )
        for x in given
    ]
    return stack(rows, 0)


def concat_examples(batch: Any, device: Any = None, padding: float | None = None) -> Any:
    """chainer.dataset.concat_examples: stack items, or each field of tuples or dicts, with optional
    padding.
    """
    first = batch[0]
    if isinstance(first, tuple):
        return tuple(
            concat_examples([item[place] for item in batch], device, padding)
            for place in range(len(first))
        )
    if isinstance(first, dict):
        return {
            key: concat_examples([item[key] for item in batch], device, padding) for key in first
        }
    given = [as_variable(item) for item in batch]
    if padding is None:
        return stack(given, 0)
    longest = [max(x.shape[axis] for x in given) for axis in range(given[0].ndim)]
    widths = [
        [(0, bare(size - own)) for own, size in zip(x.shape, longest, strict=True)] for x in given
    ]
    return stack(
        [
            pad(x, width, "constant", constant_values=padding)
            for x, width in zip(given, widths, strict=True)
        ],
        0,
    )


def transpose_sequence(xs: Any) -> tuple[ChainVariable, ...]:
    """Sequences of decreasing lengths as one batch per step."""
    given = [as_variable(x) for x in xs]
    longest = max((len(x) for x in given), default=0)
    return tuple(stack([x[step] for x in given if len(x) > step], 0) for step in range(longest))


def depth2space(X: Any, r: int) -> ChainVariable:
    return node("DepthToSpace", as_variable(X), blocksize=r, mode="DCR")


def space2depth(X: Any, r: int) -> ChainVariable:
    return node("SpaceToDepth", as_variable(X), blocksize=r)


def get_item(x: Any, slices: Any) -> ChainVariable:
    """numpy indexing: slices, numbers, new axes, an ellipsis, constant arrays of integers or
    booleans, and integer arrays that are not constant.
    """
    x = as_variable(x)
    given = list(slices) if isinstance(slices, tuple) else [slices]
    given = [np.asarray(item) if isinstance(item, list) else item for item in given]
    used = sum(_axes(item) for item in given)
    if used > x.ndim:
        raise IndexError(f"{used} indices for {x.ndim} axes")
    at = next((place for place, item in enumerate(given) if item is Ellipsis), len(given))
    given[at : at + 1] = [slice(None)] * (x.ndim - used)
    given = [part for item in given for part in _unmasked(item)]
    x, wanted, arrays = _sliced(x, given)
    x = (
        reshape(x, wanted)
        if len(wanted) != x.ndim or any(item is None or _is_number(item) for item in given)
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
    x: ChainVariable, given: Sequence[Any]
) -> tuple[ChainVariable, list[Any], dict[int, Any]]:
    """The result of slices and numbers; its shape with new axes and without indexed ones; and
    arrays by the axis that they index then.
    """
    starts, ends, axes, steps = [], [], [], []
    wanted: list[Any] = []
    arrays: dict[int, Any] = {}
    axis = 0
    kept: list[int | None] = []
    for item in given:
        if item is None:
            kept.append(None)
            continue
        if isinstance(item, slice):
            if (item.start, item.stop, item.step) != (None, None, None):
                step = 1 if item.step is None else item.step
                starts.append((0 if step > 0 else FAR) if item.start is None else item.start)
                ends.append((FAR if step > 0 else -FAR) if item.stop is None else item.stop)
                axes.append(axis)
                steps.append(step)
            kept.append(axis)
        elif _is_number(item):
            starts.append(item)
            ends.append(FAR if not is_open(item) and item == -1 else item + 1)
            axes.append(axis)
            steps.append(1)
        elif isinstance(item, np.ndarray | ChainVariable):
            arrays[len(kept)] = item
            kept.append(axis)
        else:
            raise SourceError(
                f"a variable is indexed with {type(item).__name__}; expected numbers, slices,"
                " arrays, None and an ellipsis"
            )
        axis += 1
    if axes:
        x = node("Slice", x, sizes(starts), sizes(ends), sizes(axes), sizes(steps))
    wanted = [1 if place is None else x.shape[place] for place in kept]
    return x, wanted, arrays


def _gathered(x: ChainVariable, arrays: Mapping[int, Any]) -> ChainVariable:
    axes = list(arrays)
    if len(axes) == 1:
        return node("Gather", x, _indices(arrays[axes[0]]), axis=axes[0])
    wide = broadcast(*(_indices(item) for item in arrays.values()))
    rest = [d for d in range(x.ndim) if d not in axes]
    found = node("GatherND", transpose(x, (*axes, *rest)), stack(wide, wide[0].ndim))
    count = wide[0].ndim
    if axes != list(range(axes[0], axes[-1] + 1)):
        return found
    before = [count + number for number in range(axes[0])]
    return transpose(found, (*before, *range(count), *range(count + axes[0], found.ndim)))


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
            "F.scatter_add: the shape and the places have to be known before the model runs"
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


SHAPE: Mapping[str, Callable[..., Any]] = {
    "reshape": reshape,
    "transpose": transpose,
    "swapaxes": swapaxes,
    "moveaxis": moveaxis,
    "rollaxis": rollaxis,
    "expand_dims": expand_dims,
    "squeeze": squeeze,
    "flatten": flatten,
    "broadcast_to": broadcast_to,
    "broadcast": broadcast,
    "concat": concat,
    "stack": stack,
    "vstack": vstack,
    "hstack": hstack,
    "dstack": dstack,
    "split_axis": split_axis,
    "separate": separate,
    "tile": tile,
    "repeat": repeat,
    "flip": flip,
    "fliplr": fliplr,
    "flipud": flipud,
    "copy": copy,
    "permutate": permutate,
    "select_item": select_item,
    "diagonal": diagonal,
    "pad": pad,
    "pad_sequence": pad_sequence,
    "transpose_sequence": transpose_sequence,
    "depth2space": depth2space,
    "space2depth": space2depth,
    "get_item": get_item,
    "scatter_add": scatter_add,
}
