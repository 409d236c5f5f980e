"""Messages name the actual fault, in user code and user files."""

import json
import os
from pathlib import Path

import h5py
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

MADE = """
import webkiln.errors

def make(weights="trained"):
    if weights != "random":
        raise webkiln.errors.SourceError(
          "the trained weights are not here; pass --parameter weights=random")
    import keras
    x = keras.Input((4,), name="x")
    return keras.Model(x,
      keras.layers.Dense(2, name="dense", kernel_initializer="glorot_normal")(x))
"""


class Doubled(keras.layers.Layer):
    def call(self, x: keras.KerasTensor, training: bool = True) -> keras.KerasTensor:
        return x * 2


class Inner(keras.layers.Layer):
    def call(self, x: keras.KerasTensor) -> keras.KerasTensor:
        return x + 1


class Outer(keras.layers.Layer):
    """A layer whose config contains another layer."""

    def __init__(self, inner: keras.layers.Layer, **options: object) -> None:
        super().__init__(**options)
        self.inner = inner

    def call(self, x: keras.KerasTensor) -> keras.KerasTensor:
        return self.inner(x)

    def get_config(self) -> dict[str, object]:
        return {**super().get_config(), "inner": keras.saving.serialize_keras_object(self.inner)}


def build(
    webkiln: Command,
    layer: keras.layers.Layer,
    folder: Path,
    *options: str,
    name: str = "net.keras",
    plugin: str = "",
) -> tuple[int, str]:
    x = keras.Input((8, 8, 3), name="x")
    keras.Model(x, layer(x)).save(folder / name)
    (folder / "plugin.py").write_text(plugin)
    with_plugin = ("--plugin", "plugin.py") if plugin else ()
    done = webkiln("build", name, "-o", "out", "--backend", "js", *with_plugin, *options)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "layer",
    [
        keras.layers.RandomFlip,
        lambda **options: keras.layers.Pipeline([keras.layers.RandomFlip()], **options),
    ],
)
def test_defaults_that_keras_writes_are_accepted(
    layer: object, webkiln: Command, tmp_path: Path
) -> None:
    status, text = build(webkiln, layer(name="flip"), tmp_path)  # type: ignore[operator]
    assert status == 0, text


@pytest.mark.parametrize("name", ["net.keras", "net.h5"])
@pytest.mark.sample("net.keras")
def test_the_spelling_of_the_tutorial_registers_a_class(
    name: str, webkiln: Command, tmp_path: Path
) -> None:
    """The class has package Custom; the file was saved without registration."""
    status, text = build(webkiln, Doubled(), tmp_path, name=name, plugin=PLUGIN)
    assert status == 0, text


EVIL = """
import pathlib
pathlib.Path("imported").touch()

class Evil:
    def __init__(self, **options):
        pathlib.Path("made").touch()
    from_config = classmethod(lambda cls, config: cls(**config))

def run(x):
    pathlib.Path("run").touch()
    return x
"""
CLASS = {
    "module": "evil",
    "class_name": "Evil",
    "config": {"name": "evil"},
    "registered_name": None,
}
FUNCTION = {
    "module": "evil",
    "class_name": "function",
    "config": "run",
    "registered_name": "function",
}
HOSTILE = {
    "a layer": (CLASS, None, "evil (Evil): unknown class"),
    "a layer that is said to be registered": (
        {**CLASS, "registered_name": "Custom>Evil"},
        None,
        "evil (Evil): unknown class",
    ),
    "a layer of an older file": (
        {"class_name": "Evil", "config": {"name": "evil"}},
        None,
        "evil (Evil): unknown class",
    ),
    "a call of the system": (
        {
            **CLASS,
            "module": "os",
            "class_name": "system",
            "config": {"command": "touch run", "name": "evil"},
        },
        None,
        "evil (system): unknown class",
    ),
    "a function of a built-in layer": (
        None,
        {"activation": FUNCTION},
        "run is not a computation of Keras and never imported",
    ),
    "an initialiser": (None, {"kernel_initializer": CLASS}, "Evil"),
    "a value of the registered layer": ("Doubled", {"factor": CLASS}, "Evil"),
    "a function of the registered layer": (
        "Doubled",
        {"factor": FUNCTION},
        "run is not a computation of Keras and never imported",
    ),
}


@pytest.mark.parametrize("where", HOSTILE)
@pytest.mark.sample("a value of the registered layer")
def test_nothing_that_a_file_names_is_imported(
    where: str, webkiln: Command, tmp_path: Path
) -> None:
    """A plugin registers a class, which Keras then creates from the file."""
    changed, values, message = HOSTILE[where]
    x = keras.Input((4,), name="x")
    keras.Model(x, Doubled(name="twice")(keras.layers.Dense(4, name="dense")(x))).save(
        tmp_path / "net.h5"
    )
    with h5py.File(tmp_path / "net.h5", "a") as file:
        config = json.loads(file.attrs["model_config"])
        _, dense, twice = config["config"]["layers"]
        if isinstance(changed, dict):
            twice.update(changed)
        else:
            (twice if changed else dense)["config"].update(values)
        file.attrs["model_config"] = json.dumps(config)
    (tmp_path / "plugin.py").write_text(PLUGIN)
    (tmp_path / "evil.py").write_text(EVIL)
    path = os.pathsep.join([str(Path(__file__).resolve().parents[2] / "pipeline"), str(tmp_path)])
    done = webkiln(
        "build",
        "net.h5",
        "-o",
        "out",
        "--backend",
        "js",
        "--plugin",
        "plugin.py",
        env={"PYTHONPATH": path},
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("error:") == 1
    assert not {"imported", "made", "run"} & {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--parameter", "weights=random"), 0, ""),
        (
            ("--parameter", "weight=random"),
            2,
            (
                "make(weights='trained') does not accept the recipe's parameters: got an"
                " unexpected keyword argument 'weight'"
            ),
        ),
        (
            ("--parameter", "weights"),
            2,
            "--parameter is 'weights', expected NAME=VALUE, such as weights=random",
        ),
        (
            ("weights=random",),
            2,
            "unknown option 'weights=random'; did you mean --parameter weights=random?",
        ),
        ((), 2, "pass --parameter weights=random"),
    ],
    ids=["a parameter", "an unknown parameter", "no value", "no option", "nothing"],
)
@pytest.mark.sample("no value", "no option", "nothing")
def test_a_parameter_makes_a_function_return_random_weights(
    arguments: tuple[str, ...], status: int, message: str, webkiln: Command, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(MADE)
    done = webkiln("build", "mine:make", "-o", "out", "--backend", "js", *arguments)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_of_a_handler_is_named_by_its_file_and_line(
    webkiln: Command, tmp_path: Path
) -> None:
    status, text = build(webkiln, Doubled(name="twice"), tmp_path, plugin=HANDLER)
    assert status == 2
    assert (
        text
        == "error: twice (Doubled): the handler failed in plugin.py, line 6: ValueError: no such"
        " luck\n"
    )


def test_nested_classes_are_named_with_their_owners(webkiln: Command, tmp_path: Path) -> None:
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


@pytest.mark.long
@pytest.mark.parametrize("trust", [(), ("--trust-source",)], ids=["untrusted", "trusted"])
def test_a_nested_class_of_a_known_class_is_named(
    trust: tuple[str, ...], webkiln: Command, tmp_path: Path
) -> None:
    status, text = build(
        webkiln, Outer(Inner(name="inner"), name="outer"), tmp_path, *trust, plugin=OUTER
    )
    assert status == 2
    assert "inner (Inner): unknown class" in text
    assert "could not be deserialized" not in text
