"""The integer factors of quantized operators, derived from the scales of their operands, as the
interpreter computes them before a run.

Every function returns arrays, which become weights of the model, and numbers that are part of its
structure: bounds of results, and shifts that do not depend on scales. Products of scales are
rounded to float32 where the interpreter does so.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.tflite.curves import curve_16, gelu, log_softmax, sigmoid, softmax, table
from webkiln.frontends.tflite.element_factors import (
    absolute,
    comparisons,
    hard_swish,
    inverse_roots,
    leaky,
    prelu,
    products,
    quotients,
    relu,
    squared_differences,
    sums,
)
from webkiln.frontends.tflite.factors import Facts, Items
from webkiln.frontends.tflite.file import FileOperator
from webkiln.frontends.tflite.linear_factors import linear, matrices, pooled
from webkiln.frontends.tflite.recurrences import hybrid_scales, lstm, svdf
from webkiln.frontends.tflite.scale_factors import (
    averages,
    concatenations,
    detections,
    embeddings,
    fake_quantization,
    products_along,
    scale_of_floats,
)
from webkiln.frontends.tflite.tensors import FileTensor

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
    "CONCATENATION": concatenations,
    "FAKE_QUANT": fake_quantization,
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
    "EMBEDDING_LOOKUP": embeddings,
    "TFLite_Detection_PostProcess": detections,
    **dict.fromkeys(
        (
            "BIDIRECTIONAL_SEQUENCE_LSTM",
            "RNN",
            "UNIDIRECTIONAL_SEQUENCE_RNN",
            "BIDIRECTIONAL_SEQUENCE_RNN",
        ),
        hybrid_scales,
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
            f"{where}: the scales of {operator.op} are invalid ({error}); convert the model again"
        ) from None
