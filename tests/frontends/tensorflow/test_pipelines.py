"""Graphs that begin with an input pipeline are built after it, with --from-layer."""

import numpy as np
import pytest
import tensorflow as tf

from webkiln.backends.compare import relative_error
from webkiln.errors import UnsupportedError
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model
from webkiln.ops.evaluate import run_graph

tf1 = tf.compat.v1
IMAGES = np.random.default_rng(0).normal(size=(4, 8, 8, 3)).astype("float32")


def net(x):
    kernel = np.random.default_rng(1).normal(size=(3, 3, 3, 4)).astype("float32")
    y = tf1.nn.relu(tf1.nn.conv2d(x, tf1.constant(kernel), strides=[1, 2, 2, 1], padding="SAME"))
    return tf1.reduce_mean(y, [1, 2], name="out")


def one_shot():
    data = tf1.data.Dataset.from_tensor_slices(IMAGES).batch(2)
    net(tf1.identity(tf1.data.make_one_shot_iterator(data).get_next(), name="images"))


def initialised():
    labels = np.zeros(4, "int32")
    data = tf1.data.Dataset.from_tensor_slices((IMAGES, labels)).repeat().batch(2).prefetch(1)
    x, _ = tf1.data.make_initializable_iterator(data).get_next()
    net(x)


def queue():
    queue = tf1.FIFOQueue(8, ["float32"], shapes=[(8, 8, 3)])
    queue.enqueue_many([IMAGES])
    net(queue.dequeue_many(2))


def records():
    texts = tf1.placeholder(tf.string, [None], name="tf_example")
    features = {
        "id": tf1.io.VarLenFeature(tf.int64),
        "image": tf1.io.FixedLenFeature([8, 8, 3], tf.float32),
    }
    net(tf1.identity(tf1.io.parse_example(texts, features)["image"], name="images"))


def decoded():
    image = tf1.image.decode_jpeg(tf1.placeholder(tf.string, [], name="jpeg"), channels=3)
    net(tf1.expand_dims(tf1.cast(image, tf.float32), 0) / 255.0)


def defaulted():
    net(tf1.placeholder_with_default(IMAGES[:1], [None, 8, 8, 3], name="images"))


PIPELINES = {
    "one shot": (one_shot, "images", {}),
    "one shot, itself": (one_shot, "IteratorGetNext", {}),
    "initialised": (initialised, "IteratorGetNext", {}),
    "queue": (queue, "fifo_queue_DequeueMany", {"fifo_queue_DequeueMany": ("N", 8, 8, 3)}),
    "records": (records, "images", {}),
    "decoded": (decoded, "DecodeJpeg", {}),
    "default": (defaulted, "images", {}),
}


@pytest.fixture
def written(tmp_path):
    def write(build):
        with tf.Graph().as_default() as graph:
            build()
        (tmp_path / "m.pb").write_bytes(graph.as_graph_def().SerializeToString())
        return graph, tmp_path / "m.pb"

    return write


@pytest.mark.parametrize("name", PIPELINES)
def test_graphs_are_built_after_their_pipeline(name, written):
    build, start, shapes = PIPELINES[name]
    graph, path = written(build)
    spec, blobs = read_model(path, cut=Subgraph((start,)))
    converted = TensorFlowConverter({}, shapes, {}).convert(spec, blobs)
    feed = graph.get_tensor_by_name(f"{start}:0")
    value = IMAGES[:2] if feed.dtype == tf.float32 else np.arange(10 * 12 * 3, dtype="uint8")
    value = value if feed.dtype == tf.float32 else value.reshape(10, 12, 3)
    (got,) = run_graph(converted, {converted.inputs[0]: value})[0].values()
    with tf1.Session(graph=graph) as session:
        expected = session.run("out:0", {feed: value})
    assert relative_error(got, expected) < 1e-5


@pytest.mark.parametrize(
    ("build", "option"),
    [
        (one_shot, "--from-layer IteratorGetNext"),
        (initialised, "--from-layer IteratorGetNext"),
        (queue, "--from-layer fifo_queue_DequeueMany"),
        (records, "--from-layer ParseExample/ParseExampleV2"),
        (decoded, "--from-layer DecodeJpeg"),
    ],
)
def test_messages_name_the_option(build, option, written):
    _, path = written(build)
    with pytest.raises(UnsupportedError) as error:
        TensorFlowConverter().convert(*read_model(path, cut=ENTIRE_MODEL))
    assert option in str(error.value)
    assert "Save a signature" in str(error.value) or "Build the table" in str(error.value)
