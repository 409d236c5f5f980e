"""The operations of keras.ops.nn that are more than one operator, against Keras."""

import numpy as np
import pytest
from keras import ops

from tests.frontends.keras.operation_rows import built, check, row
from webkiln.errors import ShapeError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import run_graph

FIRST = "channels_first"
LENGTHS = np.array([5, 3, 4], "int32")
LABELS = np.array([[1, 2, 2], [3, 0, 0], [1, 3, 1]], "int32")
MASK = np.random.default_rng(3).random((2, 1, 5, 6)) < 0.7

ROWS = {
    "conv": row(lambda x, k: ops.conv(x, k, strides=2, padding="same"), (2, 7, 6, 3), (3, 2, 3, 4)),
    "conv dilated": row(lambda x, k: ops.conv(x, k, dilation_rate=2), (2, 9, 4), (3, 4, 6)),
    "conv first": row(lambda x, k: ops.conv(x, k, data_format=FIRST), (2, 3, 6, 5), (2, 2, 3, 4)),
    "conv volumes": row(lambda x, k: ops.conv(x, k, strides=(1, 2, 1)), (1, 4, 5, 4, 2), (2, 2, 2, 2, 3)),
    "depthwise_conv": row(lambda x, k: ops.depthwise_conv(x, k, padding="same", strides=2), (2, 6, 7, 3), (3, 3, 3, 2)),
    "depthwise_conv dilated": row(lambda x, k: ops.depthwise_conv(x, k, strides=2, dilation_rate=2), (2, 12, 3), (3, 3, 2)),
    "separable_conv": row(lambda x, d, p: ops.separable_conv(x, d, p, padding="same"), (2, 6, 7, 3), (3, 3, 3, 2), (1, 1, 6, 4)),
    "max_pool": row(lambda x: ops.max_pool(x, 3, strides=2, padding="same"), (2, 7, 6, 3)),
    "max_pool first": row(lambda x: ops.max_pool(x, 2, data_format=FIRST), (2, 3, 7, 6)),
    "average_pool": row(lambda x: ops.average_pool(x, (3, 2), strides=(2, 1), padding="same"), (2, 7, 6, 3)),
    "adaptive_average_pool": row(lambda x: ops.adaptive_average_pool(x, (3, 4), data_format="channels_last"), (2, 7, 9, 3)),
    "adaptive_max_pool": row(lambda x: ops.adaptive_max_pool(x, (3, 2), data_format=FIRST), (2, 3, 7, 6)),
    "one_hot": row(lambda x: ops.one_hot(x, 3, axis=1), (2, 4), dtypes="int32"),
    "one_hot bool": row(lambda x: ops.one_hot(x - 1, 3, dtype="bool"), (2, 4), dtypes="int64"),
    "multi_hot": row(lambda x: ops.multi_hot(x, 4), (2, 3), dtypes="int32"),
    "unfold": row(lambda x: ops.unfold(x, (2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2)), (2, 3, 7, 8)),
    "fold": row(lambda x: ops.fold(x, (5, 6), (2, 3), padding=1, stride=(1, 2)), (2, 12, 18)),
    "fold dilated": row(lambda x: ops.fold(x, 6, 3, dilation=2), (1, 18, 4)),
    "depth_to_space": row(lambda x: ops.depth_to_space(x, 2), (2, 3, 2, 8)),
    "space_to_depth": row(lambda x: ops.space_to_depth(x, 2, data_format=FIRST), (2, 3, 4, 6)),
    "sparsemax": row(lambda x: ops.sparsemax(x, axis=1), (2, 5, 3)),
    "batch_normalization": row(
        lambda x, m: ops.batch_normalization(x, m, ops.abs(m) + 0.1, axis=1, offset=m, scale=m, epsilon=0.1), (2, 3, 4), (3,)
    ),
    "layer_normalization": row(lambda x, g: ops.layer_normalization(x, g, g, axis=(1, 2)), (2, 3, 4), (3, 4)),
    "rearrange": row(lambda x: ops.rearrange(x, "b (h p) (w q) c -> b h w (p q c)", p=2, q=3), (2, 4, 6, 3)),
    "binary_crossentropy": row(lambda z, x: ops.binary_crossentropy(ops.sigmoid(z), ops.sigmoid(x)), (3, 4), (3, 4)),
    "binary_crossentropy logits": row(lambda z, x: ops.binary_crossentropy(ops.sigmoid(z), x, from_logits=True), (3, 4), (3, 4)),
    "categorical_crossentropy": row(lambda z, x: ops.categorical_crossentropy(ops.softmax(z), ops.exp(x), axis=1), (3, 4, 2), (3, 4, 2)),
    "categorical_crossentropy logits": row(lambda z, x: ops.categorical_crossentropy(ops.softmax(z), x, from_logits=True), (3, 4), (3, 4)),
    "sparse_categorical_crossentropy": row(
        lambda z, x: ops.sparse_categorical_crossentropy(z, ops.softmax(x)), (3, 2), (3, 2, 4), dtypes="int32"
    ),
    "psnr": row(lambda x, y: ops.psnr(x, y, 2.0), (3, 4), (3, 4)),
    "ctc_loss": row(lambda x: ops.ctc_loss(LABELS, x, np.array([3, 1, 2], "int32"), LENGTHS), (3, 5, 4)),
    "ctc_loss last": row(lambda x: ops.ctc_loss(LABELS - 1, x, np.array([3, 1, 2], "int32"), LENGTHS, mask_index=3), (3, 5, 4)),
    "ctc_decode": row(lambda x: ops.ctc_decode(x, LENGTHS), (3, 5, 3)),
    "ctc_decode all": row(lambda x: ops.ctc_decode(x, LENGTHS, merge_repeated=False, mask_index=2), (3, 5, 3)),
    "dot_product_attention": row(lambda q, k, v: ops.dot_product_attention(q, k, v), (2, 5, 4, 3), (2, 6, 4, 3), (2, 6, 4, 3)),
    "dot_product_attention groups": row(
        lambda q, k, v: ops.dot_product_attention(q, k, v, mask=MASK, scale=0.3, is_causal=True), (2, 5, 4, 3), (2, 6, 2, 3), (2, 6, 2, 3)
    ),
    "dot_product_attention biased": row(
        lambda q, k, bias: ops.dot_product_attention(q, k, k, bias=bias, is_causal=True), (2, 5, 2, 3), (2, 6, 2, 3), (2, 1, 5, 6)
    ),
    "dot_product_attention halves": row(lambda q: ops.dot_product_attention(q, q, q), (2, 5, 2, 4), dtypes="float16"),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.sample(16)
def test_nn_operation(compare, name, tmp_path):
    check(compare, ROWS[name], tmp_path, 2e-3 if "halves" in name else 2e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strides": 2, "padding": "same"},
        {"strides": (3, 2), "padding": "valid", "output_padding": 1},
        {"dilation_rate": 2},
        {"strides": 2, "data_format": FIRST},
    ],
    ids=str,
)
def test_conv_transpose(options):
    """Against the function alone: Keras 3.15 hands the operation of a model its padding and output_padding in each other's place."""
    rng = np.random.default_rng(2)
    x, k = rng.normal(size=(2, 5, 5, 5)).astype("float32"), rng.normal(size=(3, 2, 4, 5)).astype("float32")
    graph = KerasConverter().convert(built(row(lambda x, k: ops.conv_transpose(x, k, **options), x.shape, k.shape)))
    (y,) = run_graph(graph, {"x0": x, "x1": k})[0].values()
    if options.get("data_format") == FIRST:
        x, options = np.moveaxis(x, 1, -1), {name: value for name, value in options.items() if name != "data_format"}
        y = np.moveaxis(y, 1, -1)
    expected = np.array(ops.conv_transpose(x, k, **options))
    assert y.shape == expected.shape
    assert np.abs(y - expected).max() < 1e-5


@pytest.mark.parametrize("function", [ops.softmax, ops.log_softmax])
@pytest.mark.parametrize("axes", [(0, 2), (1,), (2, 0, 1)])
def test_softmax_over_several_axes(function, axes):
    """Against the function alone, which flattens the axes; the operation of a model fails in TensorFlow."""
    x = np.random.default_rng(3).normal(size=(2, 3, 4)).astype("float32")
    graph = KerasConverter().convert(built(row(lambda x: function(x, axis=axes), (2, 3, 4))))
    (y,) = run_graph(graph, {"x0": x})[0].values()
    np.testing.assert_allclose(y, function(x, axis=axes), rtol=1e-5, atol=1e-6)


def test_a_target_that_is_no_class_is_nan():
    graph = KerasConverter().convert(built(row(ops.sparse_categorical_crossentropy, (3,), (3, 4), dtypes="int32")))
    (y,) = run_graph(graph, {"x0": np.array([1, 4, -1], "int32"), "x1": np.full((3, 4), 0.25, "float32")})[0].values()
    assert np.isnan(y).tolist() == [False, True, True]


def test_a_path_that_cannot_be_costs_infinity():
    """Two equal labels need three steps; TensorFlow adds up transitions of e**-708 and gives a number above 700."""
    arguments = (np.array([[1, 1]], "int32"), np.zeros((1, 2, 3), "float32"), np.array([2], "int32"), np.array([2], "int32"))
    graph = KerasConverter().convert(built(row(lambda x: ops.ctc_loss(arguments[0], x, *arguments[2:]), (1, 2, 3))))
    (y,) = run_graph(graph, {"x0": arguments[1]})[0].values()
    assert np.isposinf(y).all() and np.array(ops.ctc_loss(*arguments)).min() > 700


def test_beams_are_refused_by_name():
    model = built(row(lambda x: ops.ctc_decode(x, LENGTHS, strategy="beam_search"), (3, 5, 3)))
    with pytest.raises(ShapeError, match="strategy='greedy'"):
        KerasConverter().convert(model)
