"""Networks for images and volumes, in raw TensorFlow."""

from collections.abc import Sequence

import tensorflow as tf

from tests.families.tensorflow_parts import Tensors, Weights, conv_block

ANCHORS = (
    ((10, 13), (16, 30), (33, 23)),
    ((30, 61), (62, 45), (59, 119)),
    ((116, 90), (156, 198), (373, 326)),
)
STRIDES = (8, 16, 32)
CLASSES = 80


def unet(w: Weights, x: tf.Tensor, widths: Sequence[int], labels: int) -> Tensors:
    """U-Net (Ronneberger et al. 2015; Cicek et al. 2016 for volumes): max pooling down, transposed
    convolutions up, concatenated skips.
    """
    rank = len(x.shape) - 2
    skips = []
    for level, width in enumerate(widths):
        if level:
            x = tf.nn.max_pool(x, 2, 2, "VALID")
        for number in range(2):
            x = conv_block(w, f"down{level}/{number}", x, width, activation=tf.nn.relu)
        skips.append(x)
    for level, width in reversed(list(enumerate(widths[:-1]))):
        kernel = w.kernel(
            f"up{level}/kernel",
            *(2,) * rank,
            width,
            int(x.shape[-1]),
            gain=1.0,
            products=int(x.shape[-1]),
        )
        shape = tf.concat([tf.shape(skips[level])[:-1], [width]], 0)
        up = tf.nn.bias_add(
            tf.nn.conv_transpose(x, kernel, shape, 2, "SAME"), w.vector(f"up{level}/bias", width)
        )
        x = tf.concat([skips[level], up], -1)
        for number in range(2):
            x = conv_block(w, f"up{level}/{number}", x, width, activation=tf.nn.relu)
    logits = tf.nn.convolution(
        x, w.kernel("logits/kernel", *(1,) * rank, int(x.shape[-1]), labels), 1, "SAME"
    )
    return {"logits": tf.nn.bias_add(logits, w.vector("logits/bias", labels))}


def unet_2d(w: Weights, image: tf.Tensor) -> Tensors:
    return unet(w, image, (32, 64, 128, 256, 512), 21)


def unet_3d(w: Weights, volume: tf.Tensor) -> Tensors:
    return unet(w, volume, (32, 64, 128, 256), 4)


def _partial_stage(
    w: Weights, name: str, x: tf.Tensor, filters: int, depth: int, *, adds: bool = True
) -> tf.Tensor:
    """One half passes bottlenecks, the other skips them (Wang et al. 2020, CSPNet)."""
    inner = conv_block(w, f"{name}/in", x, filters // 2, 1)
    for number in range(depth):
        residual = conv_block(
            w,
            f"{name}/{number}/wide",
            conv_block(w, f"{name}/{number}/narrow", inner, filters // 2, 1),
            filters // 2,
        )
        inner = inner + residual if adds else residual
    return conv_block(
        w,
        f"{name}/out",
        tf.concat([inner, conv_block(w, f"{name}/by", x, filters // 2, 1)], -1),
        filters,
        1,
    )


def _pool_pyramid(w: Weights, name: str, x: tf.Tensor) -> tf.Tensor:
    filters = int(x.shape[-1])
    levels = [conv_block(w, f"{name}/in", x, filters // 2, 1)]
    levels += [tf.nn.max_pool2d(levels[0], size, 1, "SAME") for size in (5, 9, 13)]
    return conv_block(w, f"{name}/out", tf.concat(levels, -1), filters, 1)


def _upsample(x: tf.Tensor) -> tf.Tensor:
    return tf.image.resize(x, tf.shape(x)[1:3] * 2, "nearest")


def _decode_boxes(
    w: Weights, name: str, x: tf.Tensor, anchors: Sequence[Sequence[int]], stride: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """The corners [N,B,4] of boxes in pixels, and the scores [N,B,C] of their labels."""
    count = len(anchors)
    kernel = w.kernel(f"{name}/kernel", 1, 1, int(x.shape[-1]), count * (5 + CLASSES), gain=4.0)
    predictions = tf.nn.bias_add(
        tf.nn.conv2d(x, kernel, 1, "SAME"), w.vector(f"{name}/bias", count * (5 + CLASSES))
    )
    shape = tf.shape(predictions)
    predictions = tf.sigmoid(
        tf.reshape(predictions, [shape[0], shape[1], shape[2], count, 5 + CLASSES])
    )
    columns, rows = tf.meshgrid(tf.range(shape[2]), tf.range(shape[1]))
    cells = tf.cast(tf.stack([columns, rows], -1), tf.float32)[None, :, :, None]
    centres = (predictions[..., 0:2] * 2.0 - 0.5 + cells) * float(stride)
    sizes = tf.square(predictions[..., 2:4] * 2.0) * tf.constant(anchors, tf.float32)
    corners = tf.concat(
        [(centres - sizes / 2.0)[..., ::-1], (centres + sizes / 2.0)[..., ::-1]], -1
    )
    return tf.reshape(corners, [shape[0], -1, 4]), tf.reshape(
        predictions[..., 4:5] * predictions[..., 5:], [shape[0], -1, CLASSES]
    )


def yolo_boxes(w: Weights, image: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """YOLOv5n up to its boxes in 0..1 and their scores: a backbone of partial stages, a feature
    pyramid up and down, three cell sizes.
    """
    x = conv_block(w, "stem", tf.cast(image, tf.float32) / 255.0, 16, 6, 2)
    levels = []
    for number, (width, depth) in enumerate(((32, 1), (64, 2), (128, 3), (256, 1))):
        x = _partial_stage(
            w, f"stage{number}", conv_block(w, f"stage{number}/down", x, width, 3, 2), width, depth
        )
        levels.append(x)
    top = conv_block(w, "top", _pool_pyramid(w, "pooled", x), 128, 1)
    middle = _partial_stage(
        w, "up1", tf.concat([_upsample(top), levels[2]], -1), 128, 1, adds=False
    )
    middle = conv_block(w, "middle", middle, 64, 1)
    fine = _partial_stage(
        w, "up2", tf.concat([_upsample(middle), levels[1]], -1), 64, 1, adds=False
    )
    middle = _partial_stage(
        w,
        "down1",
        tf.concat([conv_block(w, "fine/down", fine, 64, 3, 2), middle], -1),
        128,
        1,
        adds=False,
    )
    coarse = _partial_stage(
        w,
        "down2",
        tf.concat([conv_block(w, "middle/down", middle, 128, 3, 2), top], -1),
        256,
        1,
        adds=False,
    )
    heads = zip((fine, middle, coarse), ANCHORS, STRIDES, strict=True)
    boxes, scores = zip(
        *(
            _decode_boxes(w, f"head{stride}", level, anchors, stride)
            for level, anchors, stride in heads
        ),
        strict=True,
    )
    size = tf.cast(tf.shape(image)[1:3], tf.float32)
    return tf.concat(boxes, 1) / tf.concat([size, size], 0), tf.concat(scores, 1)


def yolo(w: Weights, image: tf.Tensor) -> Tensors:
    """The best boxes of every label of each image."""
    boxes, scores = yolo_boxes(w, image)
    best = tf.image.combined_non_max_suppression(boxes[:, :, None], scores, 10, 40, 0.45, 0.5)
    return {"boxes": best[0], "scores": best[1], "labels": best[2], "count": best[3]}


def yolo_of_one(w: Weights, image: tf.Tensor) -> Tensors:
    """The best boxes of one image, regardless of label; their number depends on the image."""
    boxes, scores = yolo_boxes(w, image)
    most = tf.reduce_max(scores[0], 1)
    best = tf.image.non_max_suppression(boxes[0], most, 30, 0.45, 0.5)
    return {
        "boxes": tf.gather(boxes[0], best),
        "scores": tf.gather(most, best),
        "labels": tf.gather(tf.argmax(scores[0], 1), best),
    }
