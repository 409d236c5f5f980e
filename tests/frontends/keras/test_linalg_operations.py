"""The operations of keras.ops.linalg agree with Keras: elementwise if a result is unique, otherwise
by the product of the factors.
"""

import numpy as np
import pytest
from keras import ops

from tests.frontends.keras.linalg_rows import ROWS
from tests.frontends.keras.operation_rows import FILED, built, check, row
from webkiln.errors import ShapeError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import run_graph


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.sample(FILED["linalg"])
def test_linalg_operation(compare, name, tmp_path):
    check(compare, ROWS[name], tmp_path, 1e-4)


@pytest.mark.parametrize("shape", [(20, 20), (2, 7, 4), (4, 7)], ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_singular_vectors_reconstruct_the_matrix(shape, full):
    """The signs are undefined; those of TensorFlow depend on its method for the size."""
    graph = KerasConverter().convert(built(row(lambda x: ops.svd(x, full_matrices=full), shape)))
    x = np.random.default_rng(1).standard_normal(shape).astype("float32")
    (u, values, v), k = (
        (item.astype("float64") for item in run_graph(graph, {"x0": x})[0].values()),
        min(shape[-2:]),
    )
    assert u.shape[-1] == (shape[-2] if full else k) and v.shape[-2] == (shape[-1] if full else k)
    for basis in (u, np.swapaxes(v, -1, -2)):
        assert np.abs(np.swapaxes(basis, -1, -2) @ basis - np.eye(basis.shape[-1])).max() < 1e-5
    assert np.abs((u[..., :k] * values[..., None, :]) @ v[..., :k, :] - x).max() < 1e-5
    assert np.abs(values - np.linalg.svd(x, compute_uv=False)).max() < 1e-5


def test_matrices_that_are_not_positive_definite_give_nan():
    graph = KerasConverter().convert(built(row(ops.cholesky, (2, 2))))
    (y,) = run_graph(graph, {"x0": np.array([[1, 2], [2, 1]], "float32")})[0].values()
    assert np.isnan(y).all()


def test_large_matrices_are_refused():
    with pytest.raises(
        ShapeError, match="2000 x 2000 are not supported; at most 1024 rows and columns"
    ):
        KerasConverter().convert(built(row(ops.det, (2000, 2000))))
