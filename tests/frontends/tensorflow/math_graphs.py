"""Graphs over arithmetic, functions, reductions and products of matrices."""

from collections.abc import Mapping

import tensorflow as tf

from tests.frontends.tensorflow.graph_inputs import Graph, images, weights


def arithmetic(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "add": x + y,
        "subtract": x - y,
        "multiply": x * y,
        "divide": x / y,
        "floor": x // y,
        "modulo": x % y,
        "power": tf.abs(x) ** y,
        "maximum": tf.maximum(x, y),
        "minimum": tf.minimum(x, y),
        "no_nan": tf.math.divide_no_nan(x, tf.nn.relu(y)),
        "squared": tf.math.squared_difference(x, y),
        "angle": tf.atan2(x, y),
        "multiply_no_nan": tf.math.multiply_no_nan(x, tf.nn.relu(y)),
        "xlogy": tf.math.xlogy(tf.nn.relu(x), tf.abs(y)),
        "xdivy": tf.math.xdivy(tf.nn.relu(x), y),
        "xlog1py": tf.math.xlog1py(tf.nn.relu(x), tf.abs(y)),
        "truncated": tf.truncatediv(x, y) if x.dtype.is_integer else x,
        "add_n": tf.add_n([x, x, x]),
    }


def integers(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "add": x + y,
        "subtract": x - y,
        "multiply": x * y,
        "floor": x // y,
        "modulo": x % y,
        "truncated": tf.truncatediv(x, y),
        "remainder": tf.truncatemod(x, y),
        "quotient": x / y,
        "and": tf.bitwise.bitwise_and(x, y),
        "or": tf.bitwise.bitwise_or(x, y),
        "xor": tf.bitwise.bitwise_xor(x, y),
        "not": tf.bitwise.invert(x),
        "left": tf.bitwise.left_shift(x, tf.abs(y) % 5),
        "right": tf.bitwise.right_shift(x, tf.abs(y) % 5),
        "square": tf.square(x),
        "absolute": tf.abs(x),
        "sign": tf.sign(x),
        "power": x ** (tf.abs(y) % 4),
    }


def comparisons(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "equal": x == y,
        "different": x != y,
        "less": x < y,
        "at_most": x <= y,
        "greater": x > y,
        "at_least": x >= y,
        "both": (x > 0) & (y > 0),
        "one": (x > 0) | (y > 0),
        "either": tf.math.logical_xor(x > 0, y > 0),
        "not": tf.logical_not(x > 0),
        "where": tf.where(x > y, x, y),
        "rows": tf.compat.v1.where(x[:, 0] > 0, x, y),
        "nan": tf.math.is_nan(tf.where(x > 0, float("nan"), y)),
        "infinite": tf.math.is_inf(tf.where(x > 0, float("-inf"), y)),
        "finite": tf.math.is_finite(x / y),
    }


def functions(x: tf.Tensor) -> dict[str, tf.Tensor]:
    p = tf.abs(x) + 0.1
    small = tf.clip_by_value(x, -0.9, 0.9)
    return {
        "abs": tf.abs(x),
        "negative": -x,
        "sign": tf.sign(x),
        "square": tf.square(x),
        "sqrt": tf.sqrt(p),
        "rsqrt": tf.math.rsqrt(p),
        "exp": tf.exp(x),
        "expm1": tf.math.expm1(x),
        "log": tf.math.log(p),
        "log1p": tf.math.log1p(p),
        "sin": tf.sin(x),
        "cos": tf.cos(x),
        "tan": tf.tan(x),
        "asin": tf.asin(small),
        "acos": tf.acos(small),
        "atan": tf.atan(x),
        "sinh": tf.sinh(x),
        "cosh": tf.cosh(x),
        "tanh": tf.tanh(x),
        "asinh": tf.asinh(x),
        "acosh": tf.acosh(p + 1),
        "atanh": tf.atanh(small),
        "sigmoid": tf.sigmoid(x),
        "erf": tf.math.erf(x),
        "erfc": tf.math.erfc(x),
        "erfinv": tf.math.erfinv(small),
        "floor": tf.floor(x),
        "ceil": tf.math.ceil(x),
        "round": tf.round(x),
        "rint": tf.math.rint(x),
        "reciprocal": tf.math.reciprocal(p),
        "zeros": tf.zeros_like(x),
        "ones": tf.ones_like(x),
        "clip": tf.raw_ops.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=0.5),
    }


def activations(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "relu": tf.nn.relu(x),
        "relu6": tf.nn.relu6(x * 8),
        "elu": tf.nn.elu(x),
        "selu": tf.nn.selu(x),
        "softplus": tf.nn.softplus(x),
        "softsign": tf.nn.softsign(x),
        "leaky": tf.nn.leaky_relu(x, 0.3),
        "swish": tf.nn.swish(x),
        "gelu": tf.nn.gelu(x),
        "tanh_gelu": tf.nn.gelu(x, approximate=True),
        "softmax": tf.nn.softmax(x),
        "axis": tf.nn.softmax(x, 0),
        "log_softmax": tf.nn.log_softmax(x),
        "crelu": tf.nn.crelu(x),
    }


def casts(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        **{
            name: tf.cast(x * 20, name)
            for name in ("int8", "int16", "int32", "int64", "float16", "float32", "bool")
        },
        "unsigned": tf.cast(tf.abs(x) * 20, "uint8"),
        "back": tf.cast(tf.cast(x > 0, "int32"), "float32"),
        "saturated": tf.saturate_cast(x * 400, "int8"),
    }


def reductions(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "sum": tf.reduce_sum(x, 1),
        "kept": tf.reduce_sum(x, [1, 2], keepdims=True),
        "mean": tf.reduce_mean(x, -1),
        "max": tf.reduce_max(x, 1),
        "min": tf.reduce_min(x, 2),
        "product": tf.reduce_prod(x, 1),
        "all": tf.reduce_all(x > -1, 1),
        "any": tf.reduce_any(x > 1, [1, 2]),
        "norm": tf.norm(x, axis=1),
        "euclidean": tf.math.reduce_euclidean_norm(x, 1),
        "variance": tf.math.reduce_variance(x, 1),
        "logsumexp": tf.reduce_logsumexp(x, 1),
        "argmax": tf.argmax(x, 1),
        "argmin": tf.argmin(x, 2, tf.int32),
        "cumsum": tf.cumsum(x, 1),
        "exclusive": tf.cumsum(x, 1, exclusive=True, reverse=True),
        "cumprod": tf.math.cumprod(x, 2),
        "normalised": tf.math.l2_normalize(x, -1),
        "half": tf.nn.l2_loss(x),
    }


def products(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "batched": x @ y,
        "left": tf.matmul(x, y, transpose_a=False, transpose_b=False),
        "turned": tf.matmul(x, x, transpose_b=True),
        "both": tf.matmul(x, y, transpose_a=True, transpose_b=True)
        if x.shape[1] == y.shape[2]
        else x,
        "einsum": tf.einsum("bij,bjk->bki", x, y),
        "outer": tf.einsum("bi,bj->bij", x[:, 0], y[:, 0]),
        "dense": tf.matmul(x[:, 0], weights(5, 3)),
        "tensordot": tf.tensordot(x, weights(5, 2), 1),
        "band": tf.linalg.band_part(x, 1, 0),
        "diagonal": tf.linalg.diag_part(tf.matmul(x, x, transpose_b=True)),
        "trace": tf.linalg.trace(tf.matmul(x, x, transpose_b=True)),
    }


def solved(x: tf.Tensor) -> dict[str, tf.Tensor]:
    square = tf.matmul(x, x, transpose_b=True) + 2.0 * tf.eye(4)
    return {
        "cholesky": tf.linalg.cholesky(square),
        "inverse": tf.linalg.inv(square),
        "determinant": tf.linalg.det(square),
        "solved": tf.linalg.solve(square, x),
        "triangular": tf.linalg.triangular_solve(tf.linalg.cholesky(square), x),
        "diagonal": tf.linalg.diag(x[:, 0]),
        "cross": tf.linalg.cross(x[..., :3], x[..., 1:4]),
    }


MATH_GRAPHS: Mapping[str, Graph] = {
    "arithmetic": (arithmetic, [((None, 5), "float32"), ((5,), "float32")]),
    "integers": (integers, [((None, 6), "int32"), ((None, 6), "int32")]),
    "wide_integers": (integers, [((None, 6), "int64"), ((None, 6), "int64")]),
    "comparisons": (comparisons, [((None, 5), "float32"), ((None, 5), "float32")]),
    "functions": (functions, images(None, 7)),
    "activations": (activations, images(None, 7)),
    "casts": (casts, images(None, 7)),
    "reductions": (reductions, images(None, 6, 4)),
    "products": (products, [((None, 4, 5), "float32"), ((None, 5, 3), "float32")]),
    "solved": (solved, images(None, 4, 5)),
}
