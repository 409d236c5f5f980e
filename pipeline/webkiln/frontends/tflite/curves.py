"""Lookup tables of functions of quantized elements, as the interpreter computes them before a run,
and the factors of softmax.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from webkiln.frontends.tflite.factors import (
    F32,
    MOST,
    Facts,
    limits,
    named,
    power_of_two,
    quantize_multiplier,
)
from webkiln.ir.types import Array


def softmax(facts: Facts) -> dict[str, Any]:
    x = facts.input(0)
    if not x.is_quantized:
        return {}
    beta = facts.option("beta")
    if x.stored == "int16":
        span = 65535
        real = float(F32(x.scale) * F32(beta)) / (10.0 / 65535.0)
        return named("multiplier", real) | {
            "exponential": lines(math.exp, 10.0 / span, 32767, 2.0 / span, 0, np.float64),
            "inverse": lines(
                lambda value: 1.0 / (1.0 + value), 1.0 / span, -32768, 2.0 / span, 0, np.float64
            ),
        }
    multiplier, shift = quantize_multiplier(min(beta * x.scale * (1 << 26), MOST * 1.0))
    least = -math.floor(31.0 * (1 << 26) / (1 << shift))
    return {
        "multiplier": np.array(multiplier, np.int32),
        "multiplier_shift": np.array(shift, np.int32),
        "least": least,
    }


def log_softmax(facts: Facts) -> dict[str, Any]:
    x = facts.input(0)
    if not x.is_quantized:
        return {}
    multiplier, shift = quantize_multiplier(min(x.scale * (1 << 26), MOST * 1.0))
    least = -math.floor(31.0 * (1 << 26) / (1 << shift))
    factor = {
        "multiplier": np.array(multiplier, np.int32),
        "multiplier_shift": np.array(shift, np.int32),
        "least": least,
    }
    return factor | named("reverse", (1 << (31 - shift)) / multiplier)


def table(function: Callable[[np.float32], np.float32]) -> Callable[[Facts], dict[str, Any]]:
    """The table of an elementwise function, or None."""

    def derive(facts: Facts) -> dict[str, Any]:
        x, out = facts.input(0), facts.output
        if not facts.is_integer():
            return {}
        with np.errstate(all="ignore"):
            if x.stored == "int16":
                values = lines(
                    lambda value: float(function(F32(value))),
                    x.scale,
                    x.zero,
                    out.scale,
                    out.zero,
                    np.float32,
                )
                return {"table": values}
            low, high = limits(x)
            steps = [F32(x.scale) * F32(value - x.zero) for value in range(low, high + 1)]
            inverse = F32(1) / F32(out.scale)
            real = np.array([function(step) for step in steps], np.float32) * inverse
            rounded = np.trunc(np.nan_to_num(real) + np.copysign(F32(0.5), real)) + out.zero
        return {"table": np.clip(rounded, *limits(out)).astype(out.dtype)}

    return derive


def lines(
    function: Callable[[float], float],
    scale: float,
    zero: int,
    out_scale: float,
    out_zero: int,
    kind: type[Any],
) -> Array:
    """A 16-bit function at 513 points, adjusted so that the error at the middle of each segment
    equals that at its ends.
    """
    low, high = kind(scale) * kind(-32768 - zero), kind(scale) * kind(32767 - zero)
    first, last = (
        kind(out_scale) * kind(-32768 - out_zero),
        kind(out_scale) * kind(32767 - out_zero),
    )
    step = (high - low) / kind(512)
    inverse = kind(65536) / (last - first)

    def rounded(value: Any) -> Any:
        return kind(math.floor(value + kind(0.5)) if value >= 0 else math.ceil(value - kind(0.5)))

    def at(index: Any) -> Any:
        return kind(function(index))

    values = []
    for number in range(512):
        here = low + kind(number) * step
        value, middle, following = (
            at(here),
            at(here + step / kind(2)),
            at(low + kind(number + 1) * step),
        )
        own = rounded(value * inverse)
        line = rounded((following * inverse + own) / kind(2))
        bias = rounded((line - rounded(middle * inverse)) / kind(2))
        values.append(min(max(own - bias, -32768), 32767))
    values.append(min(max(rounded(at(high) * inverse), -32768), 32767))
    return np.array(values).astype(np.int16)


RAISED = frozenset(
    (
        4,
        8,
        12,
        14,
        15,
        16,
        17,
        19,
        20,
        21,
        22,
        25,
        27,
        28,
        29,
        30,
        31,
        33,
        34,
        35,
        37,
        39,
        40,
        41,
        43,
        44,
        45,
        46,
        49,
        50,
        54,
        62,
        63,
        64,
        66,
        82,
        86,
        93,
        100,
        103,
        112,
        116,
        135,
        255,
    )
)
"""Entries of the interpreter's table that exceed the nearest integer by one."""
SIGMOIDS = np.array(
    [round(65536 / (1 + math.exp(-index / 24))) + (index in RAISED) for index in range(256)],
    np.int32,
)


def curve_16(
    function: Callable[[np.float32], np.float32], *, twice: bool
) -> Callable[[Facts], dict[str, Any]]:
    """Sigmoid and tanh. 8-bit functions have their own tables, 16-bit ones share one table."""

    def derive(facts: Facts) -> dict[str, Any]:
        x = facts.input(0)
        if not facts.is_integer() or x.stored != "int16":
            return table(function)(facts)
        power = power_of_two(x.scale)
        left = 12 + power if power is not None else -1
        if left == 0 or (twice and left == 1):
            multiplier, shift = 3 << left, 0
        else:
            real, shift = float(F32(x.scale)) * 4096.0 * 3.0, 0
            while real <= 32767.0 / 2.0 and shift <= 30:
                real, shift = real * 2.0, shift + 1
            multiplier = int(real)
        return {
            "multiplier": np.array(multiplier, np.int32),
            "shift": np.array(shift, np.int32),
            "table": SIGMOIDS,
        }

    return derive


def sigmoid(x: np.float32) -> np.float32:
    return F32(F32(1) / (F32(1) + np.exp(-x)))


def gelu(facts: Facts) -> dict[str, Any]:
    def exact(x: np.float32) -> np.float32:
        return F32(F32(0.5) * x * F32(math.erfc(float(x) * -math.sqrt(0.5))))

    def near(x: np.float32) -> np.float32:
        return F32(
            F32(0.5)
            * x
            * (F32(1) + np.tanh(F32(0.7978845608028654) * (x + F32(0.044715) * x * x * x)))
        )

    return table(near if facts.option("approximate") else exact)(facts)
