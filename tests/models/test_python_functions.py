"""A model that a Python function returns: a sampling autoencoder, from user modules to verified
bundles.
"""

from pathlib import Path

import pytest

from tests.hosts import every_host
from tests.models.conftest import Model
from webkiln.backends.host import read_manifest
from webkiln.build.engine import Engine
from webkiln.errors import RecipeError, SourceError
from webkiln.recipe.read import read_recipe

LAYERS = """
import keras
from keras import layers, ops


class Sampling(layers.Layer):
    def call(self, inputs):
        mean, log_variance = inputs
        return mean + ops.exp(0.5 * log_variance) * keras.random.normal(ops.shape(mean))


class Encoder(layers.Layer):
    def __init__(self):
        super().__init__(name="encoder")
        self.hidden = layers.Dense(8, activation="tanh")
        self.mean, self.log_variance = layers.Dense(2), layers.Dense(2, activation="tanh")
        self.sampling = Sampling()

    def call(self, inputs):
        x = self.hidden(inputs)
        return self.sampling((self.mean(x), self.log_variance(x)))
"""

MODELS = """
import keras
import numpy as np

from nets.layers import Encoder


class Autoencoder(keras.Model):
    def __init__(self, width):
        super().__init__(name="autoencoder")
        self.encoder = Encoder()
        self.decoder = keras.Sequential(
            [keras.layers.Dense(8, activation="relu"), keras.layers.Dense(width)])

    def call(self, inputs):
        return self.decoder(self.encoder(inputs))


def make(width=5):
    model = Autoencoder(width)
    model(np.zeros((1, width), "float32"))
    return model


def unbuilt(width=5):
    return Autoencoder(width)


def whim():
    import random

    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(random.randrange(1000))])


"""
LIGHT = """
def make(width=5):
    return width
"""


@pytest.fixture
def nets(tmp_path):
    """Create a folder with the package `nets`; return a function from recipe lines to the model."""
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("")
    (tmp_path / "nets" / "layers.py").write_text(LAYERS)
    (tmp_path / "nets" / "models.py").write_text(MODELS)
    (tmp_path / "nets" / "light.py").write_text(LIGHT)
    folder = tmp_path / "models" / "made"
    folder.mkdir(parents=True)

    def model(recipe: str) -> Model:
        (folder / "recipe.toml").write_text(recipe)
        return Model(
            Engine(tmp_path / ".webkiln", cache=tmp_path / "cache"),
            read_recipe(folder / "recipe.toml"),
            tmp_path,
        )

    return model


@every_host
@pytest.mark.long
def test_from_modules_to_verified_bundles(nets, host):
    model = nets('source = "nets.models:make"\nbatch_size = 2\n[parameters]\nwidth = 6\n')
    with model.engine:
        results = model.verify("float32", host)
        assert all(row["relative"] <= 1e-4 for result in results for row in result["outputs"])
        bundle = model.bundle()
    assert read_manifest(bundle)["inputs"] == [
        {"name": "input", "dtype": "float32", "shape": [2, 6], "order": "N,C"},
        {
            "name": "sampling_noise",
            "dtype": "float32",
            "shape": [2, 2],
            "order": "N,C",
            "distribution": {"name": "normal", "mean": 0.0, "stddev": 1.0},
        },
    ]
    assert (
        "/** float32 [2, 2], N,C; random numbers, normal with mean 0.0, stddev 1.0 */"
        in (bundle / "index.d.ts").read_text()
    )


@pytest.mark.long
def test_keys_follow_the_modules_that_are_imported(nets, tmp_path):
    recipe = 'source = "nets.models:make"\n'

    def key() -> str:
        model = nets(recipe)
        with model.engine as engine:
            engine.run(model.actions.load())
            manifest = engine.state.manifest("load:made")
        assert manifest is not None
        return manifest.key

    first = key()
    (tmp_path / "nets" / "unrelated.py").write_text("x = 1\n")
    assert key() == first
    layers = tmp_path / "nets" / "layers.py"
    layers.write_text(layers.read_text().replace("0.5", "0.25"))
    assert key() != first


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (
            "nets.models:unbuilt",
            SourceError,
            (
                "nets.models:unbuilt: the weights of the model that it returned do not exist yet;"
                " call the model once"
            ),
        ),
        ("nets.light:make", SourceError, "nets.light:make: returned int, expected a keras.Model"),
        (
            "nets.light:absent",
            RecipeError,
            "nets.light:absent: the module has no function 'absent'",
        ),
        ("nets.models:whim", SourceError, "its function returns a different model each time"),
    ],
    ids=["unbuilt", "int", "absent", "whim"],
)
@pytest.mark.sample("int")
def test_invalid_functions_are_errors(nets, source, error, message):
    model = nets(f'source = "{source}"\n')
    with model.engine, pytest.raises(error, match=message):
        model.engine.run(model.actions.load())


def test_invalid_parameters_and_modules_are_errors(nets):
    model = nets('source = "nets.light:make"\n[parameters]\nheight = 6\n')
    with (
        model.engine,
        pytest.raises(RecipeError, match=r"nets.light:make\(width=5\) does not accept .* 'height'"),
    ):
        model.engine.run(model.actions.fetch())
    with pytest.raises(
        RecipeError, match=r"there is no module absent\.nets in .*made, .* or on Python's path"
    ):
        nets('source = "absent.nets:make"\n')


def test_the_command_line_accepts_a_function(nets, tmp_path, monkeypatch):
    from webkiln.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEBKILN_CACHE", str(tmp_path / "cache"))
    nets('source = "nets.models:make"\n')
    assert (
        main(
            ["build", "nets.models:make", "--parameter", "width=3", "--backend", "js", "-o", "out"]
        )
        == 0
    )
    manifest = read_manifest(Path("out"))
    assert (manifest["name"], manifest["inputs"][0]["shape"]) == ("make", [1, 3])
