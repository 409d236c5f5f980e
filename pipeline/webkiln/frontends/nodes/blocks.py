"""Blocks of spatial axes moved into the batch and back, as TensorFlow and LiteRT write dilated
convolutions.
"""

from collections.abc import Sequence
from math import prod

from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import part, reshaped, transposed


def space_to_batch(
    b: GraphBuilder,
    x: Tensor,
    blocks: Sequence[int],
    pads: Sequence[Sequence[int]],
    value: float = 0,
) -> Tensor:
    """[N, *spatial, ...] padded, then each block of the spatial axes moved into the batch, which
    counts the places in a block first.
    """
    count = len(blocks)
    behind = (0,) * (x.type.rank - 1 - count)
    low, high = ((0, *(pair[side] for pair in pads), *behind) for side in (0, 1))
    if any((*low, *high)):
        x = b.op("Pad", [x], {"low": low, "high": high, "value": value})
    batch, rest = x.shape[0], x.shape[1 + count :]
    sizes = [size // block for size, block in zip(x.shape[1:], blocks, strict=False)]
    apart = reshaped(
        b, x, (batch, *(size for pair in zip(sizes, blocks, strict=True) for size in pair), *rest)
    )
    inner, outer = (
        [2 + 2 * place for place in range(count)],
        [1 + 2 * place for place in range(count)],
    )
    moved = transposed(b, apart, (*inner, 0, *outer, *range(1 + 2 * count, apart.type.rank)))
    return reshaped(b, moved, (batch * prod(blocks), *sizes, *rest))


def batch_to_space(
    b: GraphBuilder, x: Tensor, blocks: Sequence[int], crops: Sequence[Sequence[int]]
) -> Tensor:
    """The inverse of `space_to_batch`, with crops for pads."""
    count, batch, rest = len(blocks), x.shape[0] // prod(blocks), x.shape[1 + len(blocks) :]
    apart = reshaped(b, x, (*blocks, batch, *x.shape[1:]))
    order = [
        count,
        *(axis for place in range(count) for axis in (count + 1 + place, place)),
        *range(2 * count + 1, apart.type.rank),
    ]
    sizes = [size * block for size, block in zip(x.shape[1:], blocks, strict=False)]
    whole = reshaped(b, transposed(b, apart, order), (batch, *sizes, *rest))
    for place, (first, last) in enumerate(crops):
        if first or last:
            whole = part(b, whole, 1 + place, first, sizes[place] - first - last)
    return whole
