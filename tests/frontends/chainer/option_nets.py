"""Nets with options that other nets leave at their defaults, and swapped operands; see nets.py."""

import chainer.functions as F
import numpy as np
from nets import RNG, draw, of


def activation_options():
    def compute(m, x):
        return [
            F.clipped_relu(x, 0.3),
            F.clipped_relu(x * 40),
            F.crelu(x, axis=2),
            F.crelu(x, axis=-1),
            F.elu(x),
            F.elu(x, alpha=1.7),
            F.leaky_relu(x, slope=0.6),
            F.rrelu(x, 0.1, 0.9),
            F.selu(x, 0.5, 2.0),
            F.softplus(x, beta=0.25),
            F.maxout(x, 2, axis=0),
            F.softmax(x, axis=0),
            F.softmax(x, axis=-2),
            F.log_softmax(x),
            F.log_softmax(x, axis=2),
            F.log_softmax(x, axis=0),
            F.swish(x, m.one),
            F.swish(x, np.float32([0.5, 1, 2, 3])),
            F.prelu(x, m.two),
        ]

    model, inputs = of(compute, draw(2, 4, 3))
    model.add_param("one", (), initializer=np.float32(1.5))
    model.add_param("two", (4, 3))
    return model, inputs


def reduction_options():
    def compute(m, x):
        w = np.array([1, 2, 4, 5], np.float32)
        outputs = [
            F.average(x, 2, w, keepdims=True),
            F.average(x, -1, w),
            F.average(x, (0, -1)),
            F.average(x, keepdims=True),
            F.normalize(x * 0.01, eps=0.1),
            F.normalize(x, axis=0),
            F.normalize(x, eps=0.5, axis=(0, 2)),
            F.cumsum(x, axis=-1),
            F.cumprod(x),
            F.cumprod(x, axis=0),
            F.logsumexp(x, axis=(0, -1)),
            F.argmax(x),
            F.argmin(x, axis=-1),
            F.argmax(x, axis=0),
            F.matmul(x[0, 0], x[0, 1], transa=True),
            F.matmul(x, x[0, 0]),
            F.matmul(x[0, 0, :3], x[0], transb=False),
            F.matmul(x, x, transa=True, transb=False),
            F.tensordot(x, x, axes=3),
            F.tensordot(x, x, axes=((-1, 1), (2, 1))),
            F.tensordot(x[0], F.transpose(x[0]), axes=1),
            F.sum_to(x, (2, 1, 4)),
            F.sum_to(x, (1,)),
            F.batch_matmul(x, x, transa=True),
            F.einsum(x, [0, 1, 2], x, [0, 1, 2], [2, 0]),
            F.einsum("...ij,...kj->...ik", x, x),
            F.einsum("ijk,ijk", x, x),
        ]
        for f in (F.sum, F.mean, F.max, F.min, F.prod):
            outputs += [f(x, axis=-1), f(x, axis=(0, -2)), f(x, axis=0, keepdims=True)]
        return outputs

    return of(compute, draw(2, 3, 4))


def shape_options():
    def compute(m, x, y):
        return [
            F.concat((x, x), axis=0),
            F.concat((x, x), axis=-1),
            F.stack((x, x)),
            F.stack((x, x), axis=-1),
            F.stack((x, x), 2),
            F.expand_dims(x, -1),
            F.expand_dims(x, 0),
            F.squeeze(x[:, :1, :1]),
            F.squeeze(x[:1, :, :1], axis=(0, -1)),
            F.diagonal(x, -1, 1, 2),
            F.diagonal(x, 2, 1, 2),
            F.diagonal(x, axis1=2, axis2=0),
            F.diagonal(x, -1),
            F.split_axis(x, [1], -1),
            F.split_axis(x, 3, 1),
            F.split_axis(x, 1, 0),
            F.separate(x),
            F.separate(x, -1),
            F.flip(x, -1),
            F.flip(x, 2),
            F.repeat(x, 3),
            F.repeat(x, 2, axis=-1),
            F.repeat(x, (2, 0, 1), axis=1),
            F.tile(x, (2, 1, 3)),
            F.tile(x, (2, 1, 1, 2)),
            F.tile(y, 3),
            F.rollaxis(x, -1),
            F.rollaxis(x, 0, 2),
            F.moveaxis(x, -1, 0),
            F.swapaxes(x, -1, 0),
            F.transpose(x, (2, -3, 1)),
            x.transpose(-1, 0, 1),
            F.pad(x, 2, "constant"),
            F.pad(x, ((1, 0), (0, 2), (3, 1)), "edge"),
            F.pad(x, (1, 0), "constant", constant_values=-3),
            F.pad(y, ((2, 1), (1, 3)), "wrap"),
            F.permutate(x, np.array([1, 0], np.int32)),
            F.permutate(x, np.array([3, 1, 0, 2], np.int32), axis=2, inv=True),
            F.permutate(y, m.order, inv=True),
            F.hstack((x, x)),
            F.vstack((y[0], y[1])),
            F.dstack((y[0], y[1])),
            F.dstack((x, x)),
            F.hstack((y[0], y[1])),
            F.pad_sequence([y, y[:1]], length=5, padding=2),
            F.space2depth(F.reshape(x, (1, 2, 2, 6))[:, :, :, :6], 2),
            F.depth2space(F.reshape(x, (1, 12, 1, 2)), 2),
            F.get_item(x, (1, Ellipsis, slice(None, None, -2))),
            x[-1, 1:, None],
            x[:, -2],
            x[..., -1:],
            x[:, 2:0:-1],
            x[np.array([[True, False, True], [False, True, True]])],
            F.broadcast_to(y[:, :1], (2, 3, 4)),
            F.broadcast(x, y[:1], y[0]),
            F.resize_images(m.image, (4, 9)),
            F.resize_images(m.image, (4, 9), align_corners=False),
            F.resize_images(m.image, (10, 3), mode="nearest"),
            F.resize_images(m.image, (1, 6)),
            F.scatter_add(x, (slice(None), [0, 0], 1), np.float32([[1, 2], [3, 4]])),
        ]

    model, inputs = of(compute, draw(2, 3, 4), draw(3, 4))
    model.order = np.array([2, 0, 1], np.int32)
    model.add_param("image", (1, 2, 5, 6), initializer=draw(1, 2, 5, 6))
    return model, inputs


def numpy_operators():
    """Operators and functions of numpy, next to those that are easily confused."""

    def compute(m, x, p):
        a, b = x.array, p.array
        return [
            3.0 - x,
            2.0 / p,
            2.0**x,
            p**x,
            p**-1,
            x**3,
            1.5 * x,
            x - 1.5,
            p // 0.3,
            2.0 // p,
            np.float32(2) - x,
            np.ones((3, 4), np.float32) - x,
            -x,
            abs(x),
            x @ F.transpose(p),
            np.eye(3, dtype=np.float32) @ x,
            np.concatenate([a, b]),
            np.concatenate([a, b], axis=1),
            np.concatenate([a, b], axis=-1),
            np.stack([a, b], axis=2),
            np.logical_or(a > 0, b > 1),
            np.logical_and(a > 0, b > 1),
            np.logical_not(a > 0),
            a != b,
            a == a,
            a <= 0,
            a < b,
            a >= b - 1,
            (a > 0) | (b > 1),
            (a > 0) & (b > 1),
            ~(a > 0),
            np.where(a > 0, a, b),
            np.clip(a, -0.2, 0.4),
            np.maximum(a, b - 1),
            np.minimum(a, b - 1),
            np.power(b, a),
            np.subtract(a, b),
            np.divide(a, b),
            np.sum(a, axis=1, keepdims=True),
            np.mean(a, axis=0),
            np.max(a, axis=-1),
            F.argmax(a, axis=1),
            F.argmin(a, axis=0),
            np.cumsum(a, axis=0),
            np.prod(a, axis=1),
            np.zeros_like(a),
            np.ones_like(a) * a,
            np.transpose(a),
            np.reshape(a, (4, 3)),
            np.swapaxes(a, 0, 1),
            np.repeat(a, 2, axis=0),
            np.dot(a, b.T),
            np.tile(a, (1, 2)),
            np.expand_dims(a, 1),
            F.arctan2(x, p - 1),
            F.arctan2(p - 1, x),
            F.arctan2(x * 0 - 1, -p),
            F.fmod(x * 7, -p),
            F.fix(x * 5),
            F.bias(x, np.float32([1, 2, 3, 4])),
            F.scale(x, np.float32([1, 2, 3]), axis=0),
            F.clip(x, 0.1, None),
            F.clip(x, None, 0.1),
            F.where(a > 0, x, 3.0 + x),
            F.linear_interpolate(p / 2, p, x),
            F.embed_id(np.array([[1, 0], [2, 1]], np.int32), x, ignore_label=0),
            F.maximum(p - 1, x),
            F.add(x, p),
            F.cast(x * 3, "int32"),
            a.sum(axis=1),
            a.mean(axis=0),
            x.reshape(2, 6),
            x.transpose(1, 0),
            p.array.max(axis=0),
            x.array.astype(np.int32),
        ]

    return of(compute, draw(3, 4), RNG.uniform(0.3, 2, (3, 4)).astype(np.float32))


NETS = [
    activation_options,
    reduction_options,
    shape_options,
    numpy_operators,
]
