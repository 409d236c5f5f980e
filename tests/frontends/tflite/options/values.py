"""Numeric options and enumerations."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from tests.frontends.tflite.operator_model import Single, f, ints, options


def resizes() -> Iterator[Single]:
    """Output sizes with each alignment of pixels."""
    for op, kind in (
        ("RESIZE_BILINEAR", "ResizeBilinearOptions"),
        ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    ):
        for corners, centres in ((False, False), (True, False), (False, True)):
            for size in ((7, 3), (2, 9), (1, 1)):
                yield Single(
                    f"{op} {corners} {centres} {size}",
                    op,
                    [f(1, 4, 5, 2), ints(*size)],
                    [f(1, *size, 2)],
                    options(kind, alignCorners=corners, halfPixelCenters=centres),
                )


def values() -> Iterator[Single]:
    """Modes, factors, block sizes and masks."""
    for mode in (0, 1):
        yield Single(
            f"MIRROR_PAD {mode}",
            "MIRROR_PAD",
            [f(4, 5), ints([[2, 1], [0, 3]])],
            [f(7, 8)],
            options("MirrorPadOptions", mode=mode),
        )
    for beta in (0.3, 1.0, 2.0):
        yield Single(
            f"SOFTMAX {beta}",
            "SOFTMAX",
            [f(2, 3, 5)],
            [f(2, 3, 5)],
            options("SoftmaxOptions", beta=beta),
        )
    for alpha in (0.0, 0.2, 1.5, -0.5):
        yield Single(
            f"LEAKY_RELU {alpha}",
            "LEAKY_RELU",
            [f(3, 7)],
            [f(3, 7)],
            options("LeakyReluOptions", alpha=alpha),
        )
    for block in (2, 3):
        yield Single(
            f"SPACE_TO_DEPTH {block}",
            "SPACE_TO_DEPTH",
            [f(2, 6, 12, 2)],
            [f(2, 6 // block, 12 // block, 2 * block**2)],
            options("SpaceToDepthOptions", blockSize=block),
        )
        yield Single(
            f"DEPTH_TO_SPACE {block}",
            "DEPTH_TO_SPACE",
            [f(2, 2, 3, 2 * block**2)],
            [f(2, 2 * block, 3 * block, 2)],
            options("DepthToSpaceOptions", blockSize=block),
        )
    for begin, end, shrink, ellipsis, new_axis in product((0, 1, 3), (0, 2), (0, 1, 4), (0,), (0,)):
        x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
        first, last, step = (1, 1, 0), (3, 3, 4), (1, 2, 3)
        index = [
            slice(None if begin >> n & 1 else first[n], None if end >> n & 1 else last[n], step[n])
            for n in range(3)
        ]
        shape = x[tuple(index)].shape
        shape = tuple(size for n, size in enumerate(shape) if not shrink >> n & 1)
        yield Single(
            f"STRIDED_SLICE {begin} {end} {shrink}",
            "STRIDED_SLICE",
            [f(3, 4, 5), ints(*first), ints(*last), ints(*step)],
            [f(*shape)],
            options(
                "StridedSliceOptions",
                beginMask=begin,
                endMask=end,
                shrinkAxisMask=shrink,
                ellipsisMask=ellipsis,
                newAxisMask=new_axis,
            ),
        )
