"""Operators that move or reduce elements."""

from collections.abc import Iterator

import numpy as np

from tests.frontends.tflite.operator_model import NONE, Single, T, f, int_input, ints, options, q


def shapes() -> Iterator[Single]:
    x = f(2, 3, 4)
    image = f(1, 4, 6, 8)
    yield from [
        Single("transpose", "TRANSPOSE", [x, ints(2, 0, 1)], [f(4, 2, 3)]),
        Single("reshape_open", "RESHAPE", [x, ints(4, -1)], [f(4, 6)]),
        Single(
            "reshape_option", "RESHAPE", [x], [f(6, 4)], options("ReshapeOptions", newShape=[6, 4])
        ),
        Single(
            "squeeze",
            "SQUEEZE",
            [f(1, 3, 1, 4)],
            [f(3, 1, 4)],
            options("SqueezeOptions", squeezeDims=[0]),
        ),
        Single("squeeze_all", "SQUEEZE", [f(1, 3, 1, 4)], [f(3, 4)], options("SqueezeOptions")),
        Single("expand_dims", "EXPAND_DIMS", [x, ints(-2)], [f(2, 3, 1, 4)]),
        Single(
            "pack", "PACK", [x, x], [f(2, 3, 2, 4)], options("PackOptions", valuesCount=2, axis=2)
        ),
        Single("unpack", "UNPACK", [x], [f(2, 4)] * 3, options("UnpackOptions", num=3, axis=1)),
        Single(
            "split", "SPLIT", [ints(2), x], [f(2, 3, 2)] * 2, options("SplitOptions", numSplits=2)
        ),
        Single(
            "split_v",
            "SPLIT_V",
            [x, ints(1, -1), ints(2)],
            [f(2, 3, 1), f(2, 3, 3)],
            options("SplitVOptions", numSplits=2),
        ),
        Single("slice", "SLICE", [x, ints(0, 1, 2), ints(-1, 2, 1)], [f(2, 2, 1)]),
        Single(
            "strided_slice",
            "STRIDED_SLICE",
            [x, ints(0, 2, 3), ints(2, 0, -9), ints(1, -1, -2)],
            [f(2, 2, 2)],
            options("StridedSliceOptions", endMask=0),
        ),
        Single(
            "strided_slice_masks",
            "STRIDED_SLICE",
            [x, ints(0, 1, 0), ints(0, 2, 0), ints(1, 1, 1)],
            [f(2, 4)],
            options("StridedSliceOptions", beginMask=5, endMask=5, shrinkAxisMask=2),
        ),
        Single(
            "strided_slice_new",
            "STRIDED_SLICE",
            [x, ints(0, 0, 1), ints(0, 0, 3), ints(1, 1, 1)],
            [f(2, 3, 1, 2)],
            options("StridedSliceOptions", ellipsisMask=1, newAxisMask=2),
        ),
        Single(
            "pad_value",
            "PADV2",
            [x, ints([[0, 1], [2, 0], [1, 1]]), T("float32", (), np.array(-1.5))],
            [f(3, 5, 6)],
        ),
        Single(
            "mirror_reflect",
            "MIRROR_PAD",
            [x, ints([[0, 0], [2, 1], [3, 2]])],
            [f(2, 6, 9)],
            options("MirrorPadOptions", mode=0),
        ),
        Single(
            "mirror_symmetric",
            "MIRROR_PAD",
            [x, ints([[1, 2], [3, 1], [0, 4]])],
            [f(5, 7, 8)],
            options("MirrorPadOptions", mode=1),
        ),
        Single("reverse", "REVERSE_V2", [x, ints([2])], [x]),
        Single("tile", "TILE", [x, ints(1, 2, 3)], [f(2, 6, 12)]),
        Single("broadcast_to", "BROADCAST_TO", [f(3, 1), ints(2, 3, 4)], [x]),
        Single("fill", "FILL", [ints(2, 3), T("float32", (), spread=2.0)], [f(2, 3)]),
        Single(
            "depth_to_space",
            "DEPTH_TO_SPACE",
            [image],
            [f(1, 8, 12, 2)],
            options("DepthToSpaceOptions", blockSize=2),
        ),
        Single(
            "space_to_depth",
            "SPACE_TO_DEPTH",
            [image],
            [f(1, 2, 3, 32)],
            options("SpaceToDepthOptions", blockSize=2),
        ),
        Single(
            "space_to_batch",
            "SPACE_TO_BATCH_ND",
            [f(1, 4, 5, 3), ints(2, 3), ints([[0, 0], [0, 1]])],
            [f(6, 2, 2, 3)],
        ),
        Single(
            "batch_to_space",
            "BATCH_TO_SPACE_ND",
            [f(6, 2, 2, 3), ints(2, 3), ints([[0, 0], [1, 1]])],
            [f(1, 4, 4, 3)],
        ),
        Single(
            "dilate",
            "DILATE",
            [f(2, 3, 2), ints(2, 3, 1), T("float32", (), np.array(-1.0))],
            [f(3, 7, 2)],
        ),
        Single(
            "cast_int",
            "CAST",
            [f(3, 4)],
            [T("int32", (3, 4))],
            options("CastOptions", inDataType=0, outDataType=2),
        ),
        Single(
            "cast_bool",
            "CAST",
            [T("bool", (3, 4))],
            [f(3, 4)],
            options("CastOptions", inDataType=6, outDataType=0),
        ),
        Single("shape", "SHAPE", [x], [T("int32", (3,))], options("ShapeOptions", outType=2)),
        Single("rank", "RANK", [x], [T("int32", ())]),
        Single(
            "concat_relu",
            "CONCATENATION",
            [x, x],
            [f(2, 6, 4)],
            options("ConcatenationOptions", axis=1, fusedActivationFunction=NONE),
        ),
    ]
    for name in ("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"):
        yield Single(
            f"{name.lower()}_axes",
            name,
            [x, ints(0, -1)],
            [f(1, 3, 1)],
            options("ReducerOptions", keepDims=True),
        )
        yield Single(
            f"{name.lower()}_int",
            name,
            [int_input("int32", 3, 4), ints([1])],
            [T("int32", (3,))],
            options("ReducerOptions"),
        )
    for name in ("REDUCE_ANY", "REDUCE_ALL"):
        yield Single(
            name.lower(),
            name,
            [T("bool", (4, 3)), ints([1])],
            [T("bool", (4,))],
            options("ReducerOptions"),
        )
    for name, kind in (("ARG_MAX", "ArgMaxOptions"), ("ARG_MIN", "ArgMinOptions")):
        yield Single(
            name.lower(), name, [x, ints(-1)], [T("int64", (2, 3))], options(kind, outputType=4)
        )
        yield Single(
            f"{name.lower()}_int8",
            name,
            [q("int8", 3, 9), ints(1)],
            [T("int32", (3,))],
            options(kind, outputType=2),
        )
    for reverse in (False, True):
        yield Single(
            f"cumsum_{reverse:d}",
            "CUMSUM",
            [x, ints(1)],
            [x],
            options("CumsumOptions", exclusive=not reverse, reverse=reverse),
        )
