"""Networks over points, columns of tables and vectors."""

from collections.abc import Mapping

import tensorflow as tf

from tests.frontends.tensorflow.graph_inputs import Graph, images, weights
from tests.frontends.tensorflow.layers import Tensors, dense


def cloud(x: tf.Tensor) -> Tensors:
    """Like dynamic graph CNNs: points with features of their nearest neighbours."""
    distance = tf.reduce_sum(tf.square(x[:, :, None] - x[:, None]), -1)
    _, nearest = tf.math.top_k(-distance, 3)
    neighbours = tf.gather(x, nearest, batch_dims=1)
    edges = tf.concat(
        [tf.broadcast_to(x[:, :, None], tf.shape(neighbours)), neighbours - x[:, :, None]], -1
    )
    features = tf.reduce_max(tf.nn.leaky_relu(dense(edges, 6)), 2)
    far = tf.one_hot(tf.argmax(distance, -1), tf.shape(x)[1])
    return {
        "features": features,
        "whole": tf.reduce_max(features, 1),
        "farthest": tf.matmul(far, x),
    }


def crossed(x: tf.Tensor, index: tf.Tensor) -> Tensors:
    """Like wide-and-deep models: bucketed numbers, embedded categories, products of pairs."""
    categories = tf.math.floormod(index * tf.constant([7, 3, 5]), 11)
    embedded = tf.nn.embedding_lookup(weights(11, 4), categories)
    total = tf.reduce_sum(embedded, 1)
    pairs = 0.5 * tf.reduce_sum(
        tf.square(total) - tf.reduce_sum(tf.square(embedded), 1), 1, keepdims=True
    )
    buckets = tf.raw_ops.Bucketize(input=x, boundaries=[-1.0, 0.0, 1.0])
    hot = tf.reshape(tf.one_hot(buckets, 4), [-1, 12])
    deep = dense(tf.concat([tf.reshape(embedded, [-1, 12]), hot, x], 1), 5, tf.nn.relu)
    crossed_ids = tf.math.floormod(categories[:, 0] * 11 + categories[:, 1], 13)
    return {
        "y": tf.sigmoid(dense(deep, 1) + pairs + tf.gather(weights(13, 1), crossed_ids)),
        "deep": deep,
    }


def flowing(x: tf.Tensor) -> Tensors:
    """A normalising flow: invertible coupling layers and their log-determinants."""
    volume = tf.zeros([tf.shape(x)[0]])
    for number in range(3):
        unchanged, changed = tf.split(x if number % 2 == 0 else tf.reverse(x, [1]), 2, axis=1)
        scale, shift = tf.unstack(tf.reshape(dense(unchanged, 6), [-1, 2, 3]), axis=1)
        scale = tf.tanh(scale)
        x = tf.concat([unchanged, changed * tf.exp(scale) + shift], 1)
        volume += tf.reduce_sum(scale, 1)
    density = -0.5 * tf.reduce_sum(tf.square(x), 1) - 3.0 * tf.math.log(2.0 * 3.14159265)
    return {
        "z": x,
        "volume": volume,
        "likelihood": density + volume,
        "mixed": tf.matmul(x, tf.linalg.inv(tf.eye(6) + tf.linalg.band_part(weights(6, 6), -1, 0))),
    }


VECTOR_NETWORKS: Mapping[str, Graph] = {
    "cloud": (cloud, images(None, 7, 3)),
    "crossed": (crossed, [((None, 3), "float32"), ((None, 3), "int32")]),
    "flowing": (flowing, images(None, 6)),
}
