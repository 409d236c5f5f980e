"""Functions of TensorFlow over raw operators, with the inputs that they are tried with."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

RNG = np.random.default_rng(3)
Shape = Sequence[int | None]
Graph = tuple[Callable[..., Any], Sequence[tuple[Shape, str]]]
"""A function, and the shapes (None is open) and dtypes of its inputs."""


def weights(*shape: int) -> tf.Tensor:
    return tf.constant(np.random.default_rng(sum(shape)).normal(0, 0.5, shape).astype(np.float32))


def images(*shape: int | None) -> list[tuple[Shape, str]]:
    return [(shape, "float32")]


def convolutions(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Strides, dilation, padding of each kind, groups."""
    return {
        "same": tf.nn.conv2d(x, weights(3, 3, 4, 6), 2, "SAME"),
        "valid": tf.nn.conv2d(x, weights(3, 2, 4, 6), (1, 2), "VALID"),
        "dilated": tf.nn.conv2d(x, weights(3, 3, 4, 2), 1, "SAME", dilations=2),
        "explicit": tf.nn.conv2d(x, weights(3, 3, 4, 2), 2, [[0, 0], [2, 1], [0, 3], [0, 0]]),
        "grouped": tf.nn.conv2d(x, weights(3, 3, 2, 6), 1, "VALID"),
    }


def depthwise(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "plain": tf.nn.depthwise_conv2d(x, weights(3, 3, 4, 2), (1, 1, 1, 1), "SAME"),
        "strided": tf.nn.depthwise_conv2d(x, weights(3, 3, 4, 1), (1, 2, 2, 1), "VALID"),
        "dilated": tf.nn.depthwise_conv2d(
            x, weights(3, 3, 4, 1), (1, 1, 1, 1), "SAME", dilations=(2, 2)
        ),
        "separable": tf.nn.separable_conv2d(
            x, weights(3, 3, 4, 2), weights(1, 1, 8, 3), (1, 1, 1, 1), "SAME"
        ),
    }


def transposed(x: tf.Tensor) -> dict[str, tf.Tensor]:
    batch = tf.shape(x)[0]
    return {
        "same": tf.nn.conv2d_transpose(
            x, weights(3, 3, 5, 4), tf.stack([batch, 18, 14, 5]), 2, "SAME"
        ),
        "valid": tf.nn.conv2d_transpose(
            x, weights(3, 2, 5, 4), tf.stack([batch, 19, 14, 5]), 2, "VALID"
        ),
        "odd": tf.nn.conv2d_transpose(
            x, weights(4, 4, 5, 4), tf.stack([batch, 17, 13, 5]), 2, "SAME"
        ),
        "depthwise": tf.nn.depthwise_conv2d_backprop_input(
            tf.stack([batch, 9, 7, 4]), weights(3, 3, 4, 1), x, (1, 1, 1, 1), "SAME"
        ),
    }


def volumes(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "conv": tf.nn.conv3d(x, weights(2, 3, 3, 3, 4), (1, 1, 2, 1, 1), "SAME"),
        "transposed": tf.nn.conv3d_transpose(
            x, weights(2, 2, 2, 5, 3), tf.stack([tf.shape(x)[0], 10, 12, 14, 5]), 2, "SAME"
        ),
        "max": tf.nn.max_pool3d(x, 2, 2, "VALID"),
        "mean": tf.nn.avg_pool3d(x, 2, 1, "SAME"),
    }


def joined(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Down by strides, and up to the sizes of what is joined: of odd ones more is cut off the
    beginning, so that other taps meet elements.
    """
    levels = [tf.tile(x, [1, 3, 4, 1])]
    for _ in range(3):
        levels.append(tf.nn.relu(tf.nn.conv2d(levels[-1], weights(3, 3, 3, 3), 2, "SAME")))
    y = levels[-1]
    for size, level in zip((4, 3, 5), levels[-2::-1], strict=True):
        y = level + tf.nn.conv2d_transpose(y, weights(size, size, 3, 3), tf.shape(level), 2, "SAME")
    return {"y": y}


def cornered(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Corner upon corner, to open sizes that are 1 or more."""
    small = x[:, ::2, ::2]
    resize = tf.compat.v1.image.resize_bilinear
    return {
        "spread": resize(
            tf.reduce_mean(x, [1, 2], keepdims=True), tf.shape(small)[1:3], align_corners=True
        ),
        "smaller": resize(x, tf.shape(small[:, ::2, ::2])[1:3], align_corners=True),
        "larger": resize(small, tf.shape(x)[1:3], align_corners=True),
    }


def chosen(boxes: tf.Tensor, scores: tf.Tensor) -> dict[str, tf.Tensor]:
    """More boxes are asked for than there are."""
    best = tf.image.combined_non_max_suppression(
        boxes[:, :, None], scores, 4, 8, 0.5, -5.0, clip_boxes=False
    )
    return {"boxes": best[0], "scores": best[1], "labels": best[2], "count": best[3]}


def pools(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "max": tf.nn.max_pool2d(x, 3, 2, "SAME"),
        "valid": tf.nn.max_pool2d(x, (2, 3), (1, 2), "VALID"),
        "mean": tf.nn.avg_pool2d(x, 3, 2, "SAME"),
        "explicit": tf.raw_ops.MaxPool(
            input=x,
            ksize=[1, 3, 3, 1],
            strides=[1, 2, 2, 1],
            padding="EXPLICIT",
            explicit_paddings=[0, 0, 1, 0, 1, 1, 0, 0],
        ),
        "lrn": tf.nn.local_response_normalization(x, 2, 1.0, 0.5, 0.75),
    }


def norms(x: tf.Tensor) -> dict[str, tf.Tensor]:
    scale, offset, mean = weights(4), weights(4), weights(4)
    variance = tf.constant([0.5, 1.0, 2.0, 0.1])
    fused, _, _ = tf.compat.v1.nn.fused_batch_norm(
        x, scale, offset, mean, variance, 1e-3, is_training=False
    )
    trained, batch_mean, batch_variance = tf.compat.v1.nn.fused_batch_norm(
        x, scale, offset, epsilon=1e-3, is_training=True
    )
    average, spread = tf.nn.moments(x, [1, 2])
    return {
        "fused": fused,
        "trained": trained,
        "mean": batch_mean,
        "variance": batch_variance,
        "moments": average,
        "spread": spread,
        "plain": tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3),
    }


def layouts(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Channels first, which TensorFlow computes on GPUs only: the graph transposes around what it
    asks for.
    """
    first = tf.transpose(x, (0, 3, 1, 2))
    biased = tf.nn.bias_add(first, weights(4), data_format="NCHW")
    return {
        "bias": biased,
        "depth": tf.nn.depth_to_space(x, 2),
        "space": tf.nn.space_to_depth(x[:, :8, :6], 2),
    }


def arithmetic(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "add": x + y,
        "subtract": x - y,
        "multiply": x * y,
        "divide": x / y,
        "floor": x // y,
        "modulo": x % y,
        "power": tf.abs(x) ** y,
        "maximum": tf.maximum(x, y),
        "minimum": tf.minimum(x, y),
        "no_nan": tf.math.divide_no_nan(x, tf.nn.relu(y)),
        "squared": tf.math.squared_difference(x, y),
        "angle": tf.atan2(x, y),
        "multiply_no_nan": tf.math.multiply_no_nan(x, tf.nn.relu(y)),
        "xlogy": tf.math.xlogy(tf.nn.relu(x), tf.abs(y)),
        "xdivy": tf.math.xdivy(tf.nn.relu(x), y),
        "xlog1py": tf.math.xlog1py(tf.nn.relu(x), tf.abs(y)),
        "truncated": tf.truncatediv(x, y) if x.dtype.is_integer else x,
        "add_n": tf.add_n([x, x, x]),
    }


def integers(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "add": x + y,
        "subtract": x - y,
        "multiply": x * y,
        "floor": x // y,
        "modulo": x % y,
        "truncated": tf.truncatediv(x, y),
        "remainder": tf.truncatemod(x, y),
        "quotient": x / y,
        "and": tf.bitwise.bitwise_and(x, y),
        "or": tf.bitwise.bitwise_or(x, y),
        "xor": tf.bitwise.bitwise_xor(x, y),
        "not": tf.bitwise.invert(x),
        "left": tf.bitwise.left_shift(x, tf.abs(y) % 5),
        "right": tf.bitwise.right_shift(x, tf.abs(y) % 5),
        "square": tf.square(x),
        "absolute": tf.abs(x),
        "sign": tf.sign(x),
        "power": x ** (tf.abs(y) % 4),
    }


def comparisons(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "equal": x == y,
        "different": x != y,
        "less": x < y,
        "at_most": x <= y,
        "greater": x > y,
        "at_least": x >= y,
        "both": (x > 0) & (y > 0),
        "one": (x > 0) | (y > 0),
        "either": tf.math.logical_xor(x > 0, y > 0),
        "not": tf.logical_not(x > 0),
        "where": tf.where(x > y, x, y),
        "rows": tf.compat.v1.where(x[:, 0] > 0, x, y),
        "nan": tf.math.is_nan(tf.where(x > 0, float("nan"), y)),
        "infinite": tf.math.is_inf(tf.where(x > 0, float("-inf"), y)),
        "finite": tf.math.is_finite(x / y),
    }


def functions(x: tf.Tensor) -> dict[str, tf.Tensor]:
    p = tf.abs(x) + 0.1
    small = tf.clip_by_value(x, -0.9, 0.9)
    return {
        "abs": tf.abs(x),
        "negative": -x,
        "sign": tf.sign(x),
        "square": tf.square(x),
        "sqrt": tf.sqrt(p),
        "rsqrt": tf.math.rsqrt(p),
        "exp": tf.exp(x),
        "expm1": tf.math.expm1(x),
        "log": tf.math.log(p),
        "log1p": tf.math.log1p(p),
        "sin": tf.sin(x),
        "cos": tf.cos(x),
        "tan": tf.tan(x),
        "asin": tf.asin(small),
        "acos": tf.acos(small),
        "atan": tf.atan(x),
        "sinh": tf.sinh(x),
        "cosh": tf.cosh(x),
        "tanh": tf.tanh(x),
        "asinh": tf.asinh(x),
        "acosh": tf.acosh(p + 1),
        "atanh": tf.atanh(small),
        "sigmoid": tf.sigmoid(x),
        "erf": tf.math.erf(x),
        "erfc": tf.math.erfc(x),
        "erfinv": tf.math.erfinv(small),
        "floor": tf.floor(x),
        "ceil": tf.math.ceil(x),
        "round": tf.round(x),
        "rint": tf.math.rint(x),
        "reciprocal": tf.math.reciprocal(p),
        "zeros": tf.zeros_like(x),
        "ones": tf.ones_like(x),
        "clip": tf.raw_ops.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=0.5),
    }


def activations(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "relu": tf.nn.relu(x),
        "relu6": tf.nn.relu6(x * 8),
        "elu": tf.nn.elu(x),
        "selu": tf.nn.selu(x),
        "softplus": tf.nn.softplus(x),
        "softsign": tf.nn.softsign(x),
        "leaky": tf.nn.leaky_relu(x, 0.3),
        "swish": tf.nn.swish(x),
        "gelu": tf.nn.gelu(x),
        "tanh_gelu": tf.nn.gelu(x, approximate=True),
        "softmax": tf.nn.softmax(x),
        "axis": tf.nn.softmax(x, 0),
        "log_softmax": tf.nn.log_softmax(x),
        "crelu": tf.nn.crelu(x),
    }


def casts(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        **{
            name: tf.cast(x * 20, name)
            for name in ("int8", "int16", "int32", "int64", "float16", "float32", "bool")
        },
        "unsigned": tf.cast(tf.abs(x) * 20, "uint8"),
        "back": tf.cast(tf.cast(x > 0, "int32"), "float32"),
        "saturated": tf.saturate_cast(x * 400, "int8"),
    }


def shapes(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Arithmetic on the sizes of an input whose batch is open."""
    batch, size = tf.shape(x)[0], tf.size(x)
    return {
        "flat": tf.reshape(x, [batch, -1]),
        "halved": tf.reshape(x, tf.stack([batch, tf.shape(x)[1] // 2, -1])),
        "wide": tf.expand_dims(x, -2),
        "narrow": tf.squeeze(tf.expand_dims(x, 1), 1),
        "transposed": tf.transpose(x, (2, 0, 1)),
        "sizes": tf.shape(x),
        "count": size,
        "rank": tf.rank(x),
        "filled": tf.fill([batch, 3], 2.5),
        "spread": tf.broadcast_to(x[:, :1], tf.shape(x)),
        "tiled": tf.tile(x, [1, 2, 1]),
        "counted": tf.range(batch),
        "zeros": tf.zeros(tf.concat([tf.shape(x)[:2], [5]], 0)),
        "numbers": tf.cast(batch, tf.float32) * x,
        "ordered": tf.range(2, 12, 3),
    }


def parts(x: tf.Tensor) -> dict[str, tf.Tensor]:
    first, second, third = tf.split(x, [2, 1, 3], axis=1)
    left, right = tf.split(x, 2, axis=2)
    return {
        "slice": tf.slice(x, [0, 1, 2], [-1, 3, 2]),
        "strided": x[:, ::2, 1:-1],
        "backwards": x[:, ::-1, -1],
        "new": x[:, tf.newaxis, ..., 0],
        "dots": x[..., 1:3],
        "first": first,
        "second": second,
        "third": third,
        "left": left,
        "right": right,
        "stacked": tf.stack(tf.unstack(x, axis=1), axis=-1),
        "joined": tf.concat([x, x[:, :2]], axis=1),
        "turned": tf.reverse(x, [1, 2]),
        "rolled": tf.roll(x, [1, -2], [1, 2]),
        "inner": x[:, 2],
        "end": x[:, -3:-1],
        "beyond": x[:, 2:100],
    }


def paddings(x: tf.Tensor) -> dict[str, tf.Tensor]:
    around = [[0, 0], [1, 2], [2, 0]]
    return {
        "zeros": tf.pad(x, around),
        "value": tf.pad(x, around, constant_values=3.5),
        "reflect": tf.pad(x, around, "REFLECT"),
        "symmetric": tf.pad(x, around, "SYMMETRIC"),
        "blocks": tf.space_to_batch(x[..., tf.newaxis], [2, 3], [[0, 0], [1, 0]]),
        "back": tf.batch_to_space(
            tf.tile(x[..., tf.newaxis], [6, 1, 1, 1]), [2, 3], [[1, 0], [0, 2]]
        ),
    }


def reductions(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "sum": tf.reduce_sum(x, 1),
        "kept": tf.reduce_sum(x, [1, 2], keepdims=True),
        "mean": tf.reduce_mean(x, -1),
        "max": tf.reduce_max(x, 1),
        "min": tf.reduce_min(x, 2),
        "product": tf.reduce_prod(x, 1),
        "all": tf.reduce_all(x > -1, 1),
        "any": tf.reduce_any(x > 1, [1, 2]),
        "norm": tf.norm(x, axis=1),
        "euclidean": tf.math.reduce_euclidean_norm(x, 1),
        "variance": tf.math.reduce_variance(x, 1),
        "logsumexp": tf.reduce_logsumexp(x, 1),
        "argmax": tf.argmax(x, 1),
        "argmin": tf.argmin(x, 2, tf.int32),
        "cumsum": tf.cumsum(x, 1),
        "exclusive": tf.cumsum(x, 1, exclusive=True, reverse=True),
        "cumprod": tf.math.cumprod(x, 2),
        "normalised": tf.math.l2_normalize(x, -1),
        "half": tf.nn.l2_loss(x),
    }


def products(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "batched": x @ y,
        "left": tf.matmul(x, y, transpose_a=False, transpose_b=False),
        "turned": tf.matmul(x, x, transpose_b=True),
        "both": tf.matmul(x, y, transpose_a=True, transpose_b=True)
        if x.shape[1] == y.shape[2]
        else x,
        "einsum": tf.einsum("bij,bjk->bki", x, y),
        "outer": tf.einsum("bi,bj->bij", x[:, 0], y[:, 0]),
        "dense": tf.matmul(x[:, 0], weights(5, 3)),
        "tensordot": tf.tensordot(x, weights(5, 2), 1),
        "band": tf.linalg.band_part(x, 1, 0),
        "diagonal": tf.linalg.diag_part(tf.matmul(x, x, transpose_b=True)),
        "trace": tf.linalg.trace(tf.matmul(x, x, transpose_b=True)),
    }


def lookups(x: tf.Tensor, index: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "rows": tf.gather(weights(10, 4), index),
        "axis": tf.gather(x, [2, 0, 1, 1], axis=1),
        "batched": tf.gather(x, index % 6, batch_dims=1),
        "later": tf.gather(x, index % 4, axis=2, batch_dims=1),
        "nd": tf.gather_nd(weights(10, 4), index[..., tf.newaxis]),
        "one_hot": tf.one_hot(index, 10),
        "between": tf.one_hot(index, 10, 2.0, -1.0, axis=1),
        "embedded": tf.nn.embedding_lookup(weights(10, 3), index),
        "scattered": tf.scatter_nd([[1], [3], [1]], weights(3, 4), [6, 4]),
        "updated": tf.tensor_scatter_nd_update(x[0], [[0], [2]], weights(2, 4)),
        "added": tf.tensor_scatter_nd_add(x[0], [[0], [2], [0]], weights(3, 4)),
        "best": tf.math.top_k(x, 2).values,
        "places": tf.math.top_k(x, 3).indices,
        "segments": tf.math.unsorted_segment_sum(weights(5, 2), [0, 2, 1, 2, 0], 4),
        "in_top": tf.math.in_top_k([1, 2], weights(2, 5), 2),
    }


def resizing(x: tf.Tensor) -> dict[str, tf.Tensor]:
    v1 = tf.compat.v1.image
    return {
        "bilinear": tf.image.resize(x, (11, 5)),
        "nearest": tf.image.resize(x, (17, 6), "nearest"),
        "bicubic": tf.image.resize(x, (11, 13), "bicubic"),
        "area": tf.image.resize(x, (4, 3), "area"),
        "corners": v1.resize_bilinear(x, (11, 5), align_corners=True),
        "old": v1.resize_bilinear(x, (11, 5)),
        "old_nearest": v1.resize_nearest_neighbor(x, (17, 6)),
        "corner_nearest": v1.resize_nearest_neighbor(x, (17, 6), align_corners=True),
        "twice": tf.image.resize(x, 2 * tf.shape(x)[1:3]),
    }


def pictures(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "flipped": tf.image.flip_left_right(x),
        "upside": tf.image.flip_up_down(x),
        "turned": tf.image.rot90(x),
        "cropped": tf.image.central_crop(x, 0.5),
        "padded": tf.image.pad_to_bounding_box(x, 1, 2, 14, 12),
        "grey": tf.image.rgb_to_grayscale(x),
        "patches": tf.image.extract_patches(x, (1, 3, 3, 1), (1, 2, 2, 1), (1, 1, 1, 1), "VALID"),
        "bright": tf.image.adjust_brightness(x, 0.2),
        "contrast": tf.image.adjust_contrast(x, 1.5),
        "standard": tf.image.per_image_standardization(x),
        "gamma": tf.image.adjust_gamma(x, 0.7),
        "resized": tf.image.resize_with_crop_or_pad(x, 6, 10),
    }


def conditions(x: tf.Tensor) -> dict[str, tf.Tensor]:
    total = tf.reduce_sum(x)
    chosen = tf.cond(total > 0, lambda: x * 2.0, lambda: x - 1.0)
    nested = tf.cond(
        total > 5, lambda: tf.cond(total > 9, lambda: x, lambda: -x), lambda: tf.zeros_like(x)
    )
    return {
        "chosen": chosen,
        "nested": nested,
        "switch": tf.switch_case(tf.cast(total > 0, tf.int32), [lambda: x + 1.0, lambda: x + 2.0]),
    }


def loops(x: tf.Tensor) -> dict[str, tf.Tensor]:
    def halve(value: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return value / 2.0, count + 1

    shrunk, count = tf.while_loop(
        lambda value, _: tf.reduce_max(tf.abs(value)) > 0.1, halve, (x, tf.constant(0))
    )
    _, fixed = tf.while_loop(
        lambda step, _: step < 5,
        lambda step, value: (step + 1, value + tf.cast(step, tf.float32)),
        (0, x),
    )
    return {"shrunk": shrunk, "count": count, "fixed": fixed}


def nested(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Loops in loops, conditions in loops, and a loop on a condition."""

    def row(number: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        _, inner = tf.while_loop(
            lambda place, _: place < 3,
            lambda place, value: (place + 1, value + x[number, place]),
            (0, 0.0),
        )
        return number + 1, total + tf.cond(inner > 0, lambda: inner, lambda: inner * 0.5)

    _, total = tf.while_loop(lambda number, _: number < tf.shape(x)[0], row, (0, 0.0))
    started = tf.cond(
        total > 0,
        lambda: tf.while_loop(
            lambda value: value < 50.0, lambda value: (value * 2.0 + 1.0,), (total,)
        ),
        lambda: (total,),
    )
    return {"total": total, "started": started[0] if isinstance(started, tuple | list) else started}


def called(x: tf.Tensor) -> dict[str, tf.Tensor]:
    @tf.function
    def inner(value: tf.Tensor, factor: float) -> tuple[tf.Tensor, tf.Tensor]:
        return value * factor, tf.reduce_sum(value)

    first, total = inner(x, 2.0)
    second, _ = inner(first, 3.0)
    return {"first": first, "second": second, "total": total}


def solved(x: tf.Tensor) -> dict[str, tf.Tensor]:
    square = tf.matmul(x, x, transpose_b=True) + 2.0 * tf.eye(4)
    return {
        "cholesky": tf.linalg.cholesky(square),
        "inverse": tf.linalg.inv(square),
        "determinant": tf.linalg.det(square),
        "solved": tf.linalg.solve(square, x),
        "triangular": tf.linalg.triangular_solve(tf.linalg.cholesky(square), x),
        "diagonal": tf.linalg.diag(x[:, 0]),
        "cross": tf.linalg.cross(x[..., :3], x[..., 1:4]),
    }


def boxes(x: tf.Tensor, corners: tf.Tensor) -> dict[str, tf.Tensor]:
    scores = tf.constant([0.9, 0.2, 0.75, 0.6])
    placed = tf.concat([corners[:, :2], corners[:, :2] + tf.abs(corners[:, 2:]) + 0.1], 1)
    limits = {
        "boxes": placed,
        "scores": scores,
        "max_output_size": 4,
        "iou_threshold": 0.3,
        "score_threshold": 0.5,
        "pad_to_max_output_size": True,
    }
    padded, count = tf.raw_ops.NonMaxSuppressionV4(**limits)
    chosen, best, _ = tf.raw_ops.NonMaxSuppressionV5(**limits, soft_nms_sigma=0.0)
    return {
        "crops": tf.image.crop_and_resize(x, placed, [0, 1, 1, 0], (4, 5)),
        "nearest": tf.image.crop_and_resize(x, placed, [0, 1, 1, 0], (3, 3), "nearest", 0.5),
        "one": tf.image.crop_and_resize(x, placed, [1, 1, 0, 0], (1, 2)),
        "chosen": tf.image.non_max_suppression(placed, scores, 3, 0.4, 0.1),
        "padded": padded,
        "count": count,
        "numbers": chosen,
        "best": best,
        "hsv": tf.image.rgb_to_hsv(tf.abs(x)),
        "rgb": tf.image.hsv_to_rgb(tf.clip_by_value(tf.abs(x), 0.0, 1.0)),
        "hue": tf.image.adjust_hue(tf.abs(x), 0.3),
        "saturation": tf.image.adjust_saturation(tf.abs(x), 0.4),
    }


def searched(x: tf.Tensor, index: tf.Tensor) -> dict[str, tf.Tensor]:
    values, places = tf.unique(tf.reshape(index, [-1]))
    return {
        "where": tf.where(x > 0.5),
        "masked": tf.boolean_mask(x, x[:, 0, 0] > 0),
        "values": values,
        "places": places,
        "reversed": tf.reverse_sequence(x, [2, 5], seq_axis=1, batch_axis=0),
        "time_first": tf.reverse_sequence(
            tf.transpose(x, (1, 0, 2)), [2, 5], seq_axis=0, batch_axis=1
        ),
        "buckets": tf.raw_ops.Bucketize(input=x, boundaries=[-0.5, 0.0, 0.7]),
        "inverted": tf.math.invert_permutation([2, 0, 3, 1]),
        "lower": tf.searchsorted([[-1.0, 0.0, 0.5, 2.0], [0.0, 0.1, 0.2, 0.3]], x[:, :, 0]),
        "upper": tf.searchsorted(
            [[-1.0, 0.0, 0.5, 2.0], [0.0, 0.0, 0.2, 0.3]], x[:, :, 1], "right"
        ),
    }


def quantised(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "args": tf.quantization.fake_quant_with_min_max_args(x, -1.0, 2.0),
        "bits": tf.quantization.fake_quant_with_min_max_vars(x, -1.1, 0.9, 4),
        "narrow": tf.quantization.fake_quant_with_min_max_vars(x, 0.2, 1.5, 8, narrow_range=True),
        "channels": tf.quantization.fake_quant_with_min_max_vars_per_channel(
            x, [-1.0, -0.5, -2.0], [1.0, 0.7, 2.0]
        ),
    }


GRAPHS: Mapping[str, Graph] = {
    "boxes": (boxes, [((2, 8, 7, 3), "float32"), ((4, 4), "float32")]),
    "searched": (searched, [((2, 6, 4), "float32"), ((2, 3), "int32")]),
    "quantised": (quantised, images(None, 3)),
    "convolutions": (convolutions, images(None, 9, 8, 4)),
    "depthwise": (depthwise, images(None, 9, 8, 4)),
    "transposed": (transposed, images(None, 9, 7, 4)),
    "volumes": (volumes, images(None, 5, 6, 7, 3)),
    "pools": (pools, images(None, 9, 8, 4)),
    "norms": (norms, images(None, 5, 6, 4)),
    "layouts": (layouts, images(None, 9, 6, 4)),
    "arithmetic": (arithmetic, [((None, 5), "float32"), ((5,), "float32")]),
    "integers": (integers, [((None, 6), "int32"), ((None, 6), "int32")]),
    "wide_integers": (integers, [((None, 6), "int64"), ((None, 6), "int64")]),
    "comparisons": (comparisons, [((None, 5), "float32"), ((None, 5), "float32")]),
    "functions": (functions, images(None, 7)),
    "activations": (activations, images(None, 7)),
    "casts": (casts, images(None, 7)),
    "shapes": (shapes, images(None, 6, 4)),
    "parts": (parts, images(None, 6, 4)),
    "paddings": (paddings, images(None, 6, 5)),
    "reductions": (reductions, images(None, 6, 4)),
    "products": (products, [((None, 4, 5), "float32"), ((None, 5, 3), "float32")]),
    "lookups": (lookups, [((2, 6, 4), "float32"), ((2, 3), "int32")]),
    "resizing": (resizing, images(None, 8, 7, 3)),
    "pictures": (pictures, images(2, 8, 7, 3)),
    "conditions": (conditions, images(3, 4)),
    "joined": (joined, images(None, None, None, 3)),
    "cornered": (cornered, images(None, None, None, 2)),
    "chosen": (chosen, [((None, None, 4), "float32"), ((None, None, 2), "float32")]),
    "loops": (loops, images(3, 4)),
    "called": (called, images(None, 4)),
    "nested": (nested, images(3, 4)),
    "solved": (solved, images(None, 4, 5)),
}


def sample(shape: Shape, dtype: str, number: int) -> np.ndarray:
    """Numbers of both signs; whole ones from -9 to 9 without 0 in the second operand, from 0 where
    they are indices.
    """
    sizes = [3 if size is None else size for size in shape]
    rng = np.random.default_rng(number)
    if dtype.startswith("int"):
        return (
            rng.integers(1, 9, sizes)
            * (rng.integers(0, 2, sizes) * 2 - 1 if len(sizes) == 2 and sizes[1] == 6 else 1)
        ).astype(dtype)
    return rng.normal(0, 1, sizes).astype(dtype)
