"""Expressions of keras.ops operations: functions of two tensors float32[2, 3, 4]."""

import keras
import numpy as np
from keras import ops

EXPRESSIONS = {
    "scalars": lambda x, y: 2 * x + 1 - y / 3,
    "reverse": lambda x, y: 1 - (2.0 / (ops.abs(x) + 1)) ** 2,
    "literal": lambda x, y: x + np.array([1, 2, 3, 4], "float32"),
    "compare": lambda x, y: ops.where(x > y, x, 0.5),
    "where_scalar_first": lambda x, y: ops.where(ops.logical_not(x > 0), -1.0, y),
    "clip": lambda x, y: ops.clip(x, -0.5, 0.7),
    "cast": lambda x, y: ops.cast(x * 3, "int32") // 2,
    "integer_mean": lambda x, y: ops.mean(ops.cast(x * 3, "int32"), axis=0),
    "integer_division": lambda x, y: ops.cast(x * 9, "int32") / 4,
    "mixed": lambda x, y: ops.cast(x * 9, "int32") + y,
    "bool_sum": lambda x, y: ops.sum(x > 0, axis=-1),
    "item": lambda x, y: x[:, 1],
    "items": lambda x, y: x[:, 1:, ..., None, ::2],
    "negative_step": lambda x, y: x[:, ::-1],
    "newaxis": lambda x, y: x[:, None, -1, 1:3],
    "matmul": lambda x, y: ops.matmul(x, ops.swapaxes(y, 1, 2)),
    "matvec": lambda x, y: ops.matmul(x, np.arange(4, dtype="float32")),
    "vecmat": lambda x, y: ops.matmul(np.arange(3, dtype="float32"), x),
    "einsum": lambda x, y: ops.einsum("bij,bkj->bik", x, y),
    "einsum_ellipsis": lambda x, y: ops.einsum(
        "...ij,jk", x, np.arange(8, dtype="float32").reshape(4, 2)
    ),
    "einsum_implicit": lambda x, y: ops.einsum("bij,bkj", x, y),
    "einsum_one": lambda x, y: ops.einsum("bij->jb", x),
    "normalize": lambda x, y: ops.normalize(x, axis=1),
    "normalize_1": lambda x, y: ops.normalize(x, order=1),
    "threshold": lambda x, y: ops.threshold(x, 0.3, -2.0),
    "glu_axis": lambda x, y: ops.glu(ops.concatenate([x, y], axis=1), axis=1),
    "dot": lambda x, y: ops.dot(x, np.ones((4, 2), "float32")),
    "concatenate": lambda x, y: ops.concatenate([x, y, x], axis=-1),
    "stack": lambda x, y: ops.stack([x, y], axis=1),
    "split": lambda x, y: ops.split(x, 2, axis=-1)[1],
    "split_at": lambda x, y: ops.split(x, [1, 3], axis=-1)[1],
    "unstack": lambda x, y: ops.unstack(x, axis=1)[2],
    "reshape": lambda x, y: ops.reshape(x, (-1, 2, 2)),
    "expand": lambda x, y: ops.expand_dims(x, (0, -1)),
    "moveaxis": lambda x, y: ops.moveaxis(x, 1, -1),
    "pad": lambda x, y: ops.pad(x, ((0, 0), (1, 2), (0, 3)), constant_values=2.0),
    "broadcast": lambda x, y: ops.broadcast_to(ops.sum(x, axis=0, keepdims=True), (5, 3, 4)),
    "tile": lambda x, y: ops.tile(x, (1, 2, 3)),
    "repeat": lambda x, y: ops.repeat(x, 3, axis=1),
    "take": lambda x, y: ops.take(x, np.array([2, -1, 0]), axis=-1),
    "full_like": lambda x, y: ops.full_like(x, 3),
    "slice": lambda x, y: ops.slice(x, (0, 1, 0), (2, 2, 3)),
    "norm": lambda x, y: ops.norm(x, axis=-1, keepdims=True),
    "norm_1": lambda x, y: ops.norm(x, ord=1, axis=-1),
    "moments": lambda x, y: ops.moments(x, axes=[1])[1],
    "softmax_axis": lambda x, y: ops.softmax(x, axis=1),
    "softmax_all": lambda x, y: ops.softmax(x, axis=None),
    "keepdims": lambda x, y: (
        ops.max(x, axis=(1, 2), keepdims=True) - ops.argmax(y, axis=1, keepdims=True)
    ),
    "layer_normalization": lambda x, y: ops.layer_normalization(
        x, np.full(4, 2.0, "float32"), np.ones(4, "float32")
    ),
    "rms_normalization": lambda x, y: ops.rms_normalization(x, np.full(4, 2.0, "float32")),
    "batch_normalization": lambda x, y: ops.batch_normalization(
        x, np.ones(4, "float32"), np.full(4, 2.0, "float32"), axis=-1
    ),
    "convert": lambda x, y: ops.convert_to_tensor(x, "float16"),
    "relu_layer": lambda x, y: keras.activations.relu(x, negative_slope=0.1, max_value=1.0),
}
