# ruff: noqa: PERF401 - the rows of a table, one an append
"""Every option of the operators of TensorFlow Lite with every value: models of one operator,
against the interpreter of ai-edge-litert.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.frontends.corpus import Sample, reference_mismatch
from tests.frontends.tflite.make import single_inputs
from tests.frontends.tflite.singles import (
    NONE,
    NUMBERS,
    RELU,
    RELU1,
    RELU6,
    SAME,
    TANH,
    VALID,
    Single,
    T,
    f,
    ints,
    ints_in,
    options,
    q,
    weights,
    whole,
    window,
    written,
)
from webkiln.errors import SourceError
from webkiln.frontends.tflite.converter import TfliteConverter
from webkiln.frontends.tflite.load import read_model
from webkiln.frontends.tflite.reference import Interpreted

ACTIVATIONS = {"none": NONE, "relu": RELU, "relu1": RELU1, "relu6": RELU6}
PADDINGS = {"same": SAME, "valid": VALID}
SPREAD = 9.0
"""Wide enough that an activation cuts off at both ends."""


def wide(*shape: int) -> T:
    return f(*shape, spread=SPREAD)


def extent(size: int, kernel: int, stride: int, padding: int, dilation: int = 1) -> int:
    span = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == SAME else (size - span) // stride + 1


def fused() -> list[Single]:
    """Every operator that takes an activation, with each, as floats and as bytes."""
    made = []
    for word, act in ACTIVATIONS.items():
        chosen = {"fusedActivationFunction": act}
        byte = {"scale": 0.05, "zero": -20}
        image, bytes_ = wide(1, 6, 7, 3), q("int8", 1, 6, 7, 3, **byte)
        for op in ("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"):
            attrs = window(
                "Pool2DOptions", filterWidth=3, filterHeight=2, strideW=2, strideH=1, **chosen
            )
            made.append(Single(f"{op} {word}", op, [image], [f(1, 6, 4, 3)], attrs))
            if op != "L2_POOL_2D":
                made.append(
                    Single(
                        f"{op} {word} int8", op, [bytes_], [q("int8", 1, 6, 4, 3, **byte)], attrs
                    )
                )
        kernel, bias = weights(1, 4, 2, 3, 3), weights(2, 4)
        made.append(
            Single(
                f"CONV_2D {word}",
                "CONV_2D",
                [image, kernel, bias],
                [f(1, 6, 7, 4)],
                window("Conv2DOptions", **chosen),
            )
        )
        scales = [0.01, 0.02, 0.015, 0.03]
        whole_kernel = q("int8", 4, 2, 3, 3, scale=scales, value=whole(3, "int8", 4, 2, 3, 3))
        whole_bias = q(
            "int32",
            4,
            scale=[scale * 0.05 for scale in scales],
            value=np.array([500, -900, 0, 70], np.int32),
        )
        made.append(
            Single(
                f"CONV_2D {word} int8",
                "CONV_2D",
                [bytes_, whole_kernel, whole_bias],
                [q("int8", 1, 6, 7, 4, scale=0.1, zero=3)],
                window("Conv2DOptions", **chosen),
            )
        )
        made.append(
            Single(
                f"DEPTHWISE_CONV_2D {word}",
                "DEPTHWISE_CONV_2D",
                [image, weights(4, 1, 2, 3, 6), weights(5, 6)],
                [f(1, 6, 7, 6)],
                window("DepthwiseConv2DOptions", depthMultiplier=2, **chosen),
            )
        )
        made.append(
            Single(
                f"CONV_3D {word}",
                "CONV_3D",
                [wide(1, 3, 4, 4, 2), weights(6, 2, 2, 2, 2, 3), weights(7, 3)],
                [f(1, 3, 4, 4, 3)],
                window("Conv3DOptions", strideD=1, **chosen),
            )
        )
        made.append(
            Single(
                f"FULLY_CONNECTED {word}",
                "FULLY_CONNECTED",
                [wide(5, 6), weights(8, 4, 6), weights(9, 4)],
                [f(5, 4)],
                options("FullyConnectedOptions", **chosen),
            )
        )
        made.append(
            Single(
                f"TRANSPOSE_CONV {word}",
                "TRANSPOSE_CONV",
                [ints(1, 6, 7, 4), weights(10, 4, 2, 3, 3), image],
                [f(1, 6, 7, 4)],
                window("TransposeConvOptions", **chosen),
            )
        )
        for op, kind in (
            ("ADD", "AddOptions"),
            ("SUB", "SubOptions"),
            ("MUL", "MulOptions"),
            ("DIV", "DivOptions"),
        ):
            made.append(
                Single(
                    f"{op} {word}",
                    op,
                    [wide(3, 4), T("float32", (4,), spread=-3.0)],
                    [f(3, 4)],
                    options(kind, **chosen),
                )
            )
            if op in ("ADD", "SUB", "MUL"):
                made.append(
                    Single(
                        f"{op} {word} int32",
                        op,
                        [ints_in("int32", 3, 4, spread=12), ints(2, -3, 5, -7)],
                        [T("int32", (3, 4))],
                        options(kind, **chosen),
                    )
                )
        made.append(
            Single(
                f"CONCATENATION {word}",
                "CONCATENATION",
                [wide(2, 3), wide(2, 4)],
                [f(2, 7)],
                options("ConcatenationOptions", axis=-1, **chosen),
            )
        )
        made.append(
            Single(
                f"L2_NORMALIZATION {word}",
                "L2_NORMALIZATION",
                [wide(3, 5)],
                [f(3, 5)],
                options("L2NormOptions", **chosen),
            )
        )
    for act in (NONE, RELU, RELU6, TANH, RELU1):
        cell = [
            weights(1, 6, 5),
            weights(2, 6, 6),
            weights(3, 6),
            T("float32", (2, 6), variable=True),
        ]
        made.append(
            Single(
                f"RNN {act}",
                "RNN",
                [wide(2, 5), *cell],
                [f(2, 6)],
                options("RNNOptions", fusedActivationFunction=act),
            )
        )
        made.append(
            Single(
                f"SVDF {act}",
                "SVDF",
                [
                    wide(2, 5),
                    weights(1, 8, 5),
                    weights(2, 8, 4),
                    weights(3, 4),
                    T("float32", (2, 32), variable=True),
                ],
                [f(2, 4)],
                options("SVDFOptions", rank=2, fusedActivationFunction=act),
            )
        )
    return [item for item in made if item.name not in ABSENT]


ABSENT = {
    "CONCATENATION relu",
    "CONCATENATION relu1",
    "CONCATENATION relu6",
    "L2_NORMALIZATION relu",
    "L2_NORMALIZATION relu1",
    "L2_NORMALIZATION relu6",
}
"""The interpreter refuses these."""


def windows() -> list[Single]:
    """Windows by padding, strides, dilation and sizes that differ in each axis."""
    made = []
    for (word, padding), (high, wide_), (gap_high, gap_wide) in product(
        PADDINGS.items(), ((1, 1), (2, 3), (3, 1)), ((1, 1), (2, 1), (1, 2))
    ):
        if max(high, wide_) > 1 and max(gap_high, gap_wide) > 1:
            continue
        name = f"{word} {high}{wide_} {gap_high}{gap_wide}"
        rows, columns = (
            extent(8, 3, high, padding, gap_high),
            extent(9, 2, wide_, padding, gap_wide),
        )
        given = {"padding": padding, "strideH": high, "strideW": wide_}
        spread = {"dilationHFactor": gap_high, "dilationWFactor": gap_wide}
        image = f(2, 8, 9, 4)
        made.append(
            Single(
                f"CONV_2D {name}",
                "CONV_2D",
                [image, weights(1, 5, 3, 2, 4), weights(2, 5)],
                [f(2, rows, columns, 5)],
                options("Conv2DOptions", **given, **spread),
            )
        )
        made.append(
            Single(
                f"CONV_2D groups {name}",
                "CONV_2D",
                [image, weights(3, 6, 3, 2, 2), weights(4, 6)],
                [f(2, rows, columns, 6)],
                options("Conv2DOptions", **given, **spread),
            )
        )
        made.append(
            Single(
                f"DEPTHWISE_CONV_2D {name}",
                "DEPTHWISE_CONV_2D",
                [image, weights(5, 1, 3, 2, 8), weights(6, 8)],
                [f(2, rows, columns, 8)],
                options("DepthwiseConv2DOptions", depthMultiplier=2, **given, **spread),
            )
        )
        if gap_high == gap_wide == 1:
            for op in ("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"):
                made.append(
                    Single(
                        f"{op} {name}",
                        op,
                        [image],
                        [f(2, rows, columns, 4)],
                        options("Pool2DOptions", filterHeight=3, filterWidth=2, **given),
                    )
                )
            out = (8 * high, 9 * wide_) if padding == SAME else (7 * high + 3, 8 * wide_ + 2)
            made.append(
                Single(
                    f"TRANSPOSE_CONV {name}",
                    "TRANSPOSE_CONV",
                    [ints(2, *out, 5), weights(7, 5, 3, 2, 4), image],
                    [f(2, *out, 5)],
                    options("TransposeConvOptions", **given),
                )
            )
    for (word, padding), (deep, high, wide_) in product(
        PADDINGS.items(), ((1, 1, 1), (2, 1, 3), (1, 2, 1))
    ):
        sizes = (
            extent(4, 2, deep, padding),
            extent(6, 3, high, padding),
            extent(7, 2, wide_, padding),
        )
        given = {"padding": padding, "strideD": deep, "strideH": high, "strideW": wide_}
        made.append(
            Single(
                f"CONV_3D {word} {deep}{high}{wide_}",
                "CONV_3D",
                [f(1, 4, 6, 7, 2), weights(8, 2, 3, 2, 2, 3), weights(9, 3)],
                [f(1, *sizes, 3)],
                options("Conv3DOptions", **given),
            )
        )
    return made


def flags() -> list[Single]:
    """Options that are on or off, and axes, each way."""
    made = []
    for a, b in product((False, True), repeat=2):
        x, y = f(2, 4, 3) if a else f(2, 3, 4), f(2, 5, 4) if b else f(2, 4, 5)
        made.append(
            Single(
                f"BATCH_MATMUL {a} {b}",
                "BATCH_MATMUL",
                [x, y],
                [f(2, 3, 5)],
                options("BatchMatMulOptions", adjX=a, adjY=b),
            )
        )
    for keep in (False, True):
        for op in ("SUM", "MEAN", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
            for axes in ((0,), (1,), (-1,), (0, 2), (-2, -1)):
                gone = {axis % 3 for axis in axes}
                shape = tuple(
                    1 if axis in gone else size
                    for axis, size in enumerate((2, 3, 4))
                    if keep or axis not in gone
                )
                made.append(
                    Single(
                        f"{op} {axes} {keep}",
                        op,
                        [f(2, 3, 4), ints(list(axes))],
                        [f(*shape)],
                        options("ReducerOptions", keepDims=keep),
                    )
                )
        for op in ("REDUCE_ANY", "REDUCE_ALL"):
            made.append(
                Single(
                    f"{op} {keep}",
                    op,
                    [T("bool", (4, 3)), ints([1])],
                    [T("bool", (4, 1) if keep else (4,))],
                    options("ReducerOptions", keepDims=keep),
                )
            )
        made.append(
            Single(
                f"FULLY_CONNECTED keep {keep}",
                "FULLY_CONNECTED",
                [f(2, 3, 6), weights(1, 4, 6), None],
                [f(2, 3, 4) if keep else f(6, 4)],
                options("FullyConnectedOptions", keepNumDims=keep),
            )
        )
        made.append(
            Single(
                f"GELU {keep}",
                "GELU",
                [f(3, 40)],
                [f(3, 40)],
                options("GeluOptions", approximate=keep),
            )
        )
    for exclusive, reverse in product((False, True), repeat=2):
        for axis in (0, 1, -1):
            made.append(
                Single(
                    f"CUMSUM {axis} {exclusive} {reverse}",
                    "CUMSUM",
                    [f(3, 4), ints_scalar(axis)],
                    [f(3, 4)],
                    options("CumsumOptions", exclusive=exclusive, reverse=reverse),
                )
            )
    return made


def resized() -> list[Single]:
    """Sizes, and how their pixels lie."""
    made = []
    for op, kind in (
        ("RESIZE_BILINEAR", "ResizeBilinearOptions"),
        ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    ):
        for corners, centres in ((False, False), (True, False), (False, True)):
            for size in ((7, 3), (2, 9), (1, 1)):
                made.append(
                    Single(
                        f"{op} {corners} {centres} {size}",
                        op,
                        [f(1, 4, 5, 2), ints(*size)],
                        [f(1, *size, 2)],
                        options(kind, alignCorners=corners, halfPixelCenters=centres),
                    )
                )
    return made


def along() -> list[Single]:
    """Each axis, from either end."""
    made = []
    for axis in (0, 1, 2, -1, -3):
        sizes = [2, 3, 4]
        sizes[axis] *= 2
        made.append(
            Single(
                f"CONCATENATION {axis}",
                "CONCATENATION",
                [f(2, 3, 4), f(2, 3, 4)],
                [f(*sizes)],
                options("ConcatenationOptions", axis=axis),
            )
        )
        made.append(
            Single(
                f"PACK {axis}",
                "PACK",
                [f(3, 4), f(3, 4)],
                [f(*inserted((3, 4), axis % 3, 2))],
                options("PackOptions", axis=axis, valuesCount=2),
            )
        )
        rest = [size for place, size in enumerate((2, 3, 4)) if place != axis % 3]
        count = (2, 3, 4)[axis]
        made.append(
            Single(
                f"UNPACK {axis}",
                "UNPACK",
                [f(2, 3, 4)],
                [f(*rest)] * count,
                options("UnpackOptions", axis=axis, num=count),
            )
        )
        picked = [2, 3, 4]
        picked[axis] = 2
        made.append(
            Single(
                f"GATHER {axis}",
                "GATHER",
                [f(2, 3, 4), ints(1, 0)],
                [f(*picked)],
                options("GatherOptions", axis=axis),
            )
        )
        halved = [2, 6, 4]
        halved[axis] //= 2
        made.append(
            Single(
                f"SPLIT {axis}",
                "SPLIT",
                [ints_scalar(axis), f(2, 6, 4)],
                [f(*halved)] * 2,
                options("SplitOptions", numSplits=2),
            )
        )
        made.append(
            Single(
                f"REVERSE {axis}",
                "REVERSE_V2",
                [f(2, 3, 4), ints([axis])],
                [f(2, 3, 4)],
                options("ReverseV2Options"),
            )
        )
        for op, kind in (("ARG_MAX", "ArgMaxOptions"), ("ARG_MIN", "ArgMinOptions")):
            for dtype in ("int32", "int64"):
                made.append(
                    Single(
                        f"{op} {axis} {dtype}",
                        op,
                        [f(2, 3, 4), ints_scalar(axis)],
                        [T(dtype, tuple(rest))],
                        options(kind, outputType=NUMBERS[dtype]),
                    )
                )
        if axis >= -1:
            made.append(
                Single(
                    f"ONE_HOT {axis}",
                    "ONE_HOT",
                    [ints_in("int32", 2, 3, spread=3), ints_scalar(4), number(2.0), number(-1.0)],
                    [f(*inserted((2, 3), axis % 3, 4))],
                    options("OneHotOptions", axis=axis),
                )
            )
    return made


def numbers() -> list[Single]:
    """Numbers and tables of them."""
    made = []
    for mode in (0, 1):
        made.append(
            Single(
                f"MIRROR_PAD {mode}",
                "MIRROR_PAD",
                [f(4, 5), ints([[2, 1], [0, 3]])],
                [f(7, 8)],
                options("MirrorPadOptions", mode=mode),
            )
        )
    for beta in (0.3, 1.0, 2.0):
        made.append(
            Single(
                f"SOFTMAX {beta}",
                "SOFTMAX",
                [f(2, 3, 5)],
                [f(2, 3, 5)],
                options("SoftmaxOptions", beta=beta),
            )
        )
    for alpha in (0.0, 0.2, 1.5, -0.5):
        made.append(
            Single(
                f"LEAKY_RELU {alpha}",
                "LEAKY_RELU",
                [f(3, 7)],
                [f(3, 7)],
                options("LeakyReluOptions", alpha=alpha),
            )
        )
    for block in (2, 3):
        made.append(
            Single(
                f"SPACE_TO_DEPTH {block}",
                "SPACE_TO_DEPTH",
                [f(2, 6, 12, 2)],
                [f(2, 6 // block, 12 // block, 2 * block**2)],
                options("SpaceToDepthOptions", blockSize=block),
            )
        )
        made.append(
            Single(
                f"DEPTH_TO_SPACE {block}",
                "DEPTH_TO_SPACE",
                [f(2, 2, 3, 2 * block**2)],
                [f(2, 2 * block, 3 * block, 2)],
                options("DepthToSpaceOptions", blockSize=block),
            )
        )
    for begin, end, shrink, ellipsis, fresh in product((0, 1, 3), (0, 2), (0, 1, 4), (0,), (0,)):
        x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
        first, last, step = (1, 1, 0), (3, 3, 4), (1, 2, 3)
        place = [
            slice(None if begin >> n & 1 else first[n], None if end >> n & 1 else last[n], step[n])
            for n in range(3)
        ]
        shape = x[tuple(place)].shape
        shape = tuple(size for n, size in enumerate(shape) if not shrink >> n & 1)
        made.append(
            Single(
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
                    newAxisMask=fresh,
                ),
            )
        )
    return made


def listed() -> list[Single]:
    """Lists of axes, and pairs of them."""
    made = []
    for squeezed in ((), (0,), (2,), (-1,), (0, 2)):
        shape = [
            size
            for place, size in enumerate((1, 3, 1))
            if (place not in {axis % 3 for axis in squeezed} if squeezed else size != 1)
        ]
        made.append(
            Single(
                f"SQUEEZE {squeezed}",
                "SQUEEZE",
                [f(1, 3, 1)],
                [f(*shape)],
                options("SqueezeOptions", squeezeDims=list(squeezed)),
            )
        )
    for seq, batch in ((1, 0), (0, 1), (2, 0), (0, 2)):
        shape, count = (3, 4, 3), (3, 4, 3)[batch]
        made.append(
            Single(
                f"REVERSE_SEQUENCE {seq} {batch}",
                "REVERSE_SEQUENCE",
                [f(*shape), ints(*[2, 0, 3, 1][:count])],
                [f(*shape)],
                options("ReverseSequenceOptions", seqDim=seq, batchDim=batch),
            )
        )
    for major in (False, True):
        for clip in (0.0, 0.3):
            made.append(lstm(major, clip))
    return made


def lstm(major: bool, clip: float) -> Single:
    batch, steps, features, cells, out = 2, 3, 4, 5, 3
    gates = [weights(seed, cells, features) for seed in range(4)] + [
        weights(seed, cells, out) for seed in range(4, 8)
    ]
    gates += [
        None,
        None,
        None,
        *(weights(seed, cells) for seed in range(8, 12)),
        weights(12, out, cells),
        weights(13, out),
    ]
    states = [T("float32", (batch, size), variable=True) for size in (out, cells)]
    x, y = (f(*((steps, batch) if major else (batch, steps)), size) for size in (features, out))
    attrs = options(
        "UnidirectionalSequenceLSTMOptions",
        fusedActivationFunction=TANH,
        timeMajor=major,
        cellClip=clip,
        projClip=clip / 2,
    )
    return Single(
        f"LSTM {major} {clip}", "UNIDIRECTIONAL_SEQUENCE_LSTM", [x, *gates, *states], [y], attrs
    )


def ints_scalar(value: int) -> T:
    return T("int32", (), np.array(value))


def number(value: float) -> T:
    return T("float32", (), np.array(value))


def inserted(shape: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis:])


def objection(single: Single, folder: Path) -> str | None:
    path = folder / "model.tflite"
    path.write_bytes(written(single))
    inputs: dict[str, Any] = single_inputs(single)
    try:
        outputs, _ = Interpreted(path)(inputs)
    except SourceError as error:
        return str(error)
    model, blobs = read_model(path)
    with np.errstate(all="ignore"):
        return reference_mismatch(
            Sample(single.name, TfliteConverter().convert(model, blobs), inputs, outputs)
        )


@pytest.mark.parametrize("made", [fused, windows, flags, resized, along, numbers, listed])
def test_options(made: Any, tmp_path: Path) -> None:
    singles = made()
    found = {single.name: objection(single, tmp_path) for single in singles}
    assert len(found) == len(singles) >= 12
    assert not {name: wrong for name, wrong in found.items() if wrong}


def test_max_pooling_ends_at_its_activation(tmp_path: Path) -> None:
    """RELU6: nothing below 0 or above 6."""
    single = Single(
        "pool",
        "MAX_POOL_2D",
        [wide(1, 4, 4, 2)],
        [f(1, 2, 2, 2)],
        window(
            "Pool2DOptions",
            filterWidth=2,
            filterHeight=2,
            strideW=2,
            strideH=2,
            fusedActivationFunction=RELU6,
        ),
    )
    path = tmp_path / "model.tflite"
    path.write_bytes(written(single))
    outputs, _ = Interpreted(path)({"x0": np.arange(-16, 16, dtype=np.float32).reshape(1, 4, 4, 2)})
    (y,) = outputs.values()
    assert (y.min(), y.max()) == (0, 6)
    assert objection(single, tmp_path) is None
