"""Blocks of known networks over text, sound and series, and decoding loops."""

from collections.abc import Mapping

import tensorflow as tf

from tests.frontends.tensorflow.graph_inputs import Graph, images, weights
from tests.frontends.tensorflow.layers import Tensors, block, dense, normed


def encoder(ids: tf.Tensor, lengths: tf.Tensor) -> Tensors:
    """Like BERT: embeddings of words and positions, a mask of lengths, a pooled first token."""
    size = tf.shape(ids)[1]
    x = normed(tf.gather(weights(12, 8), ids) + weights(16, 8)[:size])
    mask = tf.sequence_mask(lengths, size, tf.float32)[:, None, None, :]
    for _ in range(2):
        x = block(x, mask)
    return {
        "sequence": x,
        "pooled": dense(x[:, 0], 8, tf.tanh),
        "scores": tf.nn.log_softmax(tf.matmul(x, weights(12, 8), transpose_b=True)),
    }


def causal(x: tf.Tensor) -> Tensors:
    """Like GPT: each position attends to itself and to earlier ones."""
    size = tf.shape(x)[1]
    mask = tf.linalg.band_part(tf.ones([size, size]), -1, 0)
    angles = tf.range(size, dtype=tf.float32)[:, None] / tf.pow(
        10000.0, tf.range(0.0, 8.0, 2.0) / 8.0
    )
    x += tf.reshape(tf.stack([tf.sin(angles), tf.cos(angles)], -1), [size, 8])
    return {"y": block(block(x, mask), mask), "last": tf.argmax(block(x, mask)[:, -1], -1)}


def speech(x: tf.Tensor) -> Tensors:
    """Like Whisper's encoder: two convolutions, position embeddings, attention."""
    x = tf.nn.gelu(tf.nn.conv1d(x, weights(3, 4, 8), 1, "SAME"))
    x = tf.nn.gelu(tf.nn.conv1d(x, weights(3, 8, 8), 2, "SAME"))
    return {"y": block(x + weights(32, 8)[: tf.shape(x)[1]])}


def waves(x: tf.Tensor) -> Tensors:
    """Like WaveNet: dilated causal convolutions with gates and skip connections."""
    x = tf.nn.conv1d(x, weights(1, 1, 4), 1, "SAME")
    skipped = tf.zeros_like(x)
    for dilation in (1, 2, 4, 8):
        past = tf.pad(x, [[0, 0], [dilation, 0], [0, 0]])
        gate = tf.tanh(
            tf.nn.conv1d(past, weights(2, 4, 4), 1, "VALID", dilations=dilation)
        ) * tf.sigmoid(
            tf.nn.conv1d(past, weights(2, 4, 5)[:, :, 1:], 1, "VALID", dilations=dilation)
        )
        out = tf.nn.conv1d(gate, weights(1, 4, 4), 1, "SAME")
        x, skipped = x + out, skipped + out
    return {"y": tf.nn.softmax(tf.nn.conv1d(tf.nn.relu(skipped), weights(1, 4, 6), 1, "SAME"))}


def translated(x: tf.Tensor) -> Tensors:
    """A recurrent encoder, and a decoding loop that attends to its states."""
    units = 6

    def step(state: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
        update, reset = tf.split(
            tf.sigmoid(
                tf.matmul(
                    tf.concat([value, state], 1), weights(int(value.shape[1]) + units, 2 * units)
                )
            ),
            2,
            1,
        )
        new = tf.tanh(
            tf.matmul(
                tf.concat([value, reset * state], 1), weights(int(value.shape[1]) + units, units)
            )
        )
        return update * state + (1.0 - update) * new

    start = tf.zeros([tf.shape(x)[0], units])
    memory = tf.transpose(tf.scan(step, tf.transpose(x, [1, 0, 2]), start), [1, 0, 2])

    def write(
        position: tf.Tensor, word: tf.Tensor, state: tf.Tensor, text: tf.TensorArray
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.TensorArray]:
        weight = tf.nn.softmax(tf.squeeze(tf.matmul(memory, state[:, :, None]), 2))
        read = tf.reduce_sum(memory * weight[:, :, None], 1)
        state = step(state, tf.concat([tf.gather(weights(5, 3), word), read], 1))
        word = tf.argmax(dense(state, 5), 1, tf.int32)
        return position + 1, word, state, text.write(position, word)

    initial = (
        0,
        tf.zeros([tf.shape(x)[0]], tf.int32),
        memory[:, -1],
        tf.TensorArray(tf.int32, 7, element_shape=[None]),
    )
    _, _, state, text = tf.while_loop(lambda position, *_: position < 7, write, initial)
    return {"words": tf.transpose(text.stack()), "state": state, "memory": memory}


def searched_beams(x: tf.Tensor) -> Tensors:
    """A beam search whose number of steps depends on the data."""
    table = tf.nn.log_softmax(weights(6, 6))

    def extend(
        position: tf.Tensor, scores: tf.Tensor, words: tf.Tensor, text: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        total = tf.reshape(scores[:, :, None] + tf.gather(table, words), [-1, 18])
        scores, chosen = tf.math.top_k(total, 3)
        words, beams = chosen % 6, chosen // 6
        text = tf.concat([tf.gather(text, beams, batch_dims=1)[:, :, 1:], words[:, :, None]], 2)
        return position + 1, scores, words, text

    first, words = tf.math.top_k(tf.nn.log_softmax(x), 3)
    start = (tf.constant(0), first, words, tf.tile(words[:, :, None], [1, 1, 4]))
    steps, scores, _, text = tf.while_loop(
        lambda position, scores, *_: (position < 9) & (tf.reduce_max(scores) > -6.0), extend, start
    )
    return {"steps": steps, "scores": scores, "text": text}


def gated(x: tf.Tensor) -> Tensors:
    """LSTM and GRU as single operators."""
    size = tf.shape(x)[1]
    start = tf.zeros([size, 4])
    peep = weights(4)
    full = tf.raw_ops.BlockLSTM(
        seq_len_max=tf.constant(5, tf.int64),
        x=x,
        cs_prev=start,
        h_prev=start,
        w=weights(7, 16),
        wci=peep,
        wcf=peep,
        wco=peep,
        b=weights(16),
        forget_bias=1.0,
        cell_clip=3.0,
        use_peephole=True,
    )
    second = tf.raw_ops.BlockLSTMV2(
        seq_len_max=tf.constant(3, tf.int64),
        x=x,
        cs_prev=start + 0.5,
        h_prev=start,
        w=weights(7, 16),
        wci=peep,
        wcf=peep,
        wco=peep,
        b=weights(16),
    )
    cell = tf.raw_ops.LSTMBlockCell(
        x=x[0],
        cs_prev=start + 0.1,
        h_prev=start - 0.2,
        w=weights(7, 16),
        wci=peep,
        wcf=peep,
        wco=peep,
        b=weights(16),
        cell_clip=-1.0,
    )
    gru = tf.raw_ops.GRUBlockCell(
        x=x[0],
        h_prev=start + 0.3,
        w_ru=weights(7, 8),
        w_c=weights(7, 4),
        b_ru=weights(8),
        b_c=weights(4),
    )
    return {
        "h": full.h,
        "c": full.cs,
        "gates": full.o,
        "early": second.h,
        "cell": cell.h,
        "state": cell.cs,
        "gru": gru.h,
        "reset": gru.r,
    }


def forecast(x: tf.Tensor) -> Tensors:
    """A time series: moving means, differences, lags, exponential smoothing with `tf.scan`, and an
    extrapolation.
    """
    mean = tf.nn.avg_pool1d(tf.pad(x, [[0, 0], [2, 2], [0, 0]], "SYMMETRIC"), 5, 1, "VALID")
    rest = x - mean
    lags = tf.stack([tf.roll(rest, shift, 1) for shift in (1, 2, 4)], -1)
    level = tf.transpose(
        tf.scan(lambda a, row: 0.3 * row + 0.7 * a, tf.transpose(x, [1, 0, 2])), [1, 0, 2]
    )
    steps = tf.range(1.0, 5.0)[None, :, None]
    slope = (x[:, -1] - x[:, 0]) / tf.cast(tf.shape(x)[1] - 1, tf.float32)
    return {
        "mean": mean,
        "lags": lags,
        "level": level,
        "horizon": level[:, -1:] + steps * slope[:, None],
        "sum": tf.cumsum(x, 1, exclusive=True, reverse=True),
        "windows": tf.signal.frame(x, 4, 2, axis=1),
        "changes": x[:, 1:] - x[:, :-1],
        "ranks": tf.argsort(tf.argsort(x, 1), 1),
    }


SEQUENCE_NETWORKS: Mapping[str, Graph] = {
    "forecast": (forecast, images(None, 12, 2)),
    "encoder": (encoder, [((2, None), "int32"), ((2,), "int32")]),
    "causal": (causal, images(2, None, 8)),
    "speech": (speech, images(None, 12, 4)),
    "waves": (waves, images(2, None, 1)),
    "translated": (translated, images(None, 4, 3)),
    "searched_beams": (searched_beams, images(2, 6)),
    "gated": (gated, images(5, 2, 3)),
}
