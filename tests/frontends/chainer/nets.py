"""Nets that Chainer and webkiln's stand-ins both run: each function returns a chain and its inputs.

Read by Chainer 7 on Python 3.9, too, to make the corpus: `python tests/frontends/chainer/make.py`.
"""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training  # noqa: F401 - scripts do
from chainer.training import extensions  # noqa: F401

RNG = np.random.RandomState(11)


def draw(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


class Net(chainer.Chain):
    """Links by name, and what a call computes with them."""

    def __init__(self, compute, **links):
        super().__init__()
        self.compute = compute
        with self.init_scope():
            for name, link in links.items():
                setattr(self, name, link)

    def forward(self, *xs):
        return self.compute(self, *xs)


def of(compute, *inputs, **links):
    return Net(compute, **links), inputs


class Conv(chainer.Chain):
    """As scripts of Chainer 2 to 4 have it."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(None, 6, 3, pad=1)
            self.bn1 = L.BatchNormalization(6)
            self.conv2 = L.Convolution2D(6, 8, (3, 1), stride=(2, 1), nobias=True)
            self.fc = L.Linear(None, 5)

    def __call__(self, x):
        h = F.max_pooling_2d(F.relu(self.bn1(self.conv1(x))), 2)
        h = F.dropout(F.relu(self.conv2(h)), ratio=0.3)
        return F.softmax(self.fc(h))


def classifier():
    return Conv(), (draw(2, 3, 9, 8),)


class Old(chainer.Chain):
    """As scripts of Chainer 1 have it."""

    def __init__(self):
        super().__init__(
            l1=L.Linear(4, 7),
            l2=L.Linear(7, 3),
        )
        self.add_param("scale", (3,))
        self.add_persistent("shift", np.array([1, 2, 3], np.float32))

    def __call__(self, x):
        h = F.tanh(self.l1(x))
        return self.l2(F.dropout(h)) * F.broadcast_to(self.scale, (x.shape[0], 3)) + self.shift


def chainer_1():
    return Old(), (draw(3, 4),)


class Residual(chainer.Chain):
    def __init__(self, channels):
        super().__init__()
        with self.init_scope():
            self.a = L.Convolution2D(channels, channels, 3, pad=1, nobias=True)
            self.na = L.BatchNormalization(channels, use_gamma=False)
            self.b = L.Convolution2D(channels, channels, 3, pad=1, nobias=True)
            self.nb = L.BatchNormalization(channels, use_beta=False, eps=1e-3)

    def forward(self, x):
        return F.relu(self.nb(self.b(F.relu(self.na(self.a(x))))) + x)


def resnet():
    blocks = chainer.Sequential(
        L.Convolution2D(None, 4, 3, pad=1), F.relu, Residual(4), Residual(4), lambda h: F.average(h, axis=(2, 3)), L.Linear(4, 3)
    )
    return blocks, (draw(2, 2, 6, 5),)


class Listed(chainer.ChainList):
    def __init__(self):
        super().__init__(L.Linear(3, 4), L.Linear(4, 4))
        self.add_link(L.Linear(4, 2))

    def forward(self, x):
        for link in self:
            x = F.sigmoid(link(x))
        return x


def chain_list():
    return Listed(), (draw(2, 3),)


def convolutions():
    return of(
        lambda m, x, y, z: (m.one(x), m.three(y), m.dilated(z), m.depthwise(z), m.groups(z), m.cover(z), m.local(z)),
        draw(2, 3, 9), draw(1, 2, 5, 6, 4), draw(2, 4, 9, 8),
        one=L.Convolution1D(3, 4, 3, 2, 1), three=L.Convolution3D(2, 3, (3, 2, 1), pad=(1, 0, 0)),
        dilated=L.DilatedConvolution2D(4, 3, 3, pad=2, dilate=2), depthwise=L.DepthwiseConvolution2D(4, 2, 3, pad=1),
        groups=L.Convolution2D(4, 6, 3, groups=2, dilate=(1, 2)), cover=L.ConvolutionND(2, 4, 3, 3, stride=2, cover_all=True),
        local=L.LocalConvolution2D(4, 3, (9, 8), 3),
    )  # fmt: skip


def deconvolutions():
    return of(
        lambda m, x, y, z: (m.one(y), m.two(x), m.sized(x), m.groups(x), m.three(z), F.deconvolution_2d(x, m.two.W, stride=3, pad=(1, 0))),
        draw(2, 4, 5, 4), draw(2, 3, 6), draw(1, 2, 3, 3, 2),
        one=L.Deconvolution1D(3, 2, 3, stride=2), two=L.Deconvolution2D(4, 3, 3, stride=2, pad=1),
        sized=L.Deconvolution2D(4, 3, 3, stride=2, pad=1, outsize=(10, 8)), groups=L.Deconvolution2D(4, 6, 2, stride=2, groups=2, dilate=2),
        three=L.DeconvolutionND(3, 2, 2, (2, 3, 1), stride=(2, 1, 1), nobias=True),
    )  # fmt: skip


def deformable():
    return of(lambda m, x: m.conv(x), draw(1, 2, 6, 5), conv=L.DeformableConvolution2D(2, 3, 3, pad=1))


def activations():
    def compute(m, x):
        h = (
            F.clipped_relu(x * 30), F.crelu(x), F.elu(x, 0.5), F.hard_sigmoid(x * 3), F.leaky_relu(x), F.leaky_relu(x, 0.01), F.relu(x), F.relu6(x * 9),
            F.rrelu(x), F.selu(x), F.sigmoid(x), F.softplus(x), F.softplus(x, beta=3.0), F.swish(x, m.swish.beta), F.tanh(x), m.prelu(x),
            m.shared(x), m.swish(x), F.maxout(x, 2), F.maxout(x, 3, axis=2),
        )  # fmt: skip
        return h + (F.softmax(x), F.softmax(x, axis=2), F.log_softmax(x), F.log_softmax(x, axis=-1))

    return of(compute, draw(2, 4, 3), prelu=L.PReLU((4,)), shared=L.PReLU(), swish=L.Swish((4, 3)))


def elementwise():
    def compute(m, x, p):
        parts = [
            F.absolute(x), F.arccos(x), F.arcsin(x), F.arctan(x), F.arctanh(x), F.ceil(x * 3), F.cos(x), F.cosh(x), F.erf(x), F.erfc(x), F.erfinv(x * 0.9),
            F.exp(x), F.expm1(x), F.fix(x * 3), F.floor(x * 3), F.log(p), F.log10(p), F.log1p(x), F.log2(p), F.ndtr(x), F.ndtri(p / 4), F.rsqrt(p),
            F.sign(x), F.sin(x), F.sinh(x), F.sqrt(p), F.square(x), F.tan(x), F.identity(x),
        ]  # fmt: skip
        parts += [
            F.add(x, p, x), F.maximum(x, p - 1), F.minimum(x, p - 1), F.fmod(x * 5, p), F.arctan2(x, p - 1.5), F.arctan2(-x, x), F.clip(x, -0.5, 0.25),
            F.squared_difference(x, p), F.squared_error(x, p), F.absolute_error(x, p), F.linear_interpolate(p / 4, x, p),
            F.where(x.array > 0, x, p), F.bias(x, m.b), F.scale(x, m.b, axis=1), F.cast(x, "float16").reshape(2, -1),
        ]  # fmt: skip
        return parts

    model, inputs = of(compute, draw(2, 3, 4), RNG.uniform(0.1, 2, (2, 3, 4)).astype(np.float32))
    model.add_param("b", (3,))
    return model, inputs


def operators():
    def compute(m, x, y):
        return [
            x + y, x - y, x * y, x / (y + 3), 1 - x, 2 / (x + 3), 3 * x, -x, abs(x), (x + 2) ** 2, (x + 2) ** 0.5, 2.0**x, x + np.float32(2),
            x @ y.T, x[0], x[:, 1], x[..., None], x[1:, ::2], x[::-1, 1:3], x[None, :, -1], x[[0, 1, 0]], x[np.array([2, 0]), np.array([1, 3])],
            x.reshape(-1), x.reshape((2, 6)), x.reshape(4, 3), x.transpose(), x.transpose(1, 0), x.T, x.array + 1, x.data * 2, x.shape[0] * x,
            F.sum(x) + len(x), x.ndim * x, x.size * x, np.maximum(x.array, 0) + np.exp(y.array), np.concatenate([x.array, y.array], axis=1),
        ]  # fmt: skip

    return of(compute, draw(3, 4), draw(3, 4))


def shapes():
    def compute(m, x, y):
        a, b = F.broadcast(x, y)
        return [
            a + b, F.broadcast_to(y, (2, 3, 4)), F.concat((x, x)), F.concat((x, x * 2), axis=2), F.copy(x, -1), F.depth2space(F.reshape(x, (1, 8, 1, 3)), 2),
            F.space2depth(F.reshape(x, (1, 1, 4, 6)), 2), F.diagonal(x, axis1=1, axis2=2), F.diagonal(x, 1, 0, 2), F.dstack((y, y)), F.expand_dims(x, 1),
            F.flatten(x), F.flip(x, 1), F.fliplr(x), F.flipud(x), F.get_item(x, (slice(None), [0, 2], 1)), F.hstack((y, y)), F.moveaxis(x, 0, 2),
            F.moveaxis(x, (0, 1), (2, 0)), F.pad(x, ((0, 0), (1, 2), (0, 1)), "constant", constant_values=2), F.pad(x, 1, "edge"),
            F.pad(x, ((0, 0), (1, 1), (2, 1)), "reflect"), F.pad_sequence([y, y[:2]], padding=-1), F.pad_sequence([y[:1], y[:2]], length=4),
            F.permutate(x, np.array([2, 0, 1], np.int32), axis=1), F.permutate(x, np.array([2, 0, 1], np.int32), axis=1, inv=True), F.repeat(x, 2, axis=1),
            F.repeat(y, (1, 2, 3), axis=0), F.reshape(x, (4, -1)), F.rollaxis(x, 2), F.rollaxis(x, 1, 3), F.select_item(y, np.array([1, 0, 3], np.int32)),
            F.separate(x, axis=1), F.split_axis(x, 2, 2), F.split_axis(x, [1, 3], 2), F.squeeze(x[:, :1]), F.squeeze(x[:1], axis=0), F.stack((x, x), axis=1),
            F.swapaxes(x, 0, 2), F.tile(y, (2, 1)), F.tile(x, 2), F.transpose(x), F.transpose(x, (1, 0, 2)), F.vstack((y, y)),
            F.transpose_sequence([y, y[:2], y[:1]]), F.scatter_add(x, (slice(None), [0, 0]), F.stack((x[:, 0], x[:, 1]), 1)),
        ]  # fmt: skip

    return of(compute, draw(2, 3, 4), draw(3, 4))


def reductions():
    def compute(m, x):
        return [
            F.sum(x), F.sum(x, axis=1), F.sum(x, axis=(0, 2), keepdims=True), F.mean(x, axis=1), F.average(x, axis=2), F.average(x, 1, np.array([1, 2, 3], np.float32)),
            F.max(x, axis=1), F.min(x, keepdims=True), F.prod(x, axis=2), F.argmax(x, axis=1), F.argmin(x), F.logsumexp(x, axis=1), F.logsumexp(x),
            F.cumsum(x, axis=1), F.cumsum(x), F.cumprod(x, axis=2), F.batch_l2_norm_squared(x), F.sum_to(x, (3, 1)), F.normalize(x), F.normalize(x, axis=(1, 2)),
        ]  # fmt: skip

    return of(compute, draw(2, 3, 4))


def products():
    def compute(m, a, b, e):
        return [
            F.matmul(a, b, transb=True), F.matmul(a, a, transa=True), F.batch_matmul(a, b, transb=True), F.batch_matmul(e, e, transa=True), F.einsum("bij,bkj->bik", a, b),
            F.einsum("bij->ji", a), F.tensordot(a, b, axes=((0, 2), (0, 2))), F.tensordot(e, F.transpose(e), axes=1), m.bilinear(e, e), m.plain(e, e), F.linear(a, m.fc.W, m.fc.b, n_batch_axes=2),
            m.fc(e), m.wide(a), F.batch_det(a[:, :3, :3]), F.det(a[0][:3, :3]),
        ]  # fmt: skip

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


def pooling():
    def compute(m, x, y, z):
        return [
            F.max_pooling_2d(x, 2), F.max_pooling_2d(x, 3, stride=2), F.max_pooling_2d(x, 3, stride=2, pad=1), F.max_pooling_2d(x, 3, 2, 1, cover_all=False),
            F.max_pooling_2d(x, (3, 2), (2, 3), (1, 0)), F.max_pooling_1d(y, 3, 2), F.max_pooling_3d(z, 2), F.max_pooling_nd(x, 2, cover_all=False),
            F.average_pooling_2d(x, 2), F.average_pooling_2d(x, 3, stride=2, pad=1), F.average_pooling_1d(y, 3, 2, 1), F.average_pooling_3d(z, 2, 1),
            F.average_pooling_nd(x, 3, 2, 1, pad_value=None), F.unpooling_2d(x, 2), F.unpooling_2d(x, 2, cover_all=False), F.unpooling_2d(x, 3, 2, 1), F.unpooling_2d(x, 2, outsize=(13, 13)),
            F.unpooling_1d(y, 2), F.unpooling_3d(z, 2), F.spatial_pyramid_pooling_2d(x, 3, pooling="max"),
        ]  # fmt: skip

    return of(compute, draw(2, 2, 7, 7), draw(2, 3, 8), draw(1, 2, 4, 4, 5))


def upsampling():
    def compute(m, x):
        y, places = F.max_pooling_2d(x, 2, return_indices=True)
        z, others = F.max_pooling_2d(x, 3, 2, 1, return_indices=True)
        return (
            F.upsampling_2d(y, places, 2, outsize=x.shape[2:]),
            F.upsampling_2d(z, others, 3, 2, 1, outsize=x.shape[2:]),
            F.upsampling_2d(y, places, 2, cover_all=False),
        )

    return of(compute, draw(2, 3, 7, 6))


def normalisations():
    def compute(m, x, y, z):
        one, none = np.ones(4, np.float32), np.zeros(4, np.float32)
        return [
            m.plain(x), m.bare(x), m.last(z), m.whole(x), m.axes(x), m.layer(y), m.group(x), m.renorm(x), F.batch_normalization(x, one, none), F.layer_normalization(y, one, none, eps=1e-3),
            F.group_normalization(x, 2, m.plain.gamma, m.plain.beta), F.local_response_normalization(x), F.local_response_normalization(x, n=3, k=1, alpha=0.5, beta=0.5), F.normalize(x),
            F.fixed_batch_normalization(x, one, none, m.plain.avg_mean, m.plain.avg_var, eps=0.1),
        ]  # fmt: skip

    return of(
        compute, draw(2, 4, 3, 5), draw(3, 4), draw(2, 3, 4), plain=L.BatchNormalization(4), bare=L.BatchNormalization(4, use_gamma=False, use_beta=False), last=L.BatchNormalization(axis=(0, 1)),
        whole=L.BatchNormalization((4, 3, 5)), axes=L.BatchNormalization(axis=(0, 2)), layer=L.LayerNormalization(), group=L.GroupNormalization(2), renorm=L.BatchRenormalization(4),
    )  # fmt: skip


def instance_norm():
    def compute(m, x):
        n, c, h, w = x.shape
        with chainer.using_config("train", True):
            y = F.batch_normalization(F.reshape(x, (1, n * c, h, w)), np.ones(n * c, np.float32), np.zeros(n * c, np.float32))
        return F.relu(F.reshape(y, (n, c, h, w)) * F.broadcast_to(F.reshape(m.fc.b, (1, c, 1, 1)), x.shape))

    return of(compute, draw(2, 3, 5, 4), fc=L.Linear(2, 3))


def embeddings():
    tokens = RNG.randint(0, 7, (2, 5)).astype(np.int32)
    tokens[0, 1] = -1
    return of(
        lambda m, x: (m.ignoring(x), m.plain(F.where(x.array < 0, np.zeros((2, 5), np.int32), x))),
        tokens,
        ignoring=L.EmbedID(7, 4, ignore_label=-1),
        plain=L.EmbedID(7, 3),
    )


def tokens():
    x = RNG.randint(0, 9, (2, 6)).astype(np.int32)
    return of(lambda m, x: F.softmax(m.out(F.mean(m.embed(x), axis=1))), x, embed=L.EmbedID(9, 4), out=L.Linear(4, 3))


def parametric():
    return of(
        lambda m, x, y: [m.bias(x), m.scale(x), m.both(x), m.maxout(y), m.highway(y), m.drop(y, train=False), m.own() * y],
        draw(2, 3, 4), draw(2, 5),
        bias=L.Bias(shape=(3,)), scale=L.Scale(W_shape=(3, 4)), both=L.Scale(1, (3,), bias_term=True), maxout=L.Maxout(5, 3, 2), highway=L.Highway(5),
        drop=L.SimplifiedDropconnect(5, 3), own=L.Parameter(draw(5)),
    )  # fmt: skip


def inception():
    return of(
        lambda m, x: m.second(m.first(x)),
        draw(1, 3, 6, 6),
        first=L.Inception(3, 2, 2, 3, 1, 2, 2),
        second=L.InceptionBN(9, 2, 2, 3, 2, 2, "avg", 2),
    )


def inception_reduction():
    return of(lambda m, x: m.net(x), draw(1, 3, 7, 7), net=L.InceptionBN(3, 0, 2, 3, 2, 2, "max", stride=2))


def mlp_convolution():
    return of(lambda m, x: m.net(x), draw(1, 3, 6, 6), net=L.MLPConvolution2D(3, (4, 5, 2), 3, pad=1))


def sequence_links():
    def compute(m, x):
        xs = [x[0], x[1]]
        found = []
        for link, count in ((m.lstm, 2), (m.bilstm, 2), (m.gru, 1), (m.bigru, 1), (m.tanh, 1), (m.birelu, 1)):
            *states, ys = link(*[None] * count, xs)
            found += [*states, F.stack(ys)]
        return found

    return of(
        compute, draw(2, 5, 3), lstm=L.NStepLSTM(2, 3, 4, 0.5), bilstm=L.NStepBiLSTM(2, 3, 4, 0.0), gru=L.NStepGRU(2, 3, 4, 0.0), bigru=L.NStepBiGRU(1, 3, 4, 0.0), tanh=L.NStepRNNTanh(1, 3, 4, 0.0),
        birelu=L.NStepBiRNNReLU(2, 3, 2, 0.0),
    )  # fmt: skip


def ragged_sequences():
    def compute(m, x, y, z, h):
        hy, cy, ys = m.lstm(h, h * 2, [x, y, z])
        hb, yb = m.gru(None, [x, y, z])
        return [hy, cy, hb, *ys, *yb]

    return of(compute, draw(3, 3), draw(5, 3), draw(2, 3), draw(4, 3, 4), lstm=L.NStepBiLSTM(2, 3, 4, 0.0), gru=L.NStepBiGRU(1, 3, 4, 0.0))


def sequence_functions():
    def compute(m, x, y):
        xs = F.transpose_sequence([x, y])
        hy, cy, ys = F.n_step_lstm(1, 0.0, np.zeros((1, 2, 4), np.float32), np.zeros((1, 2, 4), np.float32), m.lstm.ws, m.lstm.bs, xs)
        gy, gs = F.n_step_gru(1, 0.0, np.zeros((1, 2, 4), np.float32), m.gru.ws, m.gru.bs, xs)
        return hy, cy, gy, F.transpose_sequence(ys), gs

    return of(compute, draw(4, 3), draw(2, 3), lstm=L.NStepLSTM(1, 3, 4, 0.0), gru=L.NStepGRU(1, 3, 4, 0.0))


def cells():
    def compute(m, x, c, h):
        c1, h1 = m.lstm(c, h, x)
        c2, h2 = m.lstm(None, None, x)
        tree = m.childsum(c, c * 2, h, h * 2, x)
        pair = m.nary(c, None, h, None, x)
        s = F.slstm(c, c * 2, F.concat((x, h), 1)[:, :4].reshape(-1, 4)[:, [0, 1, 2, 3] * 4], F.tile(h, (1, 4)))
        return [c1, h1, c2, h2, m.gru(h, x), m.mgu(h, x), *tree, *pair, *s, *m.childsum(x)]

    return of(
        compute,
        draw(2, 3),
        draw(2, 4),
        draw(2, 4),
        lstm=L.StatelessLSTM(3, 4),
        gru=L.StatelessGRU(3, 4),
        mgu=L.StatelessMGU(3, 4),
        childsum=L.ChildSumTreeLSTM(3, 4),
        nary=L.NaryTreeLSTM(3, 4),
    )


def unrolled():
    """Stateful links that are reset in the call."""

    def compute(m, x):
        for link in (m.lstm, m.gru, m.peep, m.zone, m.mgu):
            link.reset_state()
        ys = [[link(x[:, t]) for t in range(x.shape[1])] for link in (m.lstm, m.gru, m.peep, m.zone, m.mgu)]
        return [F.stack(y, axis=1) for y in ys]

    return of(
        compute,
        draw(2, 4, 3),
        lstm=L.LSTM(3, 4),
        gru=L.GRU(3, 4),
        peep=L.StatefulPeepholeLSTM(3, 4),
        zone=L.StatefulZoneoutLSTM(3, 4),
        mgu=L.StatefulMGU(3, 4),
    )


def images():
    def compute(m, x, theta):
        grid = F.spatial_transformer_grid(theta, (5, 4))
        return [
            F.resize_images(x, (9, 5)), F.resize_images(x, (3, 12), align_corners=False), F.resize_images(x, (12, 4), mode="nearest"), grid, F.spatial_transformer_sampler(x, grid), F.shift(F.concat([x] * 5, 1)[:, :9], ksize=3),
            F.im2col(x, 3, pad=1), F.im2col(x, (2, 3), (2, 1), cover_all=True, dilate=(1, 2)),
        ]  # fmt: skip

    return of(compute, draw(2, 2, 6, 7), draw(2, 2, 3))


ROIS = np.array([[0, 0.4, 1.2, 5.1, 6.3], [1, 2, 0, 6, 4], [0, 3, 3, 3.2, 3.4]], np.float32)


def regions():
    def compute(m, x, rois, corners, places):
        return [
            F.roi_pooling_2d(x, rois, 3, 2, 1.0), F.roi_max_pooling_2d(x, corners, places, (2, 3), 1.0), F.roi_average_pooling_2d(x, corners, places, 3, 0.5),
            F.roi_average_align_2d(x, corners, places, (2, 3), 0.9, 2), F.roi_max_align_2d(x, corners, places, 2, 1.0, 2),
        ]  # fmt: skip

    return of(compute, draw(2, 3, 8, 7), ROIS, np.ascontiguousarray(ROIS[:, [2, 1, 4, 3]]), ROIS[:, 0].astype(np.int32))


class Square(chainer.FunctionNode):
    def forward_cpu(self, inputs):
        (x,) = inputs
        return (np.tanh(x) * x,)


def own_function():
    return of(lambda m, x: Square().apply((m.fc(x),))[0], draw(2, 3), fc=L.Linear(3, 4))


class Encoder(chainer.Chain):
    """Attention, as in translators."""

    def __init__(self, units=8, heads=2):
        super().__init__()
        self.heads = heads
        with self.init_scope():
            self.embed = L.EmbedID(12, units)
            self.q, self.k, self.v, self.o = (L.Linear(units, units) for _ in range(4))
            self.n1, self.n2 = L.LayerNormalization(units), L.LayerNormalization(units)
            self.up, self.down = L.Linear(units, 2 * units), L.Linear(2 * units, units)

    def split(self, link, h):
        n, t, d = h.shape
        return F.transpose(F.reshape(link(h.reshape(-1, d)), (n, t, self.heads, d // self.heads)), (0, 2, 1, 3))

    def forward(self, tokens):
        h = self.embed(tokens)
        n, t, d = h.shape
        q, k, v = self.split(self.q, h), self.split(self.k, h), self.split(self.v, h)
        weights = F.softmax(F.matmul(q, k, transb=True) / (d // self.heads) ** 0.5, axis=3)
        mixed = F.reshape(F.transpose(F.matmul(weights, v), (0, 2, 1, 3)), (-1, d))
        flat = F.reshape(h, (-1, d))
        flat = self.n1(flat + self.o(mixed))
        flat = self.n2(flat + self.down(F.relu(self.up(flat))))
        return F.reshape(flat, (n, t, d))


def encoder():
    return Encoder(), (RNG.randint(0, 12, (2, 5)).astype(np.int32),)


class UNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.d1, self.d2 = L.Convolution2D(3, 4, 3, pad=1), L.Convolution2D(4, 8, 4, stride=2, pad=1)
            self.u1, self.u2 = L.Deconvolution2D(8, 4, 4, stride=2, pad=1), L.Convolution2D(8, 3, 3, pad=1)

    def forward(self, x):
        a = F.leaky_relu(self.d1(x))
        b = F.leaky_relu(self.d2(a))
        return F.tanh(self.u2(F.concat([self.u1(b), a])))


def unet():
    return UNet(), (draw(1, 3, 8, 12),)


class Detector(chainer.Chain):
    """A dictionary of outputs, with boxes decoded."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.body = chainer.Sequential(L.Convolution2D(3, 6, 3, stride=2, pad=1), F.relu)
            self.loc, self.conf = L.Convolution2D(6, 8, 1), L.Convolution2D(6, 6, 1)

    def forward(self, x):
        h = self.body(x)
        n = h.shape[0]
        loc = F.reshape(F.transpose(self.loc(h), (0, 2, 3, 1)), (n, -1, 4))
        conf = F.reshape(F.transpose(self.conf(h), (0, 2, 3, 1)), (n, -1, 3))
        centre, size = loc[:, :, :2] * 0.1, F.exp(loc[:, :, 2:] * 0.2)
        return {"boxes": F.concat([centre - size / 2, centre + size / 2], axis=2), "scores": F.softmax(conf, axis=2)}


def detector():
    return Detector(), (draw(2, 3, 6, 6),)


class Wave(chainer.Chain):
    """Dilated, gated, with skips."""

    def __init__(self, layers=4):
        super().__init__()
        self.layers = layers
        with self.init_scope():
            self.first = L.Convolution1D(1, 4, 1)
            for n in range(layers):
                setattr(self, "conv%d" % n, L.ConvolutionND(1, 4, 8, 2, dilate=2**n))
                setattr(self, "skip%d" % n, L.Convolution1D(4, 3, 1))

    def forward(self, x):
        h, total = self.first(x), 0
        for n in range(self.layers):
            wide = self["conv%d" % n](F.pad(h, ((0, 0), (0, 0), (2**n, 0)), "constant"))
            a, b = F.split_axis(wide, 2, axis=1)
            h = F.tanh(a) * F.sigmoid(b) + h
            total = total + self["skip%d" % n](h)
        return F.relu(total)


def wavenet():
    return Wave(), (draw(1, 1, 20),)


def generator():
    def compute(m, z):
        h = F.reshape(F.relu(m.n0(m.l0(z))), (-1, 4, 2, 2))
        h = F.relu(m.n1(m.dc1(h)))
        return F.sigmoid(m.dc2(h))

    return of(
        compute,
        draw(2, 5),
        l0=L.Linear(5, 16),
        n0=L.BatchNormalization(16),
        dc1=L.Deconvolution2D(4, 3, 4, 2, 1),
        n1=L.BatchNormalization(3),
        dc2=L.Deconvolution2D(3, 1, 4, 2, 1),
    )


def mobile():
    def compute(m, x):
        h = F.clipped_relu(m.n1(m.dw(x)), 6.0)
        return m.n2(m.pw(h))

    return of(
        compute,
        draw(1, 4, 6, 6),
        dw=L.DepthwiseConvolution2D(4, 1, 3, pad=1, nobias=True),
        n1=L.BatchNormalization(4),
        pw=L.Convolution2D(4, 6, 1, nobias=True),
        n2=L.BatchNormalization(6),
    )


def squeeze_excite():
    def compute(m, x):
        s = F.sigmoid(m.b(F.relu(m.a(F.average_pooling_2d(x, x.shape[2:])))))
        return x * F.broadcast_to(s[:, :, None, None], x.shape)

    return of(compute, draw(2, 4, 5, 5), a=L.Linear(4, 2), b=L.Linear(2, 4))


def capsule():
    def compute(m, x):
        h = F.stack(F.split_axis(m.conv(x), 2, axis=1), axis=2)
        norm = F.sum(h**2, axis=1, keepdims=True)
        return F.broadcast_to(norm / (1 + norm) / F.sqrt(norm + 1e-8), h.shape) * h

    return of(compute, draw(1, 3, 5, 5), conv=L.Convolution2D(3, 6, 3))


def pixel_shuffle():
    return of(lambda m, x: F.depth2space(m.conv(x), 2), draw(1, 3, 5, 4), conv=L.Convolution2D(3, 12, 3, pad=1))


def nested():
    """A dictionary, a tuple and a list of inputs."""
    return of(lambda m, x, ys: (m.fc(x), [m.fc(y) * 2 for y in ys]), draw(2, 3), [draw(1, 3), draw(4, 3)], fc=L.Linear(3, 2))


def siamese():
    """One link under two names, and weights that are computed with."""
    shared = L.Linear(4, 3)
    return of(lambda m, x, y: F.sum((m.a(x) - m.b(y)) ** 2, axis=1) + F.sum(m.a.W * 0.1), draw(2, 4), draw(2, 4), a=shared, b=shared)


def attention():
    """A decoder's steps with attention over what was encoded."""

    def compute(m, x):
        encoded = F.stack([F.tanh(m.enc(x[:, t])) for t in range(x.shape[1])], axis=1)
        h = encoded[:, -1]
        found = []
        for _ in range(3):
            scores = F.softmax(F.squeeze(F.batch_matmul(encoded, F.expand_dims(h, 2)), axis=2), axis=1)
            context = F.sum(encoded * F.broadcast_to(F.expand_dims(scores, 2), encoded.shape), axis=1)
            h = m.dec(h, context)
            found.append(m.out(h))
        return F.stack(found, axis=1)

    return of(compute, draw(2, 4, 3), enc=L.Linear(3, 5), dec=L.StatelessGRU(5, 5), out=L.Linear(5, 4))


def connections():
    """Functions that links call, with weights of their own."""

    def compute(m, x, y, z, e, tokens):
        return [
            F.convolution_2d(x, m.w2, m.b4, stride=(2, 1), pad=1, dilate=(1, 2)), F.convolution_2d(x, m.w2, cover_all=True, stride=3), F.convolution_nd(x, m.w2, None, 1, 1),
            F.convolution_1d(y, m.w1, None, 2), F.convolution_3d(z, m.w3, None, 1, (1, 0, 1)), F.convolution_2d(x, m.wg, groups=2), F.dilated_convolution_2d(x, m.w2, None, 1, 2, 2),
            F.deconvolution_2d(x, m.d2, m.b4, 2, 1), F.deconvolution_nd(x, m.d2, None, (2, 3), 0), F.deconvolution_1d(y, m.d1, None, 2), F.deconvolution_3d(z, m.d3, None, 2, 1),
            F.depthwise_convolution_2d(x, m.dw, None, 1, 1), F.local_convolution_2d(x, m.lw, None, 1), F.deformable_convolution_2d_sampler(x, m.offsets, m.w2, m.b4, 1, 1),
            F.bilinear(e, e * 2, m.bi), F.embed_id(tokens, m.table), F.embed_id(tokens, m.table, ignore_label=2), F.simplified_dropconnect(e, m.fc, None, train=False), F.linear(e, m.fc),
            F.prelu(x, m.b4[:2]), F.zoneout(e, e * 2), F.forget(F.tanh, e), F.fixed_batch_renormalization(x, np.ones(2, "f"), np.zeros(2, "f"), np.full(2, 0.3, "f"), np.full(2, 2, "f")),
            F.lstm(e[:, :1], e), F.tree_lstm(e[:, :2], e[:, 2:], F.tile(e, (1, 3))[:, :10]), F.unpooling_nd(x, 2),
        ]  # fmt: skip

    model, inputs = of(
        compute, draw(1, 2, 6, 6), draw(1, 2, 7), draw(1, 2, 3, 4, 3), draw(3, 4), np.array([[0, 2, 1], [2, 2, 0]], np.int32)
    )
    shapes = {
        "w2": (4, 2, 3, 3), "b4": (4,), "w1": (3, 2, 3), "w3": (2, 2, 2, 1, 3), "wg": (4, 1, 3, 3), "d2": (2, 4, 3, 3), "d1": (2, 3, 2), "d3": (2, 1, 2, 3, 2), "dw": (2, 2, 3, 3),
        "lw": (3, 5, 5, 2, 2, 2), "offsets": (1, 18, 6, 6), "bi": (4, 4, 3), "table": (3, 5), "fc": (2, 4),
    }  # fmt: skip
    for name, shape in sorted(shapes.items()):
        model.add_param(name, shape, initializer=draw(*shape))
    return model, inputs


def more_sequences():
    def compute(m, x, y):
        xs = F.transpose_sequence([x, y])
        zero = np.zeros((2, 2, 4), np.float32)
        found = [
            F.n_step_bilstm(1, 0.0, zero, zero, m.bilstm.ws, m.bilstm.bs, xs), F.n_step_bigru(1, 0.0, zero, m.bigru.ws, m.bigru.bs, xs), F.n_step_rnn(1, 0.0, zero[:1], m.rnn.ws, m.rnn.bs, xs),
            F.n_step_rnn(1, 0.0, zero[:1], m.rnn.ws, m.rnn.bs, xs, activation="relu"), F.n_step_birnn(1, 0.0, zero, m.birnn.ws, m.birnn.bs, xs, activation="tanh"), m.relu(None, [x, y]), m.bi(zero, [x, y]),
        ]  # fmt: skip
        return [list(item) for item in found]

    return of(
        compute, draw(4, 3), draw(2, 3), bilstm=L.NStepBiLSTM(1, 3, 4, 0.0), bigru=L.NStepBiGRU(1, 3, 4, 0.0), rnn=L.NStepRNNTanh(1, 3, 4, 0.0), birnn=L.NStepBiRNNTanh(1, 3, 4, 0.0),
        relu=L.NStepRNNReLU(2, 3, 4, 0.0), bi=L.NStepBiRNNTanh(1, 3, 4, 0.0),
    )  # fmt: skip


def more_pooling():
    """Windows that reach behind the end, or lie there."""

    def compute(m, x, y):
        return [
            F.max_pooling_2d(x, 3, 2), F.max_pooling_2d(x, 2, 3), F.max_pooling_2d(x, (2, 3), (3, 2), (1, 1)), F.max_pooling_2d(x, 5, 4, 2), F.max_pooling_2d(x, 3, 3, 1, False), F.max_pooling_1d(y, 4, 3, 1),
            F.average_pooling_2d(x, (3, 2), (2, 3), (1, 0)), F.average_pooling_2d(x, 5, 1, 2), F.average_pooling_nd(x, 2, 2, 1, None), F.spatial_pyramid_pooling_2d(x, 2, pooling="max"),
            m.three(F.reshape(x, (1, 2, 2, 4, 4))[:, :, :, :3]), m.stateful(F.reshape(y, (2, -1))[:, :3]),
        ]  # fmt: skip

    def wrapped(m, x, y):
        m.stateful.reset_state()
        return compute(m, x, y)

    return of(wrapped, draw(2, 2, 4, 4), draw(1, 2, 9), three=L.Deconvolution3D(2, 2, 2, 2), stateful=L.StatefulGRU(3, 4))


def indices():
    def compute(m, x):
        return [
            x[0, 1], x[:, -1], x[-2:], x[1:-1, :, ::2], x[:, ::-1], x[::-2], x[..., 0], x[:, None, 1:, ...], x[[2, 0], :, 1], x[:, [0, 2]], x[:, [0, 2], [1, 3]], x[[0, 1], :, [1, 3]],
            x[np.array([[0, 1], [2, 0]])], x[:, np.array([True, False, True])], x[5:], x[:, 1:2, -3:-1], F.get_item(x, (Ellipsis, None)), x[np.int64(1)],
        ]  # fmt: skip

    return of(compute, draw(4, 3, 5))


NETS = [
    classifier, chainer_1, resnet, chain_list, convolutions, deconvolutions, deformable, activations, elementwise, operators, shapes, reductions, products, pooling, upsampling,
    normalisations, instance_norm, embeddings, tokens, parametric, inception, inception_reduction, mlp_convolution, sequence_links, ragged_sequences, sequence_functions, cells, unrolled,
    images, regions, own_function, encoder, unet, detector, wavenet, generator, mobile, squeeze_excite, capsule, pixel_shuffle, nested, siamese, attention, connections, more_sequences, more_pooling, indices,
]  # fmt: skip
