"""Any operator between SHAPE and a size is evaluated when a model with open sizes is converted.

The converter of TensorFlow Lite writes the files, from the graphs that test the same for
TensorFlow.
"""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.size_differences import size_differences
from tests.frontends.tensorflow.size_operators import (
    CONSUMERS,
    PRODUCERS,
    Producer,
    floating,
    raw,
    size_function,
    square,
)
from tests.frontends.tflite.loading import graph_of
from webkiln.errors import SourceError, WebkilnError
from webkiln.frontends.tflite.converter import HANDLERS
from webkiln.frontends.tflite.load import read_model
from webkiln.frontends.tflite.reference import Interpreted

OWN: dict[str, Producer] = {
    "RELU": floating(lambda s: raw.Relu(features=tf.floor(s * 0.5)) + 1.0),
    "RELU6": floating(lambda s: raw.Relu6(features=s) + 1.0),
    "RELU_N1_TO_1": floating(lambda s: tf.minimum(tf.maximum(tf.floor(s * 0.25), -1.0), 1.0) + 2.0),
    "SQUARE": floating(lambda s: raw.Square(x=s)),
    "BATCH_MATMUL": floating(lambda s: raw.BatchMatMulV2(x=square(s), y=tf.ones([1, 3, 2]))),
    "FULLY_CONNECTED": floating(lambda s: tf.matmul(s[None], tf.ones([3, 2]))),
    "product": floating(lambda s: s * 0.7 + 1.0),
}
ALL = {**{f"TF {name}": item for name, item in PRODUCERS.items()}, **OWN}
ROOTS = "the root of a size is not a quotient of polynomials of sizes"
REASONS = {
    **dict.fromkeys(("TF Sqrt", "TF Sqrt rounded up", "TF Pow one half", "TF Rsqrt"), ROOTS),
    "TF MaxPool": "no operator on images is evaluated over sizes",
    "TF IsInf": "the converter compares with infinity, which is not a quotient of sizes",
}
"""Producers that are not evaluated over sizes, with the reason."""
UNTRANSLATED = ("Could not translate MLIR", "failed to legalize", "TF Select op", "flex")
"""What the converter says of operators that TensorFlow Lite does not have."""
WITHOUT_KERNEL = ("TF SpaceToBatchND",)
"""Producers whose files the interpreter cannot run."""
UNWRITTEN = {
    **dict.fromkeys(("EXPAND_DIMS", "SQUEEZE"), "the converter writes RESHAPE"),
    **dict.fromkeys(("LOGICAL_NOT", "RANK", "BITCAST"), "the converter evaluates or replaces it"),
    **dict.fromkeys(
        (f"STABLEHLO_{name}" for name in ("ADD", "MAXIMUM", "MINIMUM", "MULTIPLY")),
        "the converter writes ADD, MAXIMUM, MINIMUM or MUL",
    ),
    **dict.fromkeys(("DILATE", "DYNAMIC_UPDATE_SLICE"), "only converters of other frameworks"),
    **dict.fromkeys(
        ("UNIQUE", "WHERE", "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"),
        "the number of its results depends on data",
    ),
    **dict.fromkeys(
        ("EMBEDDING_LOOKUP", "SPARSE_TO_DENSE", "RESIZE_NEAREST_NEIGHBOR", "RELU_0_TO_1"),
        "the converter does not write it for a list of sizes",
    ),
    **dict.fromkeys(("CALL", "IF", "WHILE", "STATE", "SET_STATE"), "calls graphs or keeps states"),
}
"""Operators of integers without a producer, with the reason."""
FLOATING = frozenset(
    {
        *("ATAN2", "AVERAGE_POOL_2D", "COMPLEX_ABS", "CONV_2D", "CONV_3D", "CONV_3D_TRANSPOSE"),
        *("BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN", "COS", "DEQUANTIZE"),
        *("DEPTHWISE_CONV_2D", "ELU", "EXP", "FAKE_QUANT", "GELU", "HARD_SWISH", "IMAG"),
        *("L2_NORMALIZATION", "L2_POOL_2D", "LOCAL_RESPONSE_NORMALIZATION", "LOG", "LOGISTIC"),
        *("LOG_SOFTMAX", "LSTM", "PRELU", "QUANTIZE", "REAL", "RESIZE_BILINEAR", "RFFT2D", "RNN"),
        *("SIN", "SOFTMAX", "SVDF", "TANH", "TRANSPOSE_CONV", "UNIDIRECTIONAL_SEQUENCE_LSTM"),
        "UNIDIRECTIONAL_SEQUENCE_RNN",
    }
)
"""Operators of floating-point, complex or quantised numbers only that do not occur between
sizes.
"""


def written(producer: str, consumer: str, folder: Path) -> Path | None:
    """A file with the producer and the consumer; None if TensorFlow Lite has no such operator."""
    function = size_function(ALL[producer], consumer)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
    path = folder / "model.tflite"
    try:
        path.write_bytes(converter.convert())
    except Exception as error:
        if not any(part in str(error) for part in UNTRANSLATED):
            raise
        return None
    return path


def failures(producer: str, consumer: str, path: Path) -> list[str]:
    """How the results of a file differ from those of the interpreter."""
    try:
        graph = graph_of(path)
        (name,) = graph.inputs

        def expected(x: np.ndarray) -> np.ndarray:
            (output,) = Interpreted(path)({name: x})[0].values()
            return output

        return size_differences(f"{producer} {consumer}", graph, expected)
    except WebkilnError as error:
        is_known = producer in WITHOUT_KERNEL and isinstance(error, SourceError)
        return [] if is_known else [f"{producer} {consumer}: {error}"]


def test_a_part_of_the_operators_leads_to_a_size(tmp_path: Path) -> None:
    differences, count = [], 0
    for name in {*[*ALL][::5], *OWN} - set(REASONS):
        path = written(name, "Fill", tmp_path)
        if path is not None:
            count += 1
            differences += failures(name, "Fill", path)
    assert count > 20
    assert not differences, "\n".join(differences)


@pytest.mark.long
@pytest.mark.parametrize("consumer", sorted(CONSUMERS))
def test_every_operator_leads_to_every_size(consumer: str, tmp_path: Path) -> None:
    """Also that every operator is listed, and that reasons are true, except for ranges: their
    length may depend on data.
    """
    operators: set[str] = set()
    differences = []
    for name in ALL:
        path = written(name, consumer, tmp_path)
        if path is None:
            continue
        operators.update(node.op for node in read_model(path)[0].graph.nodes)
        found = failures(name, consumer, path)
        if name in REASONS:
            assert found or consumer == "Range", name
        else:
            differences += found
    assert not differences, "\n".join(differences)
    supported = {*HANDLERS.tables[""], *HANDLERS.folds.ops}
    assert supported - operators - FLOATING - set(UNWRITTEN) == set()
