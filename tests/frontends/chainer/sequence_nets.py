"""Nets of embeddings and recurrent links; see nets.py."""

import chainer.functions as F
import chainer.links as L
import numpy as np
from nets import RNG, draw, of


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
    return of(
        lambda m, x: F.softmax(m.out(F.mean(m.embed(x), axis=1))),
        x,
        embed=L.EmbedID(9, 4),
        out=L.Linear(4, 3),
    )


def parametric():
    return of(
        lambda m, x, y: [
            m.bias(x),
            m.scale(x),
            m.both(x),
            m.maxout(y),
            m.highway(y),
            m.drop(y, train=False),
            m.own() * y,
        ],
        draw(2, 3, 4),
        draw(2, 5),
        bias=L.Bias(shape=(3,)),
        scale=L.Scale(W_shape=(3, 4)),
        both=L.Scale(1, (3,), bias_term=True),
        maxout=L.Maxout(5, 3, 2),
        highway=L.Highway(5),
        drop=L.SimplifiedDropconnect(5, 3),
        own=L.Parameter(draw(5)),
    )


def sequence_links():
    def compute(m, x):
        xs = [x[0], x[1]]
        outputs = []
        for link, count in (
            (m.lstm, 2),
            (m.bilstm, 2),
            (m.gru, 1),
            (m.bigru, 1),
            (m.tanh, 1),
            (m.birelu, 1),
        ):
            *states, ys = link(*[None] * count, xs)
            outputs += [*states, F.stack(ys)]
        return outputs

    return of(
        compute,
        draw(2, 5, 3),
        lstm=L.NStepLSTM(2, 3, 4, 0.5),
        bilstm=L.NStepBiLSTM(2, 3, 4, 0.0),
        gru=L.NStepGRU(2, 3, 4, 0.0),
        bigru=L.NStepBiGRU(1, 3, 4, 0.0),
        tanh=L.NStepRNNTanh(1, 3, 4, 0.0),
        birelu=L.NStepBiRNNReLU(2, 3, 2, 0.0),
    )


def ragged_sequences():
    def compute(m, x, y, z, h):
        hy, cy, ys = m.lstm(h, h * 2, [x, y, z])
        hb, yb = m.gru(None, [x, y, z])
        return [hy, cy, hb, *ys, *yb]

    return of(
        compute,
        draw(3, 3),
        draw(5, 3),
        draw(2, 3),
        draw(4, 3, 4),
        lstm=L.NStepBiLSTM(2, 3, 4, 0.0),
        gru=L.NStepBiGRU(1, 3, 4, 0.0),
    )


def sequence_functions():
    def compute(m, x, y):
        xs = F.transpose_sequence([x, y])
        hy, cy, ys = F.n_step_lstm(
            1,
            0.0,
            np.zeros((1, 2, 4), np.float32),
            np.zeros((1, 2, 4), np.float32),
            m.lstm.ws,
            m.lstm.bs,
            xs,
        )
        gy, gs = F.n_step_gru(1, 0.0, np.zeros((1, 2, 4), np.float32), m.gru.ws, m.gru.bs, xs)
        return hy, cy, gy, F.transpose_sequence(ys), gs

    return of(
        compute,
        draw(4, 3),
        draw(2, 3),
        lstm=L.NStepLSTM(1, 3, 4, 0.0),
        gru=L.NStepGRU(1, 3, 4, 0.0),
    )


def cells():
    def compute(m, x, c, h):
        c1, h1 = m.lstm(c, h, x)
        c2, h2 = m.lstm(None, None, x)
        tree = m.childsum(c, c * 2, h, h * 2, x)
        pair = m.nary(c, None, h, None, x)
        s = F.slstm(
            c,
            c * 2,
            F.concat((x, h), 1)[:, :4].reshape(-1, 4)[:, [0, 1, 2, 3] * 4],
            F.tile(h, (1, 4)),
        )
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
        ys = [
            [link(x[:, t]) for t in range(x.shape[1])]
            for link in (m.lstm, m.gru, m.peep, m.zone, m.mgu)
        ]
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


def attention():
    """Decoding steps with attention over the encoder's outputs."""

    def compute(m, x):
        encoded = F.stack([F.tanh(m.enc(x[:, t])) for t in range(x.shape[1])], axis=1)
        h = encoded[:, -1]
        outputs = []
        for _ in range(3):
            scores = F.softmax(
                F.squeeze(F.batch_matmul(encoded, F.expand_dims(h, 2)), axis=2), axis=1
            )
            context = F.sum(
                encoded * F.broadcast_to(F.expand_dims(scores, 2), encoded.shape), axis=1
            )
            h = m.dec(h, context)
            outputs.append(m.out(h))
        return F.stack(outputs, axis=1)

    return of(
        compute, draw(2, 4, 3), enc=L.Linear(3, 5), dec=L.StatelessGRU(5, 5), out=L.Linear(5, 4)
    )


def more_sequences():
    def compute(m, x, y):
        xs = F.transpose_sequence([x, y])
        zero = np.zeros((2, 2, 4), np.float32)
        outputs = [
            F.n_step_bilstm(1, 0.0, zero, zero, m.bilstm.ws, m.bilstm.bs, xs),
            F.n_step_bigru(1, 0.0, zero, m.bigru.ws, m.bigru.bs, xs),
            F.n_step_rnn(1, 0.0, zero[:1], m.rnn.ws, m.rnn.bs, xs),
            F.n_step_rnn(1, 0.0, zero[:1], m.rnn.ws, m.rnn.bs, xs, activation="relu"),
            F.n_step_birnn(1, 0.0, zero, m.birnn.ws, m.birnn.bs, xs, activation="tanh"),
            m.relu(None, [x, y]),
            m.bi(zero, [x, y]),
        ]
        return [list(item) for item in outputs]

    return of(
        compute,
        draw(4, 3),
        draw(2, 3),
        bilstm=L.NStepBiLSTM(1, 3, 4, 0.0),
        bigru=L.NStepBiGRU(1, 3, 4, 0.0),
        rnn=L.NStepRNNTanh(1, 3, 4, 0.0),
        birnn=L.NStepBiRNNTanh(1, 3, 4, 0.0),
        relu=L.NStepRNNReLU(2, 3, 4, 0.0),
        bi=L.NStepBiRNNTanh(1, 3, 4, 0.0),
    )


NETS = [
    embeddings,
    tokens,
    parametric,
    sequence_links,
    ragged_sequences,
    sequence_functions,
    cells,
    unrolled,
    attention,
    more_sequences,
]
