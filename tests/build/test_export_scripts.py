"""Export scripts of models, with their helpers and data as discovered inputs."""

import shutil
from pathlib import Path

import pytest

from tests.build.tree import checkout, executed, python
from tests.sampling import representative

TOY_EXPORT = """
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import layers_of_mine


def export(path):
    path.write_text(layers_of_mine.model(Path(__file__).with_name("units.txt").read_text()))
"""
EXPORT = """
import sys
from pathlib import Path

import keras

sys.path.insert(0, str(Path(__file__).parent))
import layers_of_mine


def export(path):
    x = keras.Input((6, 6, 3), name="x")
    units = int(Path(__file__).with_name("units.txt").read_text())
    y = layers_of_mine.head(keras.layers.Conv2D(2, 3, kernel_initializer="ones")(x), units)
    keras.Model(x, y).save(path)
"""


HELPERS = {
    "toy": (
        "import json\n\ndef model(units):\n    return json.dumps({'layers': ['conv', 'dense'],"
        " 'weights': {'dense': units}})\n"
    ),
    "keras": (
        "import keras\n\ndef head(x, units):\n    x = keras.layers.GlobalAveragePooling2D()(x)\n"
        "    return keras.layers.Dense(units, kernel_initializer='ones')(x)\n"
    ),
}


@pytest.mark.parametrize("kind", representative(HELPERS, "toy"))
def test_an_export_script_reruns_for_its_helper_and_its_data(kind: str, tmp_path: Path) -> None:
    is_toy = kind == "toy"
    tree = checkout(tmp_path / "tree", tmp_path / "cache", toy=is_toy)
    folder = tree.root / "models" / "mine"
    folder.mkdir()
    (folder / "make.py").write_text(TOY_EXPORT if is_toy else EXPORT)
    (folder / "layers_of_mine.py").write_text(HELPERS[kind])
    (folder / "units.txt").write_text("3")
    (folder / "recipe.toml").write_text(
        'source = { script = "make.py", function = "export" }\nbackends = ["js"]\n'
    )
    home = tmp_path / "home" / ".keras"
    home.mkdir(parents=True)
    (home / "keras.json").write_text('{"image_data_format": "channels_first"}')

    def build() -> set[str]:
        before = len(tree.log())
        tree.doit("build", "model=mine", HOME=str(home.parent))
        return {task.split(":")[0] for task in executed(tree.log()[before:])}

    assert "fetch" in build()
    types = (tree.root / "dist" / "mine" / "index.d.ts").read_text()
    assert is_toy or "[1, 6, 6, 3]" in types
    assert not build()
    python(tree, "-m", "webkiln.cli", "build", "mine", "-o", "public", "--depfile", "public.d")
    made_of = {
        folder / name for name in ("make.py", "layers_of_mine.py", "units.txt", "recipe.toml")
    }
    assert set(map(Path, (tree.root / "public.d").read_text().splitlines())) >= made_of
    (folder / "units.txt").write_text("4")
    assert {"fetch", "load", "bundle"} <= build()
    (folder / "layers_of_mine.py").write_text(
        (folder / "layers_of_mine.py").read_text() + "# a comment\n"
    )
    assert "fetch" in build()
    operator = tree.root / "pipeline" / "webkiln" / "ops" / "conv.py"
    operator.write_text(operator.read_text() + "# a comment\n")
    assert not build() & {"fetch", "load", "reference"}
    source = tree.root / "models" / ("toy/model.json" if is_toy else "digits/digits.keras")
    exported = folder / f"made{source.suffix}"
    shutil.copyfile(source, exported)
    (folder / "recipe.toml").write_text(f'source = "{exported.name}"\nbackends = ["js"]\n')
    assert "fetch" in build(), (
        "the task has the name that it had, and reads nothing of what it read"
    )
