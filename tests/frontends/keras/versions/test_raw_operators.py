"""Operators that tf.keras 2.0 to 2.3 made layers agree with TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import json_format

from tests.frontends.keras.versions.model_files import write_h5
from webkiln.backends.compare import relative_error
from webkiln.errors import ShapeError, SourceError, UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import run_graph

pytestmark = pytest.mark.probes
tf1 = tf.compat.v1
RANDOM = np.random.default_rng(7)
X = RANDOM.uniform(0.2, 2, (2, 4, 6, 4)).astype("float32")
Y = RANDOM.uniform(0.2, 2, X.shape).astype("float32")

CASES = {
    "add a number": (lambda x: x + 1.5, [X]),
    "from a number": (lambda x: 2.0 - x, [X]),
    "scale": (lambda x: x * [1.0, 2.0, 3.0, 4.0], [X]),
    "quotient": (lambda x: x / 127.5, [X]),
    "number by it": (lambda x: 1.0 / x, [X]),
    "two": (lambda x, y: x - y, [X, Y]),
    "two, reversed": (lambda x, y: tf.pow(y, x), [X, Y]),
    "floor of quotient": (lambda x, y: x // y, [X, Y]),
    "remainder": (lambda x, y: x % y, [X, Y]),
    "maximum": (lambda x: tf.maximum(x, 1.0), [X]),
    **{
        name: (function, [X])
        for name, function in {
            "abs": tf.abs,
            "exp": tf.exp,
            "log": tf.math.log,
            "negative": tf.negative,
            "rsqrt": tf.math.rsqrt,
            "sigmoid": tf.sigmoid,
            "square": tf.square,
            "tanh": tf.tanh,
            "relu6": tf.nn.relu6,
            "leaky": lambda x: tf.nn.leaky_relu(x, 0.3),
            "softmax": tf.nn.softmax,
            "softplus": tf.nn.softplus,
            "identity": tf.identity,
        }.items()
    },
    "mean": (lambda x: tf.reduce_mean(x, [1, 2]), [X]),
    "mean, kept": (lambda x: tf.reduce_mean(x, -1, keepdims=True), [X]),
    "sum": (lambda x: tf.reduce_sum(x, 1), [X]),
    "largest": (lambda x: tf.reduce_max(x, 3), [X]),
    "place of largest": (lambda x: tf.argmax(x, -1), [X]),
    "reshaped": (lambda x: tf.reshape(x, [-1, 24, 4]), [X]),
    "transposed": (lambda x: tf.transpose(x, [0, 3, 1, 2]), [X]),
    "new axis": (lambda x: tf.expand_dims(x, 1), [X]),
    "concatenated": (lambda x, y: tf.concat([x, y], -1), [X, Y]),
    "stacked": (lambda x, y: tf.stack([x, y], 1), [X, Y]),
    "summed": (lambda x, y: tf.add_n([x, y]), [X, Y]),
    "part": (lambda x: x[:, 1:, ::2], [X]),
    "pixel": (lambda x: x[:, :, -1], [X]),
    "channels": (lambda x: x[..., :3], [X]),
    "one more axis": (lambda x: x[:, tf.newaxis, 0], [X]),
    "cast": (lambda x: tf.cast(x, tf.int32), [X]),
    "compared": (lambda x, y: tf.greater(x, y), [X, Y]),
    "padded": (lambda x: tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]]), [X]),
    "padded with": (lambda x: tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], "CONSTANT", 3.0), [X]),
    "reflected": (lambda x: tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], "REFLECT"), [X]),
    "tiled": (lambda x: tf.tile(x, [1, 2, 1, 1]), [X]),
    "backwards": (lambda x: tf.reverse(x, [1]), [X]),
    "gathered": (lambda x: tf.gather(x, [2, 0], axis=3), [X]),
    "product": (lambda x, y: tf.matmul(x, y, transpose_b=True), [X, Y]),
    "depth to space": (lambda x: tf.nn.depth_to_space(x, 2), [X]),
    "space to depth": (lambda x: tf.nn.space_to_depth(x, 2), [X]),
    "resized": (lambda x: tf.image.resize(x, [8, 9]), [X]),
    "resized, nearest": (lambda x: tf.image.resize(x, [8, 9], "nearest"), [X]),
}


def model_of(definition, constants, values, name="node"):
    """A model as tf.keras 2.3 writes it: the config has the name without its prefix."""
    inputs = [
        {
            "class_name": "InputLayer",
            "name": f"x{number}",
            "config": {
                "name": f"x{number}",
                "batch_input_shape": [None, *value.shape[1:]],
                "dtype": "float32",
            },
            "inbound_nodes": [],
        }
        for number, value in enumerate(values)
    ]
    layer = {
        "class_name": "TensorFlowOpLayer",
        "name": f"tf_op_layer_{name}",
        "config": {
            "name": name,
            "trainable": True,
            "dtype": "float32",
            "node_def": definition,
            "constants": constants,
        },
        "inbound_nodes": [[[f"x{number}", 0, 0, {}] for number, _ in enumerate(values)]],
    }
    config = {"name": "m", "layers": [*inputs, layer]}
    config["input_layers"] = [[item["name"], 0, 0] for item in inputs]
    config["output_layers"] = [[layer["name"], 0, 0]]
    return {"class_name": "Model", "config": config}


def last_operator(function, values):
    """The last operator of a function's graph: its definition and its constant inputs."""
    with tf.Graph().as_default():
        starts = [tf1.placeholder(tf.float32, [None, *value.shape[1:]]) for value in values]
        node = function(*starts).op
        order = [start.op for start in starts]
        constants = {
            str(number): tf.make_ndarray(item.op.get_attr("value")).tolist()
            for number, item in enumerate(node.inputs)
            if item.op.type == "Const"
        }
        tensors = [item.op for item in node.inputs if item.op.type != "Const"]
        for item in (*tensors, node):
            assert item in order or item is node
        places = [order.index(item) for item in tensors]
        return json_format.MessageToJson(node.node_def), constants, places


@pytest.mark.parametrize("name", CASES)
def test_operators_agree_with_tensorflow(name, tmp_path):
    function, values = CASES[name]
    definition, constants, places = last_operator(function, values)
    model = model_of(definition, constants, values)
    layer = model["config"]["layers"][-1]
    layer["inbound_nodes"] = [[[f"x{place}", 0, 0, {}] for place in places]]
    write_h5(tmp_path / "m.h5", model, {}, "2.3.0-tf")
    graph = KerasConverter(batch_size=2).convert(tmp_path / "m.h5")
    inputs = {f"x{number}": value for number, value in enumerate(values)}
    (got,) = run_graph(graph, inputs)[0].values()
    expected = np.asarray(function(*map(tf.constant, values)))
    assert got.shape == expected.shape
    assert relative_error(got.astype("float32"), expected.astype("float32")) < 1e-5


@pytest.mark.parametrize(
    ("definition", "constants", "error", "message"),
    [
        ('{"op": "Shape"}', {}, UnsupportedError, r"tf\.raw_ops\.Shape is not supported"),
        (
            '{"op": "ResizeBilinear", "attr": {"align_corners": {"b": true}}}',
            {"1": [8, 8]},
            UnsupportedError,
            r"tf\.raw_ops\.ResizeBilinear is not supported",
        ),
        (
            '{"op": "GatherV2", "attr": {"batch_dims": {"i": "1"}}}',
            {"1": [0], "2": 1},
            UnsupportedError,
            r"tf\.raw_ops\.GatherV2",
        ),
        ('{"op": "AddV2"}', {"1": [1.0] * 5}, ShapeError, r"tf_op_layer_node"),
        ('{"op": "AddV2"}', {"7": 1.0}, SourceError, r"tf_op_layer_node \(TensorFlowOpLayer\)"),
        ("{}", {}, SourceError, r"its node_def names no operator"),
        ("nothing", {}, SourceError, r"m\.h5"),
    ],
)
def test_other_operators_are_named(definition, constants, error, message, tmp_path):
    write_h5(tmp_path / "m.h5", model_of(definition, constants, [X]), {}, "2.3.0-tf")
    with pytest.raises(error, match=message):
        KerasConverter(batch_size=2).convert(tmp_path / "m.h5")
