"""Reshapes, transpositions and repetitions."""

from collections.abc import Sequence
from math import prod

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.ir.dim import Shape, Size, is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import reshaped, squeezed, transposed, widened


def view(c: AtenCall) -> Tensor:
    return reshaped(
        c.b,
        c.tensor(),
        inferred_shape(c, c.tensor(), c.sizes("size" if c.has("size") else "shape")),
    )


def inferred_shape(c: AtenCall, x: Tensor, target: Sequence[Size]) -> Shape:
    """-1 is inferred."""
    shape = list(target)
    indices = [axis for axis, size in enumerate(shape) if not is_symbolic(size) and size == -1]
    if indices:
        rest = prod(size for axis, size in enumerate(shape) if axis != indices[0])
        shape[indices[0]] = 0 if not is_symbolic(rest) and rest == 0 else x.type.size // rest
    return tuple(shape)


def view_as(c: AtenCall) -> Tensor:
    return reshaped(c.b, c.tensor(), c.tensor("other").shape)


def flatten(c: AtenCall) -> Tensor:
    x = c.tensor()
    if not x.type.rank:
        return reshaped(c.b, x, (1,))
    first, last = (
        c.axis(c.get("start_dim", 0), x.type.rank),
        c.axis(c.get("end_dim", -1), x.type.rank),
    )
    return reshaped(
        c.b, x, (*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :])
    )


def unflatten(c: AtenCall) -> Tensor:
    x, sizes = c.tensor(), list(c.sizes("sizes"))
    axis = c.axis(c.number("dim"), x.type.rank)
    if -1 in [size for size in sizes if not is_symbolic(size)]:
        sizes[sizes.index(-1)] = x.shape[axis] // prod(
            size for size in sizes if is_symbolic(size) or size != -1
        )
    return reshaped(c.b, x, (*x.shape[:axis], *sizes, *x.shape[axis + 1 :]))


def permute(c: AtenCall) -> Tensor:
    x = c.tensor()
    return transposed(c.b, x, [c.axis(axis, x.type.rank) for axis in c.integers("dims")])


def transpose(c: AtenCall) -> Tensor:
    x = c.tensor()
    if not x.type.rank:
        return x
    perm = list(range(x.type.rank))
    names = ("axis0", "axis1") if c.has("axis0") else ("dim0", "dim1")
    a, b = (c.axis(c.number(name), x.type.rank) for name in names)
    perm[a], perm[b] = perm[b], perm[a]
    return transposed(c.b, x, perm)


def reversed_axes(c: AtenCall) -> Tensor:
    x = c.tensor()
    return transposed(c.b, x, tuple(reversed(range(x.type.rank))))


def matrix_transposed(c: AtenCall) -> Tensor:
    x = c.tensor()
    rank = x.type.rank
    return transposed(c.b, x, (*range(rank - 2), rank - 1, rank - 2))


def movedim(c: AtenCall) -> Tensor:
    x = c.tensor()
    rank = x.type.rank
    source, target = (
        [c.axis(axis, rank) for axis in c.integers(name)] for name in ("source", "destination")
    )
    perm: list[int] = [-1] * rank
    for a, b in zip(source, target, strict=True):
        perm[b] = a
    rest = iter(axis for axis in range(rank) if axis not in source)
    return transposed(c.b, x, [next(rest) if axis == -1 else axis for axis in perm])


def squeeze(c: AtenCall) -> Tensor:
    x = c.tensor()
    return squeezed(c.b, x, c.axes("dim", x.type.rank) if c.has("dim") else None)


def unsqueeze(c: AtenCall) -> Tensor:
    x = c.tensor()
    axis = c.axis(c.number("dim"), x.type.rank + 1)
    return reshaped(c.b, x, (*x.shape[:axis], 1, *x.shape[axis:]))


def expand(c: AtenCall) -> Tensor:
    x, target = c.tensor(), c.sizes("size")
    own = (*[1] * (len(target) - x.type.rank), *x.shape)
    shape = tuple(
        a if not is_symbolic(b) and b == -1 else b for a, b in zip(own, target, strict=True)
    )
    return widened(c.b, x, shape)


def expand_as(c: AtenCall) -> Tensor:
    return widened(c.b, c.tensor(), c.tensor("other").shape)


def broadcast_tensors(c: AtenCall) -> list[Tensor]:
    xs = c["tensors"]
    rank = max(x.type.rank for x in xs)
    shapes = [(*[1] * (rank - x.type.rank), *x.shape) for x in xs]
    shape = tuple(
        next((size for size in sizes if is_symbolic(size) or size != 1), 1)
        for sizes in zip(*shapes, strict=True)
    )
    return [widened(c.b, x, shape) for x in xs]


def repeat(c: AtenCall) -> Tensor:
    x, counts = c.tensor(), c.sizes("repeats" if c.has("repeats") else "dims")
    counts = (*[1] * (x.type.rank - len(counts)), *counts)
    own = (*[1] * (len(counts) - x.type.rank), *x.shape)
    wide = widened(
        c.b,
        reshaped(c.b, x, [size for item in own for size in (1, item)]),
        [s for pair in zip(counts, own, strict=True) for s in pair],
    )
    return reshaped(c.b, wide, [count * size for count, size in zip(counts, own, strict=True)])


def repeat_interleave(c: AtenCall) -> Tensor:
    x, count = c.tensor(), c["repeats"]
    if isinstance(count, Tensor):
        raise c.unsupported("has data-dependent repeats", "Use a constant number of repeats")
    if not c.has("dim"):
        x = reshaped(c.b, x, (x.type.size,))
    axis = c.axis(c.get("dim", 0), x.type.rank)
    expanded = reshaped(c.b, x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
    wide = widened(c.b, expanded, (*x.shape[: axis + 1], count, *x.shape[axis + 1 :]))
    return reshaped(c.b, wide, (*x.shape[:axis], x.shape[axis] * count, *x.shape[axis + 1 :]))


SHAPE: dict[str, AtenHandler] = {
    **dict.fromkeys(
        ("view", "_unsafe_view", "reshape", "view_copy", "_reshape_alias", "_reshape_copy"), view
    ),
    "view_as": view_as,
    "reshape_as": view_as,
    "flatten": flatten,
    "unflatten": unflatten,
    "permute": permute,
    "permute_copy": permute,
    "transpose": transpose,
    "transpose_copy": transpose,
    "swapaxes": transpose,
    "swapdims": transpose,
    "t": reversed_axes,
    "numpy_T": reversed_axes,
    "mT": matrix_transposed,
    "adjoint": matrix_transposed,
    "movedim": movedim,
    "moveaxis": movedim,
    "squeeze": squeeze,
    "squeeze_copy": squeeze,
    "unsqueeze": unsqueeze,
    "unsqueeze_copy": unsqueeze,
    "expand": expand,
    "expand_copy": expand,
    "broadcast_to": expand,
    "expand_as": expand_as,
    "broadcast_tensors": broadcast_tensors,
    "repeat": repeat,
    "tile": repeat,
    "repeat_interleave": repeat_interleave,
}
