"""Code in model files is executed only if the user trusts or passes it."""

import json
import zipfile
from pathlib import Path

import keras
import pytest
from keras import layers as L

from tests.frontends.keras.archives import rewritten
from tests.frontends.keras.source_errors import error_of
from webkiln.errors import UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model

pytestmark = pytest.mark.probes

PLUGIN = """
import keras

@keras.saving.register_keras_serializable(package="tests")
class Triple(keras.layers.Layer):
    def build(self, shape):
        self.factor = self.add_weight(name="factor", shape=(), initializer="ones")

    def call(self, x):
        return x * 3 * self.factor
"""


def test_lambda_is_not_executed(tmp_path):
    flag = str(tmp_path / "executed")
    x = keras.Input((2,), name="x")
    model = keras.Model(x, L.Lambda(lambda t: (open(flag, "w").close(), t)[1], name="code")(x))
    Path(flag).unlink(missing_ok=True)
    model.save(tmp_path / "m.keras")
    message = error_of(tmp_path / "m.keras", UnsupportedError)
    assert "code (Lambda): a Lambda layer is Python code" in message
    assert "--trust-source" in message
    assert not Path(flag).exists()
    spec, _ = load_model(tmp_path / "m.keras", trust_source=True)
    assert Path(flag).exists()
    assert spec.layers[1].traced


def test_classes_and_functions_are_not_imported(saved, tmp_path):
    (tmp_path / "evil.py").write_text(
        f"open({str(tmp_path / 'executed')!r}, 'w').close()\nclass Layer: pass\n"
    )

    def layer(tree):
        tree["config"]["layers"][1] |= {
            "module": "evil",
            "class_name": "Layer",
            "registered_name": "Layer",
        }

    def initializer(tree, registered=None):
        tree["config"]["layers"][1]["class_name"] = "Wrapper"
        tree["config"]["layers"][1]["config"]["kernel_initializer"] = {
            "module": "evil",
            "class_name": "function",
            "config": "Layer",
            "registered_name": registered,
        }

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        message = error_of(
            rewritten(saved / "m.keras", tmp_path / "m.keras", config=layer), UnsupportedError
        )
        assert (
            "conv (Layer): unknown class, which is never imported. Pass --plugin FILE.py" in message
        )
        message = error_of(
            rewritten(saved / "m.keras", tmp_path / "m.keras", config=initializer), UnsupportedError
        )
        assert "Layer is not a computation of Keras and never imported" in message
        error_of(
            rewritten(
                saved / "m.keras",
                tmp_path / "m.keras",
                config=lambda tree: initializer(tree, "function"),
            )
        )
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("module", ["keras.utils", "keras.src.utils.file_utils", "keras"])
def test_utility_functions_of_keras_are_not_called(saved, tmp_path, module):
    def activation(tree):
        tree["config"]["layers"][1]["class_name"] = "Wrapper"
        tree["config"]["layers"][1]["config"]["activation"] = {
            "module": module,
            "class_name": "function",
            "config": "get_file",
            "registered_name": "get_file",
        }

    message = error_of(
        rewritten(saved / "m.keras", tmp_path / "m.keras", config=activation), UnsupportedError
    )
    assert "get_file is not a computation of Keras and never imported" in message


def test_plugins_define_classes(tmp_path):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    scope: dict[str, type] = {}
    exec(PLUGIN.replace("@keras", "#"), scope)
    x = keras.Input((2,), name="x")
    triple = type("Triple", (scope["Triple"],), {"__module__": "elsewhere"})
    keras.Model(x, triple(name="triple")(x)).save(tmp_path / "m.keras")
    config = json.loads(zipfile.ZipFile(tmp_path / "m.keras").read("config.json"))
    config["config"]["layers"][1]["registered_name"] = "tests>Triple"
    path = rewritten(
        tmp_path / "m.keras", tmp_path / "n.keras", config=lambda tree: tree.update(config)
    )
    assert "triple (Triple): unknown class" in error_of(path, UnsupportedError)
    known = dict(keras.saving.get_custom_objects())
    try:
        spec, blobs = load_model(path, [tmp_path / "plugin.py"])
    finally:
        keras.saving.get_custom_objects().clear()
        keras.saving.get_custom_objects().update(known)
    assert spec.layers[1].traced
    assert KerasConverter().convert(spec, blobs).slots == {"triple/factor"}


def test_errors_of_plugins(saved, tmp_path):
    assert "the file does not exist" in error_of(saved / "m.keras", plugins=[tmp_path / "none.py"])
    (tmp_path / "bad.py").write_text("1 / 0")
    assert "bad.py: ZeroDivisionError" in error_of(saved / "m.keras", plugins=[tmp_path / "bad.py"])


def test_user_classes_without_a_name_in_their_config_are_named(saved, tmp_path):
    def unnamed(tree):
        part = {
            "module": "mine",
            "class_name": "OwnBlock",
            "config": {"trainable": True},
            "registered_name": "mine>OwnBlock",
        }
        chain = {"name": "chain", "layers": [tree["config"]["layers"][0], part]}
        tree |= {"class_name": "Sequential", "config": chain}

    message = error_of(
        rewritten(saved / "m.keras", tmp_path / "m.keras", config=unnamed), UnsupportedError
    )
    assert "own_block (OwnBlock): unknown class, which is never imported" in message
