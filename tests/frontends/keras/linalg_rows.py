"""Rows of operations of linear algebra."""

import numpy as np
from keras import ops

from tests.frontends.keras.operation_rows import row

SQUARE, TALL, WIDE = (2, 4, 4), (2, 5, 3), (2, 3, 5)


def positive(x):
    return ops.matmul(x, ops.swapaxes(x, -1, -2)) + np.eye(x.shape[-2], dtype="float32")


def triangle(x):
    return x + 4 * np.eye(x.shape[-1], dtype="float32")


ROWS = {
    "cholesky": row(lambda x: ops.cholesky(positive(x)), SQUARE),
    "cholesky upper": row(lambda x: ops.cholesky(positive(x), upper=True), SQUARE),
    "cholesky_inverse": row(lambda x: ops.cholesky_inverse(triangle(x)), (4, 4)),
    "cholesky_inverse upper": row(lambda x: ops.cholesky_inverse(triangle(x), upper=True), SQUARE),
    "det": row(ops.det, SQUARE),
    "slogdet": row(ops.slogdet, SQUARE),
    "slogdet of many": row(ops.slogdet, (3, 2, 4, 4)),
    "logdet": row(lambda x: ops.logdet(positive(x)), SQUARE),
    "inv": row(lambda x: ops.inv(triangle(x)), SQUARE),
    "inv doubles": row(lambda x: ops.inv(x), (3, 3), dtypes="float64"),
    "lu_factor": row(ops.lu_factor, (4, 4)),
    "solve": row(lambda a, b: ops.solve(triangle(a), b), SQUARE, (2, 4, 3)),
    "solve a vector": row(lambda a, b: ops.solve(triangle(a), b), (4, 4), (4,)),
    "solve_triangular": row(
        lambda a, b: ops.solve_triangular(triangle(a), b, lower=True), SQUARE, (2, 4)
    ),
    "solve_triangular upper": row(
        lambda a, b: ops.solve_triangular(triangle(a), b), SQUARE, (2, 4, 3)
    ),
    "qr": row(ops.qr, TALL),
    "qr wide": row(ops.qr, WIDE),
    "qr complete": row(lambda x: ops.qr(x, mode="complete"), TALL),
    "eigh": row(lambda x: ops.eigh(x + ops.swapaxes(x, -1, -2)), SQUARE),
    "eigh lower": row(ops.eigh, (5, 5)),
    "svd": row(ops.svd, (6, 6)),
    "svd values": row(lambda x: ops.svd(x, compute_uv=False), WIDE),
    "lstsq": row(ops.lstsq, (6, 3), (6, 2)),
    "lstsq wide": row(ops.lstsq, (3, 6), (3,)),
    "pinv": row(ops.linalg.pinv, TALL),
    "pinv wide": row(lambda x: ops.linalg.pinv(x, rcond=0.3), WIDE),
    "matrix_rank": row(
        lambda x: ops.linalg.matrix_rank(ops.matmul(x, ops.swapaxes(x, -1, -2))), (2, 5, 3)
    ),
    "matrix_rank bound": row(lambda x: ops.linalg.matrix_rank(x, tol=2.0), SQUARE),
} | {
    f"norm {order} {axis} {keepdims}": row(
        lambda x, order=order, axis=axis, keepdims=keepdims: ops.norm(
            x, ord=order, axis=axis, keepdims=keepdims
        ),
        (3, 4, 5),
    )
    for order, axis in (
        *((order, 1) for order in (None, 0, 1, -1, 2, 3, -2, np.inf, -np.inf)),
        *((order, (0, 2)) for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)),
        *((order, (2, 1)) for order in (1, -1, np.inf, -np.inf)),
    )
    for keepdims in (False, True)
}
