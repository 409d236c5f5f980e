"""Functions that append common operators to a graph, for the handlers of frontends.

Operators without an effect, such as a Reshape to the same shape, are not appended.
"""

from collections.abc import Iterable, Sequence

from webkiln.ir.dim import Dim, Size, is_symbolic, maximum
from webkiln.ir.graph import Guard
from webkiln.ir.rational import positive
from webkiln.ops.builder import GraphBuilder, Scalar, Tensor


def reshaped(b: GraphBuilder, x: Tensor, shape: Sequence[Size]) -> Tensor:
    return x if tuple(shape) == x.shape else b.op("Reshape", [x], {"shape": tuple(shape)})


def transposed(b: GraphBuilder, x: Tensor, perm: Sequence[int]) -> Tensor:
    return (
        x
        if tuple(perm) == tuple(range(len(perm)))
        else b.op("Transpose", [x], {"perm": tuple(perm)})
    )


def part(b: GraphBuilder, x: Tensor, axis: int, start: Size, count: Size, step: Size = 1) -> Tensor:
    """A slice of one axis: `count` elements from `start`, `step` apart."""
    axis %= x.type.rank
    if (start, count, step) == (0, x.shape[axis], 1):
        return x
    starts = tuple(start if d == axis else 0 for d in range(x.type.rank))
    sizes = tuple(count if d == axis else size for d, size in enumerate(x.shape))
    return b.op(
        "Slice",
        [x],
        {
            "starts": starts,
            "sizes": sizes,
            "steps": tuple(step if d == axis else 1 for d in range(x.type.rank)),
        },
    )


def element(b: GraphBuilder, x: Tensor, axis: int, index: Size) -> Tensor:
    """The slice at an index of an axis; the axis is removed."""
    axis %= x.type.rank
    return reshaped(
        b, part(b, x, axis, index % x.shape[axis], 1), (*x.shape[:axis], *x.shape[axis + 1 :])
    )


def squeezed(b: GraphBuilder, x: Tensor, axes: Iterable[int] | None = None) -> Tensor:
    """Remove the axes of size 1 among `axes`, by default among all. Open sizes stay; a guard
    rejects 1.
    """
    chosen = range(x.type.rank) if axes is None else frozenset(axes)
    b.require(
        Guard(b.layer, maximum([x.shape[axis] - 1, 1]), x.shape[axis] - 1)
        for axis in sorted(chosen)
        if is_symbolic(x.shape[axis])
    )
    return reshaped(
        b, x, [size for axis, size in enumerate(x.shape) if axis not in chosen or size != 1]
    )


def widened(b: GraphBuilder, x: Tensor, shape: Sequence[Size]) -> Tensor:
    """Broadcast to a shape."""
    return x if tuple(shape) == x.shape else b.op("Broadcast", [x], {"shape": tuple(shape)})


def broadcast_input(b: GraphBuilder, x: Tensor, shape: Sequence[Size]) -> Tensor:
    """Broadcast the axes of an input whose open sizes may be 1 when the model runs, such as those
    of a state that starts as one element; a guard rejects all other sizes. Other tensors are
    returned unchanged.
    """
    if x.name not in b.inputs:
        return x
    added = len(shape) - x.type.rank
    for axis, size in enumerate(x.shape):
        target = shape[axis + added] if axis + added >= 0 else 1
        if not is_symbolic(size) or size == target or (not is_symbolic(target) and target == 1):
            continue
        is_wide = one_or(b, size, target)
        rows = b.binary("Mul", iota(b, target, "int32"), sized(b, is_wide, "int32"))
        x = b.op("Gather", [x, rows], {"axis": axis})
    return x


def one_or(b: GraphBuilder, size: Size, other: Size) -> Size:
    """0 if an open size is 1 when the model runs, 1 if it is `other`; a guard rejects all other
    sizes.
    """
    is_other = positive(size - 1)
    b.require([Guard(b.layer, size, 1 + (other - 1) * is_other)])
    return is_other


def filled(b: GraphBuilder, value: Scalar | Dim, dtype: str, shape: Sequence[Size]) -> Tensor:
    """A tensor whose elements all have one value."""
    return b.op("Broadcast", [b.scalar(value, dtype)], {"shape": tuple(shape)})


def iota(b: GraphBuilder, size: Size, dtype: str) -> Tensor:
    """The vector 0, 1, ... `size` - 1."""
    return b.op("Iota", [], {"size": size, "dtype": dtype})


def sized(b: GraphBuilder, value: Size, dtype: str) -> Tensor:
    """A size, static or symbolic, as a scalar tensor."""
    return b.scalar(value, dtype)


def stacked(b: GraphBuilder, xs: Sequence[Tensor], axis: int) -> Tensor:
    """Stack tensors of one shape along a new axis."""
    axis %= xs[0].type.rank + 1
    return b.op(
        "Concat",
        [reshaped(b, x, (*x.shape[:axis], 1, *x.shape[axis:])) for x in xs],
        {"axis": axis},
    )


def blocks_to_space(b: GraphBuilder, x: Tensor, block: int) -> Tensor:
    """Depth to space: [N, H, W, C] -> [N, H * block, W * block, C / block**2]. Channels are ordered
    by the row in the block, then the column, then the output channel.
    """
    n, h, w, c = x.shape
    y = reshaped(b, x, (n, h, w, block, block, c // block**2))
    return reshaped(
        b, transposed(b, y, (0, 1, 3, 2, 4, 5)), (n, h * block, w * block, c // block**2)
    )


def space_to_blocks(b: GraphBuilder, x: Tensor, block: int) -> Tensor:
    """Space to depth, the inverse of `blocks_to_space`."""
    n, h, w, c = x.shape
    y = reshaped(b, x, (n, h // block, block, w // block, block, c))
    return reshaped(
        b, transposed(b, y, (0, 1, 3, 2, 4, 5)), (n, h // block, w // block, c * block**2)
    )


def cast(b: GraphBuilder, x: Tensor, dtype: str) -> Tensor:
    return x if x.dtype == dtype else b.op("Cast", [x], {"dtype": dtype})


def total(b: GraphBuilder, x: Tensor, *axes: int, keepdims: bool = False) -> Tensor:
    """Sum over axes."""
    return b.op(
        "ReduceSum",
        [x],
        {"axes": tuple(sorted(axis % x.type.rank for axis in axes)), "keepdims": keepdims},
    )


def largest(b: GraphBuilder, x: Tensor, *axes: int, keepdims: bool = False) -> Tensor:
    """Maximum over axes."""
    return b.op(
        "ReduceMax",
        [x],
        {"axes": tuple(sorted(axis % x.type.rank for axis in axes)), "keepdims": keepdims},
    )
