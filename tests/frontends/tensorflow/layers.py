"""Layers of the networks of the corpus."""

from collections.abc import Callable

import tensorflow as tf

from tests.frontends.tensorflow.graph_inputs import weights

Tensors = dict[str, tf.Tensor]


def dense(
    x: tf.Tensor, units: int, activation: Callable[[tf.Tensor], tf.Tensor] = tf.identity
) -> tf.Tensor:
    return activation(tf.tensordot(x, weights(int(x.shape[-1]), units), 1) + weights(units))


def normed(x: tf.Tensor) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(
        x, mean, variance, weights(int(x.shape[-1])), weights(int(x.shape[-1]) + 1)[1:], 1e-5
    )


def attention(
    query: tf.Tensor, memory: tf.Tensor, heads: int, mask: tf.Tensor | None = None
) -> tf.Tensor:
    width = int(query.shape[-1])

    def split(x: tf.Tensor) -> tf.Tensor:
        shape = tf.shape(x)
        return tf.transpose(
            tf.reshape(dense(x, width), [shape[0], shape[1], heads, width // heads]), [0, 2, 1, 3]
        )

    q, k, v = split(query), split(memory), split(memory)
    scores = tf.matmul(q, k, transpose_b=True) * (width // heads) ** -0.5
    if mask is not None:
        scores += (1.0 - mask) * -1e9
    mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
    return dense(tf.reshape(mixed, [tf.shape(query)[0], tf.shape(query)[1], width]), width)


def block(x: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor:
    x = normed(x + attention(x, x, 2, mask))
    return normed(x + dense(dense(x, 16, tf.nn.gelu), int(x.shape[-1])))
