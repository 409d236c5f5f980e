"""Integer factors of reductions, joins, lookups and conversions between scales."""

import math
from typing import Any

import numpy as np

from webkiln.frontends.tflite.factors import F32, Facts, away, named, quantize_multiplier
from webkiln.frontends.tflite.linear_factors import reduced
from webkiln.frontends.tflite.tensors import FileTensor


def rescaled(facts: Facts) -> dict[str, Any]:
    """Requantize: 8 bits to 8 or 16, 16 to 8, 16 or 32."""
    x = facts.input(0)
    if x.quantization is None or x.stored == "float32" or facts.output.quantization is None:
        return {}
    return named("multiplier", x.scale / facts.output.scale)


def reduced_elements(facts: Facts) -> int | None:
    """The number of elements that are reduced to one, if it is known."""
    x, axes = facts.input(0), facts.optional(1)
    if (
        axes is None
        or axes.value is None
        or any(x.signature[axis] == -1 for axis in axes.value.reshape(-1).tolist())
    ):
        return None
    return math.prod(
        x.shape[axis]
        for axis in {int(axis) % max(len(x.shape), 1) for axis in axes.value.reshape(-1).tolist()}
    )


def products_along(facts: Facts) -> dict[str, Any]:
    """The factor of REDUCE_PROD, which is applied at each of its steps."""
    count = reduced_elements(facts) if facts.is_integer() else None
    return reduced(facts.input(0).scale / facts.output.scale ** (1.0 / count)) if count else {}


def averages(facts: Facts) -> dict[str, Any]:
    """The factor, divided by the number of elements if it is known."""
    if not facts.is_integer():
        return {}
    x = facts.input(0)
    multiplier, shift = quantize_multiplier(x.scale / facts.output.scale)
    if facts.operator.op == "SUM":
        return named("multiplier", x.scale / facts.output.scale)
    count = reduced_elements(facts)
    if count is None:
        return {}
    spare = min(count.bit_length() - 1, 32, 31 + shift) if count else 0
    return {
        "multiplier": np.array((multiplier << spare) // max(count, 1), np.int32),
        "multiplier_shift": np.array(shift - spare, np.int32),
    }


def concatenations(facts: Facts) -> dict[str, Any]:
    """Concatenated uint8 operands with other scales are rescaled in float32."""
    out = facts.output
    if not out.is_quantized or out.stored != "uint8":
        return {}
    factors: dict[str, Any] = {}
    for index, item in enumerate(facts.inputs):
        if item is not None and (item.scale, item.zero) != (out.scale, out.zero):
            ratio = F32(item.scale) * (F32(1) / F32(out.scale))
            factors[f"ratio{index}"] = np.array(ratio, np.float32)
            factors[f"move{index}"] = np.array(F32(-item.zero) * ratio, np.float32)
    return factors


def fake_quantization(facts: Facts) -> dict[str, Any]:
    """The nudged bounds of a range, and its step."""
    low, high = F32(facts.option("min")), F32(facts.option("max"))
    first, last = (
        F32(1 if facts.option("narrow_range") else 0),
        F32((1 << facts.option("num_bits")) - 1),
    )
    scale = (high - low) / (last - first)
    zero_point = first - low / scale
    zero = (
        first if zero_point < first else last if zero_point > last else F32(away(float(zero_point)))
    )
    return {
        "steps": tuple(map(float, ((first - zero) * scale, (last - zero) * scale, scale))),
        "inverse": float(F32(1) / scale),
    }


def scale_of_floats(facts: Facts) -> dict[str, Any]:
    """Between floats and quantized integers, per tensor or per channel."""
    x, out = facts.input(0), facts.output
    if x.stored == "float32" and out.quantization is not None:
        return {
            "scale": np.array(
                out.quantization.scales if out.quantization.is_per_channel else out.scale, F32
            ),
            **_channel(out),
        }
    if x.quantization is not None and out.stored == "float32":
        return {
            "scale": np.array(
                x.quantization.scales if x.quantization.is_per_channel else x.scale, F32
            ),
            **_channel(x),
        }
    return rescaled(facts)


def _channel(item: FileTensor) -> dict[str, Any]:
    assert item.quantization is not None
    if item.quantization.is_per_channel and any(item.quantization.zeros):
        return {
            "axis": item.quantization.axis,
            "channel_zeros": np.array(item.quantization.zeros, np.int32),
        }
    return {"axis": item.quantization.axis} if item.quantization.is_per_channel else {}


def embeddings(facts: Facts) -> dict[str, Any]:
    values = facts.input(1)
    if (
        values.stored in ("int8", "uint8", "int4")
        and facts.output.stored == "float32"
        and values.quantization is not None
    ):
        scales = values.quantization.scales
        return {"scale": np.array(scales[0] if len(scales) == 1 else scales, F32)}
    return {}


def detections(facts: Facts) -> dict[str, Any]:
    return {
        f"scale{index}": np.array(item.scale, F32)
        for index, item in enumerate(facts.inputs)
        if item is not None and item.is_quantized
    }
