"""Any operator between Shape and a size is evaluated when a model with open sizes is converted."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tests.frontends.size_differences import size_differences
from tests.frontends.tensorflow.size_operators import CONSUMERS, PRODUCERS, size_function
from webkiln.errors import WebkilnError
from webkiln.frontends.tensorflow.converter import HANDLERS, TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model
from webkiln.ops.evaluate import run_graph

INTEGERS = {tf.int32.as_datatype_enum, tf.int64.as_datatype_enum}
ROOTS = "the root of a size is not a quotient of polynomials of sizes"
IMAGES = "no operator on images is evaluated over sizes"
REASONS: dict[str, str] = {
    **dict.fromkeys(("Sqrt", "Sqrt rounded up", "Pow one half", "Rsqrt", "EuclideanNorm"), ROOTS),
    "Pow one half of double": ROOTS,
    **dict.fromkeys(("MaxPool", "ResizeNearestNeighbor"), IMAGES),
    "Round": "TensorFlow's kernel for CPUs returns 0 for integers",
}
"""Producers that are not evaluated over sizes, with the reason."""

UNWRITTEN = {
    **dict.fromkeys(
        (
            *("Multinomial", "RandomShuffle", "RandomUniformInt", "StatelessRandomUniformInt"),
            *("StatelessRandomUniformIntV2", "StatelessRandomGetKeyCounterAlg"),
        ),
        "its numbers are random, and inputs of the bundle",
    ),
    **dict.fromkeys(
        ("ImageProjectiveTransformV2", "ImageProjectiveTransformV3"),
        "its operands are an image and a size, which must be constant",
    ),
    "UniqueV2": "its handler is that of Unique",
    **dict.fromkeys(
        ("BatchMatrixBandPart", "Conv", "TopK", "NonMaxSuppression"),
        "TensorFlow cannot write it any more; its handler is that of a newer operator",
    ),
    **dict.fromkeys(
        ("Conv2D", "Conv2DBackpropInput", "Dilation2D", "MaxPoolV2", "MaxPoolWithArgmax"), IMAGES
    ),
    **dict.fromkeys(
        ("CombinedNonMaxSuppression", *(f"NonMaxSuppressionV{n}" for n in range(2, 6))),
        "its integers are a count, which must be constant, and indices of boxes",
    ),
    **dict.fromkeys(
        ("LookupTableFind", "LookupTableFindV2", "ResourceGather", "ResourceGatherNd"),
        "reads a table or a variable, which needs a session",
    ),
    **dict.fromkeys(
        (
            *("TensorArrayGatherV3", "TensorArrayReadV3", "TensorListConcatV2"),
            *("TensorListGather", "TensorListGetItem", "TensorListPopBack", "TensorListStack"),
        ),
        "reads a list of tensors, which is converted as a list",
    ),
    "Empty": "its elements are undefined",
    "Merge": "belongs to control flow of TensorFlow 1",
    "Where": "the number of its results depends on data",
}
"""Operators without a producer, with the reason."""


def failures(producer: str, consumer: str, folder: Path) -> list[str]:
    """How the results of a model differ from those of TensorFlow."""
    function = size_function(PRODUCERS[producer], consumer)
    path = folder / "graph.pb"
    path.write_bytes(function.graph.as_graph_def().SerializeToString())
    spec, blobs = read_model(path)
    try:
        graph = TensorFlowConverter().convert(spec, blobs)
    except WebkilnError as error:
        return [f"{producer} {consumer}: {error}"]
    return size_differences(
        f"{producer} {consumer}", graph, lambda x: function(x=tf.constant(x))["y"].numpy()
    )


def test_every_operator_is_listed() -> None:
    """Every supported operator that reads and returns integers occurs in a producer, or has a
    reason.
    """
    written = {
        node.op
        for producer in PRODUCERS.values()
        for node in size_function(producer, "Fill").graph.as_graph_def().node
    }
    supported = {*HANDLERS.tables[""], *HANDLERS.folds.ops}
    integral = {op for op in supported if _has_integers(op)}
    assert integral - written == set(UNWRITTEN)
    assert {"Cast", "Mul", "RealDiv", "Floor", "Ceil", "Round", "Rint", "Sqrt"} <= written


def _has_integers(op: str) -> bool:
    definition = op_def_registry.get(op)
    if definition is None:
        return False
    allowed = {
        item.name: set(item.allowed_values.list.type) or INTEGERS for item in definition.attr
    }
    return all(
        any(
            INTEGERS & ({item.type} if item.type else allowed[item.type_attr])
            for item in items
            if item.type or item.type_attr
        )
        for items in (definition.input_arg, definition.output_arg)
    )


@pytest.mark.parametrize("consumer", ["Fill", "StridedSlice"])
def test_every_operator_leads_to_a_size(consumer: str, tmp_path: Path) -> None:
    names = [*PRODUCERS][:: 3 if consumer == "Fill" else 8]
    differences = [
        text for name in names if name not in REASONS for text in failures(name, consumer, tmp_path)
    ]
    assert not differences, "\n".join(differences)


def test_reasons_are_true(tmp_path: Path) -> None:
    for name in REASONS:
        assert failures(name, "Fill", tmp_path), name


@pytest.mark.long
@pytest.mark.parametrize("consumer", sorted(CONSUMERS))
def test_every_operator_leads_to_every_size(consumer: str, tmp_path: Path) -> None:
    differences = [
        text
        for name in PRODUCERS
        if name not in REASONS
        for text in failures(name, consumer, tmp_path)
    ]
    assert not differences, "\n".join(differences)


def test_indices_of_either_sign_count_from_an_end(tmp_path: Path) -> None:
    """x[n - 5:] and x[:n - 5] count from the end if n is less than 5."""
    for cut in (lambda x, n: x[n:], lambda x, n: x[:n], lambda x, n: x[-n:], lambda x, n: x[:-n]):
        function = tf.function(
            lambda x, cut=cut: {"y": tf.identity(cut(x, tf.shape(x)[0] - 5))},
            input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")],
        ).get_concrete_function()
        path = tmp_path / "graph.pb"
        path.write_bytes(function.graph.as_graph_def().SerializeToString())
        graph = TensorFlowConverter().convert(*read_model(path))
        for length in range(1, 12):
            x = np.arange(2 * length, dtype=np.float32).reshape(length, 2)
            (actual,) = run_graph(graph, {"x": x})[0].values()
            assert np.array_equal(actual, function(x=tf.constant(x))["y"]), length
