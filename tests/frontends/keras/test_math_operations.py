"""The operations of keras.ops.math that need several operators agree with Keras."""

import numpy as np
import pytest
from keras import ops

from tests.frontends.keras.math_rows import PAIR, ROWS, SIGNAL
from tests.frontends.keras.operation_rows import FILED, built, check, row
from webkiln.errors import ShapeError, UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import run_graph

WEIGHTS = np.linspace(0.1, 1, 8).astype("float32")


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.sample(FILED["math"])
def test_math_operation(compare, name, tmp_path):
    check(compare, ROWS[name], tmp_path, 3e-5)


def test_window_arrays(compare):
    """Keras cannot save this operation."""
    compare(built(row(lambda x: ops.stft(x, 8, 3, 10, window=WEIGHTS), SIGNAL)))
    compare(built(row(lambda x, y: ops.istft((x, y), 8, 3, 8, window=WEIGHTS), *PAIR)))


def test_segments_are_counted():
    graph = KerasConverter().convert(
        built(row(lambda x, i: ops.segment_sum(x, i), (5, 2), (5,), dtypes="float32 int32"))
    )
    x, ids = np.arange(10, dtype="float32").reshape(5, 2), np.array([1, 0, 1, 2, 0], "int32")
    (y,) = run_graph(graph, {"x0": x, "x1": ids})[0].values()
    assert np.array_equal(y, np.array(ops.segment_sum(x, ids)))


@pytest.mark.parametrize("options", [{}, {"sorted": True}])
def test_unknown_numbers_of_segments_are_refused(options):
    model = built(
        row(lambda x, i: ops.segment_max(x, i, **options), (5,), (5,), dtypes="float32 int32")
    )
    with pytest.raises(ShapeError, match="give num_segments"):
        KerasConverter().convert(model)


@pytest.mark.parametrize(
    "function", [ops.view_as_complex, lambda x: ops.polar(x, x), lambda x: ops.eig(x)[0]]
)
def test_complex_numbers_are_refused_by_name(function):
    with pytest.raises(UnsupportedError, match="complex numbers"):
        KerasConverter().convert(built(row(function, (2, 2))))
