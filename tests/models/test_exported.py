"""Files written by an export script, of formats without a dedicated program."""

from pathlib import Path

import onnx
import pytest

from tests.frontends.onnx.models import classifier
from tests.models.conftest import Model
from webkiln.backends.host import read_manifest
from webkiln.build.engine import Engine
from webkiln.errors import SourceError
from webkiln.recipe.read import read_recipe
from webkiln.recipe.recipe import Recipe

CORPORA = Path(__file__).resolve().parents[1] / "frontends"
SCRIPT = """
import shutil
from pathlib import Path


def export(path, name):
    shutil.copyfile(Path(__file__).with_name(name), path)


def nothing(path, name):
    pass
"""
FILES = {
    "caffe": CORPORA / "caffe" / "corpus" / "alone.caffemodel",
    "tensorflow": CORPORA / "tensorflow" / "corpus" / "pools.pb",
    "tflite": CORPORA / "tflite" / "corpus" / "max_pool.float.tflite",
}


def exported(format_name: str, folder: Path, function: str = "export") -> Recipe:
    """A recipe whose script copies a file of a format."""
    output = folder / "made"
    if format_name == "onnx":
        onnx.save(classifier(), output)
    else:
        output.write_bytes(FILES[format_name].read_bytes())
    (folder / "make.py").write_text(SCRIPT)
    (folder / "recipe.toml").write_text(
        f'source = {{ script = "make.py", function = "{function}" }}\nparameters = {{ name = "made"'
        f' }}\nsource_format = "{format_name}"\nbackends = ["js"]\n'
    )
    return read_recipe(folder / "recipe.toml")


@pytest.mark.parametrize("format_name", [*FILES, "onnx"])
def test_a_script_may_write_any_format(format_name: str, tmp_path: Path) -> None:
    with Engine(tmp_path / ".webkiln") as engine:
        bundle = Model(engine, exported(format_name, tmp_path), tmp_path).bundle()
    assert read_manifest(bundle)["outputs"]


def test_a_script_that_writes_nothing(tmp_path: Path) -> None:
    with (
        Engine(tmp_path / ".webkiln") as engine,
        pytest.raises(SourceError, match=r"make.py: nothing wrote no file to the path"),
    ):
        Model(engine, exported("onnx", tmp_path, "nothing"), tmp_path).bundle()
