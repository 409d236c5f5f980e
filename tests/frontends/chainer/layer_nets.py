"""Nets of functions over images, functions that links call, and indexing; see nets.py."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from nets import draw, of


def images():
    def compute(m, x, theta):
        grid = F.spatial_transformer_grid(theta, (5, 4))
        return [
            F.resize_images(x, (9, 5)),
            F.resize_images(x, (3, 12), align_corners=False),
            F.resize_images(x, (12, 4), mode="nearest"),
            grid,
            F.spatial_transformer_sampler(x, grid),
            F.shift(F.concat([x] * 5, 1)[:, :9], ksize=3),
            F.im2col(x, 3, pad=1),
            F.im2col(x, (2, 3), (2, 1), cover_all=True, dilate=(1, 2)),
        ]

    return of(compute, draw(2, 2, 6, 7), draw(2, 2, 3))


ROIS = np.array([[0, 0.4, 1.2, 5.1, 6.3], [1, 2, 0, 6, 4], [0, 3, 3, 3.2, 3.4]], np.float32)


def regions():
    def compute(m, x, rois, corners, images):
        return [
            F.roi_pooling_2d(x, rois, 3, 2, 1.0),
            F.roi_max_pooling_2d(x, corners, images, (2, 3), 1.0),
            F.roi_average_pooling_2d(x, corners, images, 3, 0.5),
            F.roi_average_align_2d(x, corners, images, (2, 3), 0.9, 2),
            F.roi_max_align_2d(x, corners, images, 2, 1.0, 2),
        ]

    return of(
        compute,
        draw(2, 3, 8, 7),
        ROIS,
        np.ascontiguousarray(ROIS[:, [2, 1, 4, 3]]),
        ROIS[:, 0].astype(np.int32),
    )


class Square(chainer.FunctionNode):
    def forward_cpu(self, inputs):
        (x,) = inputs
        return (np.tanh(x) * x,)


def own_function():
    return of(lambda m, x: Square().apply((m.fc(x),))[0], draw(2, 3), fc=L.Linear(3, 4))


def connections():
    """Functions that links call, with separate weights."""

    def compute(m, x, y, z, e, tokens):
        return [
            F.convolution_2d(x, m.w2, m.b4, stride=(2, 1), pad=1, dilate=(1, 2)),
            F.convolution_2d(x, m.w2, cover_all=True, stride=3),
            F.convolution_nd(x, m.w2, None, 1, 1),
            F.convolution_1d(y, m.w1, None, 2),
            F.convolution_3d(z, m.w3, None, 1, (1, 0, 1)),
            F.convolution_2d(x, m.wg, groups=2),
            F.dilated_convolution_2d(x, m.w2, None, 1, 2, 2),
            F.deconvolution_2d(x, m.d2, m.b4, 2, 1),
            F.deconvolution_nd(x, m.d2, None, (2, 3), 0),
            F.deconvolution_1d(y, m.d1, None, 2),
            F.deconvolution_3d(z, m.d3, None, 2, 1),
            F.depthwise_convolution_2d(x, m.dw, None, 1, 1),
            F.local_convolution_2d(x, m.lw, None, 1),
            F.deformable_convolution_2d_sampler(x, m.offsets, m.w2, m.b4, 1, 1),
            F.bilinear(e, e * 2, m.bi),
            F.embed_id(tokens, m.table),
            F.embed_id(tokens, m.table, ignore_label=2),
            F.simplified_dropconnect(e, m.fc, None, train=False),
            F.linear(e, m.fc),
            F.prelu(x, m.b4[:2]),
            F.zoneout(e, e * 2),
            F.forget(F.tanh, e),
            F.fixed_batch_renormalization(
                x, np.ones(2, "f"), np.zeros(2, "f"), np.full(2, 0.3, "f"), np.full(2, 2, "f")
            ),
            F.lstm(e[:, :1], e),
            F.tree_lstm(e[:, :2], e[:, 2:], F.tile(e, (1, 3))[:, :10]),
            F.unpooling_nd(x, 2),
        ]

    model, inputs = of(
        compute,
        draw(1, 2, 6, 6),
        draw(1, 2, 7),
        draw(1, 2, 3, 4, 3),
        draw(3, 4),
        np.array([[0, 2, 1], [2, 2, 0]], np.int32),
    )
    shapes = {
        "w2": (4, 2, 3, 3),
        "b4": (4,),
        "w1": (3, 2, 3),
        "w3": (2, 2, 2, 1, 3),
        "wg": (4, 1, 3, 3),
        "d2": (2, 4, 3, 3),
        "d1": (2, 3, 2),
        "d3": (2, 1, 2, 3, 2),
        "dw": (2, 2, 3, 3),
        "lw": (3, 5, 5, 2, 2, 2),
        "offsets": (1, 18, 6, 6),
        "bi": (4, 4, 3),
        "table": (3, 5),
        "fc": (2, 4),
    }
    for name, shape in sorted(shapes.items()):
        model.add_param(name, shape, initializer=draw(*shape))
    return model, inputs


def indices():
    def compute(m, x):
        return [
            x[0, 1],
            x[:, -1],
            x[-2:],
            x[1:-1, :, ::2],
            x[:, ::-1],
            x[::-2],
            x[..., 0],
            x[:, None, 1:, ...],
            x[[2, 0], :, 1],
            x[:, [0, 2]],
            x[:, [0, 2], [1, 3]],
            x[[0, 1], :, [1, 3]],
            x[np.array([[0, 1], [2, 0]])],
            x[:, np.array([True, False, True])],
            x[5:],
            x[:, 1:2, -3:-1],
            F.get_item(x, (Ellipsis, None)),
            x[np.int64(1)],
        ]

    return of(compute, draw(4, 3, 5))


NETS = [
    images,
    regions,
    own_function,
    connections,
    indices,
]
