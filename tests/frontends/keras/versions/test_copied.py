"""Layers that are not Keras's, but that published models define alike, agree with numpy."""

import numpy as np
import pytest

from tests.frontends.keras.versions.model_files import write_h5
from webkiln.backends.compare import relative_error
from webkiln.errors import ShapeError, UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model
from webkiln.frontends.keras.plugins import isolated
from webkiln.ops.evaluate import run_graph

pytestmark = pytest.mark.probes
RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(2, 5, 4, 8)).astype("float32")
G, B = (RANDOM.normal(size=8).astype("float32") for _ in range(2))


def relu6(x):
    return np.clip(x, 0, 6)


def spatial(x, axes=(1, 2)):
    x = x.astype("float64")
    return x - x.mean(axes, keepdims=True), x.var(axes, keepdims=True)


def contrib(x, axes=(1, 2)):
    centred, variance = spatial(x, axes)
    return centred / (np.sqrt(variance) + 1e-3)


def grouped(x, groups, epsilon):
    n, h, w, c = x.shape
    centred, variance = spatial(x.reshape(n, h, w, groups, c // groups), (1, 2, 4))
    return (centred / np.sqrt(variance + epsilon)).reshape(x.shape)


def to_space(x, r):
    n, h, w, c = x.shape
    y = x.reshape(n, h, w, r, r, c // r**2).transpose(0, 1, 3, 2, 4, 5)
    return y.reshape(n, h * r, w * r, -1)


NORM = {
    "axis": -1,
    "epsilon": 1e-3,
    "center": True,
    "scale": True,
    "beta_initializer": {"class_name": "Zeros", "config": {}},
    "gamma_constraint": None,
}
BOTH = {"gamma": G, "beta": B}
LENGTHS = X / np.sqrt((X.astype("float64") ** 2).sum(3, keepdims=True))
CASES = {
    "contrib": ("InstanceNormalization", NORM, BOTH, contrib(X) * G + B),
    "contrib, axis 3": ("InstanceNormalization", NORM | {"axis": 3}, BOTH, contrib(X) * G + B),
    "contrib, no axis": (
        "InstanceNormalization",
        NORM | {"axis": None},
        {"gamma": G[:1], "beta": B[:1]},
        contrib(X, (1, 2, 3)) * G[0] + B[0],
    ),
    "contrib, axis 1": (
        "InstanceNormalization",
        NORM | {"axis": 1, "scale": False},
        {"beta": B[:5]},
        contrib(X, (2, 3)) + B[:5, None, None],
    ),
    "addons, instance": (
        "Addons>InstanceNormalization",
        NORM | {"groups": -1, "epsilon": 0.1},
        BOTH,
        grouped(X, 8, 0.1) * G + B,
    ),
    "addons, counted": (
        "InstanceNormalization",
        NORM | {"groups": 8, "center": False},
        {"gamma": G},
        grouped(X, 8, 1e-3) * G,
    ),
    "addons, groups": (
        "Addons>GroupNormalization",
        NORM | {"groups": 2},
        BOTH,
        grouped(X, 2, 1e-3) * G + B,
    ),
    **{
        f"reflection, {padding}, {keys}": (
            "ReflectionPadding2D",
            {"padding": padding, **keys},
            {},
            np.pad(X, [(0, 0), (size, size), (size, size), (0, 0)], "reflect"),
        )
        for padding, size in ((1, 1), ([2, 2], 2), ((3,), 3))
        for keys in ({}, {"data_format": "channels_last"})
    },
    "swish": ("Swish", {}, {}, X / (1 + np.exp(-X))),
    "swish, beta": ("Swish", {"beta": 1.5}, {}, X / (1 + np.exp(-1.5 * X))),
    "swish, activation": ("Swish", {"activation": "swish"}, {}, X / (1 + np.exp(-X))),
    "mish": ("Mish", {}, {}, X * np.tanh(np.log1p(np.exp(X)))),
    "hard swish": ("HSwish", {}, {}, X * relu6(X + 3) / 6),
    "relu6": ("ReLU6", {}, {}, relu6(X)),
    "dropout": ("FixedDropout", {"rate": 0.2, "noise_shape": [None, 1], "seed": None}, {}, X),
    "pixels": ("PixelShuffler", {"size": [2, 2], "data_format": None}, {}, to_space(X, 2)),
    "depth": ("DepthToSpace", {"block_size": 2}, {}, to_space(X, 2)),
    "length": ("L2Normalization", {"gamma_init": 20}, {"c_gamma": G}, LENGTHS * G),
    "length, older": ("Normalize", {}, {"c_gamma": G}, LENGTHS * G),
    "scale": ("Scale", {"axis": -1, "momentum": 0.9}, {"c_gamma": G, "c_beta": B}, X * G + B),
}


def write(path, class_name, config, weights, version="2.2.4"):
    layers = [
        {
            "class_name": "InputLayer",
            "name": "x",
            "config": {"name": "x", "batch_input_shape": [None, *X.shape[1:]], "dtype": "float32"},
            "inbound_nodes": [],
        },
        {
            "class_name": class_name,
            "name": "c",
            "config": {"name": "c", "trainable": True, **config},
            "inbound_nodes": [[["x", 0, 0, {}]]],
        },
    ]
    model = {"name": "m", "layers": layers, "input_layers": [["x", 0, 0]]}
    lists = {"x": [], "c": [(f"c/{name}:0", array) for name, array in weights.items()]}
    write_h5(
        path,
        {"class_name": "Model", "config": {**model, "output_layers": [["c", 0, 0]]}},
        lists,
        version,
    )


def outputs(path, batch=2):
    with isolated():
        graph = KerasConverter(batch_size=batch).convert(path)
    (got,) = run_graph(graph, {"x": X})[0].values()
    return got


@pytest.mark.parametrize("name", CASES)
def test_copies_of_known_layers(name, tmp_path):
    class_name, config, weights, expected = CASES[name]
    write(tmp_path / "m.h5", class_name, config, weights)
    got = outputs(tmp_path / "m.h5")
    assert got.shape == expected.shape
    assert relative_error(got, expected) < 1e-5


@pytest.mark.parametrize(
    ("class_name", "config", "message"),
    [
        ("InstanceNormalization", {}, "its config has nothing, not axis, center, epsilon, scale"),
        ("ReflectionPadding2D", {}, "its config has nothing, not padding"),
        ("ReflectionPadding2D", {"padding": [1, 2]}, "one number for height and width is known"),
        ("ReflectionPadding2D", {"padding": [[1, 1], [1, 1]]}, "one number for height and width"),
        ("ReflectionPadding2D", {"padding": 1, "data_format": "channels_first"}, "channels_last"),
        ("Swish", {"beta": {"class_name": "Constant", "config": {}}}, "a number is known"),
        ("Swish", {"activation": "relu"}, "swish is known"),
        ("FixedDropout", {"rate": 0.1, "other": 2}, "its config has other, rate, not rate"),
        ("PixelShuffler", {"size": [2, 3]}, "one number for height and width is known"),
        ("BilinearUpSampling2D", {"size": [2, 2]}, "unknown class"),
        ("LRN", {"alpha": 1e-4, "k": 1, "beta": 0.75, "n": 5}, "unknown class"),
    ],
)
def test_other_configs_are_refused_with_the_reason(class_name, config, message, tmp_path):
    write(tmp_path / "m.h5", class_name, config, {})
    with isolated(), pytest.raises(UnsupportedError) as error:
        load_model(tmp_path / "m.h5")
    assert message in str(error.value)
    assert "--plugin FILE.py" in str(error.value)


@pytest.mark.parametrize(
    ("class_name", "config", "weights", "error"),
    [
        ("Scale", {"axis": -1}, {"gamma": G}, UnsupportedError),
        ("Scale", {"axis": -1}, {"other": G, "beta": B}, UnsupportedError),
        ("Scale", {"axis": 1}, BOTH, ShapeError),
        ("Swish", {}, {"beta": G[:1]}, UnsupportedError),
        ("Normalize", {}, {}, UnsupportedError),
        ("Normalize", {}, {"scale": G}, UnsupportedError),
        ("InstanceNormalization", NORM, {"gamma": G}, UnsupportedError),
        ("InstanceNormalization", NORM | {"groups": 4}, BOTH, ShapeError),
    ],
)
def test_weights_of_other_definitions_are_refused(class_name, config, weights, error, tmp_path):
    write(tmp_path / "m.h5", class_name, config, weights)
    with pytest.raises(error, match=r"c \("):
        outputs(tmp_path / "m.h5")


def test_plugins_win(tmp_path):
    """A class or a handler of a plugin, whatever its name."""
    write(tmp_path / "m.h5", "Swish", {}, {})
    (tmp_path / "class.py").write_text(
        "import keras\n\n\n@keras.saving.register_keras_serializable()\n"
        "class Swish(keras.layers.Layer):\n    def call(self, x):\n        return x * 3\n"
    )
    (tmp_path / "handler.py").write_text(
        "from webkiln.frontends.keras.converter import KerasConverter\n\n\n"
        "@KerasConverter.register_handler('Swish', 'c')\n"
        "def handler(converter, layer):\n"
        "    x = converter.get_variable(converter.get_input_tensor(layer)[0])\n"
        "    converter.set_variable(converter.get_output_tensor(layer)[0], x * 3.0)\n"
    )
    for plugin in ("class.py", "handler.py"):
        with isolated():
            spec, blobs = load_model(tmp_path / "m.h5", [tmp_path / plugin])
            graph = KerasConverter(batch_size=2).convert(spec, blobs)
            (got,) = run_graph(graph, {"x": X})[0].values()
        assert relative_error(got, 3 * X) < 1e-6
