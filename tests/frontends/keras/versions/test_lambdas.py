"""Lambda layers whose code is an expression agree with TensorFlow and numpy, and are not run."""

import base64
import marshal
import math
import random

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.legacy import backend as K

from tests.frontends.keras.versions.bytecode import (
    CODES,
    FOUR,
    ONE,
    THREE,
    TWO,
    config,
    marshalled,
)
from tests.frontends.keras.versions.model_files import write_h5
from tests.frontends.keras.versions.plugin_files import written
from webkiln.backends.compare import relative_error
from webkiln.errors import ShapeError, UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.lambdas.marshalled import read_code
from webkiln.frontends.keras.lambdas.recognised import recognised
from webkiln.frontends.keras.load import load_model
from webkiln.ops.evaluate import run_graph

pytestmark = pytest.mark.probes
RANDOM = np.random.default_rng(3)
IMAGE = RANDOM.uniform(-2, 2, (2, 4, 6, 4)).astype("float32")
PAIR = [IMAGE, RANDOM.uniform(-2, 2, IMAGE.shape).astype("float32")]
VERSION = "2.4.0"


def model_of(lambda_config, shapes):
    inputs = [
        {
            "class_name": "InputLayer",
            "name": f"x{number}",
            "config": {
                "name": f"x{number}",
                "batch_input_shape": [None, *shape[1:]],
                "dtype": "float32",
            },
            "inbound_nodes": [],
        }
        for number, shape in enumerate(shapes)
    ]
    code = {
        "class_name": "Lambda",
        "name": "code",
        "config": lambda_config,
        "inbound_nodes": [[[f"x{number}", 0, 0, {}] for number, _ in enumerate(shapes)]],
    }
    return {
        "class_name": "Functional",
        "config": {
            "name": "model",
            "layers": [*inputs, code],
            "input_layers": [[layer["name"], 0, 0] for layer in inputs],
            "output_layers": [["code", 0, 0]],
        },
    }


def run(lambda_config, values, path, version=VERSION):
    values = values if isinstance(values, list) else [values]
    write_h5(path / "m.h5", model_of(lambda_config, [v.shape for v in values]), {}, version)
    graph = KerasConverter(batch_size=len(values[0])).convert(path / "m.h5")
    inputs = {f"x{number}": value for number, value in enumerate(values)}
    return list(run_graph(graph, inputs)[0].values())


def statements(x):
    import tensorflow as tf

    y = tf.reduce_mean(x, axis=-1, keepdims=True)
    z = x - y
    return z * z + y


def imported(x):
    from tensorflow.keras import backend as B

    return B.mean(x, axis=(1, 2))


def unpacked(tensors):
    a, b = tensors
    return a * b - 2 * a


FUNCTIONS = {
    "scale": (lambda x: x / 127.5 - 1, IMAGE),
    "offset": (lambda x: x * 2 - 1, IMAGE),
    "bytes": (lambda x: x / 255.0, IMAGE),
    "from the right": (lambda x: 1 - 2 / (x + 3), IMAGE),
    "power": (lambda x: -(x**2) % 3 // 0.7, IMAGE),
    "folded": (lambda x: x * (2**0.5) + math.pi * np.pi, IMAGE),
    "unit": (lambda x: K.l2_normalize(x, axis=1), IMAGE),
    "unit in TensorFlow": (lambda x: tf.nn.l2_normalize(x, -1), IMAGE),
    "unit of math": (lambda x: tf.math.l2_normalize(x, axis=[1, 2], epsilon=0.5), IMAGE),
    "mean": (lambda x: K.mean(x, axis=[1, 2]), IMAGE),
    "mean, kept": (lambda x: K.mean(x, axis=3, keepdims=True), IMAGE),
    "sum": (lambda x: K.sum(x, axis=1), IMAGE),
    "sum of all": (lambda x: K.sum(x), IMAGE),
    "maximum": (lambda x: K.max(x, axis=-1), IMAGE),
    "deviation": (lambda x: K.std(x, axis=-1) + K.var(x, axis=-1), IMAGE),
    "new axis": (lambda x: K.expand_dims(x), IMAGE),
    "new axis, first": (lambda x: K.expand_dims(x, 1), IMAGE),
    "no axis": (lambda x: K.squeeze(x[:, :1], 1), IMAGE),
    "difference": (lambda xs: K.abs(xs[0] - xs[1]), PAIR),
    "difference in TensorFlow": (lambda xs: tf.abs(xs[0] - xs[-1]), PAIR),
    "distance": (
        lambda xs: K.sqrt(K.maximum(K.sum(K.square(xs[0] - xs[1]), axis=1, keepdims=True), 1e-7)),
        PAIR,
    ),
    "scaled branch": (lambda inputs, scale: inputs[0] + inputs[1] * scale, PAIR, {"scale": 0.17}),
    "default": (lambda x, scale=0.5: x * scale, IMAGE),
    "default and argument": (lambda x, scale=0.5: x * scale, IMAGE, {"scale": 3}),
    "unpacked": (unpacked, PAIR),
    "pixel": (lambda x: x[:, :, 0], IMAGE),
    "columns": (lambda x: x[:, 1:-1, ::2], IMAGE),
    "channels": (lambda x: x[..., :3], IMAGE),
    "backwards": (lambda x: x[..., ::-1], IMAGE),
    "one more": (lambda x: x[:, tf.newaxis, 0, ..., None], IMAGE),
    "resize": (lambda x: tf.image.resize(x, (8, 9)), IMAGE),
    "resize, nearest": (lambda x: tf.image.resize(x, [8, 9], method="nearest"), IMAGE),
    "depth to space": (lambda x: tf.nn.depth_to_space(x, 2), IMAGE),
    "space to depth": (lambda x: tf.nn.space_to_depth(x, block_size=2), IMAGE),
    "reverse": (lambda x: tf.reverse(x, axis=[1]), IMAGE),
    "reverse in Keras": (lambda x: K.reverse(x, axes=2), IMAGE),
    "flat": (lambda x: K.batch_flatten(x), IMAGE),
    "clipped": (lambda x: K.clip(x, -0.5, 0.5) + tf.clip_by_value(x, 0.0, 1.0), IMAGE),
    "negative root": (lambda x: K.sqrt(x), IMAGE),
    "hard sigmoid": (lambda x: K.hard_sigmoid(x), IMAGE),
    "concatenated": (lambda xs: K.concatenate(xs, axis=1), PAIR),
    "concatenated in TensorFlow": (lambda xs: tf.concat([xs[0], xs[1] * 2], axis=-1), PAIR),
    "stacked": (lambda xs: K.stack([xs[0], xs[1]], axis=1), PAIR),
    "transposed": (lambda x: K.permute_dimensions(x, (0, 3, 1, 2)), IMAGE),
    "padded": (lambda x: tf.pad(x, [[0, 0], [1, 1], [2, 2], [0, 0]], "REFLECT"), IMAGE),
    "cast": (lambda x: K.cast(x > 0, "float32") if False else K.cast(x, "float32"), IMAGE),
    "compared": (lambda x: tf.cast(K.greater(x, 0.5), tf.float32), IMAGE),
    "means subtracted": (lambda x: x - np.array([103.9, 116.8, 123.7, 1.0]), IMAGE),
    "activation": (lambda x: keras.activations.relu(x) + tf.nn.relu6(x), IMAGE),
    "swish": (lambda x: x * K.sigmoid(x), IMAGE),
    "softmax": (lambda x: tf.nn.softmax(x, axis=1) + K.softmax(x), IMAGE),
    "several results": (lambda x: [x[:, 0], x * 2], IMAGE),
    "identity": (lambda x: x, IMAGE),
    "statements": (statements, IMAGE),
    "argument of maximum": (lambda x: K.argmax(x), IMAGE),
    "repeated": (lambda x: K.repeat_elements(x, 3, axis=1) + 0 * K.repeat_elements(x, 3, 1), IMAGE),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_agree_with_tensorflow(name, tmp_path):
    function, values, *options = FUNCTIONS[name]
    arguments = options[0] if options else {}
    lambda_config = written(function, **arguments)
    if name == "several results":
        assert len(recognised("code", lambda_config, 1, VERSION, "tensorflow").outputs) == 2
        return
    (got,) = run(lambda_config, values, tmp_path)
    tensors = [tf.constant(v) for v in values] if isinstance(values, list) else tf.constant(values)
    expected = np.asarray(function(tensors, **arguments))
    assert got.shape == expected.shape
    assert relative_error(got, expected) < 1e-5


NUMPY = {
    ONE: lambda x: x / 127.5 - 1,
    TWO: lambda x: x / np.sqrt((x**2).sum(1, keepdims=True)),
    THREE: lambda xs: np.abs(xs[0] - xs[1]),
    FOUR: lambda x: x[:, :, 0],
}


@pytest.mark.parametrize(("version", "source"), CODES, ids=str)
def test_bytecode_of_every_version(version, source, tmp_path):
    values = PAIR if source == THREE else IMAGE
    (got,) = run(config(version, source), values, tmp_path)
    assert relative_error(got, NUMPY[source](values)) < 1e-6


SECRET = 3.0


def closure():
    factor = 2.0
    return lambda x: x * factor


def branched(x):
    if x is None:
        return x
    return x + 1


def looped(x):
    for _ in range(2):
        x = x + 1
    return x


REFUSED = {
    "closure": (closure(), {}),
    "global": (lambda x: x * SECRET, {}),
    "branch": (branched, {}),
    "loop": (looped, {}),
    "comprehension": (lambda x: [y + 1 for y in x], {}),
    "method": (lambda x: x.numpy(), {}),
    "shape": (lambda x: tf.reshape(x, [-1, x.shape[1]]), {}),
    "system": (lambda x: __import__("os").system("true"), {}),
    "open": (lambda x: (open("/tmp/lambda", "w"), x)[1], {}),  # noqa: SIM115
    "unknown function": (lambda x: K.ctc_decode(x, 3), {}),
    "unknown module": (lambda x: helper.abs(x), {}),  # noqa: F821
    "unknown argument": (lambda x: K.mean(x, axes=1), {}),
    "missing argument": (lambda x, y: x * y, {}),
    "other argument": (lambda x: x, {"scale": 2}),
    "mask": (lambda x, mask=None: x, {}),
    "training": (lambda x, training=False: x, {}),
    "any number": (lambda *x: x[0], {}),
    "constant": (lambda x: 3.0, {}),
    "first resize": (lambda x: tf.image.resize_bilinear(x, (4, 4)), {}),
    "many positional": (lambda x: tf.gather(x, [0], None, 1), {}),
    "random": (lambda x: x + tf.random.normal((2, 3)), {}),
    "dropped statement": (lambda x: (K.abs(x), x)[1] if False else K.dropout(x, 0.5), {}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_code_is_refused_by_name(name, tmp_path):
    function, arguments = REFUSED[name]
    with pytest.raises(
        UnsupportedError, match=r'code \(Lambda\): .*register_handler\("Lambda", "code'
    ):
        run(written(function, **arguments), IMAGE, tmp_path)


def test_what_tensorflow_1_computes_otherwise_is_refused():
    resize = written(lambda x: tf.image.resize(x, (8, 9)))
    assert recognised("code", resize, 1, "2.4.0", "tensorflow") is not None
    assert recognised("code", resize, 1, "2.3.0-tf", "tensorflow") is not None
    for version in ("2.2.4-tf", "2.3.1", "2.1.6", "1.2.2"):
        assert recognised("code", resize, 1, version, "tensorflow") is None
    assert recognised("code", resize, 1, "2.4.0", "theano") is None


def test_integers_are_not_divided_as_floats(tmp_path):
    """Python 2 and TensorFlow 1 round the quotient of integers down; others give a float."""
    model = model_of(config("3.7", ONE), [IMAGE.shape])
    model["config"]["layers"][0]["config"]["dtype"] = "int32"
    write_h5(tmp_path / "m.h5", model, {}, VERSION)
    with pytest.raises(ShapeError, match=r"127\.5 cannot be represented in int32"):
        KerasConverter().convert(tmp_path / "m.h5")


def test_the_advice_names_what_helps(tmp_path):
    """--trust-source only where this Python may load the code."""
    foreign = config("3.7", ONE, code="7c00 6401 9900 6402 1800 5300")
    own = written(lambda x: len(x))
    for lambda_config, helps in ((foreign, False), (own, True)):
        with pytest.raises(UnsupportedError) as error:
            run(lambda_config, IMAGE, tmp_path)
        assert ("--trust-source" in str(error.value)) == helps
        assert '@KerasConverter.register_handler("Lambda", "code")' in str(error.value)


def test_damaged_code_is_no_code():
    generator = random.Random(0)
    sources = [marshalled(version, source) for version, source in CODES]
    sources.append(marshal.dumps(test_damaged_code_is_no_code.__code__))
    for data in sources:
        assert read_code(data) is not None
        for end in range(len(data)):
            assert read_code(data[:end]) is None
        for _ in range(100):
            damaged = bytearray(data)
            for _ in range(generator.randint(1, 4)):
                damaged[generator.randrange(len(damaged))] = generator.randrange(256)
            text = base64.b64encode(bytes(damaged)).decode()
            recognised("x", {"function": [text, None, None]}, 1, VERSION, "tensorflow")


def test_a_saved_model_may_end_in_a_lambda_layer(tmp_path):
    x = keras.Input((4,), name="x")
    y = keras.layers.Lambda(lambda t: t * 2 - 1, name="last")(keras.layers.Dense(3)(x))
    source = keras.Model(x, y)
    source.save(tmp_path / "m.keras")
    spec, blobs = load_model(tmp_path / "m.keras")
    values = RANDOM.standard_normal((1, 4)).astype("float32")
    (actual,) = run_graph(KerasConverter().convert(spec, blobs), {"x": values})[0].values()
    assert relative_error(actual, source(values).numpy()) < 1e-6
