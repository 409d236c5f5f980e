"""Graphs over operators of images: convolutions, pooling, resizing, boxes."""

from collections.abc import Mapping

import tensorflow as tf

from tests.frontends.tensorflow.graph_inputs import Graph, images, weights


def convolutions(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Strides, dilations, groups, and every kind of padding."""
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
    """An encoder of strided convolutions, and a decoder that upsamples to the sizes of its levels.
    Padding `SAME` crops odd sizes more at the start, which changes the taps of the kernel.
    """
    levels = [tf.tile(x, [1, 3, 4, 1])]
    for _ in range(3):
        levels.append(tf.nn.relu(tf.nn.conv2d(levels[-1], weights(3, 3, 3, 3), 2, "SAME")))
    y = levels[-1]
    for size, level in zip((4, 3, 5), levels[-2::-1], strict=True):
        y = level + tf.nn.conv2d_transpose(y, weights(size, size, 3, 3), tf.shape(level), 2, "SAME")
    return {"y": y}


def cornered(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Resizing with aligned corners to dynamic sizes, which may be 1."""
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
    """A maximum of boxes above their number."""
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
    """Operators on `NCHW` that TensorFlow also computes on CPUs, and blocks of `NHWC`."""
    first = tf.transpose(x, (0, 3, 1, 2))
    biased = tf.nn.bias_add(first, weights(4), data_format="NCHW")
    return {
        "bias": biased,
        "depth": tf.nn.depth_to_space(x, 2),
        "space": tf.nn.space_to_depth(x[:, :8, :6], 2),
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


def quantised(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "args": tf.quantization.fake_quant_with_min_max_args(x, -1.0, 2.0),
        "bits": tf.quantization.fake_quant_with_min_max_vars(x, -1.1, 0.9, 4),
        "narrow": tf.quantization.fake_quant_with_min_max_vars(x, 0.2, 1.5, 8, narrow_range=True),
        "channels": tf.quantization.fake_quant_with_min_max_vars_per_channel(
            x, [-1.0, -0.5, -2.0], [1.0, 0.7, 2.0]
        ),
    }


IMAGE_GRAPHS: Mapping[str, Graph] = {
    "boxes": (boxes, [((2, 8, 7, 3), "float32"), ((4, 4), "float32")]),
    "quantised": (quantised, images(None, 3)),
    "convolutions": (convolutions, images(None, 9, 8, 4)),
    "depthwise": (depthwise, images(None, 9, 8, 4)),
    "transposed": (transposed, images(None, 9, 7, 4)),
    "volumes": (volumes, images(None, 5, 6, 7, 3)),
    "pools": (pools, images(None, 9, 8, 4)),
    "norms": (norms, images(None, 5, 6, 4)),
    "layouts": (layouts, images(None, 9, 6, 4)),
    "resizing": (resizing, images(None, 8, 7, 3)),
    "pictures": (pictures, images(2, 8, 7, 3)),
    "joined": (joined, images(None, None, None, 3)),
    "cornered": (cornered, images(None, None, None, 2)),
    "chosen": (chosen, [((None, None, 4), "float32"), ((None, None, 2), "float32")]),
}
