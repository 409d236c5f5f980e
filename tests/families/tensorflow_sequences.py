"""Networks for text and sound, in raw TensorFlow."""

import numpy as np
import tensorflow as tf

from tests.families.tensorflow_parts import Tensors, Weights, dense, layer_norm

WORDS, WIDTH, HEADS, POSITIONS = 30522, 256, 4, 512
"""The dimensions of BERT-mini (Turc et al. 2019), which has 4 blocks."""
FRAME, STEP, BANDS, STATE = 400, 160, 80, 384
"""The dimensions of Whisper-tiny (Radford et al. 2022), whose encoder has 4 blocks with 6 heads."""
VOCABULARY, UNITS, LENGTH = 8000, 512, 20


def attention(
    w: Weights, name: str, x: tf.Tensor, heads: int, mask: tf.Tensor | None = None
) -> tf.Tensor:
    """Attention with einsum. Axes: B batch, T and S positions, D width, N heads, H head width."""
    width = int(x.shape[-1])
    size = width // heads

    def split(part: str) -> tf.Tensor:
        kernel = w.kernel(f"{name}/{part}/kernel", width, heads, size, gain=1.0, products=width)
        return tf.einsum("BTD,DNH->BTNH", x, kernel) + tf.reshape(
            w.vector(f"{name}/{part}/bias", width), [heads, size]
        )

    scores = tf.einsum("BTNH,BSNH->BNTS", split("query") * size**-0.5, split("key"))
    if mask is not None:
        scores += mask
    mixed = tf.einsum("BNTS,BSNH->BTNH", tf.nn.softmax(scores), split("value"))
    out = tf.einsum(
        "BTNH,NHD->BTD", mixed, w.kernel(f"{name}/out/kernel", heads, size, width, gain=1.0)
    )
    return out + w.vector(f"{name}/out/bias", width)


def bert(
    w: Weights, input_ids: tf.Tensor, attention_mask: tf.Tensor, token_type_ids: tf.Tensor
) -> Tensors:
    """BERT-mini with its heads for masked words and for the next sentence (Devlin et al. 2018)."""
    words = w.kernel("words", WORDS, WIDTH, gain=1.0, products=WIDTH)
    positions = w.kernel("positions", POSITIONS, WIDTH, gain=1.0, products=WIDTH)
    kinds = tf.one_hot(tf.minimum(token_type_ids, 1), 2) @ w.kernel(
        "kinds", 2, WIDTH, gain=1.0, products=WIDTH
    )
    x = layer_norm(
        w, "embedded", tf.gather(words, input_ids) + positions[: tf.shape(input_ids)[1]] + kinds
    )
    visible = tf.cast(tf.cast(attention_mask, tf.bool), tf.float32)
    mask = (1.0 - visible[:, tf.newaxis, tf.newaxis, :]) * -10000.0
    for number in range(4):
        name = f"block{number}"
        x = layer_norm(w, f"{name}/seen", x + attention(w, f"{name}/attention", x, HEADS, mask))
        wide = dense(
            w,
            f"{name}/wide",
            x,
            4 * WIDTH,
            lambda y: 0.5 * y * (1.0 + tf.math.erf(y / np.sqrt(2.0))),
        )
        x = layer_norm(w, f"{name}/done", x + dense(w, f"{name}/narrow", wide, WIDTH))
    pooled = dense(w, "pooled", x[:, 0], WIDTH, tf.tanh)
    hidden = layer_norm(w, "transformed", dense(w, "transform", x, WIDTH, tf.nn.gelu))
    scores = tf.nn.bias_add(
        tf.matmul(
            hidden, tf.tile(words[tf.newaxis, :1000], [tf.shape(x)[0], 1, 1]), transpose_b=True
        ),
        w.vector("scores", 1000),
    )
    return {
        "sequence": x,
        "pooled": pooled,
        "follows": dense(w, "follows", pooled, 2),
        "words": scores,
    }


def whisper(w: Weights, wave: tf.Tensor) -> Tensors:
    """The encoder of Whisper-tiny, from samples at 16 kHz."""
    padded = tf.pad(wave, [[0, 0], [FRAME // 2, FRAME // 2]], "REFLECT")
    power = tf.square(tf.abs(tf.signal.stft(padded, FRAME, STEP, FRAME)[:, :-1]))
    bands = tf.signal.linear_to_mel_weight_matrix(BANDS, FRAME // 2 + 1, 16000, 0.0, 8000.0)
    logs = tf.math.log(tf.maximum(tf.tensordot(power, bands, 1), 1e-10)) / np.log(10.0).astype(
        np.float32
    )
    logs = (tf.maximum(logs, tf.reduce_max(logs, [1, 2], keepdims=True) - 8.0) + 4.0) / 4.0
    x = logs
    for number, stride in enumerate((1, 2)):
        kernel = w.kernel(f"conv{number}/kernel", 3, int(x.shape[-1]), STATE)
        x = tf.nn.conv1d(tf.pad(x, [[0, 0], [1, 1], [0, 0]]), kernel, stride, "VALID")
        x = tf.nn.gelu(tf.nn.bias_add(x, w.vector(f"conv{number}/bias", STATE)))
    x += _sinusoids(1500, STATE)[: tf.shape(x)[1]]
    for number in range(4):
        name = f"block{number}"
        x += attention(w, f"{name}/attention", layer_norm(w, f"{name}/seen", x), 6)
        x += dense(
            w,
            f"{name}/narrow",
            dense(w, f"{name}/wide", layer_norm(w, f"{name}/read", x), 4 * STATE, tf.nn.gelu),
            STATE,
        )
    return {"states": layer_norm(w, "done", x), "log_mel": logs}


def _sinusoids(count: int, width: int) -> tf.Tensor:
    angles = np.arange(count)[:, None] * np.exp(
        -np.log(10000.0) / (width // 2 - 1) * np.arange(width // 2)
    )
    return tf.constant(np.concatenate([np.sin(angles), np.cos(angles)], 1), tf.float32)


def wavenet(w: Weights, wave: tf.Tensor, *, as_batches: bool = False) -> Tensors:
    """WaveNet (van den Oord et al. 2016), with 2 times 10 dilated layers. With `as_batches`,
    dilation is written as by tf.nn.convolution, which moves positions into the batch.
    """

    def dilated(name: str, x: tf.Tensor, filters: int, dilation: int) -> tf.Tensor:
        past = tf.pad(x, [[0, 0], [dilation, 0], [0, 0]])
        kernel = w.kernel(f"{name}/kernel", 2, int(x.shape[-1]), filters, gain=1.0)
        if as_batches:
            return tf.nn.bias_add(
                tf.nn.convolution(past, kernel, 1, "VALID", dilations=[dilation]),
                w.vector(f"{name}/bias", filters),
            )
        return tf.nn.bias_add(
            tf.nn.conv1d(past, kernel, 1, "VALID", dilations=dilation),
            w.vector(f"{name}/bias", filters),
        )

    x = dilated("begin", wave, 128, 1)
    skipped = []
    for number in range(20):
        name = f"layer{number}"
        content, gate = tf.split(dilated(name, x, 256, 2 ** (number % 10)), 2, -1)
        gated = tf.tanh(content) * tf.sigmoid(gate)
        skipped.append(dense(w, f"{name}/skip", gated, 256))
        x += dense(w, f"{name}/out", gated, 128)
    y = dense(w, "read", tf.nn.relu(tf.add_n(skipped)), 256, tf.nn.relu, 0.5)
    return {"logits": dense(w, "logits", y, 256)}


def wavenet_as_batches(w: Weights, wave: tf.Tensor) -> Tensors:
    return wavenet(w, wave, as_batches=True)


def _gru(w: Weights, name: str, x: tf.Tensor, state: tf.Tensor) -> tf.Tensor:
    units = int(state.shape[-1])
    update, reset = tf.split(
        dense(w, f"{name}/gates", tf.concat([x, state], 1), 2 * units, tf.sigmoid), 2, 1
    )
    new = dense(w, f"{name}/new", tf.concat([x, reset * state], 1), units, tf.tanh)
    return update * state + (1.0 - update) * new


def _lstm(
    w: Weights, name: str, x: tf.Tensor, state: tf.Tensor, cell: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    input_gate, candidate, forget_gate, output_gate = tf.split(
        dense(w, f"{name}/gates", tf.concat([x, state], 1), 4 * int(state.shape[-1])), 4, 1
    )
    cell = tf.sigmoid(forget_gate + 1.0) * cell + tf.sigmoid(input_gate) * tf.tanh(candidate)
    return tf.sigmoid(output_gate) * tf.tanh(cell), cell


def _gru_states(w: Weights, name: str, x: tf.Tensor) -> tf.Tensor:
    """The states [B,T,U] of a gated recurrence over x [B,T,D]."""
    steps = tf.transpose(x, [1, 0, 2])
    count = tf.shape(steps)[0]
    inputs = tf.TensorArray(tf.float32, count, element_shape=[None, x.shape[-1]]).unstack(steps)
    states = tf.TensorArray(tf.float32, count, element_shape=[None, UNITS])

    def step(
        position: tf.Tensor, state: tf.Tensor, states: tf.TensorArray
    ) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
        state = _gru(w, name, inputs.read(position), state)
        return position + 1, state, states.write(position, state)

    _, _, states = tf.while_loop(
        lambda position, *_: position < count, step, (0, tf.zeros([tf.shape(x)[0], UNITS]), states)
    )
    return tf.transpose(states.stack(), [1, 0, 2])


def translator(w: Weights, ids: tf.Tensor) -> Tensors:
    """A bidirectional encoder, and a decoder with attention that writes one word per step (Bahdanau
    et al. 2014).
    """
    x = tf.nn.embedding_lookup(w.kernel("source", VOCABULARY, 256, products=16), ids)
    memory = tf.concat(
        [
            _gru_states(w, "forward", x),
            tf.reverse(_gru_states(w, "backward", tf.reverse(x, [1])), [1]),
        ],
        -1,
    )
    keys = dense(w, "keys", memory, UNITS)
    target = w.kernel("target", VOCABULARY, 256, products=16)
    batch = tf.shape(ids)[0]

    def write(
        position: tf.Tensor,
        word: tf.Tensor,
        state: tf.Tensor,
        cell: tf.Tensor,
        words: tf.TensorArray,
        scores: tf.TensorArray,
    ) -> tuple[tf.Tensor, ...]:
        fits = tf.reduce_sum(
            w.kernel("fits", UNITS, products=16)
            * tf.tanh(keys + dense(w, "query", state, UNITS)[:, None]),
            -1,
        )
        context = tf.reduce_sum(tf.nn.softmax(fits)[:, :, None] * memory, 1)
        state, cell = _lstm(
            w, "writer", tf.concat([tf.nn.embedding_lookup(target, word), context], 1), state, cell
        )
        logits = dense(w, "logits", tf.concat([state, context], 1), VOCABULARY, gain=16.0)
        word = tf.argmax(logits, 1, tf.int32)
        return (
            position + 1,
            word,
            state,
            cell,
            words.write(position, word),
            scores.write(position, logits),
        )

    begin = dense(w, "begin", memory[:, -1], UNITS, tf.tanh)
    words = tf.TensorArray(tf.int32, LENGTH, element_shape=[None])
    scores = tf.TensorArray(tf.float32, LENGTH, element_shape=[None, VOCABULARY])
    start = (0, tf.ones([batch], tf.int32), begin, tf.zeros_like(begin), words, scores)
    *_, words, scores = tf.while_loop(lambda position, *_: position < LENGTH, write, start)
    return {"words": tf.transpose(words.stack()), "scores": tf.transpose(scores.stack(), [1, 0, 2])}
