"""Networks over pictures and video."""

from collections.abc import Callable

import keras
import tensorflow as tf

from tests.frontends.tensorflow.web_layers import (
    Called,
    Tensors,
    constant,
    convolved,
    draw,
    resized,
    separated,
    spec,
)

layers = keras.layers


def mobilenet_v2() -> keras.Model:
    return draw(
        keras.applications.MobileNetV2((64, 64, 3), alpha=0.35, weights=None, classes=10), 1
    )


def mobilenet_v3() -> keras.Model:
    """Without a head, of open sizes. It rescales its input itself."""
    return draw(
        keras.applications.MobileNetV3Small(
            (None, None, 3), alpha=0.25, include_top=False, weights=None, pooling="avg"
        ),
        2,
    )


def backbone(image: keras.KerasTensor, width: int = 8) -> list[keras.KerasTensor]:
    """The levels of stride 8 and 16 of a narrow MobileNet."""
    x = convolved(image, width, strides=2, activation="relu6")
    x = separated(separated(x, 2 * width), 2 * width, 2)
    x = first = separated(separated(x, 2 * width, 2), 4 * width)
    return [first, separated(separated(x, 4 * width, 2), 4 * width, dilation=2)]


KEYPOINTS = 17
EDGES = [(0, 1), (1, 3), (0, 2), (2, 4), (0, 5), (5, 7), (7, 9), (5, 11)]


def posenet() -> Called:
    """PoseNet (Papandreou et al. 2018), with the decoding of one pose in the graph."""
    image = layers.Input((None, None, 3))
    x = backbone(image)[-1]
    heads = [
        layers.Conv2D(channels, 1, name=name)(x)
        for name, channels in (
            ("heatmaps", KEYPOINTS),
            ("offsets", 2 * KEYPOINTS),
            ("forwards", 2 * len(EDGES)),
            ("backwards", 2 * len(EDGES)),
        )
    ]
    model = draw(keras.Model(image, heads), 3)

    def decode(image: tf.Tensor) -> Tensors:
        heatmaps, offsets, forwards, backwards = model(image * (2.0 / 255.0) - 1.0)
        scores = tf.sigmoid(heatmaps)[0]
        shape = tf.shape(scores)
        flat = tf.reshape(scores, [shape[0] * shape[1], KEYPOINTS])
        best = tf.argmax(flat, 0, tf.int32)
        row, column, part = best // shape[1], best % shape[1], tf.range(KEYPOINTS)
        offset = tf.stack(
            [
                tf.gather_nd(offsets[0], tf.stack([row, column, part + shift], 1))
                for shift in (0, KEYPOINTS)
            ],
            1,
        )
        points = tf.cast(tf.stack([row, column], 1) * 16, tf.float32) + offset
        found = tf.gather_nd(scores, tf.stack([row, column, part], 1))
        order = tf.argsort(found, direction="DESCENDING")
        return {
            "heatmaps": scores,
            "displacements": tf.concat([forwards, backwards], 3),
            "keypoints": tf.gather(points, order),
            "parts": order,
            "scores": tf.gather(found, order),
        }

    return Called(decode, {"image": spec("image", 1, None, None, 3)}, model)


def anchors(sizes: list[int], scales: list[list[float]]) -> tf.Tensor:
    """Centres and sizes [N, 4] of boxes over the cells of square levels."""
    rows = []
    for size, level in zip(sizes, scales, strict=True):
        for y in range(size):
            for x in range(size):
                rows += [
                    [(y + 0.5) / size, (x + 0.5) / size, s, s * r]
                    for s, r in ((scale, ratio) for scale in level for ratio in (1.0, 0.5))
                ]
    return tf.constant(rows, tf.float32)


def boxes_of(codes: tf.Tensor, centres: tf.Tensor) -> tf.Tensor:
    """Decode [B, N, 4] offsets with the box coder of Faster R-CNN."""
    ty, tx, th, tw = tf.unstack(codes / [10.0, 10.0, 5.0, 5.0], axis=-1)
    cy, cx, height, width = tf.unstack(centres, axis=-1)
    h, w = tf.exp(th) * height, tf.exp(tw) * width
    y, x = ty * height + cy, tx * width + cx
    return tf.stack([y - h / 2, x - w / 2, y + h / 2, x + w / 2], -1)


def ssd(combined: bool) -> Callable[[], Called]:
    """SSD (Liu et al. 2016). Its input is a batch of 8-bit pictures of any size, as of models of
    the Object Detection API.
    """
    classes = 4

    def build() -> Called:
        image = layers.Input((64, 64, 3))
        levels = backbone(image)
        levels.append(separated(levels[-1], 32, 2))
        outputs = []
        for level in levels:
            for size in (4, classes + 1):
                head = layers.Conv2D(4 * size, 3, padding="same")(level)
                outputs.append(layers.Reshape((-1, size))(head))
        codes, logits = (layers.Concatenate(1)(outputs[first::2]) for first in (0, 1))
        model = draw(keras.Model(image, [codes, logits]), 4)
        centres = anchors([8, 4, 2], [[0.1, 0.2], [0.3, 0.4], [0.6, 0.8]])

        def prepared(image: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            pictures = tf.image.resize(tf.cast(image, tf.float32), [64, 64])
            codes, logits = model(pictures / 127.5 - 1.0)
            return boxes_of(codes, centres), tf.nn.softmax(logits)[:, :, 1:]

        def at_once(image: tf.Tensor) -> Tensors:
            boxes, scores = prepared(image)
            found = tf.image.combined_non_max_suppression(
                boxes[:, :, None], scores, 5, 12, 0.5, 0.3, clip_boxes=True
            )
            return {
                "detection_boxes": found[0],
                "detection_scores": found[1],
                "detection_classes": found[2] + 1.0,
                "num_detections": found[3],
                "raw_detection_boxes": boxes,
                "raw_detection_scores": scores,
            }

        def of_one(boxes_and_scores: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, ...]:
            boxes, scores = boxes_and_scores
            found = []
            for kind in range(classes):
                chosen, kept = tf.image.non_max_suppression_with_scores(
                    boxes, scores[:, kind], 5, 0.5, 0.3
                )
                found.append((tf.gather(boxes, chosen), kept, tf.fill(tf.shape(kept), kind)))
            boxes, scores, kinds = (tf.concat(part, 0) for part in zip(*found, strict=True))
            count = tf.minimum(tf.shape(scores)[0], 12)
            scores, order = tf.math.top_k(scores, count)
            rest = [0, 12 - count]
            return (
                tf.ensure_shape(tf.pad(tf.gather(boxes, order), [rest, [0, 0]]), [12, 4]),
                tf.ensure_shape(tf.pad(scores, [rest]), [12]),
                tf.ensure_shape(tf.pad(tf.gather(kinds, order) + 1, [rest]), [12]),
                count,
            )

        def by_class(image: tf.Tensor) -> Tensors:
            types = (tf.float32, tf.float32, tf.int32, tf.int32)
            found = tf.map_fn(of_one, prepared(image), fn_output_signature=types)
            names = ("detection_boxes", "detection_scores", "detection_classes", "num_detections")
            return dict(zip(names, found, strict=True))

        function = at_once if combined else by_class
        return Called(function, {"image": spec("image", None, None, None, 3, dtype="uint8")}, model)

    return build


def gated(x: tf.Tensor, state: tf.Tensor) -> tf.Tensor:
    """A convolutional GRU (Ballas et al. 2016). A state of one element fits all sizes."""
    channels = int(x.shape[-1])
    state = tf.broadcast_to(state, tf.shape(x))
    both = tf.concat([x, state], -1)
    gates = tf.sigmoid(
        tf.nn.conv2d(both, constant(3, 3, 2 * channels, 2 * channels, scale=0.2), 1, "SAME")
    )
    reset, update = tf.split(gates, 2, -1)
    both = tf.concat([x, reset * state], -1)
    new = tf.tanh(tf.nn.conv2d(both, constant(3, 3, 2 * channels, channels, scale=0.2), 1, "SAME"))
    return (1.0 - update) * state + update * new


def matting() -> Called:
    """Robust Video Matting (Lin et al. 2021): an encoder of the reduced frame, a recurrent decoder
    with four states, and a guided filter (He et al. 2013) at the full size.
    """
    image = layers.Input((None, None, 3))
    x, levels = image, []
    for channels in (8, 8, 16, 16):
        x = separated(x, channels, 2)
        levels.append(x)
    encoder = draw(keras.Model(image, levels), 5)

    def joined(x: tf.Tensor, channels: int) -> tf.Tensor:
        return tf.nn.relu(
            tf.nn.conv2d(x, constant(3, 3, int(x.shape[-1]), channels, scale=0.2), 1, "SAME")
        )

    def stepped(x: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        kept, changed = tf.split(x, 2, -1)
        state = gated(changed, state)
        return tf.concat([kept, state], -1), state

    def box(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.avg_pool2d(x, 3, 1, "SAME")

    def step(
        src: tf.Tensor,
        r1i: tf.Tensor,
        r2i: tf.Tensor,
        r3i: tf.Tensor,
        r4i: tf.Tensor,
        downsample_ratio: tf.Tensor,
    ) -> Tensors:
        sizes = tf.cast(tf.shape(src)[1:3], tf.float32) * downsample_ratio
        small = tf.image.resize(src, tf.cast(sizes, tf.int32))
        f1, f2, f3, f4 = encoder(small)
        x, r4 = stepped(f4, r4i)
        states = [r4]
        for feature, state in ((f3, r3i), (f2, r2i), (f1, r1i)):
            up = tf.concat([resized(x, feature), feature, resized(small, feature)], -1)
            x, new = stepped(joined(up, int(feature.shape[-1])), state)
            states.insert(0, new)
        x = joined(tf.concat([resized(x, small), small], -1), 8)
        y = tf.nn.conv2d(x, constant(1, 1, 8, 4, scale=0.2), 1, "SAME")
        grey = tf.reduce_mean(small, -1, keepdims=True)
        mean_x, mean_y = box(grey), box(y)
        a = (box(grey * y) - mean_x * mean_y) / (box(grey * grey) - mean_x * mean_x + 0.05)
        b = mean_y - a * mean_x
        fine = tf.reduce_mean(src, -1, keepdims=True)
        y = resized(a, src) * fine + resized(b, src)
        return {
            "fgr": tf.clip_by_value(y[..., :3] + src, 0.0, 1.0),
            "pha": tf.clip_by_value(y[..., 3:], 0.0, 1.0),
            **{f"r{number + 1}o": state for number, state in enumerate(states)},
        }

    states = {f"r{n}i": spec(f"r{n}i", 1, None, None, None) for n in range(1, 5)}
    specs = {
        "src": spec("src", 1, None, None, 3),
        **states,
        "downsample_ratio": spec("downsample_ratio"),
    }
    return Called(step, specs, encoder)


def bodypix() -> Called:
    """A U-Net (Ronneberger et al. 2015) over MobileNet, and part maps as of BodyPix."""
    image = layers.Input((None, None, 3))
    levels = backbone(image)
    model = draw(keras.Model(image, [*levels, layers.Conv2D(24, 1)(levels[-1])]), 6)

    def segment(image: tf.Tensor) -> Tensors:
        shape = tf.shape(image)
        padded = tf.cast(tf.math.ceil(tf.cast(shape[1:3], tf.float32) / 16.0) * 16.0, tf.int32)
        first, second, parts = model(tf.image.resize(image, padded) / 127.5 - 1.0)
        up = tf.concat([resized(second, first), first], -1)
        up = tf.nn.conv2d(up, constant(3, 3, 64, 16, scale=0.1), 1, "SAME")
        up = tf.nn.conv2d_transpose(
            tf.nn.leaky_relu(up, 0.1),
            constant(2, 2, 8, 16),
            tf.concat([shape[:1], tf.shape(up)[1:3] * 2, [8]], 0),
            2,
        )
        mask = tf.nn.conv2d(tf.nn.elu(up), constant(1, 1, 8, 1), 1, "SAME")
        return {
            "segments": tf.sigmoid(tf.image.resize(mask, shape[1:3])),
            "parts": tf.argmax(tf.image.resize(parts, shape[1:3]), -1, tf.int32),
            "long_offsets": resized(parts[..., :4], mask),
        }

    return Called(segment, {"image": spec("image", None, None, None, 3)}, model)


def styled() -> Called:
    """Style transfer (Johnson et al. 2016) with instance normalisation (Ulyanov et al. 2016)."""

    def normed(x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [1, 2], keepdims=True)
        channels = int(x.shape[-1])
        return (x - mean) / tf.sqrt(variance + 1e-3) * (1.0 + constant(channels)) + constant(
            channels, scale=0.1
        )

    def padded(x: tf.Tensor, filters: int, size: int, strides: int = 1) -> tf.Tensor:
        margin = [size // 2, size // 2]
        x = tf.pad(x, [[0, 0], margin, margin, [0, 0]], "REFLECT")
        kernel = constant(size, size, int(x.shape[-1]), filters, scale=0.2)
        return normed(tf.nn.conv2d(x, kernel, strides, "VALID"))

    def style(picture: tf.Tensor) -> Tensors:
        x = tf.nn.relu(padded(picture / 255.0, 8, 9))
        x = tf.nn.relu(padded(x, 12, 3, 2))
        x = tf.nn.relu(padded(x, 16, 3, 2))
        for _ in range(2):
            x += padded(tf.nn.relu(padded(x, 16, 3)), 16, 3)
        for filters in (12, 8):
            size = tf.shape(x)[1:3] * 2
            x = tf.nn.relu(padded(tf.image.resize(x, size, "nearest"), filters, 3))
        return {"styled": 127.5 * (tf.tanh(padded(x, 3, 9)) + 1.0)}

    return Called(style, {"picture": spec("picture", None, None, None, 3)})


class Blaze(layers.Layer):
    """The block of BlazeFace (Bazarevsky et al. 2019), with a PReLU of its own."""

    def __init__(self, filters: int, strides: int = 1) -> None:
        super().__init__()
        self.filters, self.strides = filters, strides

    def build(self, shape: tuple[int, ...]) -> None:
        self.depthwise = layers.DepthwiseConv2D(5, self.strides, "same")
        self.point = layers.Conv2D(self.filters, 1)
        self.depthwise.build(shape)
        self.point.build(shape)
        self.alpha = self.add_weight(shape=(1, 1, self.filters), name="alpha")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        y = self.point(self.depthwise(x))
        if self.strides == 2:
            x = tf.nn.max_pool2d(x, 2, 2, "SAME")
        if more := self.filters - int(x.shape[-1]):
            x = tf.pad(x, [[0, 0], [0, 0], [0, 0], [0, more]])
        y += x
        return tf.nn.relu(y) - self.alpha * tf.nn.relu(-y)


def blazeface() -> Called:
    image = layers.Input((64, 64, 3))
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(12, 5, 2, "same")(image))
    for filters, strides in ((12, 1), (16, 2), (16, 1), (24, 2)):
        x = Blaze(filters, strides)(x)
    deep = Blaze(32, 2)(Blaze(24)(x))
    outputs = []
    for level, number in ((x, 2), (deep, 6)):
        for size in (1, 16):
            head = layers.Conv2D(number * size, 1)(level)
            outputs.append(layers.Reshape((-1, size))(head))
    scores, codes = (layers.Concatenate(1)(outputs[first::2]) for first in (0, 1))
    model = draw(keras.Model(image, [scores, codes]), 7)
    centres = tf.constant(
        [
            [(x + 0.5) / size, (y + 0.5) / size]
            for size, number in ((8, 2), (4, 6))
            for y in range(size)
            for x in range(size)
            for _ in range(number)
        ],
        tf.float32,
    )

    def detect(image: tf.Tensor) -> Tensors:
        raw, codes = model(tf.image.resize(image, [64, 64]) / 127.5 - 1.0)
        scores = tf.squeeze(tf.sigmoid(tf.clip_by_value(raw, -100.0, 100.0)), [0, 2])
        codes = tf.squeeze(codes, 0) / 64.0
        points = tf.reshape(codes[:, 4:], [-1, 6, 2]) + centres[:, None]
        middle, half = codes[:, :2] + centres, tf.abs(codes[:, 2:4]) / 2.0
        boxes = tf.concat([middle - half, middle + half], 1)
        chosen, count = tf.image.non_max_suppression_padded(
            boxes, scores, 10, 0.3, 0.6, pad_to_max_output_size=True
        )
        return {
            "boxes": tf.gather(boxes, chosen),
            "landmarks": tf.gather(points, chosen),
            "scores": tf.gather(scores, chosen),
            "count": count,
        }

    return Called(detect, {"image": spec("image", 1, None, None, 3)}, model)
