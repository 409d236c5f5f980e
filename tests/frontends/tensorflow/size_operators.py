"""Operators of TensorFlow between Shape and a size: every one that reads and returns integers, and
the floating-point ones that are written there.
"""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

raw = tf.raw_ops
Producer = Callable[[tf.Tensor], tf.Tensor]
"""Computes sizes from the sizes of x, int32 [3]."""


def i32(*values: int) -> tf.Tensor:
    return tf.constant(values, tf.int32)


def floating(function: Producer, dtype: tf.DType = tf.float32) -> Producer:
    return lambda s: tf.cast(function(tf.cast(s, dtype)), tf.int32)


def where(condition: Producer) -> Producer:
    """The sizes where a condition holds, else 3."""
    return lambda s: raw.SelectV2(condition=condition(s), t=s, e=i32(3, 3, 3))


def square(s: tf.Tensor) -> tf.Tensor:
    """[3, 3]: the sizes and multiples of them."""
    return tf.stack([s, s + 1, s * 2])


def image(s: tf.Tensor) -> tf.Tensor:
    """[1, 2, 2, 4]."""
    return tf.reshape(tf.tile(tf.concat([s, [3]], 0), [4]), [1, 2, 2, 4])


_LISTED: dict[str, Producer] = {
    "Abs": lambda s: raw.Abs(x=-s),
    "AccumulateNV2": lambda s: raw.AccumulateNV2(inputs=[s, s, s + 1], shape=[3]),
    "Add": lambda s: raw.Add(x=s, y=2),
    "AddN": lambda s: raw.AddN(inputs=[s, s, s + 1]),
    "AddV2": lambda s: raw.AddV2(x=s, y=2),
    "ArgMax": lambda s: raw.ArgMax(input=tf.concat([[1], s], 0), dimension=0) + 1,
    "ArgMin": lambda s: raw.ArgMin(input=tf.concat([[4], s], 0), dimension=0) + 1,
    "BatchMatMul": lambda s: raw.BatchMatMul(x=square(s)[None], y=tf.ones([1, 3, 2], tf.int32)),
    "BatchMatMulV2": lambda s: raw.BatchMatMulV2(x=square(s), y=tf.ones([1, 3, 2], tf.int32)),
    "BatchMatMulV3": lambda s: raw.BatchMatMulV3(
        x=square(s), y=tf.ones([1, 3, 2], tf.int32), Tout=tf.int32
    ),
    "MatrixBandPart": lambda s: raw.MatrixBandPart(input=square(s), num_lower=1, num_upper=-1)[1:],
    "BatchToSpace": lambda s: raw.BatchToSpace(
        input=tf.reshape(image(s), [4, 1, 2, 2]), crops=[[0, 0], [1, 0]], block_size=2
    ),
    "BatchToSpaceND": lambda s: raw.BatchToSpaceND(
        input=tf.reshape(image(s), [2, 4, 2]), block_shape=[2], crops=[[1, 0]]
    ),
    "BiasAdd": lambda s: raw.BiasAdd(value=square(s), bias=s),
    "BiasAddV1": lambda s: raw.BiasAddV1(value=square(s), bias=s),
    "Bincount": lambda s: raw.Bincount(arr=s, size=6, weights=i32()) + 1,
    "BitwiseAnd": lambda s: raw.BitwiseAnd(x=s, y=3) + 1,
    "BitwiseAnd high": lambda s: raw.BitwiseAnd(x=s + 8, y=-8),
    "BitwiseOr": lambda s: raw.BitwiseOr(x=s, y=7),
    "BitwiseXor": lambda s: raw.BitwiseXor(x=s, y=15) + 1,
    "BroadcastArgs": lambda s: raw.BroadcastArgs(s0=s, s1=i32(1, 1)),
    "BroadcastTo": lambda s: raw.BroadcastTo(input=s, shape=[2, 3]),
    "Bucketize": lambda s: raw.Bucketize(input=s, boundaries=[1.0, 4.0, 7.0]) + 1,
    **{
        f"Cast {dtype.name}": lambda s, dtype=dtype: tf.cast(tf.cast(s, dtype), tf.int32)
        for dtype in (
            *(tf.float16, tf.float32, tf.float64, tf.bool),
            *(tf.int8, tf.int16, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64),
        )
    },
    "ClipByValue": lambda s: raw.ClipByValue(t=s, clip_value_min=3, clip_value_max=6),
    "Concat": lambda s: raw.Concat(concat_dim=0, values=[s, i32(5)]),
    "ConcatV2": lambda s: raw.ConcatV2(values=[s, i32(5)], axis=0),
    "Cross": lambda s: tf.abs(raw.Cross(a=s, b=i32(1, 0, 2))) + 1,
    "Cumprod": lambda s: raw.Cumprod(x=s[:2], axis=0),
    "Cumsum": lambda s: raw.Cumsum(x=s, axis=0, exclusive=True, reverse=True),
    "DataFormatVecPermute": lambda s: raw.DataFormatVecPermute(x=tf.concat([s, [2]], 0)),
    "DenseBincount": lambda s: raw.DenseBincount(input=s, size=6, weights=i32()) + 1,
    "DepthToSpace": lambda s: raw.DepthToSpace(input=image(s), block_size=2),
    "Div": lambda s: raw.Div(x=s + 5, y=3),
    "DynamicStitch": lambda s: raw.DynamicStitch(indices=[[0, 2], [1]], data=[i32(7, 8), s[1:2]]),
    "ParallelDynamicStitch": lambda s: raw.ParallelDynamicStitch(
        indices=[[0, 2], [1]], data=[i32(7, 8), s[1:2]]
    ),
    "Einsum": lambda s: raw.Einsum(inputs=[s, i32(1, 1, 1)], equation="i,i->i"),
    "ExpandDims": lambda s: raw.ExpandDims(input=s, axis=0),
    "ExtractImagePatches": lambda s: raw.ExtractImagePatches(
        images=image(s),
        ksizes=[1, 2, 1, 1],
        strides=[1, 1, 1, 1],
        rates=[1, 1, 1, 1],
        padding="VALID",
    ),
    "Fill": lambda s: raw.Fill(dims=[2], value=s[1]),
    "FloorDiv": lambda s: raw.FloorDiv(x=s + 5, y=3),
    "FloorDiv of a negative size": lambda s: -raw.FloorDiv(x=-s, y=2),
    "FloorDiv by a size": lambda s: raw.FloorDiv(x=s * 6, y=s),
    "FloorMod": lambda s: raw.FloorMod(x=s, y=4) + 1,
    "FloorMod of a negative size": lambda s: raw.FloorMod(x=-s, y=4) + s,
    "FloorMod by a negative number": lambda s: s - raw.FloorMod(x=s, y=-4),
    "Gather": lambda s: raw.Gather(params=s, indices=[1, 2]),
    "GatherNd": lambda s: raw.GatherNd(params=s, indices=[[1], [1]]),
    "GatherV2": lambda s: raw.GatherV2(params=s, indices=[0, 1], axis=0),
    "GatherV2 with batches": lambda s: raw.GatherV2(
        params=square(s), indices=[[1], [0], [2]], axis=1, batch_dims=1
    ),
    "HistogramFixedWidth": lambda s: (
        raw.HistogramFixedWidth(values=s, value_range=[0, 9], nbins=3) + 1
    ),
    "Invert": lambda s: -raw.Invert(x=s),
    "InvertPermutation": lambda s: (
        raw.GatherV2(params=s, indices=raw.InvertPermutation(x=[2, 0, 1]), axis=0)
        + raw.InvertPermutation(x=[2, 0, 1])
    ),
    "LeftShift": lambda s: raw.LeftShift(x=s, y=1),
    "ListDiff": lambda s: s[1] + raw.ListDiff(x=[1, 2, 3], y=[2])[0],
    "LowerBound": lambda s: raw.LowerBound(sorted_inputs=[[1, 4, 8]], values=s[None]) + 1,
    "UpperBound": lambda s: raw.UpperBound(sorted_inputs=[[1, 4, 8]], values=s[None]) + 1,
    "MatMul": lambda s: raw.MatMul(a=s[None], b=tf.constant([[0, 1], [1, 0], [0, 1]])),
    "MatrixDiag": lambda s: raw.MatrixDiag(diagonal=s)[1],
    "MatrixDiagV2": lambda s: raw.MatrixDiagV2(
        diagonal=s, k=0, num_rows=3, num_cols=3, padding_value=1
    )[1],
    "MatrixDiagV3": lambda s: raw.MatrixDiagV3(
        diagonal=s, k=0, num_rows=3, num_cols=3, padding_value=1
    )[1],
    "MatrixDiagPart": lambda s: raw.MatrixDiagPart(input=square(s)),
    "MatrixDiagPartV2": lambda s: raw.MatrixDiagPartV2(input=square(s), k=0, padding_value=0),
    "MatrixDiagPartV3": lambda s: raw.MatrixDiagPartV3(input=square(s), k=0, padding_value=0),
    "MatrixSetDiag": lambda s: raw.MatrixSetDiag(input=square(s), diagonal=i32(2, 3, 4)),
    "MatrixSetDiagV2": lambda s: raw.MatrixSetDiagV2(input=square(s), diagonal=i32(2, 3, 4), k=0),
    "MatrixSetDiagV3": lambda s: raw.MatrixSetDiagV3(input=square(s), diagonal=i32(2, 3, 4), k=0),
    "Max": lambda s: raw.Max(input=s, axis=[0]),
    "Maximum": lambda s: raw.Maximum(x=s, y=5),
    "MaxPool": floating(
        lambda s: raw.MaxPool(
            input=tf.reshape(s, [1, 1, 3, 1]),
            ksize=[1, 1, 2, 1],
            strides=[1, 1, 1, 1],
            padding="VALID",
        )
    ),
    "Mean": lambda s: raw.Mean(input=s, axis=[0]),
    "Min": lambda s: raw.Min(input=tf.concat([s, [5]], 0), axis=0, keep_dims=True),
    "Minimum": lambda s: raw.Minimum(x=s, y=5),
    "MirrorPad": lambda s: raw.MirrorPad(input=s, paddings=[[1, 1]], mode="REFLECT"),
    "MirrorPad symmetric": lambda s: raw.MirrorPad(input=s, paddings=[[2, 1]], mode="SYMMETRIC"),
    "Mod": lambda s: raw.Mod(x=s, y=4) + 1,
    "Mod of a negative size": lambda s: raw.Mod(x=-s, y=4) + s + 1,
    "Mul": lambda s: raw.Mul(x=s, y=2),
    "Neg": lambda s: 5 - (100 + raw.Neg(x=s + 100)) + 2 * s,
    "NthElement": lambda s: raw.NthElement(input=tf.cast(s, tf.float32), n=1),
    "NthElement of integers": lambda s: raw.NthElement(input=s, n=1),
    "OneHot": lambda s: raw.OneHot(indices=[1], depth=3, on_value=s[1], off_value=s[0]),
    "OnesLike": lambda s: s + raw.OnesLike(x=s),
    "Pack": lambda s: raw.Pack(values=[s[0], s[1]]),
    "Pad": lambda s: raw.Pad(input=s, paddings=[[0, 1]]),
    "PadV2": lambda s: raw.PadV2(input=s, paddings=[[1, 0]], constant_values=7)[1:],
    "PadV2 with a size": lambda s: raw.PadV2(input=i32(1), paddings=[[0, 2]], constant_values=s[1]),
    "ParallelConcat": lambda s: raw.ParallelConcat(values=[s[None], s[None]], shape=[2, 3]),
    "Pow": lambda s: raw.Pow(x=s, y=2),
    "Prod": lambda s: raw.Prod(input=s[1:], axis=[0]),
    "Range": lambda s: s[1] + raw.Range(start=1, limit=7, delta=2),
    "Range of sizes": lambda s: raw.Range(start=s[1], limit=s[1] + 3, delta=1),
    "Rank": lambda s: s + raw.Rank(input=s),
    "RealDiv": lambda s: tf.cast(tf.math.ceil(s / 2), tf.int32),
    "Reciprocal": floating(lambda s: raw.Reciprocal(x=s) * s + 2.0),
    "Inv": floating(lambda s: raw.Inv(x=s) * s + 2.0),
    "Relu": lambda s: raw.Relu(features=s - 2) + 1,
    "Relu6": lambda s: raw.Relu6(features=s) + 1,
    "Reshape": lambda s: raw.Reshape(tensor=s, shape=[3, 1]),
    "ResizeNearestNeighbor": lambda s: raw.ResizeNearestNeighbor(images=image(s), size=[1, 2]),
    "Reverse": lambda s: raw.Reverse(tensor=s, dims=[True]),
    "ReverseV2": lambda s: raw.ReverseV2(tensor=s, axis=[0]),
    "ReverseSequence": lambda s: raw.ReverseSequence(
        input=square(s), seq_lengths=[2, 3, 1], seq_dim=1, batch_dim=0
    ),
    "RightShift": lambda s: raw.RightShift(x=s, y=1) + 1,
    "Roll": lambda s: raw.Roll(input=s, shift=[1], axis=[0]),
    "Round": lambda s: raw.Round(x=s),
    "Round of halves": floating(lambda s: raw.Round(x=s / 2) + 1),
    "ScatterNd": lambda s: raw.ScatterNd(indices=[[1], [0]], updates=s[1:], shape=[2]),
    "SegmentSum": lambda s: raw.SegmentSum(data=s, segment_ids=[0, 1, 1]),
    "SegmentMean": floating(lambda s: raw.SegmentMean(data=s, segment_ids=[0, 1, 1])),
    "SegmentMean of integers": lambda s: raw.SegmentMean(data=s, segment_ids=[0, 1, 1]),
    "SegmentMax": lambda s: raw.SegmentMax(data=s, segment_ids=[0, 1, 1]),
    "SegmentMin": lambda s: raw.SegmentMin(data=s, segment_ids=[0, 1, 1]),
    "SegmentProd": lambda s: raw.SegmentProd(data=s, segment_ids=[0, 1, 1]),
    "Select": lambda s: raw.Select(condition=s < 5, x=s, y=i32(3, 3, 3)),
    "Select rows": lambda s: raw.Select(condition=s[:2] < 5, x=square(s)[:2], y=square(s)[1:]),
    "SelectV2": lambda s: raw.SelectV2(condition=s < 5, t=s, e=3),
    "Shape": lambda s: s + raw.Shape(input=s),
    "ShapeN": lambda s: s + raw.ShapeN(input=[s, s])[1],
    "Sign": lambda s: raw.Sign(x=s) * s,
    "Sign of a difference": lambda s: raw.Sign(x=s - 4) + 2,
    "Size": lambda s: s + raw.Size(input=s),
    "Slice": lambda s: raw.Slice(input=s, begin=[0], size=[-1]),
    "SpaceToBatch": lambda s: raw.SpaceToBatch(
        input=image(s), paddings=[[0, 0], [0, 0]], block_size=2
    ),
    "SpaceToBatchND": lambda s: raw.SpaceToBatchND(
        input=image(s), block_shape=[2], paddings=[[0, 0]]
    ),
    "SpaceToDepth": lambda s: raw.SpaceToDepth(input=image(s), block_size=2),
    "Split": lambda s: raw.Split(axis=0, value=s, num_split=3)[1],
    "SplitV": lambda s: raw.SplitV(value=s, size_splits=[1, -1], axis=0, num_split=2)[1],
    "Square": lambda s: raw.Square(x=s),
    "SquaredDifference": lambda s: raw.SquaredDifference(x=s, y=1) + 1,
    "Squeeze": lambda s: raw.Squeeze(input=s[None], axis=[0]),
    "StridedSlice": lambda s: s[::-1],
    "StridedSlice of one": lambda s: s[1],
    "Sub": lambda s: raw.Sub(x=20, y=s),
    "Sum": lambda s: raw.Sum(input=s, axis=-1),
    "TensorScatterUpdate": lambda s: raw.TensorScatterUpdate(tensor=s, indices=[[0]], updates=[5]),
    **{
        f"TensorScatter{name}": lambda s, name=name: getattr(raw, f"TensorScatter{name}")(
            tensor=s + 2, indices=[[1], [0]], updates=s[:2]
        )
        for name in ("Add", "Sub", "Max", "Min")
    },
    "Tile": lambda s: raw.Tile(input=s, multiples=[2]),
    "TopKV2": lambda s: raw.TopKV2(input=tf.concat([s, [1]], 0), k=2)[0],
    "TopKV2 indices": lambda s: raw.TopKV2(input=tf.concat([s, [1]], 0), k=2)[1] + 1,
    "Transpose": lambda s: raw.Transpose(x=square(s), perm=[1, 0]),
    "TruncateDiv": lambda s: raw.TruncateDiv(x=s + 5, y=3),
    "TruncateDiv of a negative size": lambda s: -raw.TruncateDiv(x=-s - 2, y=2),
    "TruncateMod": lambda s: raw.TruncateMod(x=s, y=4) + 1,
    "Unique": lambda s: s[1] + raw.Unique(x=[1, 1, 2])[0],
    "Unpack": lambda s: raw.Unpack(value=s, num=3)[1],
    "UnravelIndex": lambda s: raw.UnravelIndex(indices=s, dims=[20, 4]) + 1,
    **{
        f"UnsortedSegment{name}": lambda s, name=name: getattr(raw, f"UnsortedSegment{name}")(
            data=s, segment_ids=[1, 0, 1], num_segments=2
        )
        for name in ("Sum", "Max", "Min", "Prod")
    },
    "ZerosLike": lambda s: s + raw.ZerosLike(x=s),
    "ApproximateEqual": where(
        lambda s: raw.ApproximateEqual(x=tf.cast(s, tf.float32), y=[5.0, 5.0, 5.0], tolerance=0.5)
    ),
    "Equal": where(lambda s: raw.Equal(x=s, y=5)),
    "NotEqual": where(lambda s: raw.NotEqual(x=s, y=5)),
    "Less": where(lambda s: raw.Less(x=s, y=5)),
    "LessEqual": where(lambda s: raw.LessEqual(x=s, y=5)),
    "Greater": where(lambda s: raw.Greater(x=s, y=4)),
    "GreaterEqual": where(lambda s: raw.GreaterEqual(x=s, y=4)),
    "All": lambda s: tf.cast(raw.All(input=s > 2, axis=[0]), tf.int32) + 1,
    "Any": lambda s: tf.cast(raw.Any(input=s > 9, axis=[0], keep_dims=True), tf.int32) + 1,
    "LogicalAnd": where(lambda s: raw.LogicalAnd(x=s < 9, y=s > 2)),
    "LogicalOr": where(lambda s: raw.LogicalOr(x=s < 4, y=s > 6)),
    "LogicalNot": where(lambda s: raw.LogicalNot(x=s < 5)),
    "LinSpace": lambda s: tf.cast(
        raw.LinSpace(start=1.0, stop=tf.cast(s[1], tf.float32) * 2.0 - 1.0, num=3), tf.int32
    ),
    "Ceil": floating(lambda s: raw.Ceil(x=s * 0.25)),
    "Floor": floating(lambda s: raw.Floor(x=s * 0.7) + 1.0),
    "Rint": floating(lambda s: raw.Rint(x=s / 2.0) + 1.0),
    "FloorDiv of floats": floating(lambda s: raw.FloorDiv(x=s, y=2.0) + 1.0),
    "FloorMod of floats": floating(lambda s: raw.FloorMod(x=s, y=4.0) + 1.0),
    "Sqrt": floating(lambda s: raw.Sqrt(x=s) + 1.0),
    "Sqrt of a square": floating(lambda s: raw.Sqrt(x=s * s)),
    "Sqrt rounded up": floating(lambda s: raw.Ceil(x=raw.Sqrt(x=s))),
    "Pow one half": floating(lambda s: raw.Pow(x=s, y=0.5) + 1.0),
    "Pow one half of double": floating(lambda s: raw.Floor(x=raw.Pow(x=s, y=0.5)), tf.float64),
    "Rsqrt": floating(lambda s: raw.Ceil(x=s * raw.Rsqrt(x=s))),
    "EuclideanNorm": floating(lambda s: raw.EuclideanNorm(input=s, axis=[0])),
    "DivNoNan": floating(lambda s: raw.DivNoNan(x=s, y=2.0) + 1.0),
    "MulNoNan": floating(lambda s: raw.MulNoNan(x=s, y=2.0)),
    "Xdivy": floating(lambda s: raw.Xdivy(x=s, y=2.0) + 1.0),
    "LeakyRelu": floating(lambda s: raw.LeakyRelu(features=s - 3.0) + 2.0),
    "L2Loss": floating(lambda s: raw.L2Loss(t=s)),
    "IsFinite": where(lambda s: raw.IsFinite(x=tf.cast(s, tf.float32))),
    "IsInf": where(lambda s: raw.IsInf(x=tf.cast(s, tf.float32))),
    "IsNan": where(lambda s: raw.IsNan(x=tf.cast(s, tf.float32))),
    "Mean of floats": floating(lambda s: tf.floor(raw.Mean(input=s, axis=[0]))),
    "float product": floating(lambda s: s * 1.5),
    "float weights": floating(lambda s: s * [0.5, 2.0, 1.0] + 1.0),
    "double": floating(lambda s: s * 0.6 + 1.0, tf.float64),
    "int64": lambda s: tf.cast(tf.cast(s, tf.int64) * 3 // 2, tf.int32),
    "quotient of sizes": lambda s: (s[0] * s[1]) // s[0],
    "Size of x": lambda s: s[0] * s[1] * s[2] // (s[0] * 4),
}
PRODUCERS: Mapping[str, Producer] = _LISTED


def pad_rows(x: Any, n: Any) -> Any:
    return raw.Pad(input=[1.0, 2.0, 3.0], paddings=tf.stack([[0, n]]))


def resized(op: str) -> Callable[[Any, Any], Any]:
    return lambda x, n: getattr(raw, op)(
        images=tf.reshape(tf.range(6.0), [1, 2, 3, 1]), size=tf.stack([2, n])
    )


CONSUMERS: dict[str, Callable[[Any, Any], Any]] = {
    "Reshape": lambda x, n: raw.Reshape(
        tensor=raw.BroadcastTo(input=[1.0], shape=tf.stack([n])), shape=tf.stack([n, -1])
    ),
    "Slice": lambda x, n: raw.Slice(
        input=tf.range(1000.0), begin=[0], size=tf.stack([tf.minimum(n, 1000)])
    ),
    "StridedSlice": lambda x, n: tf.reshape(x, [-1])[:n],
    "ResizeBilinear": resized("ResizeBilinear"),
    "ResizeNearestNeighbor": resized("ResizeNearestNeighbor"),
    "BroadcastTo": lambda x, n: raw.BroadcastTo(input=[1.0], shape=tf.stack([2, n])),
    "Range": lambda x, n: tf.cast(raw.Range(start=0, limit=n, delta=1), tf.float32),
    "Pad": pad_rows,
    "TopKV2": lambda x, n: raw.TopKV2(input=tf.reshape(x, [-1]), k=tf.minimum(n, tf.size(x)))[0],
    "Fill": lambda x, n: raw.Fill(dims=tf.stack([n]), value=1.5),
    "Tile": lambda x, n: raw.Tile(input=[1.0, 2.0, 3.0], multiples=tf.stack([n])),
}


def size_function(producer: Producer, consumer: str) -> Any:
    """A concrete function of x, float32 [N, T, 4], which uses the size that a producer computes:
    the element at index 1, or the only one.
    """

    def function(x: tf.Tensor) -> dict[str, tf.Tensor]:
        flat = tf.reshape(producer(tf.shape(x)), [-1])
        n = tf.cast(tf.concat([flat, flat], 0)[1], tf.int32)
        return {"y": tf.identity(CONSUMERS[consumer](x, n))}

    signature = [tf.TensorSpec([None, None, 4], tf.float32, name="x")]
    return tf.function(function, input_signature=signature, autograph=False).get_concrete_function()
