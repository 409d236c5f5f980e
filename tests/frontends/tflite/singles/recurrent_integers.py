"""Models of one recurrent layer that computes with integers."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.frontends.tflite.operator_model import RELU, TANH, Single, T, f, integers, options, q


def state_of(dtype: str, *shape: int, scale: float, zero: int = 0) -> T:
    return T(dtype, shape, None, scale, zero, variable=True)


def w(seed: int, *shape: int, scale: float = 0.01) -> T:
    return q("int8", *shape, scale=scale, value=integers(seed, "int8", *shape))


def bias(seed: int, *shape: int) -> T:
    return T("int32", shape, np.random.default_rng(seed).integers(-6000, 6000, shape), 0.0005)


def integer_lstm(
    name: str,
    batch: int,
    steps: int,
    features: int,
    cells: int,
    *,
    cifg: bool = False,
    peephole: bool = False,
    out: int = 0,
    power: int = -12,
    scale: float = 0.01,
    cell_clip: float = 0.0,
    projection_clip: float = 0.0,
    major: bool = False,
    op: str = "UNIDIRECTIONAL_SEQUENCE_LSTM",
) -> Single:
    size, first = out or cells, 1 if cifg else 0
    output_scale, zero = (0.02, -9) if out else (0.0078125, 3)
    hidden = T("int8", (0,), None, 0.009, 5) if out else T("int8", (0,), None, output_scale, zero)

    def gates(kind: Any, begin: int) -> list[T | None]:
        return [None if number < begin else kind(number) for number in range(4)]

    inputs: list[T | None] = gates(
        lambda number: w(1 + number, cells, features, scale=scale), first
    )
    inputs += gates(lambda number: w(5 + number, cells, size, scale=scale * 1.1), first)
    for number in range(3):
        present = peephole and not (cifg and number == 0)
        inputs.append(
            q("int16", cells, scale=0.0001, value=integers(9 + number, "int16", cells))
            if present
            else None
        )
    inputs += gates(lambda number: bias(12 + number, cells), first)
    inputs += [w(16, out, cells), bias(17, out)] if out else [None, None]
    inputs += [
        state_of("int8", batch, size, scale=output_scale, zero=zero),
        state_of("int16", batch, cells, scale=2.0**power),
    ]
    time = () if op == "LSTM" else (steps,)
    ends = (*time, batch) if major else (batch, *time)
    kind = "LSTMOptions" if op == "LSTM" else "UnidirectionalSequenceLSTMOptions"
    choices = {} if op == "LSTM" else {"timeMajor": major}
    settings = options(
        kind,
        fusedActivationFunction=TANH,
        cellClip=cell_clip,
        projClip=projection_clip,
        **choices,
    )
    return Single(
        name,
        op,
        [q("int8", *ends, features, scale=0.03, zero=-11), *inputs, *[None] * 4],
        [q("int8", *ends, size, scale=output_scale, zero=zero)],
        settings,
        intermediates=[*[f(0)] * 4, hidden],
    )


def recurrent_integers() -> Iterator[Single]:
    """int8 layers with 16-bit states, as the converter writes them, with the options of large
    models.
    """

    yield from [
        integer_lstm(f"lstm_whole_{batch}_{steps}_{cells}", batch, steps, 5, cells)
        for batch in (1, 3)
        for steps in (1, 7)
        for cells in (1, 5, 16)
    ]
    yield from [
        integer_lstm(f"lstm_whole_power_{-power}", 2, 4, 5, 6, power=power, scale=0.05)
        for power in range(-15, -8)
    ]
    yield from [
        integer_lstm("lstm_whole_cifg", 2, 5, 4, 6, cifg=True),
        integer_lstm("lstm_whole_peephole", 2, 5, 4, 6, peephole=True),
        integer_lstm("lstm_whole_cifg_peephole", 2, 5, 4, 6, cifg=True, peephole=True),
        integer_lstm("lstm_whole_projected", 3, 5, 4, 6, out=3, projection_clip=1.0, cell_clip=2.0),
        integer_lstm("lstm_whole_projected_wide", 2, 5, 4, 3, out=7, peephole=True),
        integer_lstm("lstm_whole_major", 5, 3, 4, 6, major=True, cell_clip=1.5),
        integer_lstm("lstm_whole_saturated", 2, 9, 8, 5, scale=0.9, power=-13),
        integer_lstm("lstm_whole_small", 2, 9, 8, 5, scale=0.0004),
        integer_lstm("lstm_whole_step", 3, 1, 4, 6, op="LSTM"),
        integer_lstm("lstm_whole_step_projected", 2, 1, 4, 6, out=3, op="LSTM"),
    ]
    for name, batch, memory, rank, wide in (
        ("", 2, 4, 2, 0.0002),
        ("_memory", 1, 9, 1, 0.0002),
        ("_one", 3, 1, 4, 0.0001),
    ):
        time = q("int16", 8, memory, scale=wide, value=integers(2, "int16", 8, memory) // 8)
        inputs = [q("int8", batch, 5, scale=0.03, zero=7), w(1, 8, 5), time, bias(3, 8 // rank)]
        inputs.append(state_of("int16", batch, 8 * memory, scale=0.0004))
        yield Single(
            f"svdf_whole{name}",
            "SVDF",
            inputs,
            [q("int8", batch, 8 // rank, scale=0.1, zero=-100)],
            options("SVDFOptions", rank=rank, fusedActivationFunction=RELU),
        )
