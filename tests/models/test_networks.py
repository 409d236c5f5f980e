"""Published networks on every backend, variant and engine: one of keras.applications at a reduced
size, and a narrower U-Net.
"""

import json

import keras
import pytest

from tests.hosts import HOSTS, every_host, one_page
from tests.models.conftest import MODELS, Model
from webkiln.build.engine import Engine
from webkiln.errors import RecipeError, SourceError
from webkiln.recipe.read import read_recipe
from webkiln.recipe.recipe import with_parameters
from webkiln.recipe.values import BACKENDS


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Build a small MobileNetV2 without a download."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    recipe = read_recipe(MODELS / "mobilenetv2" / "recipe.toml")
    with Engine(tmp_path / ".webkiln") as engine:
        yield lambda **parameters: Model(
            engine, with_parameters(recipe, {"size": 96, "alpha": 0.35, **parameters}), tmp_path
        )


@pytest.mark.parametrize("browser", HOSTS)
@pytest.mark.sample("node")
def test_a_small_mobilenet_matches_keras(build, browser):
    results = build(weights="random").verify("float32", browser)
    assert all(row["relative"] <= 1e-4 for result in results for row in result["outputs"]), results


@every_host
@pytest.mark.sample("node")
def test_an_lstm_matches_keras(host, tmp_path):
    keras.utils.set_random_seed(3)
    layers = [
        keras.layers.LSTM(24, return_sequences=True),
        keras.layers.LSTM(16),
        keras.layers.Dense(5, activation="softmax"),
    ]
    folder = tmp_path / "lstm"
    folder.mkdir()
    keras.Sequential([keras.Input((40, 12)), *layers]).save(folder / "lstm.keras")
    (folder / "recipe.toml").write_text(
        f'source = "lstm.keras"\nbackends = {json.dumps(BACKENDS)}\n'
    )
    with Engine(tmp_path / ".webkiln") as engine:
        results = Model(engine, read_recipe(folder / "recipe.toml"), tmp_path).verify(
            "float32", host
        )
    assert all(row["relative"] <= 1e-4 for result in results for row in result["outputs"]), results


@one_page
@pytest.mark.long
def test_a_narrow_unet_matches_keras(browser, tmp_path):
    recipe = with_parameters(read_recipe(MODELS / "unet" / "recipe.toml"), {"width": 0.0625})
    with Engine(tmp_path / ".webkiln") as engine:
        results = Model(engine, recipe, tmp_path).verify("float32", browser)
    assert all(row["passed"] for result in results for row in result["outputs"]), results


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {},
            SourceError,
            (
                r"MobileNetV2: its weights cannot be downloaded \(.*\); others are made up by"
                r" --parameter weights=random of webkiln build, or weights=random of make and doit"
            ),
        ),
        ({"weights": "good"}, RecipeError, "weights is 'good'; valid: pretrained, random"),
        ({"width": 2}, RecipeError, r"applications\.py: MobileNetV2 takes no 'width'"),
    ],
)
@pytest.mark.sample(1)
def test_invalid_architectures_are_errors(build, parameters, error, message):
    model = build(**parameters)
    with pytest.raises(error, match=message):
        model.engine.run(model.actions.fetch())
