"""Nets of functions of elements, shapes, reductions and products; see nets.py."""

import chainer.functions as F
import chainer.links as L
import numpy as np
from nets import RNG, draw, of


def activations():
    def compute(m, x):
        h = (
            F.clipped_relu(x * 30),
            F.crelu(x),
            F.elu(x, 0.5),
            F.hard_sigmoid(x * 3),
            F.leaky_relu(x),
            F.leaky_relu(x, 0.01),
            F.relu(x),
            F.relu6(x * 9),
            F.rrelu(x),
            F.selu(x),
            F.sigmoid(x),
            F.softplus(x),
            F.softplus(x, beta=3.0),
            F.swish(x, m.swish.beta),
            F.tanh(x),
            m.prelu(x),
            m.shared(x),
            m.swish(x),
            F.maxout(x, 2),
            F.maxout(x, 3, axis=2),
        )
        return h + (F.softmax(x), F.softmax(x, axis=2), F.log_softmax(x), F.log_softmax(x, axis=-1))

    return of(compute, draw(2, 4, 3), prelu=L.PReLU((4,)), shared=L.PReLU(), swish=L.Swish((4, 3)))


def elementwise():
    def compute(m, x, p):
        parts = [
            F.absolute(x),
            F.arccos(x),
            F.arcsin(x),
            F.arctan(x),
            F.arctanh(x),
            F.ceil(x * 3),
            F.cos(x),
            F.cosh(x),
            F.erf(x),
            F.erfc(x),
            F.erfinv(x * 0.9),
            F.exp(x),
            F.expm1(x),
            F.fix(x * 3),
            F.floor(x * 3),
            F.log(p),
            F.log10(p),
            F.log1p(x),
            F.log2(p),
            F.ndtr(x),
            F.ndtri(p / 4),
            F.rsqrt(p),
            F.sign(x),
            F.sin(x),
            F.sinh(x),
            F.sqrt(p),
            F.square(x),
            F.tan(x),
            F.identity(x),
        ]
        parts += [
            F.add(x, p, x),
            F.maximum(x, p - 1),
            F.minimum(x, p - 1),
            F.fmod(x * 5, p),
            F.arctan2(x, p - 1.5),
            F.arctan2(-x, x),
            F.clip(x, -0.5, 0.25),
            F.squared_difference(x, p),
            F.squared_error(x, p),
            F.absolute_error(x, p),
            F.linear_interpolate(p / 4, x, p),
            F.where(x.array > 0, x, p),
            F.bias(x, m.b),
            F.scale(x, m.b, axis=1),
            F.cast(x, "float16").reshape(2, -1),
        ]
        return parts

    model, inputs = of(compute, draw(2, 3, 4), RNG.uniform(0.1, 2, (2, 3, 4)).astype(np.float32))
    model.add_param("b", (3,))
    return model, inputs


def operators():
    def compute(m, x, y):
        return [
            x + y,
            x - y,
            x * y,
            x / (y + 3),
            1 - x,
            2 / (x + 3),
            3 * x,
            -x,
            abs(x),
            (x + 2) ** 2,
            (x + 2) ** 0.5,
            2.0**x,
            x + np.float32(2),
            x @ y.T,
            x[0],
            x[:, 1],
            x[..., None],
            x[1:, ::2],
            x[::-1, 1:3],
            x[None, :, -1],
            x[[0, 1, 0]],
            x[np.array([2, 0]), np.array([1, 3])],
            x.reshape(-1),
            x.reshape((2, 6)),
            x.reshape(4, 3),
            x.transpose(),
            x.transpose(1, 0),
            x.T,
            x.array + 1,
            x.data * 2,
            x.shape[0] * x,
            F.sum(x) + len(x),
            x.ndim * x,
            x.size * x,
            np.maximum(x.array, 0) + np.exp(y.array),
            np.concatenate([x.array, y.array], axis=1),
        ]

    return of(compute, draw(3, 4), draw(3, 4))


def shapes():
    def compute(m, x, y):
        a, b = F.broadcast(x, y)
        return [
            a + b,
            F.broadcast_to(y, (2, 3, 4)),
            F.concat((x, x)),
            F.concat((x, x * 2), axis=2),
            F.copy(x, -1),
            F.depth2space(F.reshape(x, (1, 8, 1, 3)), 2),
            F.space2depth(F.reshape(x, (1, 1, 4, 6)), 2),
            F.diagonal(x, axis1=1, axis2=2),
            F.diagonal(x, 1, 0, 2),
            F.dstack((y, y)),
            F.expand_dims(x, 1),
            F.flatten(x),
            F.flip(x, 1),
            F.fliplr(x),
            F.flipud(x),
            F.get_item(x, (slice(None), [0, 2], 1)),
            F.hstack((y, y)),
            F.moveaxis(x, 0, 2),
            F.moveaxis(x, (0, 1), (2, 0)),
            F.pad(x, ((0, 0), (1, 2), (0, 1)), "constant", constant_values=2),
            F.pad(x, 1, "edge"),
            F.pad(x, ((0, 0), (1, 1), (2, 1)), "reflect"),
            F.pad_sequence([y, y[:2]], padding=-1),
            F.pad_sequence([y[:1], y[:2]], length=4),
            F.permutate(x, np.array([2, 0, 1], np.int32), axis=1),
            F.permutate(x, np.array([2, 0, 1], np.int32), axis=1, inv=True),
            F.repeat(x, 2, axis=1),
            F.repeat(y, (1, 2, 3), axis=0),
            F.reshape(x, (4, -1)),
            F.rollaxis(x, 2),
            F.rollaxis(x, 1, 3),
            F.select_item(y, np.array([1, 0, 3], np.int32)),
            F.separate(x, axis=1),
            F.split_axis(x, 2, 2),
            F.split_axis(x, [1, 3], 2),
            F.squeeze(x[:, :1]),
            F.squeeze(x[:1], axis=0),
            F.stack((x, x), axis=1),
            F.swapaxes(x, 0, 2),
            F.tile(y, (2, 1)),
            F.tile(x, 2),
            F.transpose(x),
            F.transpose(x, (1, 0, 2)),
            F.vstack((y, y)),
            F.transpose_sequence([y, y[:2], y[:1]]),
            F.scatter_add(x, (slice(None), [0, 0]), F.stack((x[:, 0], x[:, 1]), 1)),
        ]

    return of(compute, draw(2, 3, 4), draw(3, 4))


def reductions():
    def compute(m, x):
        return [
            F.sum(x),
            F.sum(x, axis=1),
            F.sum(x, axis=(0, 2), keepdims=True),
            F.mean(x, axis=1),
            F.average(x, axis=2),
            F.average(x, 1, np.array([1, 2, 3], np.float32)),
            F.max(x, axis=1),
            F.min(x, keepdims=True),
            F.prod(x, axis=2),
            F.argmax(x, axis=1),
            F.argmin(x),
            F.logsumexp(x, axis=1),
            F.logsumexp(x),
            F.cumsum(x, axis=1),
            F.cumsum(x),
            F.cumprod(x, axis=2),
            F.batch_l2_norm_squared(x),
            F.sum_to(x, (3, 1)),
            F.normalize(x),
            F.normalize(x, axis=(1, 2)),
        ]

    return of(compute, draw(2, 3, 4))


def products():
    def compute(m, a, b, e):
        return [
            F.matmul(a, b, transb=True),
            F.matmul(a, a, transa=True),
            F.batch_matmul(a, b, transb=True),
            F.batch_matmul(e, e, transa=True),
            F.einsum("bij,bkj->bik", a, b),
            F.einsum("bij->ji", a),
            F.tensordot(a, b, axes=((0, 2), (0, 2))),
            F.tensordot(e, F.transpose(e), axes=1),
            m.bilinear(e, e),
            m.plain(e, e),
            F.linear(a, m.fc.W, m.fc.b, n_batch_axes=2),
            m.fc(e),
            m.wide(a),
            F.batch_det(a[:, :3, :3]),
            F.det(a[0][:3, :3]),
        ]

    return of(
        compute,
        draw(2, 3, 4),
        draw(2, 3, 4),
        draw(3, 4),
        bilinear=L.Bilinear(4, 4, 3),
        plain=L.Bilinear(4, 4, 2, nobias=True),
        fc=L.Linear(4, 5),
        wide=L.Linear(None, 2),
    )


NETS = [
    activations,
    elementwise,
    operators,
    shapes,
    reductions,
    products,
]
