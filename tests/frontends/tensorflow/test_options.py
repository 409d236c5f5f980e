"""Raw operators with every value of every attribute, compared with TensorFlow. Each family of
operators is one graph. The sizes of the axes differ.
"""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from tests.frontends.corpus import Sample, reference_mismatch
from tests.frontends.tensorflow.graph_inputs import weights
from tests.frontends.tensorflow.list_calls import list_operators, lists
from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model

Calls = Callable[[tf.Tensor], Iterator[tf.Tensor]]
raw = tf.raw_ops
IMAGE = (2, 7, 8, 4)


def paddings(height: int, width: int) -> Iterator[tuple[str, list[int]]]:
    yield "SAME", []
    yield "VALID", []
    yield "EXPLICIT", [0, 0, height, 1, 0, width, 0, 0]


def windows(x: tf.Tensor) -> Iterator[tf.Tensor]:
    for (kind, explicit), stride, gaps in product(
        paddings(2, 3), ((1, 1), (2, 2), (3, 3)), ((1, 1), (1, 2))
    ):
        if max(stride) > 1 and max(gaps) > 1:
            continue
        attrs = {
            "strides": [1, *stride, 1],
            "padding": kind,
            "explicit_paddings": explicit,
            "dilations": [1, *gaps, 1],
        }
        for inner in (4, 2, 1):
            yield raw.Conv2D(input=x, filter=weights(3, 2, inner, 4), **attrs)
        for multiplier in (1, 2):
            yield raw.DepthwiseConv2dNative(input=x, filter=weights(3, 2, 4, multiplier), **attrs)
    for (kind, explicit), stride in product(paddings(1, 1), ((1, 1), (2, 3), (3, 1))):
        attrs = {"ksize": [1, 3, 2, 1], "strides": [1, *stride, 1], "padding": kind}
        yield raw.MaxPool(input=x, explicit_paddings=explicit, **attrs)
        if kind != "EXPLICIT":
            yield raw.AvgPool(value=x, **attrs)
            yield raw.Conv2DBackpropInput(
                input_sizes=[
                    2,
                    *(
                        (7 * stride[0], 8 * stride[1])
                        if kind == "SAME"
                        else (6 * stride[0] + 3, 7 * stride[1] + 2)
                    ),
                    5,
                ],
                filter=weights(3, 2, 5, 4),
                out_backprop=x,
                strides=[1, *stride, 1],
                padding=kind,
            )
            yield raw.Dilation2D(
                input=x,
                filter=weights(3, 2, 4),
                strides=[1, *stride, 1],
                rates=[1, 1, 1, 1],
                padding=kind,
            )
            yield raw.ExtractImagePatches(
                images=x,
                ksizes=[1, 3, 2, 1],
                strides=[1, *stride, 1],
                rates=[1, 1, 1, 1],
                padding=kind,
            )


def reductions(x: tf.Tensor) -> Iterator[tf.Tensor]:
    for op, axes, keep in product(
        ("Sum", "Mean", "Max", "Min", "Prod"), ([0], [1, 2], [-1], [0, -2]), (False, True)
    ):
        yield getattr(raw, op)(input=x, axis=axes, keep_dims=keep)
    for op, keep in product(("All", "Any"), (False, True)):
        yield getattr(raw, op)(input=x > 0, axis=[1], keep_dims=keep)
    for axis in (0, 1, 2, -1):
        for dtype in (tf.int32, tf.int64):
            yield raw.ArgMax(input=x, dimension=axis, output_type=dtype)
            yield raw.ArgMin(input=x, dimension=axis, output_type=dtype)
        for exclusive, reverse in product((False, True), (False, True)):
            yield raw.Cumsum(x=x, axis=axis, exclusive=exclusive, reverse=reverse)
            yield raw.Cumprod(x=x, axis=axis, exclusive=exclusive, reverse=reverse)
    for ordered in (False, True):
        yield from raw.TopKV2(input=x, k=3, sorted=ordered) if ordered else ()


def norms(x: tf.Tensor) -> Iterator[tf.Tensor]:
    for epsilon in (1e-4, 0.3):
        yield raw.FusedBatchNormV3(
            x=x,
            scale=weights(4),
            offset=weights(4) + 1,
            mean=weights(4) * 2,
            variance=tf.abs(weights(4)) + 0.2,
            epsilon=epsilon,
            is_training=False,
        )[0]
    for radius, bias, alpha, beta in ((1, 1.0, 0.5, 0.75), (2, 2.0, 0.1, 0.5), (5, 1.0, 1e-2, 1.5)):
        yield raw.LRN(input=x, depth_radius=radius, bias=bias, alpha=alpha, beta=beta)
    for alpha in (0.1, 0.5, 1.5):
        yield raw.LeakyRelu(features=x, alpha=alpha)


def moved(x: tf.Tensor) -> Iterator[tf.Tensor]:
    for axis in (0, 1, 2, 3, -1, -2):
        yield raw.ConcatV2(values=[x, x * 2], axis=axis)
        yield raw.Pack(values=[x, x * 2], axis=axis)
        yield from raw.Unpack(value=x, num=IMAGE[axis], axis=axis)
        yield raw.GatherV2(params=x, indices=[1, 0], axis=axis)
        yield raw.ReverseV2(tensor=x, axis=[axis])
        yield (
            raw.OneHot(indices=[[0, 2, -1]], depth=3, on_value=2.0, off_value=-1.0, axis=axis)
            * tf.reduce_sum(x)
            if abs(axis) < 2
            else x
        )
        if IMAGE[axis] % 2 == 0:
            yield from raw.Split(axis=axis, value=x, num_split=2)
        yield raw.ExpandDims(input=x, axis=axis)
    for batch, axis in ((1, 1), (1, 2), (0, 1)):
        indices = [[1, 0], [0, 3]] if batch else [[1, 0]]
        yield raw.GatherV2(params=x, indices=indices, axis=axis, batch_dims=batch)
    for mode in ("REFLECT", "SYMMETRIC"):
        yield raw.MirrorPad(input=x, paddings=[[0, 0], [2, 1], [0, 3], [1, 0]], mode=mode)
    yield raw.Pad(input=x, paddings=[[0, 0], [2, 1], [0, 3], [1, 0]])
    yield raw.PadV2(input=x, paddings=[[0, 1], [0, 1], [2, 3], [1, 0]], constant_values=-1.5)
    for begin, end, shrink in product((0, 1, 6), (0, 2, 5), (0, 1, 8)):
        yield raw.StridedSlice(
            input=x,
            begin=[1, 2, 1, 3],
            end=[2, 6, 7, 4],
            strides=[1, 2, 3, 1],
            begin_mask=begin,
            end_mask=end,
            shrink_axis_mask=shrink,
        )
    yield raw.StridedSlice(input=x, begin=[0, 1], end=[0, 3], strides=[1, 2], ellipsis_mask=1)
    yield raw.StridedSlice(
        input=x, begin=[0, 0, 1], end=[0, 2, 3], strides=[1, 1, 1], new_axis_mask=1
    )
    yield raw.ReverseSequence(input=x, seq_lengths=[2, 4], seq_dim=1, batch_dim=0)
    yield raw.ReverseSequence(input=x, seq_lengths=[2, 1, 0, 1, 2, 1, 2], seq_dim=0, batch_dim=1)
    for dims in ([], [0], [2], [0, 2]):
        yield raw.Squeeze(input=x[:1, :3, :1], axis=dims)
    for block in (2,):
        yield raw.DepthToSpace(input=x, block_size=block)
        yield raw.SpaceToDepth(input=x[:, :6], block_size=block)


def products(x: tf.Tensor) -> Iterator[tf.Tensor]:
    rows = x[0, :, :, 0]
    for a, b in product((False, True), (False, True)):
        left, right = tf.transpose(rows) if a else rows, weights(5, 8) if b else weights(8, 5)
        yield raw.MatMul(a=left, b=right, transpose_a=a, transpose_b=b)
        many = x[..., 0] * 1.0
        batches = tf.stack([right, right * 2])
        yield raw.BatchMatMulV2(
            x=tf.linalg.matrix_transpose(many) if a else many, y=batches, adj_x=a, adj_y=b
        )


def resized(x: tf.Tensor) -> Iterator[tf.Tensor]:
    ways = ((False, False), (True, False), (False, True))
    for (corners, centres), size in product(ways, ([14, 3], [5, 20], [7, 8], [1, 1])):
        for op in (
            "ResizeBilinear",
            "ResizeNearestNeighbor",
            *(["ResizeBicubic"] if centres else []),
        ):
            yield getattr(raw, op)(
                images=x, size=size, align_corners=corners, half_pixel_centers=centres
            )
    for method, outside in product(("bilinear", "nearest"), (0.0, -2.0)):
        boxes = [[0.1, 0.2, 0.8, 0.9], [0.5, -0.3, 1.4, 0.6]]
        yield raw.CropAndResize(
            image=x,
            boxes=boxes,
            box_ind=[1, 0],
            crop_size=[3, 4],
            method=method,
            extrapolation_value=outside,
        )


def numbers(x: tf.Tensor) -> Iterator[tf.Tensor]:
    integers = tf.cast(x * 9, tf.int32)
    divisors = tf.constant([3, -2, 5, -7])
    for op in (
        "FloorDiv",
        "FloorMod",
        "TruncateDiv",
        "TruncateMod",
        "Maximum",
        "Minimum",
        "Sub",
        "SquaredDifference",
    ):
        yield getattr(raw, op)(x=integers, y=divisors)
    for dtype in (tf.int32, tf.int64, tf.float16, tf.bool, tf.float64, tf.int8):
        yield raw.Cast(x=x * 3, DstT=dtype)
    for tolerance in (1e-5, 0.5):
        yield raw.ApproximateEqual(x=x, y=x + 0.2, tolerance=tolerance)
    yield raw.Bucketize(input=x, boundaries=[-0.5, 0.0, 0.7])
    yield raw.ClipByValue(t=x, clip_value_min=-0.3, clip_value_max=0.6)
    for bits, narrow in product((4, 8), (False, True)):
        yield raw.FakeQuantWithMinMaxArgs(
            inputs=x, min=-1.1, max=0.7, num_bits=bits, narrow_range=narrow
        )


def counted(x: tf.Tensor) -> Iterator[tf.Tensor]:
    """Loops with two conditions, either of which ends the loop, and loops without iterations."""
    for steps, other in product((0, 2, 4), (-1, 1, 3)):
        _, _, y = tf.while_loop(
            lambda a, b, _, steps=steps, other=other: (a < steps) & (b < other),
            lambda a, b, y: (a + 1, b + 1, y * 2.0 + tf.cast(a, tf.float32)),
            (0, 0, x),
        )
        yield y


def recurrent(x: tf.Tensor) -> Iterator[tf.Tensor]:
    """LSTM cells and sequences [time, N, in] with each option."""
    sequence, state = tf.transpose(x[:, :, :5, 0], [1, 0, 2]) * 4.0, weights(2, 3)
    peepholes = {"wci": weights(3), "wcf": weights(3) * 2, "wco": weights(3) * 3}
    rest = {"w": weights(8, 12), "b": weights(12), **peepholes}
    for forget, clip, peeks in ((1.0, 3.0, False), (0.0, 0.2, True), (2.0, -1.0, False)):
        options = {"cell_clip": clip, "use_peephole": peeks}
        yield from raw.LSTMBlockCell(
            x=sequence[0], cs_prev=state, h_prev=state * 2, **rest, forget_bias=forget, **options
        )
        for steps in (7, 4):
            operands = {
                "seq_len_max": tf.constant(steps, tf.int64),
                "x": sequence,
                "cs_prev": state,
                "h_prev": state * 2,
                **rest,
            }
            yield from (y[:steps] for y in raw.BlockLSTM(**operands, forget_bias=forget, **options))
            yield from (y[:steps] for y in raw.BlockLSTMV2(**operands, **options))
    cell = {"w_ru": weights(8, 6), "w_c": weights(8, 3), "b_ru": weights(6), "b_c": weights(3)}
    yield from raw.GRUBlockCell(x=sequence[0], h_prev=state, **cell)


def boxes(x: tf.Tensor) -> Iterator[tf.Tensor]:
    """Suppression of overlapping boxes, with and without padding of the indices."""
    corners = tf.reshape(x[0, :, :4, 0], [7, 4])
    corners_and_sizes = tf.concat(
        [corners[:, :2], corners[:, :2] + tf.abs(corners[:, 2:]) + 0.3], 1
    )
    scores = tf.nn.softmax(x[0, :, 0, 1] * 3.0)
    operands = {"boxes": corners_and_sizes, "scores": scores, "iou_threshold": 0.2}
    yield raw.NonMaxSuppressionV3(**operands, max_output_size=4, score_threshold=0.05)
    for pad, least in product((False, True), (0.0, 0.1)):
        for size in (3, 9):
            yield from raw.NonMaxSuppressionV4(
                **operands, max_output_size=size, score_threshold=least, pad_to_max_output_size=pad
            )
            yield from raw.NonMaxSuppressionV5(
                **operands,
                max_output_size=size,
                score_threshold=least,
                soft_nms_sigma=0.0,
                pad_to_max_output_size=pad,
            )


def complex_numbers(x: tf.Tensor) -> Iterator[tf.Tensor]:
    rows = x[0, :, :, 0]
    z = tf.complex(rows, tf.nn.relu(x[0, :, :, 1]))
    for value in (z * z, tf.square(z), tf.exp(z), z / (z + 2.0), tf.math.conj(z)):
        yield tf.math.real(value)
        yield tf.math.imag(value)
    for value in (
        z,
        tf.complex(tf.zeros_like(rows), tf.zeros_like(rows)),
        tf.complex(rows * 1e20, rows * 1e20),
    ):
        yield tf.abs(value)
    yield tf.math.angle(z)
    for length in (5, 6, 8):
        spectrum = raw.RFFT(input=rows, fft_length=[length])
        yield tf.math.real(spectrum)
        yield tf.math.imag(spectrum)
        yield raw.IRFFT(input=spectrum, fft_length=[length])
        yield raw.IRFFT(input=spectrum, fft_length=[length - 3])
    for lengths in ([5, 6], [7, 8]):
        spectrum = raw.RFFT2D(input=rows, fft_length=lengths)
        yield tf.math.real(spectrum)
        yield tf.math.imag(spectrum)


def trained(x: tf.Tensor) -> Iterator[tf.Tensor]:
    """Batch normalisation with the statistics of the batch, in both layouts, also with one element
    per channel.
    """
    for layout, image in (("NHWC", x), ("NHWC", x[:1, :1, :1])):
        for epsilon in (1e-4, 0.1):
            operands = {"scale": weights(4) + 2.0, "offset": weights(4), "mean": [], "variance": []}
            y, mean, variance, *_ = raw.FusedBatchNormV3(
                x=image, **operands, epsilon=epsilon, data_format=layout, is_training=True
            )
            yield from (y, mean, variance)


def adjoints(x: tf.Tensor) -> Iterator[tf.Tensor]:
    """Matrices that are transposed first, also by solvers."""
    rows = tf.reshape(x, (-1, 4, 4))[:3] + 4.0 * tf.eye(4)
    columns = tf.reshape(x, (-1, 4, 2))[:3]
    for adjoint in (False, True):
        yield raw.MatrixInverse(input=rows, adjoint=adjoint)
        yield raw.MatrixSolve(matrix=rows, rhs=columns, adjoint=adjoint)
        for lower in (False, True):
            yield raw.MatrixTriangularSolve(matrix=rows, rhs=columns, lower=lower, adjoint=adjoint)


RANGES = ((0, 5, 1), (2, 12, 3), (2, 13, 3), (9, 2, -2), (3, 3, 1), (-4, 4, 5))


def ranges(x: tf.Tensor) -> Iterator[tf.Tensor]:
    """Ranges of integers and floats in both directions, empty ones, and stitched rows."""
    for start, limit, delta in RANGES:
        for dtype in (tf.int32, tf.int64, tf.float32):
            bounds = (tf.constant(value, dtype) for value in (start, limit, delta))
            count = raw.Range(**dict(zip(("start", "limit", "delta"), bounds, strict=True)))
            yield tf.reduce_sum(x) * 0.5 + tf.cast(count, tf.float32)
    for start, limit, delta in ((0.0, 1.0, 0.25), (0.5, 2.6, 0.5), (1.0, -1.0, -0.3)):
        yield raw.Range(start=start, limit=limit, delta=delta) + x[0, 0, 0, 0]
    for batch in (x, x[0]):
        steps = raw.Range(start=1, limit=tf.shape(batch)[0] + 1, delta=2)
        yield tf.cast(steps, tf.float32) * tf.reduce_sum(batch)
    rows = tf.reshape(x, (-1, 4))
    for first, second in (([0, 2, 4], [1, 3, 5]), ([3, 0, 1], [2, 1, 4]), ([3, 3, 0], [1, 2, 4])):
        yield raw.DynamicStitch(indices=[first, second], data=[rows[:3], rows[3:6]])
        yield raw.ParallelDynamicStitch(
            indices=[[first], [second]], data=[rows[None, :3], rows[None, 6:9]]
        )


FAMILIES = (
    *(windows, reductions, norms, moved, products, resized, numbers),
    *(lists, list_operators, counted, recurrent, boxes, complex_numbers, trained, ranges),
    adjoints,
)


@pytest.mark.parametrize("family", FAMILIES)
def test_attributes_match(family: Calls, tmp_path: Path) -> None:
    def function(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {f"y{number:03}": tf.identity(value) for number, value in enumerate(family(x))}

    concrete = tf.function(
        function, input_signature=[tf.TensorSpec(IMAGE, tf.float32, name="x")]
    ).get_concrete_function()
    x = np.random.default_rng(3).standard_normal(IMAGE).astype(np.float32)
    expected = [value.numpy() for _, value in sorted(concrete(x=tf.constant(x)).items())]
    path = tmp_path / "graph.pb"
    path.write_bytes(
        convert_variables_to_constants_v2(concrete).graph.as_graph_def().SerializeToString()
    )
    spec, blobs = read_model(path, None)
    graph = TensorFlowConverter().convert(spec, blobs)
    assert len(graph.outputs) == len(expected) >= 5
    (name,) = graph.inputs
    with np.errstate(all="ignore"):
        assert (
            reference_mismatch(
                Sample(
                    family.__name__,
                    graph,
                    {name: x},
                    dict(zip(graph.outputs, expected, strict=True)),
                )
            )
            is None
        )
