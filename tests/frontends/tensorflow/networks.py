"""Functions of TensorFlow as models have them: signals, blocks of known networks, decoding loops."""

from collections.abc import Callable, Mapping

import tensorflow as tf

from tests.frontends.tensorflow.graphs import Graph, images, weights

Tensors = dict[str, tf.Tensor]


def halves(z: tf.Tensor) -> tf.Tensor:
    return tf.stack([tf.math.real(z), tf.math.imag(z)], -1)


def spectrogram(x: tf.Tensor) -> Tensors:
    power = tf.abs(tf.signal.stft(x, 40, 16, 64))
    mel = tf.tensordot(
        tf.square(power), tf.signal.linear_to_mel_weight_matrix(8, 33, 8000, 50.0, 3500.0), 1
    )
    logs = tf.math.log(mel + 1e-3)
    return {
        "power": power,
        "log_mel": logs,
        "mfcc": tf.signal.mfccs_from_log_mel_spectrograms(logs),
    }


def restored(x: tf.Tensor) -> Tensors:
    window = tf.signal.inverse_stft_window_fn(16)
    bands = tf.signal.stft(x, 64, 16, 64)
    return {
        "again": tf.signal.inverse_stft(bands, 64, 16, 64, window),
        "filtered": tf.signal.inverse_stft(
            bands * tf.cast(tf.linspace(1.0, 0.0, 33), tf.complex64), 64, 16
        ),
    }


def transforms(x: tf.Tensor) -> Tensors:
    z = tf.complex(x, x * 2.0 + 1.0)
    return {
        "fft": halves(tf.signal.fft(z)),
        "ifft": halves(tf.signal.ifft(z)),
        "fft2": halves(tf.signal.fft2d(z)),
        "ifft3": halves(tf.signal.ifft3d(z)),
        "rfft": halves(tf.signal.rfft(x)),
        "longer": halves(tf.signal.rfft2d(x, [8, 6])),
        "irfft": tf.signal.irfft(z),
        "odd": tf.signal.irfft(z, [9]),
        "irfft2": tf.signal.irfft2d(tf.signal.rfft2d(x)),
        "rfft3": halves(tf.signal.rfft3d(x)),
        "dct": tf.signal.dct(x),
        "idct": tf.signal.idct(x, norm="ortho"),
        "shifted": halves(tf.signal.fftshift(z)),
    }


def complexes(x: tf.Tensor, y: tf.Tensor) -> Tensors:
    a, b = tf.complex(x, y), tf.complex(y, x * 0.5)
    turn = tf.constant([1 + 2j, 3 - 1j, 0.5j, -1, 2], tf.complex64)
    return {
        "product": halves(a * b * turn),
        "quotient": halves(a / (b + 3.0)),
        "exp": halves(tf.exp(a)),
        "square": halves(tf.square(a)),
        "matmul": halves(tf.matmul(a, b, adjoint_b=True)),
        "moved": halves(tf.transpose(a)[1:]),
        "less": halves(tf.math.conj(a) - b),
        "joined": halves(tf.reshape(tf.concat([a, b], 0), [-1])),
        "sum": halves(tf.reduce_sum(a, -1)),
        "mean": halves(tf.reduce_mean(a)),
        "chosen": halves(tf.where(x > 0.0, a, b)),
        "padded": halves(tf.pad(a, [[1, 1], [0, 2]])),
        "size": tf.abs(a),
        "angle": tf.math.angle(a),
        "cast": tf.cast(a, tf.float32),
        "real": tf.cast(tf.cast(x, tf.complex64) * a, tf.float32),
        "negative": halves(-a),
    }


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


def encoder(ids: tf.Tensor, lengths: tf.Tensor) -> Tensors:
    """Like BERT: embeddings of words and places, a mask of lengths, a pooled first place."""
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
    """Like GPT: each place reads those before."""
    size = tf.shape(x)[1]
    mask = tf.linalg.band_part(tf.ones([size, size]), -1, 0)
    places = tf.range(size, dtype=tf.float32)[:, None] / tf.pow(
        10000.0, tf.range(0.0, 8.0, 2.0) / 8.0
    )
    x += tf.reshape(tf.stack([tf.sin(places), tf.cos(places)], -1), [size, 8])
    return {"y": block(block(x, mask), mask), "last": tf.argmax(block(x, mask)[:, -1], -1)}


def speech(x: tf.Tensor) -> Tensors:
    """Like Whisper's encoder: two convolutions, waves for places, attention."""
    x = tf.nn.gelu(tf.nn.conv1d(x, weights(3, 4, 8), 1, "SAME"))
    x = tf.nn.gelu(tf.nn.conv1d(x, weights(3, 8, 8), 2, "SAME"))
    return {"y": block(x + weights(32, 8)[: tf.shape(x)[1]])}


def residual(x: tf.Tensor) -> Tensors:
    """Like ResNet: a convolution, a maximum, bottlenecks, a mean."""

    def unit(x: tf.Tensor, filters: int, stride: int) -> tf.Tensor:
        short = tf.nn.conv2d(x, weights(1, 1, int(x.shape[-1]), filters * 2), stride, "VALID")
        y = tf.nn.relu(tf.nn.conv2d(x, weights(1, 1, int(x.shape[-1]), filters), 1, "SAME"))
        y = tf.nn.relu(tf.nn.conv2d(y, weights(3, 3, filters, filters), stride, "SAME"))
        return tf.nn.relu(
            short + tf.nn.conv2d(y, weights(1, 1, filters, filters * 2), 1, "SAME") * 0.2
        )

    x = tf.nn.max_pool2d(
        tf.nn.relu(
            tf.nn.conv2d(
                tf.pad(x, [[0, 0], [3, 3], [3, 3], [0, 0]]), weights(7, 7, 3, 4), 2, "VALID"
            )
        ),
        3,
        2,
        "SAME",
    )
    x = unit(unit(x, 4, 1), 4, 2)
    return {"y": tf.nn.softmax(dense(tf.reduce_mean(x, [1, 2]), 5))}


def mobile(x: tf.Tensor) -> Tensors:
    """Like MobileNetV3: expansion, depthwise, squeeze and excitation, hard swish."""

    def swish(x: tf.Tensor) -> tf.Tensor:
        return x * tf.nn.relu6(x + 3.0) * (1.0 / 6.0)

    def unit(x: tf.Tensor, wide: int, out: int, stride: int) -> tf.Tensor:
        y = swish(tf.nn.conv2d(x, weights(1, 1, int(x.shape[-1]), wide), 1, "SAME"))
        y = swish(tf.nn.depthwise_conv2d(y, weights(5, 5, wide, 1), (1, stride, stride, 1), "SAME"))
        squeezed = tf.reduce_mean(y, [1, 2], keepdims=True)
        gate = (
            tf.nn.relu6(
                tf.nn.conv2d(
                    tf.nn.relu(tf.nn.conv2d(squeezed, weights(1, 1, wide, 2), 1, "SAME")),
                    weights(1, 1, 2, wide),
                    1,
                    "SAME",
                )
                + 3.0
            )
            / 6.0
        )
        y = tf.nn.conv2d(y * gate, weights(1, 1, wide, out), 1, "SAME")
        return x + y if stride == 1 and out == x.shape[-1] else y

    x = unit(unit(swish(tf.nn.conv2d(x, weights(3, 3, 3, 4), 2, "SAME")), 8, 4, 1), 8, 6, 2)
    return {"features": x, "y": dense(tf.reduce_mean(x, [1, 2]), 3)}


def segmented(x: tf.Tensor) -> Tensors:
    """Like U-Net: down, up, and across."""
    first = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 3, 4), 1, "SAME"))
    second = tf.nn.relu(
        tf.nn.conv2d(tf.nn.max_pool2d(first, 2, 2, "VALID"), weights(3, 3, 4, 6), 1, "SAME")
    )
    shape = tf.shape(first)
    up = tf.nn.conv2d_transpose(
        second, weights(2, 2, 4, 6), tf.stack([shape[0], shape[1], shape[2], 4]), 2, "SAME"
    )
    joined = tf.nn.relu(tf.nn.conv2d(tf.concat([first, up], -1), weights(3, 3, 8, 4), 1, "SAME"))
    larger = tf.image.resize(joined, [shape[1] * 2, shape[2] * 2])
    return {
        "mask": tf.sigmoid(tf.nn.conv2d(larger, weights(1, 1, 4, 2), 1, "SAME")),
        "label": tf.argmax(joined, -1, tf.int32),
    }


def scanned_volume(x: tf.Tensor) -> Tensors:
    """Like U-Net in three dimensions."""
    first = tf.nn.elu(tf.nn.conv3d(x, weights(3, 3, 3, 1, 2), [1] * 5, "SAME"))
    second = tf.nn.elu(
        tf.nn.conv3d(tf.nn.max_pool3d(first, 2, 2, "SAME"), weights(3, 3, 3, 2, 4), [1] * 5, "SAME")
    )
    up = tf.nn.conv3d_transpose(second, weights(2, 2, 2, 2, 4), tf.shape(first), 2, "SAME")
    return {
        "y": tf.sigmoid(
            tf.nn.conv3d(tf.concat([first, up], -1), weights(1, 1, 1, 4, 1), [1] * 5, "SAME")
        )
    }


def waves(x: tf.Tensor) -> Tensors:
    """Like WaveNet: dilated causal convolutions with gates, and what each skips."""
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


def detected(x: tf.Tensor) -> Tensors:
    """Like YOLO: boxes from a grid and anchors, and the best of every label."""
    grid = tf.nn.conv2d(x, weights(3, 3, 3, 2 * 7), 2, "SAME")
    shape = tf.shape(grid)
    rows, columns = tf.meshgrid(
        tf.range(shape[1], dtype=tf.float32), tf.range(shape[2], dtype=tf.float32), indexing="ij"
    )
    cells = tf.stack([columns, rows], -1)[None, :, :, None]
    grid = tf.reshape(grid, [shape[0], shape[1], shape[2], 2, 7])
    sizes = tf.cast(tf.stack([shape[2], shape[1]]), tf.float32)
    center = (tf.sigmoid(grid[..., :2]) + cells) / sizes
    extent = (
        tf.exp(tf.clip_by_value(grid[..., 2:4], -4.0, 1.0))
        * tf.constant([[1.5, 2.0], [3.0, 1.0]])
        / sizes
    )
    boxes = tf.reshape(
        tf.concat([center - extent / 2.0, center + extent / 2.0], -1), [shape[0], -1, 4]
    )
    scores = tf.reshape(
        tf.sigmoid(grid[..., 4:5]) * tf.nn.softmax(grid[..., 5:]), [shape[0], -1, 2]
    )
    turned = tf.gather(boxes, [1, 0, 3, 2], axis=-1)
    best = tf.image.combined_non_max_suppression(turned[:, :, None], scores, 3, 5, 0.4, 0.2)
    each = tf.image.combined_non_max_suppression(
        tf.stack([turned, turned + 0.02], 2),
        scores,
        4,
        6,
        0.5,
        0.1,
        pad_per_class=True,
        clip_boxes=False,
    )
    return {
        "boxes": best[0],
        "scores": best[1],
        "labels": best[2],
        "count": best[3],
        "own": each[0],
        "own_scores": each[1],
        "own_labels": each[2],
    }


def translated(x: tf.Tensor) -> Tensors:
    """A recurrence over what is read, and a loop that writes word by word, reading by attention."""
    units = 6

    def step(state: tf.Tensor, given: tf.Tensor) -> tf.Tensor:
        update, reset = tf.split(
            tf.sigmoid(
                tf.matmul(
                    tf.concat([given, state], 1), weights(int(given.shape[1]) + units, 2 * units)
                )
            ),
            2,
            1,
        )
        new = tf.tanh(
            tf.matmul(
                tf.concat([given, reset * state], 1), weights(int(given.shape[1]) + units, units)
            )
        )
        return update * state + (1.0 - update) * new

    start = tf.zeros([tf.shape(x)[0], units])
    memory = tf.transpose(tf.scan(step, tf.transpose(x, [1, 0, 2]), start), [1, 0, 2])

    def write(
        place: tf.Tensor, word: tf.Tensor, state: tf.Tensor, text: tf.TensorArray
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.TensorArray]:
        weight = tf.nn.softmax(tf.squeeze(tf.matmul(memory, state[:, :, None]), 2))
        read = tf.reduce_sum(memory * weight[:, :, None], 1)
        state = step(state, tf.concat([tf.gather(weights(5, 3), word), read], 1))
        word = tf.argmax(dense(state, 5), 1, tf.int32)
        return place + 1, word, state, text.write(place, word)

    begin = (
        0,
        tf.zeros([tf.shape(x)[0]], tf.int32),
        memory[:, -1],
        tf.TensorArray(tf.int32, 7, element_shape=[None]),
    )
    _, _, state, text = tf.while_loop(lambda place, *_: place < 7, write, begin)
    return {"words": tf.transpose(text.stack()), "state": state, "memory": memory}


def searched_beams(x: tf.Tensor) -> Tensors:
    """Beams that are extended and cut back to the best ones, until a step that the data decide."""
    table = tf.nn.log_softmax(weights(6, 6))

    def go(
        place: tf.Tensor, scores: tf.Tensor, words: tf.Tensor, text: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        total = tf.reshape(scores[:, :, None] + tf.gather(table, words), [-1, 18])
        scores, chosen = tf.math.top_k(total, 3)
        words, beams = chosen % 6, chosen // 6
        text = tf.concat([tf.gather(text, beams, batch_dims=1)[:, :, 1:], words[:, :, None]], 2)
        return place + 1, scores, words, text

    first, words = tf.math.top_k(tf.nn.log_softmax(x), 3)
    start = (tf.constant(0), first, words, tf.tile(words[:, :, None], [1, 1, 4]))
    steps, scores, _, text = tf.while_loop(
        lambda place, scores, *_: (place < 9) & (tf.reduce_max(scores) > -6.0), go, start
    )
    return {"steps": steps, "scores": scores, "text": text}


def routed(x: tf.Tensor) -> Tensors:
    """Capsules that agree in three rounds."""
    votes = tf.einsum("bic,iojc->bioj", x, weights(6, 3, 5, 4))
    logits = tf.zeros_like(votes[..., 0])
    for _ in range(3):
        mixed = tf.einsum("bio,bioj->boj", tf.nn.softmax(logits, -1), votes)
        size = tf.reduce_sum(tf.square(mixed), -1, keepdims=True)
        out = mixed * size / (1.0 + size) * tf.math.rsqrt(size + 1e-7)
        logits += tf.einsum("bioj,boj->bio", votes, out)
    return {"capsules": out, "lengths": tf.norm(out, axis=-1)}


def styled(x: tf.Tensor) -> Tensors:
    """Instance and group normalisation, reflected borders, nearest neighbours, pixels from
    channels.
    """
    padded = tf.pad(x, [[0, 0], [2, 2], [2, 2], [0, 0]], "REFLECT")
    y = tf.nn.conv2d(padded, weights(5, 5, 3, 8), 1, "VALID")
    mean, variance = tf.nn.moments(y, [1, 2], keepdims=True)
    y = tf.nn.relu((y - mean) * tf.math.rsqrt(variance + 1e-5) * weights(8))
    shape = tf.shape(y)
    groups = tf.reshape(y, [shape[0], shape[1], shape[2], 2, 4])
    mean, variance = tf.nn.moments(groups, [1, 2, 4], keepdims=True)
    y = tf.reshape((groups - mean) / tf.sqrt(variance + 1e-5), shape)
    return {
        "shuffled": tf.nn.depth_to_space(y, 2),
        "up": tf.image.resize(y, [12, 14], "nearest"),
        "gram": tf.einsum("bhwc,bhwd->bcd", y, y),
    }


def summed(x: tf.Tensor, index: tf.Tensor) -> Tensors:
    """Segments, buckets and scattering, as models of graphs have them."""
    rows = tf.reshape(x, [-1, 4])
    owners = tf.constant([0, 0, 2, 1, 1, 2, 3, 3, 0, 2, 1, 3])
    ordered = tf.constant([0, 0, 0, 1, 1, 3, 3, 3, 3, 4, 4, 4])
    sources, targets = tf.constant([0, 1, 2, 3, 4, 5]), tf.constant([1, 2, 3, 4, 5, 0])
    return {
        "unsorted": tf.math.unsorted_segment_sum(rows, owners, 4),
        "mean": tf.math.unsorted_segment_mean(rows, owners, 4),
        "sum": tf.math.segment_sum(rows, ordered),
        "average": tf.math.segment_mean(rows, ordered),
        "most": tf.math.segment_max(rows, ordered),
        "least": tf.math.segment_min(rows, ordered),
        "product": tf.math.segment_prod(rows, ordered),
        "messages": tf.tensor_scatter_nd_add(
            tf.zeros([6, 4]), targets[:, None], tf.gather(rows, sources)
        ),
        "counts": tf.raw_ops.DenseBincount(input=index, size=9, weights=tf.zeros([0], tf.int32)),
        "weights": tf.raw_ops.Bincount(arr=index, size=9, weights=x[0, :2, :3]),
        "hot": tf.one_hot(index, 9, on_value=2.0, off_value=-1.0),
    }


def gated(x: tf.Tensor) -> Tensors:
    """Recurrences as single operators."""
    size = tf.shape(x)[1]
    start = tf.zeros([size, 4])
    peep = weights(4)
    whole = tf.raw_ops.BlockLSTM(
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
        "h": whole.h,
        "c": whole.cs,
        "gates": whole.o,
        "early": second.h,
        "cell": cell.h,
        "state": cell.cs,
        "gru": gru.h,
        "reset": gru.r,
    }


def patched(x: tf.Tensor) -> Tensors:
    """Like ViT: patches, a class token, attention; patches of windows as Swin has them."""
    shape = tf.shape(x)
    patches = tf.reshape(
        tf.image.extract_patches(x, [1, 4, 4, 1], [1, 4, 4, 1], [1, 1, 1, 1], "VALID"),
        [shape[0], 4, 48],
    )
    tokens = tf.concat(
        [tf.tile(weights(1, 8)[None], [shape[0], 1, 1]), dense(patches, 8)], 1
    ) + weights(5, 8)
    windows = tf.reshape(
        tf.transpose(tf.reshape(x, [shape[0], 2, 4, 2, 4, 3]), [0, 1, 3, 2, 4, 5]), [-1, 16, 3]
    )
    turned = tf.roll(x, [-2, -2], [1, 2])
    return {
        "y": dense(block(tokens)[:, 0], 3),
        "windows": attention(dense(windows, 4), dense(windows, 4), 2),
        "turned": tf.nn.space_to_depth(turned, 2),
    }


def filtered(x: tf.Tensor) -> Tensors:
    """Morphology, medians of sorted windows, gradients of an image, a blur of fixed weights."""
    kernel = tf.constant([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]) / 16.0
    windows = tf.image.extract_patches(x[..., :1], [1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    dy, dx = tf.image.image_gradients(x)
    return {
        "dilated": tf.nn.dilation2d(
            x, weights(3, 3, 3), (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1)
        ),
        "eroded": tf.nn.erosion2d(x, weights(2, 2, 3), (1, 2, 2, 1), "VALID", "NHWC", (1, 2, 1, 1)),
        "median": tf.sort(windows, -1)[..., 4],
        "blurred": tf.nn.depthwise_conv2d(
            x, tf.tile(kernel[:, :, None, None], [1, 1, 3, 1]), (1, 1, 1, 1), "SAME"
        ),
        "edges": tf.sqrt(tf.square(dy) + tf.square(dx)),
        "sobel": tf.image.sobel_edges(x),
        "variation": tf.image.total_variation(x),
        "standard": tf.image.per_image_standardization(x),
        "gray": tf.image.rgb_to_grayscale(x),
        "yuv": tf.image.rgb_to_yuv(x),
        "gamma": tf.image.adjust_gamma(tf.abs(x), 0.8),
        "flipped": tf.image.flip_left_right(tf.image.flip_up_down(x)),
        "turned": tf.image.rot90(x),
        "center": tf.image.central_crop(x, 0.5),
    }


def boxed(x: tf.Tensor) -> Tensors:
    """Batches of places, and back; the older operators, too."""
    return {
        "atrous": tf.nn.atrous_conv2d(x, weights(3, 3, 4, 2), 2, "SAME"),
        "batched": tf.raw_ops.SpaceToBatch(input=x, paddings=[[0, 0], [0, 0]], block_size=2),
        "back": tf.raw_ops.BatchToSpace(
            input=tf.tile(x, [4, 1, 1, 1]), crops=[[1, 0], [0, 1]], block_size=2
        ),
        "blocks": tf.space_to_batch(x, [2, 4], [[0, 0], [1, 3]]),
        "pooled": tf.nn.max_pool_with_argmax(x, 2, 2, "SAME")[0],
        "places": tf.nn.max_pool_with_argmax(x, 2, 2, "VALID", include_batch_in_index=True)[1],
    }


def matrices(x: tf.Tensor) -> Tensors:
    """Linear algebra over batches."""
    square = tf.matmul(x, x, transpose_a=True) + 2.0 * tf.eye(4)
    sign, size = tf.linalg.slogdet(square)
    return {
        "inverse": tf.linalg.inv(square),
        "determinant": tf.linalg.det(square),
        "sign": sign,
        "log": size,
        "cholesky": tf.linalg.cholesky(square),
        "solved": tf.linalg.solve(square, tf.transpose(x, [0, 2, 1])),
        "set": tf.linalg.set_diag(square, tf.ones([3, 4])),
        "diagonal": tf.linalg.diag_part(square, k=1),
        "triangular": tf.linalg.triangular_solve(
            tf.linalg.cholesky(square), tf.transpose(x, [0, 2, 1])
        ),
        "trace": tf.linalg.trace(square),
        "diag": tf.linalg.diag(x, k=-1),
        "above": tf.linalg.set_diag(x, x[:, :3, 0], k=1),
        "below": tf.linalg.set_diag(x, x[:, 1:, 0], k=-1),
        "outer": tf.einsum("bi,bj->bij", x[:, 0], x[:, 1]),
        "lower": tf.linalg.band_part(square, 1, 0),
        "norm": tf.norm(x, ord=1, axis=2),
    }


def rounded(x: tf.Tensor) -> Tensors:
    """Weights and activations as training with quantisation leaves them."""
    return {
        "ranged": tf.quantization.quantize_and_dequantize_v2(x, -1.0, 1.5, range_given=True),
        "measured": tf.quantization.quantize_and_dequantize_v2(x, 0.0, 0.0, num_bits=4),
        "narrow": tf.quantization.quantize_and_dequantize_v2(
            x, -1.0, 1.0, range_given=True, narrow_range=True
        ),
        "unsigned": tf.quantization.quantize_and_dequantize_v2(
            tf.abs(x), 0.0, 2.0, signed_input=False, range_given=True, round_mode="HALF_UP"
        ),
        "channels": tf.raw_ops.QuantizeAndDequantizeV2(
            input=x, input_min=tf.zeros([3]), input_max=tf.zeros([3]), axis=1
        ),
        "bits": tf.raw_ops.QuantizeAndDequantizeV3(
            input=x, input_min=-1.0, input_max=1.0, num_bits=5, range_given=True
        ),
    }


def curves(x: tf.Tensor) -> Tensors:
    """Special functions, statistics, and what losses are made of."""
    return {
        "quantile": tf.math.ndtri(tf.clip_by_value(tf.abs(x) * 0.3, 0.01, 0.99)),
        "logsumexp": tf.reduce_logsumexp(x, 1),
        "entropy": tf.nn.sigmoid_cross_entropy_with_logits(tf.sigmoid(x), x),
        "cross": tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x * 2.0), x),
        "sparse": tf.nn.sparse_softmax_cross_entropy_with_logits([1, 0, 2], x),
        "variance": tf.math.reduce_variance(x, 0),
        "deviation": tf.math.reduce_std(x),
        "normalized": tf.math.l2_normalize(x, 1),
        "zero": tf.math.zero_fraction(tf.nn.relu(x)),
        "swish": tf.nn.silu(x),
        "crelu": tf.nn.crelu(x),
        "logistic": tf.math.log_sigmoid(x),
        "nth": tf.raw_ops.NthElement(input=x, n=1, reverse=False),
        "polynomial": tf.sigmoid(x) + tf.math.polyval([1.0, 2.0, 3.0], x),
    }


def partitioned(x: tf.Tensor) -> Tensors:
    """What is chosen by known indices, and put together again."""
    rows = tf.dynamic_stitch([[0, 2, 4], [1, 3, 5]], [x[:3], x[3:]])
    clipped = tf.clip_by_norm(x, 2.0, axes=[1])
    everything, norm = tf.clip_by_global_norm([x, x * 2.0], 3.0)
    return {
        "stitched": rows,
        "clipped": clipped,
        "global": everything[1],
        "norm": norm,
        "difference": (
            tf.raw_ops.ListDiff(x=[1, 2, 3, 4, 5], y=[2, 4]).out + 0 * tf.cast(x[0, 0], tf.int32)
        ),
        "unraveled": (
            tf.unravel_index([7, 5], [3, 4]) + tf.cast(tf.zeros([2, 2]) * x[0, 0], tf.int32)
        ),
        "histogram": tf.histogram_fixed_width(x, [-2.0, 2.0], 5),
        "sorted": tf.sort(x, direction="DESCENDING"),
        "order": tf.argsort(x, 0),
        "case": tf.switch_case(
            tf.argmax(x[0], output_type=tf.int32) % 3, [lambda: x, lambda: x * 2.0, lambda: x - 1.0]
        ),
        "map": tf.map_fn(lambda row: row * tf.reduce_max(row), x),
        "folded": tf.foldl(lambda a, row: a * 0.5 + row, x),
        "vectorized": tf.vectorized_map(lambda row: tf.cumsum(row) - row[0], x),
    }


def cloud(x: tf.Tensor) -> Tensors:
    """Points with features of their nearest neighbours, as graphs of them have."""
    distance = tf.reduce_sum(tf.square(x[:, :, None] - x[:, None]), -1)
    _, nearest = tf.math.top_k(-distance, 3)
    around = tf.gather(x, nearest, batch_dims=1)
    edges = tf.concat(
        [tf.broadcast_to(x[:, :, None], tf.shape(around)), around - x[:, :, None]], -1
    )
    features = tf.reduce_max(tf.nn.leaky_relu(dense(edges, 6)), 2)
    far = tf.one_hot(tf.argmax(distance, -1), tf.shape(x)[1])
    return {
        "features": features,
        "whole": tf.reduce_max(features, 1),
        "farthest": tf.matmul(far, x),
    }


def pyramid(x: tf.Tensor) -> Tensors:
    """Features of several sizes that are added up, and pooled into bins."""
    levels = [x]
    for _ in range(2):
        levels.append(tf.nn.relu(tf.nn.conv2d(levels[-1], weights(3, 3, 4, 4), 2, "SAME")))
    merged = levels[-1]
    for level in reversed(levels[:-1]):
        shape = tf.shape(level)
        merged = tf.image.resize(merged, shape[1:3]) + tf.nn.conv2d(
            level, weights(1, 1, 4, 4), 1, "SAME"
        )
    bins = tf.concat(
        [
            tf.reshape(tf.image.resize(merged, [size, size], "area"), [-1, size * size * 4])
            for size in (1, 2, 4)
        ],
        1,
    )
    return {
        "merged": merged,
        "bins": bins,
        "cubic": tf.image.resize(x, [5, 9], "bicubic"),
        "lanczos": tf.image.resize_with_crop_or_pad(x, 6, 14),
    }


def crossed(x: tf.Tensor, index: tf.Tensor) -> Tensors:
    """Columns of a table: numbers in buckets, categories with embeddings, products of pairs, deep
    and wide.
    """
    categories = tf.math.floormod(index * tf.constant([7, 3, 5]), 11)
    embedded = tf.nn.embedding_lookup(weights(11, 4), categories)
    total = tf.reduce_sum(embedded, 1)
    pairs = 0.5 * tf.reduce_sum(
        tf.square(total) - tf.reduce_sum(tf.square(embedded), 1), 1, keepdims=True
    )
    place = tf.raw_ops.Bucketize(input=x, boundaries=[-1.0, 0.0, 1.0])
    hot = tf.reshape(tf.one_hot(place, 4), [-1, 12])
    deep = dense(tf.concat([tf.reshape(embedded, [-1, 12]), hot, x], 1), 5, tf.nn.relu)
    crossed_ids = tf.math.floormod(categories[:, 0] * 11 + categories[:, 1], 13)
    return {
        "y": tf.sigmoid(dense(deep, 1) + pairs + tf.gather(weights(13, 1), crossed_ids)),
        "deep": deep,
    }


def flowing(x: tf.Tensor) -> Tensors:
    """Coupling layers that can be undone, and the logarithms of what they do to volumes."""
    volume = tf.zeros([tf.shape(x)[0]])
    for number in range(3):
        kept, changed = tf.split(x if number % 2 == 0 else tf.reverse(x, [1]), 2, axis=1)
        scale, shift = tf.unstack(tf.reshape(dense(kept, 6), [-1, 2, 3]), axis=1)
        scale = tf.tanh(scale)
        x = tf.concat([kept, changed * tf.exp(scale) + shift], 1)
        volume += tf.reduce_sum(scale, 1)
    density = -0.5 * tf.reduce_sum(tf.square(x), 1) - 3.0 * tf.math.log(2.0 * 3.14159265)
    return {
        "z": x,
        "volume": volume,
        "likelihood": density + volume,
        "mixed": tf.matmul(x, tf.linalg.inv(tf.eye(6) + tf.linalg.band_part(weights(6, 6), -1, 0))),
    }


def forecast(x: tf.Tensor) -> Tensors:
    """A series: moving means, differences, lags, a gated recurrence written with `tf.scan`, a
    horizon.
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


NETWORKS: Mapping[str, Graph] = {
    "cloud": (cloud, images(None, 7, 3)),
    "pyramid": (pyramid, images(None, 8, 12, 4)),
    "crossed": (crossed, [((None, 3), "float32"), ((None, 3), "int32")]),
    "flowing": (flowing, images(None, 6)),
    "forecast": (forecast, images(None, 12, 2)),
    "spectrogram": (spectrogram, images(2, 160)),
    "restored": (restored, images(2, 160)),
    "transforms": (transforms, images(None, 6, 5)),
    "complexes": (complexes, [((None, 5), "float32"), ((None, 5), "float32")]),
    "encoder": (encoder, [((2, None), "int32"), ((2,), "int32")]),
    "causal": (causal, images(2, None, 8)),
    "speech": (speech, images(None, 12, 4)),
    "residual": (residual, images(None, 32, 24, 3)),
    "mobile": (mobile, images(None, 16, 12, 3)),
    "segmented": (segmented, images(None, 8, 12, 3)),
    "scanned_volume": (scanned_volume, images(None, 4, 6, 8, 1)),
    "waves": (waves, images(2, None, 1)),
    "detected": (detected, images(2, 8, 6, 3)),
    "translated": (translated, images(None, 4, 3)),
    "searched_beams": (searched_beams, images(2, 6)),
    "routed": (routed, images(None, 6, 4)),
    "styled": (styled, images(None, 8, 6, 3)),
    "summed": (summed, [((3, 4, 4), "float32"), ((2, 3), "int32")]),
    "gated": (gated, images(5, 2, 3)),
    "patched": (patched, images(None, 8, 8, 3)),
    "filtered": (filtered, images(None, 9, 8, 3)),
    "boxed": (boxed, images(None, 8, 8, 4)),
    "matrices": (matrices, images(3, 5, 4)),
    "rounded": (rounded, images(4, 3)),
    "curves": (curves, images(3, 4)),
    "partitioned": (partitioned, images(6, 3)),
}
