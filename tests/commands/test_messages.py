"""Messages that name what is really wrong, with code and files of the user's."""

from pathlib import Path

import keras
import pytest

from tests.commands.conftest import Command

PLUGIN = """
import keras

@keras.saving.register_keras_serializable()
class Doubled(keras.layers.Layer):
    def call(self, x, training=True):
        return x * 2
"""
HANDLER = """
from webkiln.frontends.keras.converter import KerasConverter

@KerasConverter.register_handler("Doubled")
def convert(converter, layer):
    raise ValueError("no such luck")
"""


class Doubled(keras.layers.Layer):
    def call(self, x: keras.KerasTensor, training: bool = True) -> keras.KerasTensor:
        return x * 2


class Inner(keras.layers.Layer):
    def call(self, x: keras.KerasTensor) -> keras.KerasTensor:
        return x + 1


class Outer(keras.layers.Layer):
    """A layer whose config holds another."""

    def __init__(self, inner: keras.layers.Layer, **options: object) -> None:
        super().__init__(**options)
        self.inner = inner

    def call(self, x: keras.KerasTensor) -> keras.KerasTensor:
        return self.inner(x)

    def get_config(self) -> dict[str, object]:
        return {**super().get_config(), "inner": keras.saving.serialize_keras_object(self.inner)}


def build(
    webkiln: Command, layer: keras.layers.Layer, folder: Path, *options: str, name: str = "net.keras", plugin: str = ""
) -> tuple[int, str]:
    x = keras.Input((8, 8, 3), name="x")
    keras.Model(x, layer(x)).save(folder / name)
    (folder / "plugin.py").write_text(plugin)
    with_plugin = ("--plugin", "plugin.py") if plugin else ()
    done = webkiln("build", name, "-o", "out", "--backend", "js", *with_plugin, *options)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "layer", [keras.layers.RandomFlip, lambda **options: keras.layers.Pipeline([keras.layers.RandomFlip()], **options)]
)
def test_what_keras_writes_by_itself_is_not_held_against_the_model(layer: object, webkiln: Command, tmp_path: Path) -> None:
    status, text = build(webkiln, layer(name="flip"), tmp_path)  # type: ignore[operator]
    assert status == 2
    assert "flip (" in text
    assert "training" not in text


@pytest.mark.parametrize("name", ["net.keras", "net.h5"])
def test_the_spelling_of_the_tutorial_registers_a_class(name: str, webkiln: Command, tmp_path: Path) -> None:
    """With the package Custom, for a file that was saved without registering."""
    status, text = build(webkiln, Doubled(), tmp_path, name=name, plugin=PLUGIN)
    assert status == 0, text


def test_an_error_of_a_handler_is_named_by_its_file_and_line(webkiln: Command, tmp_path: Path) -> None:
    status, text = build(webkiln, Doubled(name="twice"), tmp_path, plugin=HANDLER)
    assert status == 2
    assert text == "error: twice (Doubled): its handler failed in plugin.py, line 6: ValueError: no such luck\n"


def test_classes_inside_others_are_named_with_them(webkiln: Command, tmp_path: Path) -> None:
    status, text = build(webkiln, Outer(Inner(name="inner"), name="outer"), tmp_path)
    assert status == 2
    assert "2 unsupported parts" in text
    assert "outer (Outer): unknown class" in text
    assert "inner (Inner): unknown class" in text


OUTER = """
import keras

@keras.saving.register_keras_serializable()
class Outer(keras.layers.Layer):
    def __init__(self, inner, **options):
        super().__init__(**options)
        self.inner = keras.saving.deserialize_keras_object(inner)
    def call(self, x):
        return self.inner(x)
"""


@pytest.mark.parametrize("trust", [(), ("--trust-source",)], ids=["untrusted", "trusted"])
def test_a_class_inside_a_known_one_is_named(trust: tuple[str, ...], webkiln: Command, tmp_path: Path) -> None:
    status, text = build(webkiln, Outer(Inner(name="inner"), name="outer"), tmp_path, *trust, plugin=OUTER)
    assert status == 2
    assert "inner (Inner): unknown class" in text
    assert "could not be deserialized" not in text
