"""All supported operators of TensorFlow Lite, by domain: builtin and custom ones."""

from collections.abc import Mapping

from webkiln.frontends.nodes.call import NodeCall, NodeHandler, NodeResult
from webkiln.frontends.tflite.operators.activations import ACTIVATIONS
from webkiln.frontends.tflite.operators.control import CONTROL
from webkiln.frontends.tflite.operators.conv import CONV
from webkiln.frontends.tflite.operators.custom import CUSTOM
from webkiln.frontends.tflite.operators.elementwise import ELEMENTWISE
from webkiln.frontends.tflite.operators.indexing import INDEXING
from webkiln.frontends.tflite.operators.integers import (
    is_quantized,
    operand_count,
    quantization_error,
)
from webkiln.frontends.tflite.operators.pool import POOL
from webkiln.frontends.tflite.operators.quantize import QUANTIZE
from webkiln.frontends.tflite.operators.recurrent import RECURRENT
from webkiln.frontends.tflite.operators.reduce import REDUCE
from webkiln.frontends.tflite.operators.resize import RESIZE
from webkiln.frontends.tflite.operators.shape import SHAPE
from webkiln.frontends.tflite.operators.slices import SLICES
from webkiln.frontends.tflite.operators.spectral import SPECTRAL

HANDLERS: dict[str, NodeHandler] = {
    **ELEMENTWISE,
    **ACTIVATIONS,
    **CONV,
    **POOL,
    **REDUCE,
    **SHAPE,
    **SLICES,
    **RESIZE,
    **INDEXING,
    **QUANTIZE,
    **CONTROL,
    **RECURRENT,
    **SPECTRAL,
}

IN_INTEGERS = frozenset(
    (
        *SHAPE,
        *SLICES,
        *CONTROL,
        *QUANTIZE,
        *ACTIVATIONS,
        *RECURRENT,
        *RESIZE,
        *(
            INDEXING.keys()
            - {
                "BUCKETIZE",
                "SEGMENT_SUM",
                "UNSORTED_SEGMENT_SUM",
                "UNSORTED_SEGMENT_PROD",
                "UNSORTED_SEGMENT_MAX",
                "UNSORTED_SEGMENT_MIN",
                "NON_MAX_SUPPRESSION_V4",
                "NON_MAX_SUPPRESSION_V5",
            }
        ),
        "ADD",
        "SUB",
        "MUL",
        "DIV",
        "SQUARED_DIFFERENCE",
        "MAXIMUM",
        "MINIMUM",
        "EQUAL",
        "NOT_EQUAL",
        "LESS",
        "LESS_EQUAL",
        "GREATER",
        "GREATER_EQUAL",
        "RELU",
        "RELU6",
        "RELU_N1_TO_1",
        "RELU_0_TO_1",
        "LEAKY_RELU",
        "PRELU",
        "HARD_SWISH",
        "ELU",
        "GELU",
        "EXP",
        "LOG",
        "RSQRT",
        "ABS",
        "CAST",
        "BITCAST",
        "ZEROS_LIKE",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "TRANSPOSE_CONV",
        "FULLY_CONNECTED",
        "BATCH_MATMUL",
        "MAX_POOL_2D",
        "AVERAGE_POOL_2D",
        "L2_NORMALIZATION",
        "MEAN",
        "SUM",
        "REDUCE_PROD",
        "REDUCE_MAX",
        "REDUCE_MIN",
        "ARG_MAX",
        "ARG_MIN",
    )
)
"""Operators whose handlers accept quantized operands: they move them, compute in integers, or
refuse specific ones.
"""


def without_quantization(handler: NodeHandler) -> NodeHandler:
    """A handler that refuses quantized operands."""

    def convert(call: NodeCall) -> NodeResult:
        if any(
            is_quantized(call, index) for index in range(operand_count(call)) if call.has(index)
        ):
            raise quantization_error(call)
        return handler(call)

    return convert


OPERATORS: dict[str, NodeHandler] = {
    op: handler if op in IN_INTEGERS else without_quantization(handler)
    for op, handler in HANDLERS.items()
}

DOMAINS: Mapping[str, Mapping[str, NodeHandler]] = {"": OPERATORS, "custom": CUSTOM}
