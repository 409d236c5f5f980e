"""Frozen networks of TensorFlow 1: a graph with variables in scopes, and a session."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tests.families.tensorflow_parts import SPREAD, Activation, write_graph
from webkiln.random_inputs import natural

v1 = tf.compat.v1
BLOCKS = ((64, 3), (128, 4), (256, 6), (512, 3))
MOBILE = (
    (1, 16, 1, 1, 1),
    (6, 24, 2, 2, 1),
    (6, 32, 3, 2, 1),
    (6, 64, 4, 2, 1),
    (6, 96, 3, 1, 1),
    (6, 160, 3, 1, 2),
    (6, 320, 1, 1, 2),
)
"""The stages of MobileNetV2 with an output stride of 16: expansion, filters, depth, stride,
dilation.
"""
SAMPLE = 64
FEATURES, HIDDEN, LETTERS = 494, 512, 29
"""The features of a frame and its neighbours, as in Deep Speech (Hannun et al. 2014), with fewer
units.
"""


def freeze(build: Callable[[], Sequence[str]], folder: Path) -> Path:
    """Freeze the default graph after `build`, which returns the names of its outputs."""
    with (
        tf.Graph().as_default() as graph,
        v1.Session() as session,
        v1.variable_scope("", use_resource=False),
    ):
        v1.set_random_seed(20)
        outputs = build()
        session.run(v1.global_variables_initializer())
        for update in v1.get_collection(v1.GraphKeys.UPDATE_OPS):
            session.run(update)
        constant = v1.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), list(outputs)
        )
    return write_graph(constant, folder)


def _variable(
    name: str, shape: Sequence[int], centre: float | None = None, gain: float = 2.0
) -> tf.Tensor:
    if centre is not None:
        return v1.get_variable(
            name, shape, initializer=v1.random_uniform_initializer(centre - SPREAD, centre + SPREAD)
        )
    return v1.get_variable(
        name,
        shape,
        initializer=v1.random_normal_initializer(stddev=np.sqrt(gain / np.prod(shape[:-1]))),
    )


def _conv_block(
    x: tf.Tensor,
    name: str,
    filters: int,
    size: int,
    stride: int,
    *,
    update_statistics: bool,
    activation: Activation = tf.nn.relu,
) -> tf.Tensor:
    """A convolution and a fused batch normalisation. If `update_statistics`, it uses and stores the
    statistics of its own inputs.
    """
    channels = int(x.shape[-1])
    with v1.variable_scope(name):
        if stride > 1:
            low = (size - 1) // 2
            x = tf.pad(x, [[0, 0], [low, size - 1 - low], [low, size - 1 - low], [0, 0]])
        x = v1.nn.conv2d(
            x,
            _variable("weights", (size, size, channels, filters)),
            [1, stride, stride, 1],
            "VALID" if stride > 1 else "SAME",
        )
        return _batch_norm(x, activation, update_statistics=update_statistics)


def _batch_norm(
    x: tf.Tensor, activation: Activation = tf.nn.relu, *, update_statistics: bool
) -> tf.Tensor:
    count = int(x.shape[-1])
    gamma, beta = (
        _variable("gamma", (count,), 0.5),
        _variable("beta", (count,), 0.0 if activation is tf.identity else 1.0),
    )
    mean, variance = (
        v1.get_variable(f"moving_{statistic}", (count,), trainable=False)
        for statistic in ("mean", "variance")
    )
    if update_statistics:
        now, spread = tf.nn.moments(x, [0, 1, 2])
        spread = tf.maximum(spread, tf.reduce_mean(spread))
        for variable, value in ((mean, now), (variance, spread)):
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, v1.assign(variable, value))
        mean, variance = now, spread
    x, _, _ = v1.nn.fused_batch_norm(x, gamma, beta, mean, variance, 1e-3, is_training=False)
    return activation(x)


def _resnet(x: tf.Tensor, *, update_statistics: bool) -> tf.Tensor:
    x = v1.nn.max_pool(
        _conv_block(x, "conv1", 64, 7, 2, update_statistics=update_statistics),
        [1, 3, 3, 1],
        [1, 2, 2, 1],
        "SAME",
    )
    for number, (width, depth) in enumerate(BLOCKS):
        for unit in range(depth):
            stride = 2 if number and not unit else 1
            with v1.variable_scope(f"block{number + 1}/unit_{unit + 1}"):
                short = (
                    x
                    if unit
                    else _conv_block(
                        x,
                        "shortcut",
                        4 * width,
                        1,
                        stride,
                        activation=tf.identity,
                        update_statistics=update_statistics,
                    )
                )
                y = _conv_block(x, "conv1", width, 1, 1, update_statistics=update_statistics)
                y = _conv_block(y, "conv2", width, 3, stride, update_statistics=update_statistics)
                x = tf.nn.relu(
                    short
                    + _conv_block(
                        y,
                        "conv3",
                        4 * width,
                        1,
                        1,
                        activation=tf.identity,
                        update_statistics=update_statistics,
                    )
                )
    x = tf.squeeze(tf.reduce_mean(x, [1, 2], keepdims=True), [1, 2])
    with v1.variable_scope("logits"):
        return v1.nn.xw_plus_b(
            x, _variable("weights", (2048, 1000), gain=1.0), _variable("biases", (1000,), 0.0)
        )


def _with_statistics(
    network: Callable[..., tf.Tensor], image: tf.Tensor, scale: float
) -> tf.Tensor:
    """The output of a network for an image, with the statistics of samples in 0..scale."""
    samples = np.concatenate(
        [natural("float32", (1, SAMPLE, SAMPLE, 3), seed, scale) for seed in range(8)]
    )
    network(tf.constant(samples), update_statistics=True)
    with v1.variable_scope(v1.get_variable_scope(), reuse=True):
        return network(image, update_statistics=False)


def resnet(folder: Path) -> Path:
    """ResNet50 (He et al. 2015), with the strides of version 1.5."""

    def build() -> Sequence[str]:
        image = v1.placeholder(tf.float32, [None, SAMPLE, SAMPLE, 3], "image")
        tf.nn.softmax(_with_statistics(_resnet, image, 1.0), name="predictions")
        return ["predictions"]

    return freeze(build, folder)


def _inverted_residual(
    x: tf.Tensor, factor: int, filters: int, stride: int, rate: int, *, update_statistics: bool
) -> tf.Tensor:
    wide = int(x.shape[-1]) * factor
    y = (
        _conv_block(
            x, "expand", wide, 1, 1, activation=tf.nn.relu6, update_statistics=update_statistics
        )
        if factor > 1
        else x
    )
    with v1.variable_scope("depthwise"):
        kernel = v1.get_variable(
            "weights",
            (3, 3, wide, 1),
            initializer=v1.random_normal_initializer(stddev=np.sqrt(2 / 9)),
        )
        y = v1.nn.depthwise_conv2d(y, kernel, [1, stride, stride, 1], "SAME", [rate, rate])
        y = _batch_norm(y, tf.nn.relu6, update_statistics=update_statistics)
    y = _conv_block(
        y, "project", filters, 1, 1, activation=tf.identity, update_statistics=update_statistics
    )
    return x + y if stride == 1 and filters == int(x.shape[-1]) else y


def _deep_lab(x: tf.Tensor, *, update_statistics: bool) -> tf.Tensor:
    size_of_features = tf.shape(x)[1:3]
    x = _conv_block(
        x / 127.5 - 1.0,
        "conv",
        32,
        3,
        2,
        activation=tf.nn.relu6,
        update_statistics=update_statistics,
    )
    for number, (factor, filters, depth, stride, rate) in enumerate(MOBILE):
        for unit in range(depth):
            with v1.variable_scope(f"stage{number}/unit{unit}"):
                x = _inverted_residual(
                    x,
                    factor,
                    filters,
                    1 if unit else stride,
                    rate,
                    update_statistics=update_statistics,
                )
    size = tf.shape(x)[1:3]
    pooled = _conv_block(
        tf.reduce_mean(x, [1, 2], keepdims=True),
        "image_pooling",
        256,
        1,
        1,
        update_statistics=update_statistics,
    )
    branches = [
        v1.image.resize_bilinear(pooled, size, align_corners=True),
        _conv_block(x, "aspp0", 256, 1, 1, update_statistics=update_statistics),
    ]
    for number, rate in enumerate((6, 12, 18), 1):
        with v1.variable_scope(f"aspp{number}"):
            y = tf.nn.atrous_conv2d(
                x, _variable("weights", (3, 3, int(x.shape[-1]), 256)), rate, "SAME"
            )
            branches.append(_batch_norm(y, update_statistics=update_statistics))
    x = _conv_block(
        tf.concat(branches, 3), "projection", 256, 1, 1, update_statistics=update_statistics
    )
    with v1.variable_scope("logits"):
        x = v1.nn.bias_add(
            v1.nn.conv2d(x, _variable("weights", (1, 1, 256, 21), gain=1.0), [1, 1, 1, 1], "SAME"),
            _variable("biases", (21,), 0.0),
        )
    return v1.image.resize_bilinear(x, size_of_features, align_corners=True)


def deep_lab(folder: Path) -> Path:
    """DeepLabv3 (Chen et al. 2017) on MobileNetV2 for images of any size. Dilation moves positions
    into the batch.
    """

    def build() -> Sequence[str]:
        image = v1.placeholder(tf.float32, [1, None, None, 3], "image")
        tf.identity(_with_statistics(_deep_lab, image, 255.0), name="scores")
        return ["scores"]

    return freeze(build, folder)


class Cell:
    """A long short-term memory with peepholes, for v1.nn.dynamic_rnn."""

    state_size = (HIDDEN, HIDDEN)
    output_size = HIDDEN

    def __call__(
        self, x: tf.Tensor, state: tuple[tf.Tensor, tf.Tensor], scope: Any = None
    ) -> tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor]]:
        cell, output = state
        with v1.variable_scope(scope or "cell"):
            inputs = tf.concat([x, output], 1)
            gates = v1.nn.xw_plus_b(
                inputs,
                _variable("kernel", (int(inputs.shape[1]), 4 * HIDDEN), gain=1.0),
                _variable("bias", (4 * HIDDEN,), 0.0),
            )
            input_gate, candidate, forget_gate, out = tf.split(gates, 4, 1)
            peeps = [
                _variable(f"{name}_peep", (HIDDEN,), 0.0) for name in ("input", "forget", "output")
            ]
            cell = tf.sigmoid(forget_gate + 1.0 + peeps[1] * cell) * cell + tf.sigmoid(
                input_gate + peeps[0] * cell
            ) * tf.tanh(candidate)
            output = tf.sigmoid(out + peeps[2] * cell) * tf.tanh(cell)
        return output, (cell, output)

    def zero_state(self, batch: tf.Tensor, dtype: tf.DType) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.zeros(tf.stack([batch, HIDDEN]), dtype), tf.zeros(
            tf.stack([batch, HIDDEN]), dtype
        )


def deep_speech(folder: Path) -> Path:
    """Dense layers per frame, a bidirectional recurrence that stops at the length of each sound,
    and the letters of each frame (Hannun et al. 2014).
    """

    def layer(x: tf.Tensor, name: str, units: int, *, active: bool = True) -> tf.Tensor:
        with v1.variable_scope(name):
            x = v1.nn.xw_plus_b(
                x,
                _variable("weights", (int(x.shape[1]), units)),
                _variable("biases", (units,), 0.0),
            )
        return tf.minimum(tf.nn.relu(x), 20.0) if active else x

    def build() -> Sequence[str]:
        frames, lengths = (
            v1.placeholder(tf.float32, [None, None, FEATURES], "frames"),
            v1.placeholder(tf.int32, [None], "lengths"),
        )
        shape = tf.shape(frames)
        x = tf.reshape(tf.transpose(frames, [1, 0, 2]), [-1, FEATURES])
        for name in ("h1", "h2", "h3"):
            x = layer(x, name, HIDDEN)
        x = tf.reshape(x, [shape[1], shape[0], HIDDEN])
        both, _ = v1.nn.bidirectional_dynamic_rnn(
            Cell(), Cell(), x, lengths, dtype=tf.float32, time_major=True
        )
        x = layer(
            layer(tf.reshape(tf.concat(both, 2), [-1, 2 * HIDDEN]), "h5", HIDDEN),
            "h6",
            LETTERS,
            active=False,
        )
        tf.nn.softmax(tf.reshape(x, [shape[1], shape[0], LETTERS]), name="letters")
        return ["letters"]

    v1.disable_control_flow_v2()
    try:
        return freeze(build, folder)
    finally:
        v1.enable_control_flow_v2()
