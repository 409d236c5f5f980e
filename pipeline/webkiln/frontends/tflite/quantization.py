"""The integer factors of quantized operators, derived from the scales of their operands, as the
interpreter computes them before a run.

Every function returns arrays, which become weights of the model, and numbers that are part of its
structure: bounds of results, and shifts that do not depend on scales. Products of scales are
rounded to float32 where the interpreter does so.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.errors import SourceError, UnsupportedError
from webkiln.frontends.tflite.curves import curve_16, gelu, log_softmax, sigmoid, softmax, table
from webkiln.frontends.tflite.factors import (
    F32,
    MOST,
    Facts,
    Items,
    away,
    limits,
    named,
    power_of_two,
    quantize_multiplier,
)
from webkiln.frontends.tflite.file import FileOperator
from webkiln.frontends.tflite.recurrences import lstm, of_weights, svdf
from webkiln.frontends.tflite.tensors import FileTensor
from webkiln.ir.types import Array

BOUNDS = {
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
    "NONE": (None, None),
}


def bounds(facts: Facts, kind: str) -> tuple[int, int]:
    """The range of the result after a fused activation."""
    item = facts.output
    low, high = limits(item)
    if kind not in BOUNDS:
        raise UnsupportedError(
            facts.where,
            [
                (
                    facts.where,
                    f"has the activation {kind} on integers",
                    "Use an activation of its own",
                )
            ],
        )
    first, last = BOUNDS[kind]

    def placed(value: float) -> int:
        return item.zero + away(float(F32(value) / F32(item.scale)))

    return max(low, placed(first)) if first is not None else low, (
        min(high, placed(last)) if last is not None else high
    )


def ranged(facts: Facts) -> dict[str, Any]:
    return {"range": bounds(facts, facts.operator.options.get("fused_activation_function", "NONE"))}


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


def linear(x_place: int, weights_place: int, bias_place: int) -> Callable[[Facts], dict[str, Any]]:
    """The factors of a sum of products of the operands at these positions."""

    def derive(facts: Facts) -> dict[str, Any]:
        x, weights, bias = (
            facts.input(x_place),
            facts.input(weights_place),
            facts.optional(bias_place),
        )
        if x.stored == "float32" and weights.stored in ("int8", "int4", "int2"):
            return hybrid(facts, weights)
        if not (x.is_quantized and weights.is_quantized and facts.output.is_quantized):
            return {}
        assert weights.quantization is not None
        real = per_channel(facts, x, weights, single=x.stored == "uint8")
        made: dict[str, Any] = ranged(facts)
        if facts.operator.op == "FULLY_CONNECTED":
            made |= rounded_once(facts, x, weights)
        elif x.stored != "int16":
            return made | named("multiplier", real)
        elif bias is not None and bias.stored == "int32":
            return made | {"narrow": True} | named("multiplier", real)
        else:
            made |= reduced(real)
        if x.stored == "int16" and bias is not None and bias.value is not None:
            value = bias.value.astype(np.int64)
            made["bias_high"], made["bias_low"] = (
                (value >> 16).astype(np.int32),
                (value & 0xFFFF).astype(np.int32),
            )
        return made

    return derive


def reduced(real: float | Sequence[float]) -> dict[str, Array]:
    """A 15-bit factor, for sums with more than 32 bits."""
    factors = named("multiplier", real)
    whole, shift = factors["multiplier"], factors["multiplier_shift"]
    short = np.where(whole < 0x7FFF0000, (whole.astype(np.int64) + (1 << 15)) >> 16, 0x7FFF).astype(
        np.int32
    )
    return {"multiplier": short, "places": np.array(15 - shift, np.int32)}


def rounded_once(facts: Facts, x: FileTensor, weights: FileTensor) -> dict[str, Array]:
    """A 30-bit factor for one rounding, where the interpreter multiplies by a float64."""
    assert weights.quantization is not None
    scales = weights.quantization.scales
    pairs = [math.frexp(x.scale * scale / facts.output.scale) for scale in scales]
    shape = (len(scales),) if len(scales) > 1 else ()
    multiplier = [min(round(fraction * (1 << 30)), (1 << 30) - 1) for fraction, _ in pairs]
    places = [min(max(30 - shift, 16), 77) for _, shift in pairs]
    return {
        "multiplier": np.array(multiplier, np.int32).reshape(shape),
        "places": np.array(places, np.int32).reshape(shape),
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


def sums(facts: Facts) -> dict[str, Any]:
    """Rescale both operands to twice the larger scale, with spare low bits."""
    if not facts.is_integer():
        return {}
    a, b, out = facts.input(0), facts.input(1), facts.output
    made = ranged(facts)
    if out.stored == "int16" and facts.option("pot_scale_int16"):
        powers = [power_of_two(item.scale) for item in (a, b, out)]
        if None not in powers:
            left, right, last = (power or 0 for power in powers)
            return made | {"pot": True, "left_pot": last - left, "right_pot": last - right}
    spare = 15 if out.stored == "int16" else 20
    twice = float(F32(2) * max(F32(a.scale), F32(b.scale)))
    whole = twice / float(F32(1 << spare) * F32(out.scale))
    return (
        made
        | {"spare": spare}
        | named("left", a.scale / twice)
        | named("right", b.scale / twice)
        | named("multiplier", whole)
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
    whole = twice * twice / ((1 << (spare * 2)) * out.scale)
    return (
        ranged(facts)
        | {"spare": spare}
        | named("left", a.scale / twice)
        | named("right", b.scale / twice)
        | named("multiplier", whole)
    )


def comparisons(facts: Facts) -> dict[str, Any]:
    a, b = facts.input(0), facts.input(1)
    if not (a.is_quantized and b.is_quantized) or a.stored == "int16":
        return {}
    return named("left", a.scale) | named("right", b.scale)


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
    made: dict[str, Any] = {}
    for name, real in (
        ("output", fine / F32(facts.output.scale)),
        ("reluish", fine / F32(3 / 32768)),
    ):
        whole, shift = quantize_multiplier(float(real))
        short = MOST >> 16 if whole >= MOST - (1 << 15) else (whole + (1 << 15)) >> 16
        made |= {name: np.array(short, np.int32), f"{name}_shift": np.array(shift, np.int32)}
    return made


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
    whole, shift = quantize_multiplier(x.scale / facts.output.scale)
    if facts.operator.op == "SUM":
        return named("multiplier", x.scale / facts.output.scale)
    count = reduced_elements(facts)
    if count is None:
        return {}
    spare = min(count.bit_length() - 1, 32, 31 + shift) if count else 0
    return {
        "multiplier": np.array((whole << spare) // max(count, 1), np.int32),
        "multiplier_shift": np.array(shift - spare, np.int32),
    }


def joined(facts: Facts) -> dict[str, Any]:
    """Concatenated uint8 operands with other scales are rescaled in float32."""
    out = facts.output
    if not out.is_quantized or out.stored != "uint8":
        return {}
    made: dict[str, Any] = {}
    for place, item in enumerate(facts.inputs):
        if item is not None and (item.scale, item.zero) != (out.scale, out.zero):
            ratio = F32(item.scale) * (F32(1) / F32(out.scale))
            made[f"ratio{place}"] = np.array(ratio, np.float32)
            made[f"move{place}"] = np.array(F32(-item.zero) * ratio, np.float32)
    return made


def fake(facts: Facts) -> dict[str, Any]:
    """The nudged bounds of a range, and its step."""
    low, high = F32(facts.option("min")), F32(facts.option("max"))
    first, last = (
        F32(1 if facts.option("narrow_range") else 0),
        F32((1 << facts.option("num_bits")) - 1),
    )
    scale = (high - low) / (last - first)
    place = first - low / scale
    zero = first if place < first else last if place > last else F32(away(float(place)))
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


def absolute(facts: Facts) -> dict[str, Any]:
    if not facts.is_integer():
        return {}
    x, out = facts.input(0), facts.output
    return (
        {"same": True}
        if x.scale == out.scale
        else named("multiplier", float(F32(x.scale) / F32(out.scale)))
    )


def embedded(facts: Facts) -> dict[str, Any]:
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
        f"scale{place}": np.array(item.scale, F32)
        for place, item in enumerate(facts.inputs)
        if item is not None and item.is_quantized
    }


DERIVED: Mapping[str, Callable[[Facts], dict[str, Any]]] = {
    "CONV_2D": linear(0, 1, 2),
    "DEPTHWISE_CONV_2D": linear(0, 1, 2),
    "FULLY_CONNECTED": linear(0, 1, 2),
    "CONV_3D": linear(0, 1, 2),
    "TRANSPOSE_CONV": linear(2, 1, 3),
    "BATCH_MATMUL": matrices,
    "ADD": sums,
    "SUB": sums,
    "MUL": products,
    "DIV": quotients,
    "RSQRT": inverse_roots,
    "SQUARED_DIFFERENCE": squared_differences,
    "AVERAGE_POOL_2D": pooled,
    "MAX_POOL_2D": pooled,
    "RELU": relu("RELU"),
    "RELU6": relu("RELU6"),
    "RELU_N1_TO_1": relu("RELU_N1_TO_1"),
    "RELU_0_TO_1": relu("RELU_0_TO_1"),
    "LEAKY_RELU": leaky,
    "PRELU": prelu,
    "HARD_SWISH": hard_swish,
    "QUANTIZE": scale_of_floats,
    "DEQUANTIZE": scale_of_floats,
    "MEAN": averages,
    "SUM": averages,
    "REDUCE_PROD": products_along,
    "SOFTMAX": softmax,
    "LOG_SOFTMAX": log_softmax,
    "CONCATENATION": joined,
    "FAKE_QUANT": fake,
    "ABS": absolute,
    "LOGISTIC": curve_16(sigmoid, twice=False),
    "TANH": curve_16(np.tanh, twice=True),
    "ELU": table(lambda x: np.expm1(x) if x < 0 else x),
    "EXP": table(np.exp),
    "LOG": table(np.log),
    "GELU": gelu,
    "EQUAL": comparisons,
    "NOT_EQUAL": comparisons,
    "LESS": comparisons,
    "LESS_EQUAL": comparisons,
    "GREATER": comparisons,
    "GREATER_EQUAL": comparisons,
    "EMBEDDING_LOOKUP": embedded,
    "TFLite_Detection_PostProcess": detections,
    **dict.fromkeys(
        (
            "BIDIRECTIONAL_SEQUENCE_LSTM",
            "RNN",
            "UNIDIRECTIONAL_SEQUENCE_RNN",
            "BIDIRECTIONAL_SEQUENCE_RNN",
        ),
        of_weights,
    ),
    "LSTM": lstm,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
    "SVDF": svdf,
}


def derived(
    operator: FileOperator,
    inputs: Items,
    outputs: Sequence[FileTensor],
    intermediates: Items,
    where: str,
) -> dict[str, Any]:
    """The factors and attributes derived from the scales of an operator's tensors."""
    function = DERIVED.get(operator.op)
    if function is None or not outputs:
        return {}
    try:
        return function(Facts(operator, inputs, outputs, intermediates, where))
    except (ValueError, OverflowError, ZeroDivisionError, IndexError, TypeError) as error:
        raise SourceError(
            f"{where}: the scales of {operator.op} are none that it can have ({error}); convert the"
            " model again"
        ) from None
