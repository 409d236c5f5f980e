"""Axes, lists of axes, and flags."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from tests.frontends.tflite.operator_model import (
    TANH,
    TYPE_CODES,
    Single,
    T,
    f,
    int_input,
    int_scalar,
    ints,
    options,
    weights,
)


def flags() -> Iterator[Single]:
    """Both values of each flag, and several axes."""
    for a, b in product((False, True), repeat=2):
        x, y = f(2, 4, 3) if a else f(2, 3, 4), f(2, 5, 4) if b else f(2, 4, 5)
        yield Single(
            f"BATCH_MATMUL {a} {b}",
            "BATCH_MATMUL",
            [x, y],
            [f(2, 3, 5)],
            options("BatchMatMulOptions", adjX=a, adjY=b),
        )
    for keep in (False, True):
        for op in ("SUM", "MEAN", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
            for axes in ((0,), (1,), (-1,), (0, 2), (-2, -1)):
                reduced = {axis % 3 for axis in axes}
                shape = tuple(
                    1 if axis in reduced else size
                    for axis, size in enumerate((2, 3, 4))
                    if keep or axis not in reduced
                )
                yield Single(
                    f"{op} {axes} {keep}",
                    op,
                    [f(2, 3, 4), ints(list(axes))],
                    [f(*shape)],
                    options("ReducerOptions", keepDims=keep),
                )
        for op in ("REDUCE_ANY", "REDUCE_ALL"):
            yield Single(
                f"{op} {keep}",
                op,
                [T("bool", (4, 3)), ints([1])],
                [T("bool", (4, 1) if keep else (4,))],
                options("ReducerOptions", keepDims=keep),
            )
        yield Single(
            f"FULLY_CONNECTED keep {keep}",
            "FULLY_CONNECTED",
            [f(2, 3, 6), weights(1, 4, 6), None],
            [f(2, 3, 4) if keep else f(6, 4)],
            options("FullyConnectedOptions", keepNumDims=keep),
        )
        yield Single(
            f"GELU {keep}",
            "GELU",
            [f(3, 40)],
            [f(3, 40)],
            options("GeluOptions", approximate=keep),
        )
    for exclusive, reverse in product((False, True), repeat=2):
        for axis in (0, 1, -1):
            yield Single(
                f"CUMSUM {axis} {exclusive} {reverse}",
                "CUMSUM",
                [f(3, 4), int_scalar(axis)],
                [f(3, 4)],
                options("CumsumOptions", exclusive=exclusive, reverse=reverse),
            )


def axes() -> Iterator[Single]:
    """Each axis, from either end."""
    for axis in (0, 1, 2, -1, -3):
        sizes = [2, 3, 4]
        sizes[axis] *= 2
        yield Single(
            f"CONCATENATION {axis}",
            "CONCATENATION",
            [f(2, 3, 4), f(2, 3, 4)],
            [f(*sizes)],
            options("ConcatenationOptions", axis=axis),
        )
        yield Single(
            f"PACK {axis}",
            "PACK",
            [f(3, 4), f(3, 4)],
            [f(*inserted((3, 4), axis % 3, 2))],
            options("PackOptions", axis=axis, valuesCount=2),
        )
        rest = [size for position, size in enumerate((2, 3, 4)) if position != axis % 3]
        count = (2, 3, 4)[axis]
        yield Single(
            f"UNPACK {axis}",
            "UNPACK",
            [f(2, 3, 4)],
            [f(*rest)] * count,
            options("UnpackOptions", axis=axis, num=count),
        )
        picked = [2, 3, 4]
        picked[axis] = 2
        yield Single(
            f"GATHER {axis}",
            "GATHER",
            [f(2, 3, 4), ints(1, 0)],
            [f(*picked)],
            options("GatherOptions", axis=axis),
        )
        halved = [2, 6, 4]
        halved[axis] //= 2
        yield Single(
            f"SPLIT {axis}",
            "SPLIT",
            [int_scalar(axis), f(2, 6, 4)],
            [f(*halved)] * 2,
            options("SplitOptions", numSplits=2),
        )
        yield Single(
            f"REVERSE {axis}",
            "REVERSE_V2",
            [f(2, 3, 4), ints([axis])],
            [f(2, 3, 4)],
            options("ReverseV2Options"),
        )
        for op, kind in (("ARG_MAX", "ArgMaxOptions"), ("ARG_MIN", "ArgMinOptions")):
            for dtype in ("int32", "int64"):
                yield Single(
                    f"{op} {axis} {dtype}",
                    op,
                    [f(2, 3, 4), int_scalar(axis)],
                    [T(dtype, tuple(rest))],
                    options(kind, outputType=TYPE_CODES[dtype]),
                )
        if axis >= -1:
            yield Single(
                f"ONE_HOT {axis}",
                "ONE_HOT",
                [
                    int_input("int32", 2, 3, spread=3),
                    int_scalar(4),
                    float_scalar(2.0),
                    float_scalar(-1.0),
                ],
                [f(*inserted((2, 3), axis % 3, 4))],
                options("OneHotOptions", axis=axis),
            )


def axis_lists() -> Iterator[Single]:
    """Lists and pairs of axes, and options of an LSTM."""
    for squeezed in ((), (0,), (2,), (-1,), (0, 2)):
        shape = [
            size
            for position, size in enumerate((1, 3, 1))
            if (position not in {axis % 3 for axis in squeezed} if squeezed else size != 1)
        ]
        yield Single(
            f"SQUEEZE {squeezed}",
            "SQUEEZE",
            [f(1, 3, 1)],
            [f(*shape)],
            options("SqueezeOptions", squeezeDims=list(squeezed)),
        )
    for seq, batch in ((1, 0), (0, 1), (2, 0), (0, 2)):
        shape, count = (3, 4, 3), (3, 4, 3)[batch]
        yield Single(
            f"REVERSE_SEQUENCE {seq} {batch}",
            "REVERSE_SEQUENCE",
            [f(*shape), ints(*[2, 0, 3, 1][:count])],
            [f(*shape)],
            options("ReverseSequenceOptions", seqDim=seq, batchDim=batch),
        )
    for major in (False, True):
        for clip in (0.0, 0.3):
            yield lstm(major, clip)


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


def float_scalar(value: float) -> T:
    return T("float32", (), np.array(value))


def inserted(shape: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis:])
