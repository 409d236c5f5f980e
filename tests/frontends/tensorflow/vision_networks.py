"""Blocks of known networks over images and volumes."""

from collections.abc import Mapping

import tensorflow as tf

from tests.frontends.tensorflow.graph_inputs import Graph, images, weights
from tests.frontends.tensorflow.layers import Tensors, attention, block, dense


def residual(x: tf.Tensor) -> Tensors:
    """Like ResNet: a convolution, a pool, bottlenecks, a mean."""

    def unit(x: tf.Tensor, filters: int, stride: int) -> tf.Tensor:
        short = tf.nn.conv2d(x, weights(1, 1, int(x.shape[-1]), filters * 2), stride, "VALID")
        y = tf.nn.relu(tf.nn.conv2d(x, weights(1, 1, int(x.shape[-1]), filters), 1, "SAME"))
        y = tf.nn.relu(tf.nn.conv2d(y, weights(3, 3, filters, filters), stride, "SAME"))
        return tf.nn.relu(
            short + tf.nn.conv2d(y, weights(1, 1, filters, filters * 2), 1, "SAME") * 0.2
        )

    x = tf.nn.max_pool2d(
        tf.nn.relu(
            tf.nn.conv2d(
                tf.pad(x, [[0, 0], [3, 3], [3, 3], [0, 0]]), weights(7, 7, 3, 4), 2, "VALID"
            )
        ),
        3,
        2,
        "SAME",
    )
    x = unit(unit(x, 4, 1), 4, 2)
    return {"y": tf.nn.softmax(dense(tf.reduce_mean(x, [1, 2]), 5))}


def mobile(x: tf.Tensor) -> Tensors:
    """Like MobileNetV3: expansion, depthwise, squeeze and excitation, hard swish."""

    def swish(x: tf.Tensor) -> tf.Tensor:
        return x * tf.nn.relu6(x + 3.0) * (1.0 / 6.0)

    def unit(x: tf.Tensor, width: int, out: int, stride: int) -> tf.Tensor:
        y = swish(tf.nn.conv2d(x, weights(1, 1, int(x.shape[-1]), width), 1, "SAME"))
        y = swish(
            tf.nn.depthwise_conv2d(y, weights(5, 5, width, 1), (1, stride, stride, 1), "SAME")
        )
        squeezed = tf.reduce_mean(y, [1, 2], keepdims=True)
        gate = (
            tf.nn.relu6(
                tf.nn.conv2d(
                    tf.nn.relu(tf.nn.conv2d(squeezed, weights(1, 1, width, 2), 1, "SAME")),
                    weights(1, 1, 2, width),
                    1,
                    "SAME",
                )
                + 3.0
            )
            / 6.0
        )
        y = tf.nn.conv2d(y * gate, weights(1, 1, width, out), 1, "SAME")
        return x + y if stride == 1 and out == x.shape[-1] else y

    x = unit(unit(swish(tf.nn.conv2d(x, weights(3, 3, 3, 4), 2, "SAME")), 8, 4, 1), 8, 6, 2)
    return {"features": x, "y": dense(tf.reduce_mean(x, [1, 2]), 3)}


def segmented(x: tf.Tensor) -> Tensors:
    """Like U-Net: downsampling, upsampling, and a skip connection."""
    first = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 3, 4), 1, "SAME"))
    second = tf.nn.relu(
        tf.nn.conv2d(tf.nn.max_pool2d(first, 2, 2, "VALID"), weights(3, 3, 4, 6), 1, "SAME")
    )
    shape = tf.shape(first)
    up = tf.nn.conv2d_transpose(
        second, weights(2, 2, 4, 6), tf.stack([shape[0], shape[1], shape[2], 4]), 2, "SAME"
    )
    joined = tf.nn.relu(tf.nn.conv2d(tf.concat([first, up], -1), weights(3, 3, 8, 4), 1, "SAME"))
    larger = tf.image.resize(joined, [shape[1] * 2, shape[2] * 2])
    return {
        "mask": tf.sigmoid(tf.nn.conv2d(larger, weights(1, 1, 4, 2), 1, "SAME")),
        "label": tf.argmax(joined, -1, tf.int32),
    }


def scanned_volume(x: tf.Tensor) -> Tensors:
    """Like U-Net in three dimensions."""
    first = tf.nn.elu(tf.nn.conv3d(x, weights(3, 3, 3, 1, 2), [1] * 5, "SAME"))
    second = tf.nn.elu(
        tf.nn.conv3d(tf.nn.max_pool3d(first, 2, 2, "SAME"), weights(3, 3, 3, 2, 4), [1] * 5, "SAME")
    )
    up = tf.nn.conv3d_transpose(second, weights(2, 2, 2, 2, 4), tf.shape(first), 2, "SAME")
    return {
        "y": tf.sigmoid(
            tf.nn.conv3d(tf.concat([first, up], -1), weights(1, 1, 1, 4, 1), [1] * 5, "SAME")
        )
    }


def detected(x: tf.Tensor) -> Tensors:
    """Like YOLO: boxes from a grid and anchors, and the best boxes of every label."""
    grid = tf.nn.conv2d(x, weights(3, 3, 3, 2 * 7), 2, "SAME")
    shape = tf.shape(grid)
    rows, columns = tf.meshgrid(
        tf.range(shape[1], dtype=tf.float32), tf.range(shape[2], dtype=tf.float32), indexing="ij"
    )
    cells = tf.stack([columns, rows], -1)[None, :, :, None]
    grid = tf.reshape(grid, [shape[0], shape[1], shape[2], 2, 7])
    sizes = tf.cast(tf.stack([shape[2], shape[1]]), tf.float32)
    center = (tf.sigmoid(grid[..., :2]) + cells) / sizes
    extent = (
        tf.exp(tf.clip_by_value(grid[..., 2:4], -4.0, 1.0))
        * tf.constant([[1.5, 2.0], [3.0, 1.0]])
        / sizes
    )
    boxes = tf.reshape(
        tf.concat([center - extent / 2.0, center + extent / 2.0], -1), [shape[0], -1, 4]
    )
    scores = tf.reshape(
        tf.sigmoid(grid[..., 4:5]) * tf.nn.softmax(grid[..., 5:]), [shape[0], -1, 2]
    )
    corners = tf.gather(boxes, [1, 0, 3, 2], axis=-1)
    best = tf.image.combined_non_max_suppression(corners[:, :, None], scores, 3, 5, 0.4, 0.2)
    each = tf.image.combined_non_max_suppression(
        tf.stack([corners, corners + 0.02], 2),
        scores,
        4,
        6,
        0.5,
        0.1,
        pad_per_class=True,
        clip_boxes=False,
    )
    return {
        "boxes": best[0],
        "scores": best[1],
        "labels": best[2],
        "count": best[3],
        "own": each[0],
        "own_scores": each[1],
        "own_labels": each[2],
    }


def routed(x: tf.Tensor) -> Tensors:
    """Capsules with three iterations of routing by agreement."""
    votes = tf.einsum("bic,iojc->bioj", x, weights(6, 3, 5, 4))
    logits = tf.zeros_like(votes[..., 0])
    for _ in range(3):
        mixed = tf.einsum("bio,bioj->boj", tf.nn.softmax(logits, -1), votes)
        size = tf.reduce_sum(tf.square(mixed), -1, keepdims=True)
        out = mixed * size / (1.0 + size) * tf.math.rsqrt(size + 1e-7)
        logits += tf.einsum("bioj,boj->bio", votes, out)
    return {"capsules": out, "lengths": tf.norm(out, axis=-1)}


def styled(x: tf.Tensor) -> Tensors:
    """Reflected borders, instance and group normalisation, and upsampling by nearest neighbours and
    by `depth_to_space`.
    """
    padded = tf.pad(x, [[0, 0], [2, 2], [2, 2], [0, 0]], "REFLECT")
    y = tf.nn.conv2d(padded, weights(5, 5, 3, 8), 1, "VALID")
    mean, variance = tf.nn.moments(y, [1, 2], keepdims=True)
    y = tf.nn.relu((y - mean) * tf.math.rsqrt(variance + 1e-5) * weights(8))
    shape = tf.shape(y)
    groups = tf.reshape(y, [shape[0], shape[1], shape[2], 2, 4])
    mean, variance = tf.nn.moments(groups, [1, 2, 4], keepdims=True)
    y = tf.reshape((groups - mean) / tf.sqrt(variance + 1e-5), shape)
    return {
        "shuffled": tf.nn.depth_to_space(y, 2),
        "up": tf.image.resize(y, [12, 14], "nearest"),
        "gram": tf.einsum("bhwc,bhwd->bcd", y, y),
    }


def patched(x: tf.Tensor) -> Tensors:
    """Like ViT: patches, a class token and attention; like Swin: attention within windows."""
    shape = tf.shape(x)
    patches = tf.reshape(
        tf.image.extract_patches(x, [1, 4, 4, 1], [1, 4, 4, 1], [1, 1, 1, 1], "VALID"),
        [shape[0], 4, 48],
    )
    tokens = tf.concat(
        [tf.tile(weights(1, 8)[None], [shape[0], 1, 1]), dense(patches, 8)], 1
    ) + weights(5, 8)
    windows = tf.reshape(
        tf.transpose(tf.reshape(x, [shape[0], 2, 4, 2, 4, 3]), [0, 1, 3, 2, 4, 5]), [-1, 16, 3]
    )
    rolled = tf.roll(x, [-2, -2], [1, 2])
    return {
        "y": dense(block(tokens)[:, 0], 3),
        "windows": attention(dense(windows, 4), dense(windows, 4), 2),
        "turned": tf.nn.space_to_depth(rolled, 2),
    }


def pyramid(x: tf.Tensor) -> Tensors:
    """A sum of features of several sizes, pooled into bins."""
    levels = [x]
    for _ in range(2):
        levels.append(tf.nn.relu(tf.nn.conv2d(levels[-1], weights(3, 3, 4, 4), 2, "SAME")))
    merged = levels[-1]
    for level in reversed(levels[:-1]):
        shape = tf.shape(level)
        merged = tf.image.resize(merged, shape[1:3]) + tf.nn.conv2d(
            level, weights(1, 1, 4, 4), 1, "SAME"
        )
    bins = tf.concat(
        [
            tf.reshape(tf.image.resize(merged, [size, size], "area"), [-1, size * size * 4])
            for size in (1, 2, 4)
        ],
        1,
    )
    return {
        "merged": merged,
        "bins": bins,
        "cubic": tf.image.resize(x, [5, 9], "bicubic"),
        "lanczos": tf.image.resize_with_crop_or_pad(x, 6, 14),
    }


VISION_NETWORKS: Mapping[str, Graph] = {
    "pyramid": (pyramid, images(None, 8, 12, 4)),
    "residual": (residual, images(None, 32, 24, 3)),
    "mobile": (mobile, images(None, 16, 12, 3)),
    "segmented": (segmented, images(None, 8, 12, 3)),
    "scanned_volume": (scanned_volume, images(None, 4, 6, 8, 1)),
    "detected": (detected, images(2, 8, 6, 3)),
    "routed": (routed, images(None, 6, 4)),
    "styled": (styled, images(None, 8, 6, 3)),
    "patched": (patched, images(None, 8, 8, 3)),
}
