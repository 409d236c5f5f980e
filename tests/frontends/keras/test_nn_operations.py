"""The operations of keras.ops.nn that need several operators agree with Keras."""

import numpy as np
import pytest
from keras import ops

from tests.frontends.keras.nn_rows import FIRST, LENGTHS, ROWS
from tests.frontends.keras.operation_rows import FILED, built, check, row
from webkiln.errors import ShapeError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import run_graph


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.sample(FILED["nn"])
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
    """Compared with the function: in the operation of a model, Keras 3.15 swaps padding and
    output_padding.
    """
    rng = np.random.default_rng(2)
    x, k = (
        rng.normal(size=(2, 5, 5, 5)).astype("float32"),
        rng.normal(size=(3, 2, 4, 5)).astype("float32"),
    )
    graph = KerasConverter().convert(
        built(row(lambda x, k: ops.conv_transpose(x, k, **options), x.shape, k.shape))
    )
    (y,) = run_graph(graph, {"x0": x, "x1": k})[0].values()
    if options.get("data_format") == FIRST:
        x, options = (
            np.moveaxis(x, 1, -1),
            {name: value for name, value in options.items() if name != "data_format"},
        )
        y = np.moveaxis(y, 1, -1)
    expected = np.array(ops.conv_transpose(x, k, **options))
    assert y.shape == expected.shape
    assert np.abs(y - expected).max() < 1e-5


@pytest.mark.parametrize("function", [ops.softmax, ops.log_softmax])
@pytest.mark.parametrize("axes", [(0, 2), (1,), (2, 0, 1)])
def test_softmax_over_several_axes(function, axes):
    """Compared with the function, which flattens the axes; the operation of a model fails in
    TensorFlow.
    """
    x = np.random.default_rng(3).normal(size=(2, 3, 4)).astype("float32")
    graph = KerasConverter().convert(built(row(lambda x: function(x, axis=axes), (2, 3, 4))))
    (y,) = run_graph(graph, {"x0": x})[0].values()
    np.testing.assert_allclose(y, function(x, axis=axes), rtol=1e-5, atol=1e-6)


def test_targets_that_are_no_class_give_nan():
    graph = KerasConverter().convert(
        built(row(ops.sparse_categorical_crossentropy, (3,), (3, 4), dtypes="int32"))
    )
    (y,) = run_graph(
        graph, {"x0": np.array([1, 4, -1], "int32"), "x1": np.full((3, 4), 0.25, "float32")}
    )[0].values()
    assert np.isnan(y).tolist() == [False, True, True]


def test_impossible_paths_cost_infinity():
    """Two equal labels need three steps; TensorFlow adds transitions of e**-708 and returns a
    number above 700.
    """
    arguments = (
        np.array([[1, 1]], "int32"),
        np.zeros((1, 2, 3), "float32"),
        np.array([2], "int32"),
        np.array([2], "int32"),
    )
    graph = KerasConverter().convert(
        built(row(lambda x: ops.ctc_loss(arguments[0], x, *arguments[2:]), (1, 2, 3)))
    )
    (y,) = run_graph(graph, {"x0": arguments[1]})[0].values()
    assert np.isposinf(y).all() and np.array(ops.ctc_loss(*arguments)).min() > 700


def test_beam_search_is_refused():
    model = built(row(lambda x: ops.ctc_decode(x, LENGTHS, strategy="beam_search"), (3, 5, 3)))
    with pytest.raises(ShapeError, match="strategy='greedy'"):
        KerasConverter().convert(model)
