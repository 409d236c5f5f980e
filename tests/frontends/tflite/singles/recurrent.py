"""Recurrent layers of float32, also with int8 weights."""

from collections.abc import Iterator
from typing import Any

from tests.frontends.tflite.operator_model import (
    RELU,
    TANH,
    Single,
    T,
    f,
    integers,
    options,
    q,
    weights,
)


def recurrent(sizes: tuple[int, int, int, int] = (2, 4, 5, 6), **choices: Any) -> Iterator[Single]:
    """`sizes`: of the batch, the sequence, the features and the cells. `choices`: options of all
    layers.
    """
    batch, steps, features, cells = sizes
    for kind in ("float32", "int8"):

        def w(seed: int, *shape: int, kind: str = kind) -> T:
            return (
                weights(seed, *shape)
                if kind == "float32"
                else q("int8", *shape, scale=0.01, value=integers(seed, "int8", *shape))
            )

        def state(*shape: int) -> T:
            return T("float32", shape, variable=True)

        def lstm(
            *,
            cifg: bool = False,
            peephole: bool = False,
            projected: bool = False,
            norm: bool = False,
            w: Any = w,
        ) -> list[T | None]:
            out = 3 if projected else cells
            gates: list[T | None] = [
                None if cifg else w(1, cells, features),
                w(2, cells, features),
                w(3, cells, features),
                w(4, cells, features),
            ]
            gates += [
                None if cifg else w(5, cells, out),
                w(6, cells, out),
                w(7, cells, out),
                w(8, cells, out),
            ]
            gates += [
                w(9, cells) if peephole and not cifg else None,
                w(10, cells) if peephole else None,
                w(11, cells) if peephole else None,
            ]
            gates += [
                None if cifg else weights(12, cells),
                weights(13, cells),
                weights(14, cells),
                weights(15, cells),
            ]
            gates += [
                w(16, out, cells) if projected else None,
                weights(17, out) if projected else None,
                state(batch, out),
                state(batch, cells),
            ]
            if norm:
                gates += [
                    None if cifg else weights(18, cells),
                    weights(19, cells),
                    weights(20, cells),
                    weights(21, cells),
                ]
            return gates

        rows = [
            ("plain", {}),
            ("cifg", {"cifg": True}),
            ("peephole", {"peephole": True}),
            ("projected", {"projected": True}),
        ]
        rows += [("norm", {"norm": True, "peephole": True})] if kind == "float32" else []
        for name, choice in rows:
            for major in (False, True) if name == "plain" else (False,):
                x = f(steps, batch, features) if major else f(batch, steps, features)
                out = 3 if choice.get("projected") else cells
                y = f(steps, batch, out) if major else f(batch, steps, out)
                yield Single(
                    f"lstm_{name}_{kind}_{major:d}",
                    "UNIDIRECTIONAL_SEQUENCE_LSTM",
                    [x, *lstm(**choice)],
                    [y],
                    options(
                        "UnidirectionalSequenceLSTMOptions",
                        fusedActivationFunction=TANH,
                        timeMajor=major,
                        cellClip=0.8,
                        projClip=0.5 if choice.get("projected") else 0.0,
                        **{"asymmetricQuantizeInputs": name == "plain"} | choices,
                    ),
                )
        yield Single(
            f"lstm_step_{kind}",
            "LSTM",
            [f(batch, features), *lstm(peephole=True)],
            [f(batch, cells)],
            options("LSTMOptions", fusedActivationFunction=TANH, **choices),
        )
        both = [item for half in (lstm(peephole=True)[:17], lstm(cifg=True)[:17]) for item in half]
        yield Single(
            f"bidirectional_lstm_{kind}",
            "BIDIRECTIONAL_SEQUENCE_LSTM",
            [f(steps, batch, features), *both, *[state(batch, cells)] * 4, *[None] * 9],
            [f(steps, batch, cells * 2)],
            options(
                "BidirectionalSequenceLSTMOptions",
                fusedActivationFunction=TANH,
                mergeOutputs=True,
                timeMajor=True,
                **choices,
            ),
        )
        cell = [w(1, cells, features), w(2, cells, cells), weights(3, cells), state(batch, cells)]
        yield Single(
            f"rnn_{kind}",
            "RNN",
            [f(batch, features), *cell],
            [f(batch, cells)],
            options("RNNOptions", fusedActivationFunction=TANH, **choices),
        )
        yield Single(
            f"rnn_sequence_{kind}",
            "UNIDIRECTIONAL_SEQUENCE_RNN",
            [f(batch, steps, features), *cell],
            [f(batch, steps, cells)],
            options("SequenceRNNOptions", fusedActivationFunction=RELU, **choices),
        )
        yield Single(
            f"rnn_both_{kind}",
            "BIDIRECTIONAL_SEQUENCE_RNN",
            [f(batch, steps, features), *cell, *cell, None, None, None],
            [f(batch, steps, cells)] * 2,
            options("BidirectionalSequenceRNNOptions", fusedActivationFunction=TANH, **choices),
        )
        yield Single(
            f"svdf_{kind}",
            "SVDF",
            [
                f(batch, features),
                w(1, 8, features),
                w(2, 8, 4),
                weights(3, 4),
                state(batch, 32),
            ],
            [f(batch, 4)],
            options("SVDFOptions", rank=2, fusedActivationFunction=RELU, **choices),
        )
