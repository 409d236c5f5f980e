"""Graphs over functions of TensorFlow that consist of several operators."""

from collections.abc import Mapping

import tensorflow as tf

from tests.frontends.tensorflow.graph_inputs import Graph, images, weights
from tests.frontends.tensorflow.layers import Tensors


def summed(x: tf.Tensor, index: tf.Tensor) -> Tensors:
    """Segments, buckets and scattering, as models of graphs have them."""
    rows = tf.reshape(x, [-1, 4])
    owners = tf.constant([0, 0, 2, 1, 1, 2, 3, 3, 0, 2, 1, 3])
    ordered = tf.constant([0, 0, 0, 1, 1, 3, 3, 3, 3, 4, 4, 4])
    sources, targets = tf.constant([0, 1, 2, 3, 4, 5]), tf.constant([1, 2, 3, 4, 5, 0])
    return {
        "unsorted": tf.math.unsorted_segment_sum(rows, owners, 4),
        "mean": tf.math.unsorted_segment_mean(rows, owners, 4),
        "sum": tf.math.segment_sum(rows, ordered),
        "average": tf.math.segment_mean(rows, ordered),
        "most": tf.math.segment_max(rows, ordered),
        "least": tf.math.segment_min(rows, ordered),
        "product": tf.math.segment_prod(rows, ordered),
        "messages": tf.tensor_scatter_nd_add(
            tf.zeros([6, 4]), targets[:, None], tf.gather(rows, sources)
        ),
        "counts": tf.raw_ops.DenseBincount(input=index, size=9, weights=tf.zeros([0], tf.int32)),
        "weights": tf.raw_ops.Bincount(arr=index, size=9, weights=x[0, :2, :3]),
        "hot": tf.one_hot(index, 9, on_value=2.0, off_value=-1.0),
    }


def filtered(x: tf.Tensor) -> Tensors:
    """Morphology, medians of sorted windows, image gradients, a blur with constant weights."""
    kernel = tf.constant([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]) / 16.0
    windows = tf.image.extract_patches(x[..., :1], [1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    dy, dx = tf.image.image_gradients(x)
    return {
        "dilated": tf.nn.dilation2d(
            x, weights(3, 3, 3), (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1)
        ),
        "eroded": tf.nn.erosion2d(x, weights(2, 2, 3), (1, 2, 2, 1), "VALID", "NHWC", (1, 2, 1, 1)),
        "median": tf.sort(windows, -1)[..., 4],
        "blurred": tf.nn.depthwise_conv2d(
            x, tf.tile(kernel[:, :, None, None], [1, 1, 3, 1]), (1, 1, 1, 1), "SAME"
        ),
        "edges": tf.sqrt(tf.square(dy) + tf.square(dx)),
        "sobel": tf.image.sobel_edges(x),
        "variation": tf.image.total_variation(x),
        "standard": tf.image.per_image_standardization(x),
        "gray": tf.image.rgb_to_grayscale(x),
        "yuv": tf.image.rgb_to_yuv(x),
        "gamma": tf.image.adjust_gamma(tf.abs(x), 0.8),
        "flipped": tf.image.flip_left_right(tf.image.flip_up_down(x)),
        "turned": tf.image.rot90(x),
        "center": tf.image.central_crop(x, 0.5),
    }


def boxed(x: tf.Tensor) -> Tensors:
    """Blocks of space as batches and back, also with the older operators."""
    return {
        "atrous": tf.nn.atrous_conv2d(x, weights(3, 3, 4, 2), 2, "SAME"),
        "batched": tf.raw_ops.SpaceToBatch(input=x, paddings=[[0, 0], [0, 0]], block_size=2),
        "back": tf.raw_ops.BatchToSpace(
            input=tf.tile(x, [4, 1, 1, 1]), crops=[[1, 0], [0, 1]], block_size=2
        ),
        "blocks": tf.space_to_batch(x, [2, 4], [[0, 0], [1, 3]]),
        "pooled": tf.nn.max_pool_with_argmax(x, 2, 2, "SAME")[0],
        "places": tf.nn.max_pool_with_argmax(x, 2, 2, "VALID", include_batch_in_index=True)[1],
    }


def matrices(x: tf.Tensor) -> Tensors:
    """Linear algebra over batches."""
    square = tf.matmul(x, x, transpose_a=True) + 2.0 * tf.eye(4)
    sign, size = tf.linalg.slogdet(square)
    return {
        "inverse": tf.linalg.inv(square),
        "determinant": tf.linalg.det(square),
        "sign": sign,
        "log": size,
        "cholesky": tf.linalg.cholesky(square),
        "solved": tf.linalg.solve(square, tf.transpose(x, [0, 2, 1])),
        "set": tf.linalg.set_diag(square, tf.ones([3, 4])),
        "diagonal": tf.linalg.diag_part(square, k=1),
        "triangular": tf.linalg.triangular_solve(
            tf.linalg.cholesky(square), tf.transpose(x, [0, 2, 1])
        ),
        "trace": tf.linalg.trace(square),
        "diag": tf.linalg.diag(x, k=-1),
        "above": tf.linalg.set_diag(x, x[:, :3, 0], k=1),
        "below": tf.linalg.set_diag(x, x[:, 1:, 0], k=-1),
        "outer": tf.einsum("bi,bj->bij", x[:, 0], x[:, 1]),
        "lower": tf.linalg.band_part(square, 1, 0),
        "norm": tf.norm(x, ord=1, axis=2),
    }


def rounded(x: tf.Tensor) -> Tensors:
    """Quantisation and dequantisation, as in models of quantisation-aware training."""
    return {
        "ranged": tf.quantization.quantize_and_dequantize_v2(x, -1.0, 1.5, range_given=True),
        "measured": tf.quantization.quantize_and_dequantize_v2(x, 0.0, 0.0, num_bits=4),
        "narrow": tf.quantization.quantize_and_dequantize_v2(
            x, -1.0, 1.0, range_given=True, narrow_range=True
        ),
        "unsigned": tf.quantization.quantize_and_dequantize_v2(
            tf.abs(x), 0.0, 2.0, signed_input=False, range_given=True, round_mode="HALF_UP"
        ),
        "channels": tf.raw_ops.QuantizeAndDequantizeV2(
            input=x, input_min=tf.zeros([3]), input_max=tf.zeros([3]), axis=1
        ),
        "bits": tf.raw_ops.QuantizeAndDequantizeV3(
            input=x, input_min=-1.0, input_max=1.0, num_bits=5, range_given=True
        ),
    }


def curves(x: tf.Tensor) -> Tensors:
    """Special functions, statistics and losses."""
    return {
        "quantile": tf.math.ndtri(tf.clip_by_value(tf.abs(x) * 0.3, 0.01, 0.99)),
        "logsumexp": tf.reduce_logsumexp(x, 1),
        "entropy": tf.nn.sigmoid_cross_entropy_with_logits(tf.sigmoid(x), x),
        "cross": tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x * 2.0), x),
        "sparse": tf.nn.sparse_softmax_cross_entropy_with_logits([1, 0, 2], x),
        "variance": tf.math.reduce_variance(x, 0),
        "deviation": tf.math.reduce_std(x),
        "normalized": tf.math.l2_normalize(x, 1),
        "zero": tf.math.zero_fraction(tf.nn.relu(x)),
        "swish": tf.nn.silu(x),
        "crelu": tf.nn.crelu(x),
        "logistic": tf.math.log_sigmoid(x),
        "nth": tf.raw_ops.NthElement(input=x, n=1, reverse=False),
        "polynomial": tf.sigmoid(x) + tf.math.polyval([1.0, 2.0, 3.0], x),
    }


def partitioned(x: tf.Tensor) -> Tensors:
    """Stitching, clipping, sorting, and functions over rows."""
    rows = tf.dynamic_stitch([[0, 2, 4], [1, 3, 5]], [x[:3], x[3:]])
    clipped = tf.clip_by_norm(x, 2.0, axes=[1])
    everything, norm = tf.clip_by_global_norm([x, x * 2.0], 3.0)
    return {
        "stitched": rows,
        "clipped": clipped,
        "global": everything[1],
        "norm": norm,
        "difference": (
            tf.raw_ops.ListDiff(x=[1, 2, 3, 4, 5], y=[2, 4]).out + 0 * tf.cast(x[0, 0], tf.int32)
        ),
        "unraveled": (
            tf.unravel_index([7, 5], [3, 4]) + tf.cast(tf.zeros([2, 2]) * x[0, 0], tf.int32)
        ),
        "histogram": tf.histogram_fixed_width(x, [-2.0, 2.0], 5),
        "sorted": tf.sort(x, direction="DESCENDING"),
        "order": tf.argsort(x, 0),
        "case": tf.switch_case(
            tf.argmax(x[0], output_type=tf.int32) % 3, [lambda: x, lambda: x * 2.0, lambda: x - 1.0]
        ),
        "map": tf.map_fn(lambda row: row * tf.reduce_max(row), x),
        "folded": tf.foldl(lambda a, row: a * 0.5 + row, x),
        "vectorized": tf.vectorized_map(lambda row: tf.cumsum(row) - row[0], x),
    }


COMPOSITE_GRAPHS: Mapping[str, Graph] = {
    "summed": (summed, [((3, 4, 4), "float32"), ((2, 3), "int32")]),
    "filtered": (filtered, images(None, 9, 8, 3)),
    "boxed": (boxed, images(None, 8, 8, 4)),
    "matrices": (matrices, images(3, 5, 4)),
    "rounded": (rounded, images(4, 3)),
    "curves": (curves, images(3, 4)),
    "partitioned": (partitioned, images(6, 3)),
}
