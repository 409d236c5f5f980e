"""Integer factors of sums of products: convolutions, matrix products and pools."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.tflite.factors import F32, Facts, named, ranged
from webkiln.frontends.tflite.tensors import FileTensor
from webkiln.ir.types import Array


def per_channel(
    facts: Facts, x: FileTensor, weights: FileTensor, *, single: bool
) -> list[float] | float:
    """The product of scales, divided by the scale of the result. `single`: for one scale, the
    product is computed in float32.
    """
    assert weights.quantization is not None
    if single:
        return float(F32(x.scale) * F32(weights.scale)) / facts.output.scale
    scales = [x.scale * scale / facts.output.scale for scale in weights.quantization.scales]
    return scales if len(scales) > 1 else scales[0]


def linear(x_index: int, weights_index: int, bias_index: int) -> Callable[[Facts], dict[str, Any]]:
    """The factors of a sum of products of the operands at these positions."""

    def derive(facts: Facts) -> dict[str, Any]:
        x, weights, bias = (
            facts.input(x_index),
            facts.input(weights_index),
            facts.optional(bias_index),
        )
        if x.stored == "float32" and weights.stored in ("int8", "int4", "int2"):
            return hybrid(facts, weights)
        if not (x.is_quantized and weights.is_quantized and facts.output.is_quantized):
            return {}
        assert weights.quantization is not None
        real = per_channel(facts, x, weights, single=x.stored == "uint8")
        factors: dict[str, Any] = ranged(facts)
        if facts.operator.op == "FULLY_CONNECTED":
            factors |= rounded_once(facts, x, weights)
        elif x.stored != "int16":
            return factors | named("multiplier", real)
        elif bias is not None and bias.stored == "int32":
            return factors | {"narrow": True} | named("multiplier", real)
        else:
            factors |= reduced(real)
        if x.stored == "int16" and bias is not None and bias.value is not None:
            value = bias.value.astype(np.int64)
            factors["bias_high"], factors["bias_low"] = (
                (value >> 16).astype(np.int32),
                (value & 0xFFFF).astype(np.int32),
            )
        return factors

    return derive


def reduced(real: float | Sequence[float]) -> dict[str, Array]:
    """A 15-bit factor, for sums with more than 32 bits."""
    factors = named("multiplier", real)
    multiplier, shift = factors["multiplier"], factors["multiplier_shift"]
    short = np.where(
        multiplier < 0x7FFF0000, (multiplier.astype(np.int64) + (1 << 15)) >> 16, 0x7FFF
    ).astype(np.int32)
    return {"multiplier": short, "places": np.array(15 - shift, np.int32)}


def rounded_once(facts: Facts, x: FileTensor, weights: FileTensor) -> dict[str, Array]:
    """A 30-bit factor for one rounding, where the interpreter multiplies by a float64."""
    assert weights.quantization is not None
    scales = weights.quantization.scales
    pairs = [math.frexp(x.scale * scale / facts.output.scale) for scale in scales]
    shape = (len(scales),) if len(scales) > 1 else ()
    multiplier = [min(round(fraction * (1 << 30)), (1 << 30) - 1) for fraction, _ in pairs]
    shifts = [min(max(30 - shift, 16), 77) for _, shift in pairs]
    return {
        "multiplier": np.array(multiplier, np.int32).reshape(shape),
        "places": np.array(shifts, np.int32).reshape(shape),
    }


def hybrid(facts: Facts, weights: FileTensor) -> dict[str, Any]:
    if weights.quantization is None:
        raise SourceError(
            f"{facts.where}: its weights of {weights.stored} have no scale; convert the model again"
        )
    scales = weights.quantization.scales
    same = len(set(scales)) == 1
    op = facts.operator.op
    convolution = op in ("CONV_2D", "DEPTHWISE_CONV_2D")
    grouped = op == "CONV_2D" and facts.input(0).shape[-1:] != weights.shape[-1:]
    asymmetric = (
        (not same or grouped or op == "DEPTHWISE_CONV_2D")
        if convolution
        else bool(facts.operator.options.get("asymmetric_quantize_inputs"))
    )
    return {"scale": np.array(scales[0] if same else scales, F32), "asymmetric": asymmetric}


def matrices(facts: Facts) -> dict[str, Any]:
    a, b = facts.input(0), facts.input(1)
    if a.stored == "float32" and b.stored == "int8":
        return hybrid(facts, b)
    if not facts.is_integer():
        return {}
    real = float(F32(a.scale) * F32(b.scale)) / facts.output.scale
    return ranged(facts) | (reduced(real) if a.stored == "int16" else named("multiplier", real))


def pooled(facts: Facts) -> dict[str, Any]:
    return ranged(facts) if facts.is_integer() else {}
