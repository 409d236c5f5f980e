"""Attributes of raw operators that TensorFlow computes on no CPU, or that are refused."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from tests.frontends.tensorflow.graph_inputs import weights
from webkiln.errors import UnsupportedError
from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model
from webkiln.ir.graph import Graph

raw = tf.raw_ops
IMAGE = (2, 7, 8, 4)


@pytest.mark.parametrize("layout", ["CHANNELS_FIRST", "CHANNELS_LAST"])
def test_layouts_of_conv_have_names_of_their_own(layout: str) -> None:
    """TensorFlow has no kernel for channels first on CPUs."""
    first = layout == "CHANNELS_FIRST"
    shape = (2, 4, 7, 8) if first else (2, 7, 8, 4)

    def function(x: tf.Tensor) -> tf.Tensor:
        return raw.Conv(
            input=x,
            filter=weights(3, 2, 4, 5),
            strides=[1] * 4,
            padding="VALID",
            data_format=layout,
        )

    graph = converted(function, shape)
    (output,) = graph.outputs.values()
    assert graph.variables[output].shape == ((2, 5, 5, 7) if first else (2, 5, 7, 5))


@pytest.mark.parametrize("function", [
    lambda x: raw.Cast(x=x, DstT=tf.float16, Truncate=True),
    lambda x: raw.Conv(
        input=x[None], filter=weights(3, 2, 4, 5), strides=[1] * 4, padding="VALID", batch_dims=2
    ),
])  # fmt: skip
def test_options_that_change_numbers_are_refused(
    function: Callable[[tf.Tensor], tf.Tensor],
) -> None:
    with pytest.raises(UnsupportedError, match=r"truncates floats|several batch axes"):
        converted(function, IMAGE)


def converted(function: Callable[[tf.Tensor], tf.Tensor], shape: tuple[int, ...]) -> Graph:
    """The graph of a function of one tensor."""
    concrete = tf.function(
        lambda x: {"y": function(x)},
        input_signature=[tf.TensorSpec(shape, tf.float32, name="x")],
    ).get_concrete_function()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph.pb"
        frozen = convert_variables_to_constants_v2(concrete).graph.as_graph_def()
        path.write_bytes(frozen.SerializeToString())
        return TensorFlowConverter().convert(*read_model(path, None))
