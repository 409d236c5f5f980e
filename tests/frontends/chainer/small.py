"""Small models for single aspects. Functions return them, as in user code."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


def numbers(*shape):
    return np.random.RandomState(0).uniform(-1, 1, shape).astype(np.float32)


X = np.zeros((2, 3), np.float32)


class Chain(chainer.Chain):
    def __init__(self, compute, **links):
        super().__init__(**links)
        self.compute = compute
        self.state = None

    def forward(self, x):
        return self.compute(self, x)


class Stateful(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.lstm = L.LSTM(3, 4)
            self.gru = L.GRU(3, 4)
            self.peep = L.StatefulPeepholeLSTM(3, 4)
            self.zone = L.StatefulZoneoutLSTM(3, 4)
            self.mgu = L.StatefulMGU(3, 4)

    def forward(self, x):
        return self.lstm(x), self.gru(x), self.peep(x), self.zone(x), self.mgu(x)


def stateful():
    return Stateful(), X


def loaded(path, key=""):
    model = chainer.Sequential(L.Linear(3, 2))
    chainer.serializers.load_npz(path, model, path=key)
    return model, X


def linear():
    return L.Linear(3, 2), X


def mixtures():
    def compute(x):
        rows = [x[0], x[1, :2]]
        batch = chainer.dataset.concat_examples(rows, padding=0)
        return (
            F.sum(batch, axis=1) / np.array([3, 2], np.int32),
            np.array([1, 2], np.int32)[:, None] * x,
            chainer.dataset.convert.concat_examples([(x, x), (x, x)])[1],
        )

    return compute, X


class Trained(chainer.Chain):
    """As in examples of Chainer: the call computes a loss, a method predicts."""

    def __init__(self):
        super().__init__(fc=L.Linear(None, 2))

    def __call__(self, x, t):
        loss = F.softmax_cross_entropy(self.fc(x), t)
        chainer.report({"loss": loss}, self)
        return loss

    def predict(self, x):
        return F.softmax(self.fc(x))


def method():
    return Trained().predict, X


def lazy():
    return L.Linear(None, 2), X


def shaped():
    """Without example inputs."""
    return lambda first, second: F.concat([first, second * 2], axis=1)


def constants():
    """Constant weights, which need no snapshot."""
    return L.Linear(3, 2, initialW=numbers(2, 3), initial_bias=1), X


def old_linear():
    """The arguments of Chainer 1."""
    return L.Linear(3, 2, wscale=1.0, bias=0.5, initialW=numbers(2, 3)), X


def old_convolutions():
    """Positional arguments: scale, bias, no bias, the library, initial values."""
    plain = L.Convolution2D(3, 4, 3, 1, 1, 1.0, 0.5, False, True, numbers(4, 3, 3, 3))
    bare = L.Convolution2D(4, 4, 3, 1, 1, 1, 0, True, True, numbers(4, 4, 3, 3), use_cudnn=False)
    dilated = L.DilatedConvolution2D(4, 2, 3, 1, 2, 2, 1, 0.25, False, True, numbers(2, 4, 3, 3))
    up = L.Deconvolution2D(2, 2, 2, 2, 0, 1, 0.5, False, (8, 8), True, numbers(2, 2, 2, 2))
    assert bare.b is None
    model = chainer.Chain(plain=plain, bare=bare, dilated=dilated, up=up)
    return lambda x: F.relu(
        model.up(model.dilated(model.bare(model.plain(x)))), use_cudnn=False
    ), np.zeros((1, 3, 4, 4), np.float32)


def old_functions():
    model = chainer.FunctionSet(
        a=F.Linear(3, 4, initialW=numbers(4, 3)), b=F.Linear(4, 2, initialW=numbers(2, 4))
    )
    return lambda x: F.dropout(model.b(F.relu(model.a(x))), 0.5, False), X


def warmed():
    """A lazy chain that is called once, before it is returned."""
    model = L.Linear(None, 2)
    model(X)
    model.W.array[...] = numbers(2, 3)
    return model, X


def opens():
    def compute(m, x):
        n, c, h, w = x.shape
        assert h == h
        assert h * w - h * w == 0
        assert h >= 1
        y = F.reshape(F.max_pooling_2d(m.conv(x), 2), (n, 2, -1))
        return (
            F.resize_images(x, (h * 2, w * 3)),
            F.sum(y, axis=2) / (h * w),
            F.broadcast_to(x[:, :1, :1], (n, 1, h, w)),
            x[:, :, h - 1],
            F.transpose(x, (0, 2, 3, 1))[:, ::2],
        )

    return Chain(
        compute, conv=L.Convolution2D(3, 2, 3, pad=1, initialW=numbers(2, 3, 3, 3))
    ), numbers(1, 3, 6, 8)


def sequence():
    return Chain(
        lambda m, x: m.rnn(None, None, [x])[2][0], rnn=L.NStepLSTM(1, 3, 2, 0.0, initialW=0.25)
    ), numbers(5, 3)


REFUSED = {
    "loss": lambda: lambda x: F.softmax_cross_entropy(x, np.zeros(2, np.int32)),
    "truth": lambda: lambda x: x if x.array.sum() > 0 else -x,
    "number": lambda: lambda x: x * float(F.sum(x).array),
    "keeps": lambda: Chain(keeping, fc=L.Linear(3, 3, initialW=numbers(3, 3))),
    "counts": lambda: Chain(counting),
    "classifier": lambda: L.Classifier(L.Linear(3, 2)),
    "shape": lambda: lambda x: F.reshape(x, (7,)),
    "ratio": lambda: Chain(training),
    "unknown": lambda: lambda x: F.no_such_function(x),
    "numpy": lambda: lambda x: np.fft.fft(x.array),
    "strings": lambda: lambda x: "text",
    "nothing": lambda: lambda x: None,
    "grown": lambda: L.VGG16Layers(),
    "backward": lambda: lambda x: F.sum(x).backward(),
    "raises": lambda: lambda x: x + {}["missing"],
    "random": lambda: L.Linear(3, 2),
    "inside": lambda: hidden(L.Linear(3, 2)),
    "reads": lambda: lambda x: F.concat([x] * range(x.shape[0])[-1]),
}


def hidden(link):
    return lambda x: link(x)


def keeping(m, x):
    m.state = m.fc(x) if m.state is None else m.fc(x) + m.state
    return m.state


def counting(m, x):
    m.state = (m.state or 0) + 1
    return x * m.state


def training(m, x):
    with chainer.using_config("train", True):
        return F.dropout(x)


def refused(which):
    return REFUSED[which](), X


def not_callable():
    return 3


def optimised():
    model = L.Linear(3, 2)
    chainer.optimizers.Adam().setup(model)
    return model, X


class Stepped(chainer.Chain):
    """A layer and a step around it."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(
                3, 3, initialW=np.full((3, 3), 0.5, np.float32), initial_bias=np.ones(3, np.float32)
            )

    def forward(self, x):
        return F.tanh(x + self.fc(x))


def named():
    return Chain(lambda own, x: F.relu(own.block(x)), block=Stepped()), X


def halved():
    def compute(x):
        y = F.max_pooling_2d(x, 2)
        return F.tanh(y), F.reshape(y, (x.shape[0] * (x.shape[2] // 2), -1))

    return compute, np.zeros((2, 1, 6, 4), np.float32)
