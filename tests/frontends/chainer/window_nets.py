"""Nets of convolutions, pools and normalisations; see nets.py."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from nets import draw, of


def convolutions():
    return of(
        lambda m, x, y, z: (
            m.one(x),
            m.three(y),
            m.dilated(z),
            m.depthwise(z),
            m.groups(z),
            m.cover(z),
            m.local(z),
        ),
        draw(2, 3, 9),
        draw(1, 2, 5, 6, 4),
        draw(2, 4, 9, 8),
        one=L.Convolution1D(3, 4, 3, 2, 1),
        three=L.Convolution3D(2, 3, (3, 2, 1), pad=(1, 0, 0)),
        dilated=L.DilatedConvolution2D(4, 3, 3, pad=2, dilate=2),
        depthwise=L.DepthwiseConvolution2D(4, 2, 3, pad=1),
        groups=L.Convolution2D(4, 6, 3, groups=2, dilate=(1, 2)),
        cover=L.ConvolutionND(2, 4, 3, 3, stride=2, cover_all=True),
        local=L.LocalConvolution2D(4, 3, (9, 8), 3),
    )


def deconvolutions():
    return of(
        lambda m, x, y, z: (
            m.one(y),
            m.two(x),
            m.sized(x),
            m.groups(x),
            m.three(z),
            F.deconvolution_2d(x, m.two.W, stride=3, pad=(1, 0)),
        ),
        draw(2, 4, 5, 4),
        draw(2, 3, 6),
        draw(1, 2, 3, 3, 2),
        one=L.Deconvolution1D(3, 2, 3, stride=2),
        two=L.Deconvolution2D(4, 3, 3, stride=2, pad=1),
        sized=L.Deconvolution2D(4, 3, 3, stride=2, pad=1, outsize=(10, 8)),
        groups=L.Deconvolution2D(4, 6, 2, stride=2, groups=2, dilate=2),
        three=L.DeconvolutionND(3, 2, 2, (2, 3, 1), stride=(2, 1, 1), nobias=True),
    )


def deformable():
    return of(
        lambda m, x: m.conv(x), draw(1, 2, 6, 5), conv=L.DeformableConvolution2D(2, 3, 3, pad=1)
    )


def pooling():
    def compute(m, x, y, z):
        return [
            F.max_pooling_2d(x, 2),
            F.max_pooling_2d(x, 3, stride=2),
            F.max_pooling_2d(x, 3, stride=2, pad=1),
            F.max_pooling_2d(x, 3, 2, 1, cover_all=False),
            F.max_pooling_2d(x, (3, 2), (2, 3), (1, 0)),
            F.max_pooling_1d(y, 3, 2),
            F.max_pooling_3d(z, 2),
            F.max_pooling_nd(x, 2, cover_all=False),
            F.average_pooling_2d(x, 2),
            F.average_pooling_2d(x, 3, stride=2, pad=1),
            F.average_pooling_1d(y, 3, 2, 1),
            F.average_pooling_3d(z, 2, 1),
            F.average_pooling_nd(x, 3, 2, 1, pad_value=None),
            F.unpooling_2d(x, 2),
            F.unpooling_2d(x, 2, cover_all=False),
            F.unpooling_2d(x, 3, 2, 1),
            F.unpooling_2d(x, 2, outsize=(13, 13)),
            F.unpooling_1d(y, 2),
            F.unpooling_3d(z, 2),
            F.spatial_pyramid_pooling_2d(x, 3, pooling="max"),
        ]

    return of(compute, draw(2, 2, 7, 7), draw(2, 3, 8), draw(1, 2, 4, 4, 5))


def upsampling():
    def compute(m, x):
        y, indices = F.max_pooling_2d(x, 2, return_indices=True)
        z, others = F.max_pooling_2d(x, 3, 2, 1, return_indices=True)
        return (
            F.upsampling_2d(y, indices, 2, outsize=x.shape[2:]),
            F.upsampling_2d(z, others, 3, 2, 1, outsize=x.shape[2:]),
            F.upsampling_2d(y, indices, 2, cover_all=False),
        )

    return of(compute, draw(2, 3, 7, 6))


def normalisations():
    def compute(m, x, y, z):
        one, none = np.ones(4, np.float32), np.zeros(4, np.float32)
        return [
            m.plain(x),
            m.bare(x),
            m.last(z),
            m.whole(x),
            m.axes(x),
            m.layer(y),
            m.group(x),
            m.renorm(x),
            F.batch_normalization(x, one, none),
            F.layer_normalization(y, one, none, eps=1e-3),
            F.group_normalization(x, 2, m.plain.gamma, m.plain.beta),
            F.local_response_normalization(x),
            F.local_response_normalization(x, n=3, k=1, alpha=0.5, beta=0.5),
            F.normalize(x),
            F.fixed_batch_normalization(x, one, none, m.plain.avg_mean, m.plain.avg_var, eps=0.1),
        ]

    return of(
        compute,
        draw(2, 4, 3, 5),
        draw(3, 4),
        draw(2, 3, 4),
        plain=L.BatchNormalization(4),
        bare=L.BatchNormalization(4, use_gamma=False, use_beta=False),
        last=L.BatchNormalization(axis=(0, 1)),
        whole=L.BatchNormalization((4, 3, 5)),
        axes=L.BatchNormalization(axis=(0, 2)),
        layer=L.LayerNormalization(),
        group=L.GroupNormalization(2),
        renorm=L.BatchRenormalization(4),
    )


def instance_norm():
    def compute(m, x):
        n, c, h, w = x.shape
        with chainer.using_config("train", True):
            y = F.batch_normalization(
                F.reshape(x, (1, n * c, h, w)),
                np.ones(n * c, np.float32),
                np.zeros(n * c, np.float32),
            )
        return F.relu(
            F.reshape(y, (n, c, h, w)) * F.broadcast_to(F.reshape(m.fc.b, (1, c, 1, 1)), x.shape)
        )

    return of(compute, draw(2, 3, 5, 4), fc=L.Linear(2, 3))


def inception():
    return of(
        lambda m, x: m.second(m.first(x)),
        draw(1, 3, 6, 6),
        first=L.Inception(3, 2, 2, 3, 1, 2, 2),
        second=L.InceptionBN(9, 2, 2, 3, 2, 2, "avg", 2),
    )


def inception_reduction():
    return of(
        lambda m, x: m.net(x),
        draw(1, 3, 7, 7),
        net=L.InceptionBN(3, 0, 2, 3, 2, 2, "max", stride=2),
    )


def mlp_convolution():
    return of(
        lambda m, x: m.net(x), draw(1, 3, 6, 6), net=L.MLPConvolution2D(3, (4, 5, 2), 3, pad=1)
    )


def more_pooling():
    """Windows that extend beyond the end, or lie beyond it."""

    def compute(m, x, y):
        return [
            F.max_pooling_2d(x, 3, 2),
            F.max_pooling_2d(x, 2, 3),
            F.max_pooling_2d(x, (2, 3), (3, 2), (1, 1)),
            F.max_pooling_2d(x, 5, 4, 2),
            F.max_pooling_2d(x, 3, 3, 1, False),
            F.max_pooling_1d(y, 4, 3, 1),
            F.average_pooling_2d(x, (3, 2), (2, 3), (1, 0)),
            F.average_pooling_2d(x, 5, 1, 2),
            F.average_pooling_nd(x, 2, 2, 1, None),
            F.spatial_pyramid_pooling_2d(x, 2, pooling="max"),
            m.three(F.reshape(x, (1, 2, 2, 4, 4))[:, :, :, :3]),
            m.stateful(F.reshape(y, (2, -1))[:, :3]),
        ]

    def wrapped(m, x, y):
        m.stateful.reset_state()
        return compute(m, x, y)

    return of(
        wrapped,
        draw(2, 2, 4, 4),
        draw(1, 2, 9),
        three=L.Deconvolution3D(2, 2, 2, 2),
        stateful=L.StatefulGRU(3, 4),
    )


NETS = [
    convolutions,
    deconvolutions,
    deformable,
    pooling,
    upsampling,
    normalisations,
    instance_norm,
    inception,
    inception_reduction,
    mlp_convolution,
    more_pooling,
]
