"""Move blocks of spatial axes into the batch and back, as TensorFlow and LiteRT express dilated
convolutions.
"""

from collections.abc import Sequence
from math import prod

from webkiln.ir.dim import Size
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import part, reshaped, transposed


def space_to_batch(
    b: GraphBuilder,
    x: Tensor,
    blocks: Sequence[Size],
    pads: Sequence[Sequence[Size]],
    value: float = 0,
) -> Tensor:
    """Pad [N, *spatial, ...], then move each block of the spatial axes into the batch. The offset
    within a block is the outer part of the new batch index.
    """
    count = len(blocks)
    trailing = (0,) * (x.type.rank - 1 - count)
    low, high = ((0, *(pair[side] for pair in pads), *trailing) for side in (0, 1))
    if any((*low, *high)):
        x = b.op("Pad", [x], {"low": low, "high": high, "value": value})
    batch, rest = x.shape[0], x.shape[1 + count :]
    sizes = [size // block for size, block in zip(x.shape[1:], blocks, strict=False)]
    split = reshaped(
        b, x, (batch, *(size for pair in zip(sizes, blocks, strict=True) for size in pair), *rest)
    )
    inner, outer = (
        [2 + 2 * axis for axis in range(count)],
        [1 + 2 * axis for axis in range(count)],
    )
    moved = transposed(b, split, (*inner, 0, *outer, *range(1 + 2 * count, split.type.rank)))
    return reshaped(b, moved, (batch * prod(blocks), *sizes, *rest))


def batch_to_space(
    b: GraphBuilder, x: Tensor, blocks: Sequence[Size], crops: Sequence[Sequence[Size]]
) -> Tensor:
    """The inverse of `space_to_batch`, with crops instead of pads."""
    count, batch, rest = len(blocks), x.shape[0] // prod(blocks), x.shape[1 + len(blocks) :]
    split = reshaped(b, x, (*blocks, batch, *x.shape[1:]))
    order = [
        count,
        *(moved for axis in range(count) for moved in (count + 1 + axis, axis)),
        *range(2 * count + 1, split.type.rank),
    ]
    sizes = [size * block for size, block in zip(x.shape[1:], blocks, strict=False)]
    result = reshaped(b, transposed(b, split, order), (batch, *sizes, *rest))
    for axis, (first, last) in enumerate(crops):
        if first or last:
            result = part(b, result, 1 + axis, first, sizes[axis] - first - last)
    return result
