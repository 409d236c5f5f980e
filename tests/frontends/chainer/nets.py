"""Complete nets, as in scripts. Each function returns a chain and its inputs. Both Chainer and
webkiln's replacements of its modules run them.

`python tests/frontends/chainer/make.py` reads them with Chainer 7 on Python 3.9.
"""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training  # noqa: F401 - as in scripts
from chainer.training import extensions  # noqa: F401

RNG = np.random.RandomState(11)


def draw(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


class Net(chainer.Chain):
    """Links by name, and the function that a call runs."""

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
    """In the style of Chainer 2 to 4."""

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
    """In the style of Chainer 1."""

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
        L.Convolution2D(None, 4, 3, pad=1),
        F.relu,
        Residual(4),
        Residual(4),
        lambda h: F.average(h, axis=(2, 3)),
        L.Linear(4, 3),
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


class Encoder(chainer.Chain):
    """Attention, as in translation."""

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
        return F.transpose(
            F.reshape(link(h.reshape(-1, d)), (n, t, self.heads, d // self.heads)), (0, 2, 1, 3)
        )

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
            self.d1, self.d2 = (
                L.Convolution2D(3, 4, 3, pad=1),
                L.Convolution2D(4, 8, 4, stride=2, pad=1),
            )
            self.u1, self.u2 = (
                L.Deconvolution2D(8, 4, 4, stride=2, pad=1),
                L.Convolution2D(8, 3, 3, pad=1),
            )

    def forward(self, x):
        a = F.leaky_relu(self.d1(x))
        b = F.leaky_relu(self.d2(a))
        return F.tanh(self.u2(F.concat([self.u1(b), a])))


def unet():
    return UNet(), (draw(1, 3, 8, 12),)


class Detector(chainer.Chain):
    """Decoded boxes in a dictionary of outputs."""

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
        return {
            "boxes": F.concat([centre - size / 2, centre + size / 2], axis=2),
            "scores": F.softmax(conf, axis=2),
        }


def detector():
    return Detector(), (draw(2, 3, 6, 6),)


class Wave(chainer.Chain):
    """Dilated convolutions with gates and skip connections."""

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
            pair = self["conv%d" % n](F.pad(h, ((0, 0), (0, 0), (2**n, 0)), "constant"))
            a, b = F.split_axis(pair, 2, axis=1)
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
    return of(
        lambda m, x: F.depth2space(m.conv(x), 2),
        draw(1, 3, 5, 4),
        conv=L.Convolution2D(3, 12, 3, pad=1),
    )


def nested():
    """A dictionary, a tuple and a list of inputs."""
    return of(
        lambda m, x, ys: (m.fc(x), [m.fc(y) * 2 for y in ys]),
        draw(2, 3),
        [draw(1, 3), draw(4, 3)],
        fc=L.Linear(3, 2),
    )


def siamese():
    """One link with two names, and a computation with weights."""
    shared = L.Linear(4, 3)
    return of(
        lambda m, x, y: F.sum((m.a(x) - m.b(y)) ** 2, axis=1) + F.sum(m.a.W * 0.1),
        draw(2, 4),
        draw(2, 4),
        a=shared,
        b=shared,
    )


NETS = [
    classifier,
    chainer_1,
    resnet,
    chain_list,
    encoder,
    unet,
    detector,
    wavenet,
    generator,
    mobile,
    squeeze_excite,
    capsule,
    pixel_shuffle,
    nested,
    siamese,
]
