"""Operator signatures: numbers of operands and outputs, and attributes. The onnx package has the
standard's schemas; those of com.microsoft are listed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import onnx

MANY = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Signature:
    """The range of the number of operands, the maximum number of outputs, and the type of each
    attribute. Attributes in `required` must be present.
    """

    min_inputs: int
    max_inputs: int
    max_outputs: int
    attributes: Mapping[str, str]
    required: frozenset[str]
    deprecated: bool = False


@cache
def find_signature(op: str, domain: str, version: int) -> Signature | None:
    """The signature of an operator, if it is known."""
    if domain == "com.microsoft":
        return MICROSOFT.get(op)
    if not onnx.defs.has(op, version, domain):
        return None
    schema = onnx.defs.get_schema(op, version, domain)
    # The stubs of onnx type the attribute types as integers.
    attributes = {
        name: item.type.name  # type: ignore[attr-defined]
        for name, item in schema.attributes.items()
    }
    required = frozenset(name for name, item in schema.attributes.items() if item.required)
    return Signature(
        schema.min_input,
        schema.max_input,
        schema.max_output,
        attributes,
        required,
        schema.deprecated,
    )


def _signature(
    min_inputs: int, max_inputs: int, max_outputs: int, attributes: str = ""
) -> Signature:
    """A signature; `attributes` is `name:KIND ...`, with an exclamation mark after required
    ones.
    """
    pairs = [item.split(":") for item in attributes.split()]
    required = frozenset(name for name, kind in pairs if kind.endswith("!"))
    return Signature(
        min_inputs,
        max_inputs,
        max_outputs,
        {name: kind.rstrip("!") for name, kind in pairs},
        required,
    )


MICROSOFT = {
    "Attention": _signature(
        2,
        7,
        2,
        "do_rotary:INT mask_filter_value:FLOAT num_heads:INT! past_present_share_buffer:INT"
        " qkv_hidden_sizes:INTS rotary_embedding_dim:INT scale:FLOAT unidirectional:INT",
    ),
    "BiasGelu": _signature(2, 2, 1),
    "DequantizeLinear": _signature(2, 3, 1, "axis:INT"),
    "DynamicQuantizeMatMul": _signature(3, 5, 1),
    "DynamicQuantizeLSTM": _signature(
        12,
        12,
        3,
        "input_forget:INT activations:STRINGS clip:FLOAT activation_beta:FLOATS"
        " activation_alpha:FLOATS hidden_size:INT direction:STRING",
    ),
    "EmbedLayerNormalization": _signature(7, 9, 3, "epsilon:FLOAT mask_index_type:INT"),
    "FastGelu": _signature(1, 2, 1),
    "FusedConv": _signature(
        2,
        4,
        1,
        "activation:STRING activation_params:FLOATS auto_pad:STRING dilations:INTS group:INT"
        " kernel_shape:INTS pads:INTS strides:INTS",
    ),
    "FusedGemm": _signature(
        2,
        3,
        1,
        "activation:STRING activation_alpha:FLOAT activation_beta:FLOAT activation_gamma:FLOAT"
        " alpha:FLOAT beta:FLOAT transA:INT transB:INT",
    ),
    "FusedMatMul": _signature(
        2, 2, 1, "alpha:FLOAT transA:INT transB:INT transBatchA:INT transBatchB:INT"
    ),
    "GatherBlockQuantized": _signature(
        3, 4, 1, "bits:INT block_size:INT gather_axis:INT quantize_axis:INT"
    ),
    "Gelu": _signature(1, 1, 1),
    "MatMulIntegerToFloat": _signature(4, 7, 1),
    "MatMulNBits": _signature(
        3, 6, 1, "K:INT! N:INT! accuracy_level:INT bits:INT block_size:INT! weight_prepacked:INT"
    ),
    "MultiHeadAttention": _signature(
        1, 10, 4, "mask_filter_value:FLOAT num_heads:INT! scale:FLOAT unidirectional:INT"
    ),
    "QGemm": _signature(6, 9, 1, "alpha:FLOAT transA:INT transB:INT"),
    "QLinearAdd": _signature(7, 8, 1),
    "QLinearAveragePool": _signature(
        4,
        5,
        1,
        "auto_pad:STRING ceil_mode:INT channels_last:INT count_include_pad:INT kernel_shape:INTS!"
        " pads:INTS strides:INTS",
    ),
    "QLinearConcat": _signature(3, MANY, 1, "axis:INT!"),
    "QLinearGlobalAveragePool": _signature(5, 5, 1, "channels_last:INT"),
    "QLinearLeakyRelu": _signature(4, 5, 1, "alpha:FLOAT"),
    "QLinearMul": _signature(7, 8, 1),
    "QLinearSigmoid": _signature(4, 5, 1),
    "QLinearSoftmax": _signature(5, 5, 1, "axis:INT opset:INT!"),
    "QuantizeLinear": _signature(2, 3, 1, "axis:INT"),
    "QuickGelu": _signature(1, 1, 1, "alpha:FLOAT"),
    "ScaledSiLU": _signature(1, 2, 1, "alpha:FLOAT"),
    "SimplifiedLayerNormalization": _signature(2, 2, 2, "axis:INT epsilon:FLOAT stash_type:INT"),
    "SkipLayerNormalization": _signature(3, 5, 4, "epsilon:FLOAT"),
    "SkipSimplifiedLayerNormalization": _signature(3, 4, 4, "epsilon:FLOAT"),
}
