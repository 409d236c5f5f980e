"""Reshape, broadcast, tile, and blocks of pixels as channels that are first."""

from collections.abc import Sequence
from math import prod

from webkiln.ir.dim import Shape, Size, is_symbolic
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import broadcast_input, one_or, reshaped, transposed


def reshape_inferred(b: GraphBuilder, x: Tensor, shape: Sequence[Size]) -> Tensor:
    """x in another shape; a size of -1 is inferred."""
    sizes = list(shape)
    if any(not is_symbolic(size) and size == -1 for size in sizes):
        inferred = next(
            axis for axis, size in enumerate(sizes) if not is_symbolic(size) and size == -1
        )
        rest = prod(size for axis, size in enumerate(sizes) if axis != inferred)
        sizes[inferred] = 0 if not is_symbolic(rest) and rest == 0 else x.type.size // rest
    return reshaped(b, x, sizes)


def expand(b: GraphBuilder, x: Tensor, shape: Sequence[Size]) -> Tensor:
    """Broadcast x and a shape to each other. An open size of either may be 1 when the model
    runs.
    """
    x = broadcast_input(b, x, shape)
    rank = max(x.type.rank, len(shape))
    own, target = (1,) * (rank - x.type.rank) + x.shape, (1,) * (rank - len(shape)) + tuple(shape)
    sizes = tuple(
        _broadcast_size(b, size, other)
        if is_symbolic(other) and not is_symbolic(size)
        else size
        if other == 1
        else other
        for size, other in zip(own, target, strict=True)
    )
    return b.op("Broadcast", [x], {"shape": sizes})


def _broadcast_size(b: GraphBuilder, own: Size, target: Size) -> Size:
    """The size that an axis of a known size is broadcast to. A target that is open may be 1 when
    the model runs; a guard rejects all other sizes.
    """
    if own == 1:
        return target
    one_or(b, target, own)
    return own


def tile(b: GraphBuilder, x: Tensor, repeats: Sequence[Size]) -> Tensor:
    """x repeated along each axis."""
    wide = [size for pair in zip(repeats, x.shape, strict=True) for size in pair]
    unsqueezed = reshaped(b, x, [size for own in x.shape for size in (1, own)])
    repeated = b.op("Broadcast", [unsqueezed], {"shape": tuple(wide)})
    return reshaped(
        b, repeated, [count * size for count, size in zip(repeats, x.shape, strict=True)]
    )


def unsqueeze(b: GraphBuilder, x: Tensor, axes: Sequence[int]) -> Tensor:
    """x with new axes of size 1; `axes` are those of the result, not negative."""
    sizes = iter(x.shape)
    return reshaped(
        b, x, [1 if axis in axes else next(sizes) for axis in range(x.type.rank + len(axes))]
    )


def depth_to_space(b: GraphBuilder, x: Tensor, block: int, *, depth_first: bool = True) -> Tensor:
    """Channels of [N, C, H, W] to blocks of pixels. Channels are ordered by the position in the
    block, then the output channel, or the other way round.
    """
    n, c, h, w = x.shape
    if depth_first:
        split: Shape = (n, block, block, c // block**2, h, w)
        perm = (0, 3, 4, 1, 5, 2)
    else:
        split, perm = (n, c // block**2, block, block, h, w), (0, 1, 4, 2, 5, 3)
    moved = transposed(b, reshaped(b, x, split), perm)
    return reshaped(b, moved, (n, c // block**2, h * block, w * block))


def space_to_depth(b: GraphBuilder, x: Tensor, block: int, *, depth_first: bool = True) -> Tensor:
    """The inverse of `depth_to_space`."""
    n, c, h, w = x.shape
    split = reshaped(b, x, (n, c, h // block, block, w // block, block))
    perm = (0, 3, 5, 1, 2, 4) if depth_first else (0, 1, 3, 5, 2, 4)
    return reshaped(b, transposed(b, split, perm), (n, c * block**2, h // block, w // block))
