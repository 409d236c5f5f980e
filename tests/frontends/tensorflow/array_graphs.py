"""Graphs over shapes, slices, padding and indices."""

from collections.abc import Mapping

import tensorflow as tf

from tests.frontends.tensorflow.graph_inputs import Graph, images, weights


def shapes(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Arithmetic on the sizes of an input with a dynamic batch."""
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
    widths = [[0, 0], [1, 2], [2, 0]]
    return {
        "zeros": tf.pad(x, widths),
        "value": tf.pad(x, widths, constant_values=3.5),
        "reflect": tf.pad(x, widths, "REFLECT"),
        "symmetric": tf.pad(x, widths, "SYMMETRIC"),
        "blocks": tf.space_to_batch(x[..., tf.newaxis], [2, 3], [[0, 0], [1, 0]]),
        "back": tf.batch_to_space(
            tf.tile(x[..., tf.newaxis], [6, 1, 1, 1]), [2, 3], [[1, 0], [0, 2]]
        ),
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


def searched(x: tf.Tensor, index: tf.Tensor) -> dict[str, tf.Tensor]:
    values, positions = tf.unique(tf.reshape(index, [-1]))
    return {
        "where": tf.where(x > 0.5),
        "masked": tf.boolean_mask(x, x[:, 0, 0] > 0),
        "values": values,
        "places": positions,
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


ARRAY_GRAPHS: Mapping[str, Graph] = {
    "searched": (searched, [((2, 6, 4), "float32"), ((2, 3), "int32")]),
    "shapes": (shapes, images(None, 6, 4)),
    "parts": (parts, images(None, 6, 4)),
    "paddings": (paddings, images(None, 6, 5)),
    "lookups": (lookups, [((2, 6, 4), "float32"), ((2, 3), "int32")]),
}
