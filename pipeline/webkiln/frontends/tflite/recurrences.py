"""The factors of integer recurrent layers, and the weight scales of hybrid ones."""

from typing import Any

import numpy as np

from webkiln.frontends.tflite.factors import F32, Facts, limits, named, power_of_two
from webkiln.frontends.tflite.tensors import FileTensor

GATES = ("input", "forget", "cell", "output")
PEEPHOLES = {"input": 9, "forget": 10, "output": 11}
STEP = 2.0**-12
"""The format of a gate before its activation: 16 bits, three of them integer bits."""


def hybrid_scales(facts: Facts) -> dict[str, Any]:
    """The scales of int8 weights, by operand position."""
    if facts.input(0).stored != "float32":
        return {}
    scales = {
        f"scale{index}": np.array(item.scale, F32)
        for index, item in enumerate(facts.inputs)
        if item is not None and item.stored in ("int8", "uint8") and item.quantization is not None
    }
    return (
        {**scales, "asymmetric": bool(facts.option("asymmetric_quantize_inputs"))} if scales else {}
    )


def clip(real: float, item: FileTensor) -> int:
    """A clipping bound as an integer; 0 means none."""
    low, high = limits(item)
    return int(min(max(float(F32(real) / F32(item.scale)), low), high)) if real > 0 else 0


def lstm(facts: Facts) -> dict[str, Any]:
    """An int8 LSTM with an int16 cell. Each gate has factors for the input, the previous output and
    the cell.
    """
    if not facts.is_integer():
        return hybrid_scales(facts)
    x, state, cell = facts.input(0), facts.input(18), facts.input(19)
    hidden = facts.intermediates[4] if len(facts.intermediates) == 5 else None
    if (
        hidden is None
        or (x.stored, state.stored, cell.stored) != ("int8", "int8", "int16")
        or not state.scale
    ):
        return {}
    power = power_of_two(cell.scale)
    if power is None or not -15 <= power <= -9:
        return {}
    factors: dict[str, Any] = {"cell_power": power, "hidden_zero": hidden.zero}
    for index, gate in enumerate(GATES):
        peephole = facts.optional(PEEPHOLES[gate]) if gate in PEEPHOLES else None
        for name, weights, scale in (
            ("input", facts.optional(1 + index), F32(x.scale)),
            ("recurrent", facts.optional(5 + index), F32(state.scale)),
            ("peephole", peephole, F32(2.0**power)),
        ):
            if weights is not None:
                factors |= named(f"{gate}_{name}", float(F32(weights.scale) * scale / F32(STEP)))
    factors |= named("hidden", float(F32(2.0**-15 / hidden.scale * 2.0**-15)))
    projection = facts.optional(16)
    if projection is not None:
        factors |= named(
            "projection", float(F32(projection.scale) * F32(hidden.scale) / F32(state.scale))
        )
    return factors | {
        "cell_bound": clip(facts.option("cell_clip"), cell),
        "projection_bound": clip(facts.option("proj_clip"), state),
    }


def svdf(facts: Facts) -> dict[str, Any]:
    """An int8 SVDF. The features have the scale of the state."""
    if not facts.is_integer():
        return hybrid_scales(facts)
    x, features, time, state = (facts.input(index) for index in (0, 1, 2, 4))
    feature = float(F32(x.scale) * F32(features.scale) / F32(state.scale))
    return named("feature", feature) | named(
        "multiplier", float(F32(state.scale) * F32(time.scale) / F32(facts.output.scale))
    )
