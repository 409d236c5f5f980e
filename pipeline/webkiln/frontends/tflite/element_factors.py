"""Integer factors of elementwise operators."""

from collections.abc import Callable
from typing import Any

import numpy as np

from webkiln.frontends.tflite.curves import table
from webkiln.frontends.tflite.factors import (
    F32,
    MOST,
    Facts,
    bounds,
    named,
    power_of_two,
    quantize_multiplier,
    ranged,
)


def sums(facts: Facts) -> dict[str, Any]:
    """Rescale both operands to twice the larger scale, with spare low bits."""
    if not facts.is_integer():
        return {}
    a, b, out = facts.input(0), facts.input(1), facts.output
    factors = ranged(facts)
    if out.stored == "int16" and facts.option("pot_scale_int16"):
        powers = [power_of_two(item.scale) for item in (a, b, out)]
        if None not in powers:
            left, right, last = (power or 0 for power in powers)
            return factors | {"pot": True, "left_pot": last - left, "right_pot": last - right}
    spare = 15 if out.stored == "int16" else 20
    twice = float(F32(2) * max(F32(a.scale), F32(b.scale)))
    multiplier = twice / float(F32(1 << spare) * F32(out.scale))
    return (
        factors
        | {"spare": spare}
        | named("left", a.scale / twice)
        | named("right", b.scale / twice)
        | named("multiplier", multiplier)
    )


def products(facts: Facts) -> dict[str, Any]:
    if not facts.is_integer():
        return {}
    real = float(F32(facts.input(0).scale) * F32(facts.input(1).scale) / F32(facts.output.scale))
    return ranged(facts) | named("multiplier", real)


def quotients(facts: Facts) -> dict[str, Any]:
    if not facts.is_integer():
        return {}
    a, b, out = (F32(item.scale) for item in (facts.input(0), facts.input(1), facts.output))
    return ranged(facts) | named("multiplier", float(a / (b * out)))


def inverse_roots(facts: Facts) -> dict[str, Any]:
    """The table for int16. Its first entry is for the largest value."""
    if not facts.is_integer():
        return {}
    x, out = F32(facts.input(0).scale), F32(facts.output.scale)
    if facts.input(0).stored == "int16":
        return table(lambda value: F32(1) / np.sqrt(value) if value > 0 else F32(32767) * out)(
            facts
        )
    return named("multiplier", 1.0 / float(np.sqrt(x) * out))


def squared_differences(facts: Facts) -> dict[str, Any]:
    if not facts.is_integer():
        return {}
    a, b, out = facts.input(0), facts.input(1), facts.output
    spare = 7
    twice = 2.0 * max(a.scale, b.scale)
    multiplier = twice * twice / ((1 << (spare * 2)) * out.scale)
    return (
        ranged(facts)
        | {"spare": spare}
        | named("left", a.scale / twice)
        | named("right", b.scale / twice)
        | named("multiplier", multiplier)
    )


def comparisons(facts: Facts) -> dict[str, Any]:
    a, b = facts.input(0), facts.input(1)
    if not (a.is_quantized and b.is_quantized) or a.stored == "int16":
        return {}
    return named("left", a.scale) | named("right", b.scale)


def relu(kind: str) -> Callable[[Facts], dict[str, Any]]:
    def derive(facts: Facts) -> dict[str, Any]:
        if not facts.is_integer():
            return {}
        return {"range": bounds(facts, kind)} | named(
            "multiplier", float(F32(facts.input(0).scale) / F32(facts.output.scale))
        )

    return derive


def leaky(facts: Facts) -> dict[str, Any]:
    if not facts.is_integer():
        return {}
    x, out = F32(facts.input(0).scale), F32(facts.output.scale)
    return named("slope", float(x * F32(facts.option("alpha")) / out)) | named(
        "identity", float(x / out)
    )


def prelu(facts: Facts) -> dict[str, Any]:
    if not facts.is_integer():
        return {}
    x, alpha, out = (F32(item.scale) for item in (facts.input(0), facts.input(1), facts.output))
    return named("identity", float(x / out)) | named("slope", float(x * alpha / out))


def hard_swish(facts: Facts) -> dict[str, Any]:
    if not facts.is_integer():
        return {}
    fine = F32(1 / 128) * F32(facts.input(0).scale)
    factors: dict[str, Any] = {}
    for name, real in (
        ("output", fine / F32(facts.output.scale)),
        ("reluish", fine / F32(3 / 32768)),
    ):
        multiplier, shift = quantize_multiplier(float(real))
        short = MOST >> 16 if multiplier >= MOST - (1 << 15) else (multiplier + (1 << 15)) >> 16
        factors |= {name: np.array(short, np.int32), f"{name}_shift": np.array(shift, np.int32)}
    return factors


def absolute(facts: Facts) -> dict[str, Any]:
    if not facts.is_integer():
        return {}
    x, out = facts.input(0), facts.output
    return (
        {"same": True}
        if x.scale == out.scale
        else named("multiplier", float(F32(x.scale) / F32(out.scale)))
    )
