"""Rows of operations of neural networks."""

import numpy as np
from keras import ops

from tests.frontends.keras.operation_rows import row

FIRST = "channels_first"
LENGTHS = np.array([5, 3, 4], "int32")
LABELS = np.array([[1, 2, 2], [3, 0, 0], [1, 3, 1]], "int32")
MASK = np.random.default_rng(3).random((2, 1, 5, 6)) < 0.7
ROWS = {
    "conv": row(lambda x, k: ops.conv(x, k, strides=2, padding="same"), (2, 7, 6, 3), (3, 2, 3, 4)),
    "conv dilated": row(lambda x, k: ops.conv(x, k, dilation_rate=2), (2, 9, 4), (3, 4, 6)),
    "conv first": row(lambda x, k: ops.conv(x, k, data_format=FIRST), (2, 3, 6, 5), (2, 2, 3, 4)),
    "conv volumes": row(
        lambda x, k: ops.conv(x, k, strides=(1, 2, 1)), (1, 4, 5, 4, 2), (2, 2, 2, 2, 3)
    ),
    "depthwise_conv": row(
        lambda x, k: ops.depthwise_conv(x, k, padding="same", strides=2), (2, 6, 7, 3), (3, 3, 3, 2)
    ),
    "depthwise_conv dilated": row(
        lambda x, k: ops.depthwise_conv(x, k, strides=2, dilation_rate=2), (2, 12, 3), (3, 3, 2)
    ),
    "separable_conv": row(
        lambda x, d, p: ops.separable_conv(x, d, p, padding="same"),
        (2, 6, 7, 3),
        (3, 3, 3, 2),
        (1, 1, 6, 4),
    ),
    "max_pool": row(lambda x: ops.max_pool(x, 3, strides=2, padding="same"), (2, 7, 6, 3)),
    "max_pool first": row(lambda x: ops.max_pool(x, 2, data_format=FIRST), (2, 3, 7, 6)),
    "average_pool": row(
        lambda x: ops.average_pool(x, (3, 2), strides=(2, 1), padding="same"), (2, 7, 6, 3)
    ),
    "adaptive_average_pool": row(
        lambda x: ops.adaptive_average_pool(x, (3, 4), data_format="channels_last"), (2, 7, 9, 3)
    ),
    "adaptive_max_pool": row(
        lambda x: ops.adaptive_max_pool(x, (3, 2), data_format=FIRST), (2, 3, 7, 6)
    ),
    "one_hot": row(lambda x: ops.one_hot(x, 3, axis=1), (2, 4), dtypes="int32"),
    "one_hot bool": row(lambda x: ops.one_hot(x - 1, 3, dtype="bool"), (2, 4), dtypes="int64"),
    "multi_hot": row(lambda x: ops.multi_hot(x, 4), (2, 3), dtypes="int32"),
    "unfold": row(
        lambda x: ops.unfold(x, (2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2)),
        (2, 3, 7, 8),
    ),
    "fold": row(lambda x: ops.fold(x, (5, 6), (2, 3), padding=1, stride=(1, 2)), (2, 12, 18)),
    "fold dilated": row(lambda x: ops.fold(x, 6, 3, dilation=2), (1, 18, 4)),
    "depth_to_space": row(lambda x: ops.depth_to_space(x, 2), (2, 3, 2, 8)),
    "space_to_depth": row(lambda x: ops.space_to_depth(x, 2, data_format=FIRST), (2, 3, 4, 6)),
    "sparsemax": row(lambda x: ops.sparsemax(x, axis=1), (2, 5, 3)),
    "batch_normalization": row(
        lambda x, m: ops.batch_normalization(
            x, m, ops.abs(m) + 0.1, axis=1, offset=m, scale=m, epsilon=0.1
        ),
        (2, 3, 4),
        (3,),
    ),
    "layer_normalization": row(
        lambda x, g: ops.layer_normalization(x, g, g, axis=(1, 2)), (2, 3, 4), (3, 4)
    ),
    "rearrange": row(
        lambda x: ops.rearrange(x, "b (h p) (w q) c -> b h w (p q c)", p=2, q=3), (2, 4, 6, 3)
    ),
    "binary_crossentropy": row(
        lambda z, x: ops.binary_crossentropy(ops.sigmoid(z), ops.sigmoid(x)), (3, 4), (3, 4)
    ),
    "binary_crossentropy logits": row(
        lambda z, x: ops.binary_crossentropy(ops.sigmoid(z), x, from_logits=True), (3, 4), (3, 4)
    ),
    "categorical_crossentropy": row(
        lambda z, x: ops.categorical_crossentropy(ops.softmax(z), ops.exp(x), axis=1),
        (3, 4, 2),
        (3, 4, 2),
    ),
    "categorical_crossentropy logits": row(
        lambda z, x: ops.categorical_crossentropy(ops.softmax(z), x, from_logits=True),
        (3, 4),
        (3, 4),
    ),
    "sparse_categorical_crossentropy": row(
        lambda z, x: ops.sparse_categorical_crossentropy(z, ops.softmax(x)),
        (3, 2),
        (3, 2, 4),
        dtypes="int32",
    ),
    "psnr": row(lambda x, y: ops.psnr(x, y, 2.0), (3, 4), (3, 4)),
    "ctc_loss": row(
        lambda x: ops.ctc_loss(LABELS, x, np.array([3, 1, 2], "int32"), LENGTHS), (3, 5, 4)
    ),
    "ctc_loss last": row(
        lambda x: ops.ctc_loss(LABELS - 1, x, np.array([3, 1, 2], "int32"), LENGTHS, mask_index=3),
        (3, 5, 4),
    ),
    "ctc_decode": row(lambda x: ops.ctc_decode(x, LENGTHS), (3, 5, 3)),
    "ctc_decode all": row(
        lambda x: ops.ctc_decode(x, LENGTHS, merge_repeated=False, mask_index=2), (3, 5, 3)
    ),
    "dot_product_attention": row(
        lambda q, k, v: ops.dot_product_attention(q, k, v), (2, 5, 4, 3), (2, 6, 4, 3), (2, 6, 4, 3)
    ),
    "dot_product_attention groups": row(
        lambda q, k, v: ops.dot_product_attention(q, k, v, mask=MASK, scale=0.3, is_causal=True),
        (2, 5, 4, 3),
        (2, 6, 2, 3),
        (2, 6, 2, 3),
    ),
    "dot_product_attention biased": row(
        lambda q, k, bias: ops.dot_product_attention(q, k, k, bias=bias, is_causal=True),
        (2, 5, 2, 3),
        (2, 6, 2, 3),
        (2, 1, 5, 6),
    ),
    "dot_product_attention halves": row(
        lambda q: ops.dot_product_attention(q, q, q), (2, 5, 2, 4), dtypes="float16"
    ),
}
