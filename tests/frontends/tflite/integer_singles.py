# ruff: noqa: PERF401 - the rows of a table, one an append
"""Models of one operator in integers: recurrent layers, and what bytes or 16 bits alone have."""

from typing import Any

import numpy as np

from tests.frontends.tflite.singles import NONE, RELU, TANH, Single, T, f, ints, options, q, whole


def bytes_and_halves() -> list[Single]:
    """What bytes have and 16 bits have, too, or one kind of bytes and the other."""
    made = []
    for dtype, zero, other in (("int8", 3, -7), ("uint8", 120, 131), ("int16", 0, 0)):
        limits = np.iinfo(dtype)
        divisor = whole(8, dtype, 8, 9)
        divisor[divisor == other] = other + 1
        x = q(dtype, 5, 8, 9, scale=0.05, zero=zero)
        for name, function, scale in (("", NONE, 0.009), ("_relu", RELU, 0.006)):
            y = q(dtype, 5, 8, 9, scale=scale if dtype != "int16" else scale / 9, zero=zero)
            made.append(
                Single(
                    f"div_{dtype}{name}",
                    "DIV",
                    [x, q(dtype, 8, 9, scale=0.07, zero=other, value=divisor)],
                    [y],
                    options("DivOptions", fusedActivationFunction=function),
                )
            )
        for half, aligned in (
            ((False, False), (True, False), (False, True)) if dtype == "int16" else ()
        ):
            made.append(
                Single(
                    f"bilinear_{dtype}_{half:d}{aligned:d}",
                    "RESIZE_BILINEAR",
                    [q(dtype, 2, 5, 7, 3), ints(9, 4)],
                    [q(dtype, 2, 9, 4, 3)],
                    options("ResizeBilinearOptions", halfPixelCenters=half, alignCorners=aligned),
                )
            )
        for name, axes, given, sizes, steps in (
            ("one", (1,), (6, 1, 5), (6, 1, 5), 2.0),
            ("axis", (1,), (6, 3, 5), (6, 5), 8.0),
            ("axes", (0, -1), (6, 3, 5), (1, 3, 1), 20.0),
        ):
            if dtype != "uint8":
                made.append(
                    Single(
                        f"reduce_prod_{dtype}_{name}",
                        "REDUCE_PROD",
                        [q(dtype, *given, scale=2.6 / limits.max, zero=zero), ints(list(axes))],
                        [q(dtype, *sizes, scale=steps / limits.max, zero=zero)],
                        options("ReducerOptions", keepDims=name != "axis"),
                    )
                )
        if dtype != "uint8":
            roots = T(
                dtype,
                (40, 30),
                None,
                0.05 if dtype == "int8" else 0.0003,
                -100 if dtype == "int8" else 0,
                spread=-1.0,
            )
            made.append(
                Single(
                    f"rsqrt_{dtype}",
                    "RSQRT",
                    [roots],
                    [q(dtype, 40, 30, scale=4 / limits.max, zero=-42 if dtype == "int8" else 0)],
                )
            )
    for scale in (0.02, 0.3):
        made.append(
            Single(
                f"log_softmax_uint8_{scale}",
                "LOG_SOFTMAX",
                [q("uint8", 6, 20, scale=scale, zero=101)],
                [q("uint8", 6, 20, scale=16 / 256, zero=255)],
                options("LogSoftmaxOptions"),
            )
        )
    for terms, scale in ((9, 4.0), (300, 30.0), (1100, 100.0)):
        for turned in (False, True):
            right = (2, 5, terms) if turned else (2, terms, 5)
            made.append(
                Single(
                    f"batch_matmul_int16_{terms}_{turned:d}",
                    "BATCH_MATMUL",
                    [q("int16", 2, 4, terms, scale=0.003), q("int16", *right, scale=0.002)],
                    [q("int16", 2, 4, 5, scale=scale)],
                    options("BatchMatMulOptions", adjY=turned),
                )
            )
    return made


def state_of(dtype: str, *shape: int, scale: float, zero: int = 0) -> T:
    return T(dtype, shape, None, scale, zero, variable=True)


def recurrent_integers() -> list[Single]:
    """Layers of int8 with states of 16 bits, as the converter writes them, and with what only large
    models have.
    """

    def w(seed: int, *shape: int, scale: float = 0.01) -> T:
        return q("int8", *shape, scale=scale, value=whole(seed, "int8", *shape))

    def bias(seed: int, *shape: int) -> T:
        return T("int32", shape, np.random.default_rng(seed).integers(-6000, 6000, shape), 0.0005)

    def lstm(
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
        hidden = (
            T("int8", (0,), None, 0.009, 5) if out else T("int8", (0,), None, output_scale, zero)
        )

        def gates(kind: Any, begin: int) -> list[T | None]:
            return [None if number < begin else kind(number) for number in range(4)]

        given: list[T | None] = gates(
            lambda number: w(1 + number, cells, features, scale=scale), first
        )
        given += gates(lambda number: w(5 + number, cells, size, scale=scale * 1.1), first)
        for number in range(3):
            seen = peephole and not (cifg and number == 0)
            given.append(
                q("int16", cells, scale=0.0001, value=whole(9 + number, "int16", cells))
                if seen
                else None
            )
        given += gates(lambda number: bias(12 + number, cells), first)
        given += [w(16, out, cells), bias(17, out)] if out else [None, None]
        given += [
            state_of("int8", batch, size, scale=output_scale, zero=zero),
            state_of("int16", batch, cells, scale=2.0**power),
        ]
        time = () if op == "LSTM" else (steps,)
        ends = (*time, batch) if major else (batch, *time)
        kind = "LSTMOptions" if op == "LSTM" else "UnidirectionalSequenceLSTMOptions"
        choices = {} if op == "LSTM" else {"timeMajor": major}
        made = options(
            kind,
            fusedActivationFunction=TANH,
            cellClip=cell_clip,
            projClip=projection_clip,
            **choices,
        )
        return Single(
            name,
            op,
            [q("int8", *ends, features, scale=0.03, zero=-11), *given, *[None] * 4],
            [q("int8", *ends, size, scale=output_scale, zero=zero)],
            made,
            intermediates=[*[f(0)] * 4, hidden],
        )

    made = [
        lstm(f"lstm_whole_{batch}_{steps}_{cells}", batch, steps, 5, cells)
        for batch in (1, 3)
        for steps in (1, 7)
        for cells in (1, 5, 16)
    ]
    made += [
        lstm(f"lstm_whole_power_{-power}", 2, 4, 5, 6, power=power, scale=0.05)
        for power in range(-15, -8)
    ]
    made += [
        lstm("lstm_whole_cifg", 2, 5, 4, 6, cifg=True),
        lstm("lstm_whole_peephole", 2, 5, 4, 6, peephole=True),
        lstm("lstm_whole_cifg_peephole", 2, 5, 4, 6, cifg=True, peephole=True),
        lstm("lstm_whole_projected", 3, 5, 4, 6, out=3, projection_clip=1.0, cell_clip=2.0),
        lstm("lstm_whole_projected_wide", 2, 5, 4, 3, out=7, peephole=True),
        lstm("lstm_whole_major", 5, 3, 4, 6, major=True, cell_clip=1.5),
        lstm("lstm_whole_saturated", 2, 9, 8, 5, scale=0.9, power=-13),
        lstm("lstm_whole_small", 2, 9, 8, 5, scale=0.0004),
        lstm("lstm_whole_step", 3, 1, 4, 6, op="LSTM"),
        lstm("lstm_whole_step_projected", 2, 1, 4, 6, out=3, op="LSTM"),
    ]
    for name, batch, memory, rank, wide in (
        ("", 2, 4, 2, 0.0002),
        ("_memory", 1, 9, 1, 0.0002),
        ("_one", 3, 1, 4, 0.0001),
    ):
        time = q("int16", 8, memory, scale=wide, value=whole(2, "int16", 8, memory) // 8)
        given = [q("int8", batch, 5, scale=0.03, zero=7), w(1, 8, 5), time, bias(3, 8 // rank)]
        given.append(state_of("int16", batch, 8 * memory, scale=0.0004))
        made.append(
            Single(
                f"svdf_whole{name}",
                "SVDF",
                given,
                [q("int8", batch, 8 // rank, scale=0.1, zero=-100)],
                options("SVDFOptions", rank=rank, fusedActivationFunction=RELU),
            )
        )
    return made


INTEGER_SINGLES = [*recurrent_integers(), *bytes_and_halves()]
