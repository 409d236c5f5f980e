"""Functions that change shapes, join and split."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.frontends.chainer.sizes import is_open
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node, nodes, sizes


def normalised_axes(x: ChainVariable, *axes: int) -> tuple[int, ...]:
    """The axes as non-negative numbers."""
    for axis in axes:
        if not -x.ndim <= axis < x.ndim:
            raise ShapeError(f"axis {axis} is out of range for {list(x.shape)}")
    return tuple(axis % x.ndim for axis in axes)


def reshape(x: Any, shape: Any) -> ChainVariable:
    variable = as_variable(x)
    target = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    same = (
        len(target) == variable.ndim
        and not any(map(is_open, (*target, *variable.shape)))
        and target == variable.shape
    )
    return variable if same else node("Reshape", variable, sizes(target), allowzero=1)


def transpose(x: Any, axes: Any = None, *more: int) -> ChainVariable:
    x = as_variable(x)
    if axes is None:
        return node("Transpose", x, perm=tuple(reversed(range(x.ndim))))
    perm = (axes, *more) if isinstance(axes, int) else tuple(axes)
    return (
        x
        if normalised_axes(x, *perm) == tuple(range(x.ndim))
        else node("Transpose", x, perm=normalised_axes(x, *perm))
    )


def swapaxes(x: Any, axis1: int, axis2: int) -> ChainVariable:
    x = as_variable(x)
    a, b = normalised_axes(x, axis1, axis2)
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
        chosen = normalised_axes(x, *((axis,) if isinstance(axis, int) else axis))
    return reshape(x, [size for d, size in enumerate(x.shape) if d not in chosen])


def flatten(x: Any) -> ChainVariable:
    return reshape(x, (-1,))


def broadcast_to(x: Any, shape: Any) -> ChainVariable:
    return node("Expand", as_variable(x), sizes(tuple(shape)))


def broadcast(*xs: Any) -> Any:
    variables = tuple(map(as_variable, xs))
    if len(variables) == 1:
        return variables[0]
    rank = max(x.ndim for x in variables)
    shapes = [(1,) * (rank - x.ndim) + x.shape for x in variables]
    shape = tuple(
        next((size for size in column if is_open(size) or size != 1), 1)
        for column in zip(*shapes, strict=True)
    )
    return tuple(broadcast_to(x, shape) for x in variables)


def concat(xs: Any, axis: int = 1) -> ChainVariable:
    variables = [as_variable(x) for x in xs]
    return (
        variables[0]
        if len(variables) == 1
        else node("Concat", *variables, axis=normalised_axes(variables[0], axis)[0])
    )


def stack(xs: Any, axis: int = 0) -> ChainVariable:
    variables = [as_variable(x) for x in xs]
    return concat([expand_dims(x, axis) for x in variables], axis)


def vstack(xs: Any) -> ChainVariable:
    variables = [as_variable(x) for x in xs]
    return concat([reshape(x, (1, -1)) if x.ndim < 2 else x for x in variables], 0)


def hstack(xs: Any) -> ChainVariable:
    variables = [as_variable(x) for x in xs]
    return concat(
        [reshape(x, (1,)) if x.ndim == 0 else x for x in variables],
        0 if variables[0].ndim < 2 else 1,
    )


def dstack(xs: Any) -> ChainVariable:
    variables = [as_variable(x) for x in xs]
    rank_3 = [
        reshape(x, (1, -1, 1)) if x.ndim < 2 else expand_dims(x, 2) if x.ndim == 2 else x
        for x in variables
    ]
    return concat(rank_3, 2)


def split_axis(x: Any, indices_or_sections: Any, axis: int, force_tuple: bool = True) -> Any:
    x = as_variable(x)
    dim = normalised_axes(x, axis)[0]
    size = x.shape[dim]
    if isinstance(indices_or_sections, int | np.integer):
        count = int(indices_or_sections)
        if not is_open(size) and size % count:
            raise ShapeError(
                f"{size} elements of axis {dim} cannot be split into {count} equal parts"
            )
        counts = [size // count] * count
    else:
        ends = [0, *(int(item) for item in indices_or_sections), size]
        counts = [b - a for a, b in itertools.pairwise(ends)]
    if len(counts) == 1:
        return (x,) if force_tuple else x
    return nodes("Split", len(counts), x, sizes(counts), axis=dim)


def tile(x: Any, reps: Any) -> ChainVariable:
    x = as_variable(x)
    counts = (reps,) if isinstance(reps, int) else tuple(reps)
    counts = (1,) * (x.ndim - len(counts)) + counts
    return node("Tile", reshape(x, (1,) * (len(counts) - x.ndim) + x.shape), sizes(counts))


def repeat(x: Any, repeats: Any, axis: int | None = None) -> ChainVariable:
    x = as_variable(x)
    if axis is None:
        x, axis = flatten(x), 0
    dim = normalised_axes(x, axis)[0]
    counts = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    size = x.shape[dim]
    if len(counts) == 1:
        expanded = reshape(x, (*x.shape[: dim + 1], 1, *x.shape[dim + 1 :]))
        tiled = node(
            "Tile", expanded, sizes([counts[0] if d == dim + 1 else 1 for d in range(x.ndim + 1)])
        )
        return reshape(tiled, (*x.shape[:dim], size * counts[0], *x.shape[dim + 1 :]))
    return node("Gather", x, np.repeat(np.arange(len(counts)), counts), axis=dim)


def copy(x: Any, dst: Any = None) -> ChainVariable:
    return as_variable(x)


def depth2space(X: Any, r: int) -> ChainVariable:
    return node("DepthToSpace", as_variable(X), blocksize=r, mode="DCR")


def space2depth(X: Any, r: int) -> ChainVariable:
    return node("SpaceToDepth", as_variable(X), blocksize=r)


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
    "tile": tile,
    "repeat": repeat,
    "copy": copy,
    "depth2space": depth2space,
    "space2depth": space2depth,
}
