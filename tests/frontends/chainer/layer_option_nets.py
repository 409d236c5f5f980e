"""Nets with options of convolutions, pooling, normalisation and links; see nets.py."""

import chainer.functions as F
import chainer.links as L
import numpy as np
from nets import draw, of


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
    """The initial biases of gates."""

    def compute(m, x):
        m.fresh.transform.b.array[...] = L.Highway(5).transform.b.array
        return m.fresh(x)

    return of(compute, draw(2, 5), fresh=L.Highway(5))


NETS = [
    window_options,
    window_links,
    normalisation_options,
    other_links,
    highway_as_made,
]
