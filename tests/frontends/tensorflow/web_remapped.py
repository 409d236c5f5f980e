"""A graph of what Grappler's remapper fuses."""

import tensorflow as tf

from tests.frontends.tensorflow.web_layers import Called, Tensors, constant, spec


def remapped() -> Called:
    """What Grappler's remapper fuses only on processors with oneDNN."""

    def normed(x: tf.Tensor, number: int) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [1, 2], keepdims=True)
        scale, offset = 1.0 + constant(3, number, scale=0.3)[:, 0], constant(3, 1 + number)[:, 0]
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)

    def batch_normed(x: tf.Tensor) -> tf.Tensor:
        scale, offset, mean = (constant(3, number)[:, 0] + 0.75 for number in (5, 6, 7))
        return tf.compat.v1.nn.fused_batch_norm(
            x, scale, offset, mean, scale + 0.5, epsilon=0.01, is_training=False
        )[0]

    def hard_swish(x: tf.Tensor) -> tf.Tensor:
        return x * tf.nn.relu6(x + 3.0) * (1.0 / 6.0)

    def every(x: tf.Tensor) -> Tensors:
        convolved = tf.nn.bias_add(tf.nn.conv2d(x, constant(3, 3, 3, 4), 1, "SAME"), constant(4))
        return {
            "hard_swish": hard_swish(convolved),
            "instance": normed(x, 1),
            "instance_relu": tf.nn.relu(normed(x, 2)),
            "instance_leaky": tf.nn.leaky_relu(normed(x, 3), 0.3),
            "batch_relu": tf.nn.relu(batch_normed(x)),
            "sum_relu": tf.nn.relu(batch_normed(x) + x),
        }

    return Called(every, {"x": spec("x", None, None, 8, 3)})
