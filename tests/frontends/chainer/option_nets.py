"""Nets of options that the other nets leave at their defaults, and of operands the other way round;
see nets.py.
"""

import chainer.functions as F
import chainer.links as L
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
        found = [
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
            found += [f(x, axis=-1), f(x, axis=(0, -2)), f(x, axis=0, keepdims=True)]
        return found

    return of(compute, draw(2, 3, 4))


def window_options():
    def compute(m, x, y):
        return [
            F.dilated_convolution_2d(x, m.w, None, 2, 1, 2, cover_all=True),
            F.dilated_convolution_2d(x, m.w, m.b, (2, 1), (0, 1), (1, 2)),
            F.convolution_2d(x, m.w, m.b, (3, 2), (1, 0), True, dilate=(2, 1)),
            F.convolution_nd(y, m.v, None, 2, 1, True),
            F.convolution_1d(y, m.v, None, 1, 2, dilate=3),
            F.deconvolution_2d(x, m.d, m.b[:3], (1, 2), (0, 1), dilate=(1, 2)),
            F.deconvolution_2d(x, m.d, None, 2, 1, (15, 12)),
            F.deconvolution_nd(x, m.g, None, (2, 1), (1, 0), groups=2),
            F.depthwise_convolution_2d(x, m.dw, m.many, (2, 1), (0, 1)),
            F.im2col(x, (2, 3), (1, 2), (1, 0), dilate=(2, 1)),
            F.im2col(x, 3, 3, 1, True),
            F.local_convolution_2d(x, m.lw, m.lb, (2, 1)),
            F.shift(F.concat([x] * 3, 1)[:, :11], (1, 3), (1, 2)),
            F.shift(F.concat([x] * 3, 1), dilate=2),
            F.average_pooling_2d(x, (2, 3)),
            F.average_pooling_2d(x, 3, (1, 2), (1, 0)),
            F.average_pooling_nd(x, 3, 2, 1),
            F.average_pooling_nd(x, (3, 2), 2, 1, pad_value=None),
            F.average_pooling_1d(y, 2, pad=1),
            F.average_pooling_1d(y, 3, 2, 1, None),
            F.max_pooling_nd(x, (2, 3), cover_all=True),
            F.max_pooling_2d(x, 2, (1, 2), (0, 1)),
            F.max_pooling_1d(y, 2, pad=1),
            F.max_pooling_2d(x, 2, 3, cover_all=False),
            F.unpooling_2d(x, (2, 3), (2, 1), (1, 0)),
            F.unpooling_2d(x, 3, 2, cover_all=False),
            F.unpooling_nd(x, 2, 2, (1, 0)),
            F.unpooling_1d(y, 3, 1, 1),
            F.unpooling_nd(x, 2, outsize=(15, 13)),
        ]

    model, inputs = of(compute, draw(2, 4, 8, 7), draw(1, 3, 9))
    shapes = {
        "w": (6, 4, 2, 3),
        "b": (6,),
        "v": (2, 3, 3),
        "d": (4, 3, 3, 2),
        "g": (4, 2, 2, 3),
        "dw": (2, 4, 3, 2),
        "lw": (2, 4, 6, 4, 2, 2),
        "lb": (2, 4, 6),
        "many": (8,),
    }
    for name, shape in sorted(shapes.items()):
        model.add_param(name, shape, initializer=draw(*shape))
    return model, inputs


def window_links():
    return of(
        lambda m, x, y, z: [
            m.dilated(x),
            m.conv(x),
            m.named(x),
            m.nd(y),
            m.local(x),
            m.depth(x),
            m.deep(x),
            m.up(x),
            m.upnd(z),
            m.mlp(x),
            m.deform(x),
            m.first(x),
        ],
        draw(2, 4, 8, 7),
        draw(1, 4, 9),
        draw(1, 2, 3, 2, 4),
        dilated=L.DilatedConvolution2D(4, 3, (2, 3), (2, 1), (1, 2), (2, 1)),
        conv=L.Convolution2D(None, 4, (3, 2), (1, 2), (0, 1)),
        named=L.Convolution2D(4, 4, ksize=3, nobias=True, dilate=2, groups=4),
        nd=L.ConvolutionND(1, 4, 6, 2, 1, groups=2),
        local=L.LocalConvolution2D(4, 2, (8, 7), 3, nobias=True),
        depth=L.DepthwiseConvolution2D(None, 3, (3, 1), (1, 2), (1, 0)),
        deep=L.DepthwiseConvolution2D(4, 2, 2, nobias=True),
        up=L.Deconvolution2D(None, 6, (3, 2), (2, 1), (1, 0), dilate=(1, 2), groups=2),
        upnd=L.DeconvolutionND(3, 2, 4, (2, 1, 3), (1, 2, 1), (1, 0, 1), outsize=(2, 3, 4)),
        mlp=L.MLPConvolution2D(None, (3, 5), 3, stride=2, activation=F.tanh),
        deform=L.DeformableConvolution2D(4, 3, 3, stride=2, pad=1, deform_nobias=True),
        first=L.Convolution2D(3 + 1, 2, 1, initial_bias=np.float32([3, 4])),
    )


def normalisation_options():
    def compute(m, x, y):
        four, three = np.float32([1, 2, 3, 4]), np.float32([0.5, -1, 2])
        return [
            m.eps(x),
            m.axis(x),
            m.layer(y),
            m.group(x),
            m.renorm(x),
            m.start(x),
            F.batch_normalization(x, four, -four, eps=0.5),
            F.batch_normalization(x, three, three * 2, axis=(0, 1, 3)),
            F.fixed_batch_normalization(x, four, four, four * 0.1, four * 2),
            F.fixed_batch_normalization(x, three, three, three, three**2, eps=0.3, axis=(0, 1, 3)),
            F.layer_normalization(y, four, -four),
            F.layer_normalization(y, four, four, eps=0.7),
            F.group_normalization(x, 4, four, -four, eps=0.4),
            F.group_normalization(x, 1, four, four),
            F.local_response_normalization(x, 4, 0.5, 0.3, 2),
            F.local_response_normalization(x, n=1, alpha=0.9),
            F.local_response_normalization(x, k=0.1, beta=0.3),
        ]

    return of(
        compute,
        draw(2, 4, 3, 5),
        draw(3, 4) * np.float32(0.02),
        eps=L.BatchNormalization(4, eps=0.4),
        axis=L.BatchNormalization(axis=(0, 2, 3), eps=0.2),
        layer=L.LayerNormalization(4),
        group=L.GroupNormalization(2, 4, eps=0.3),
        renorm=L.BatchRenormalization(4, eps=0.6),
        start=L.BatchNormalization(4, use_gamma=False, eps=0.1),
    )


def other_links():
    return of(
        lambda m, x, y, e: [
            m.bias(x),
            m.scale(x),
            m.both(x),
            m.given(x, e),
            m.moved(x, e),
            m.maxout(y),
            m.highway(y),
            m.bare(y),
            m.prelu(x),
            m.swish(y),
            m.avg(x),
            m.max(x),
            m.linear(x, n_batch_axes=2),
            m.plain(y),
            m.bilinear(y, y * 2),
        ],
        draw(2, 3, 4, 5),
        draw(2, 5),
        draw(4, 5),
        bias=L.Bias(axis=2, shape=(4, 5)),
        scale=L.Scale(axis=2, W_shape=(4,)),
        both=L.Scale(3, (5,), bias_term=True),
        given=L.Scale(axis=2),
        moved=L.Bias(axis=2),
        maxout=L.Maxout(5, 4, 3),
        highway=L.Highway(5, activate=F.tanh),
        bare=L.Highway(5, nobias=True),
        prelu=L.PReLU((3, 4)),
        swish=L.Swish(None),
        avg=L.InceptionBN(3, 2, 2, 2, 2, 3, "avg", 2),
        max=L.InceptionBN(3, 2, 2, 2, 2, 3, "max", 2),
        linear=L.Linear(20, 3),
        plain=L.Linear(5, 2, nobias=True),
        bilinear=L.Bilinear(5, 5, 2, initial_bias=(draw(5, 2), draw(5, 2), draw(2))),
    )


def highway_as_made():
    """The biases of gates as they begin."""

    def compute(m, x):
        m.fresh.transform.b.array[...] = L.Highway(5).transform.b.array
        return m.fresh(x)

    return of(compute, draw(2, 5), fresh=L.Highway(5))


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
    """Operators and functions of numpy, each with what it would be mistaken for."""

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
    window_options,
    window_links,
    normalisation_options,
    other_links,
    highway_as_made,
    shape_options,
    numpy_operators,
]
