"""Files of the user's that are called alike: each is run, each is in the keys, and each reruns what it is part of."""

import sys
from pathlib import Path

import pytest

from webkiln import canonical
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph
from webkiln.build.share import share
from webkiln.frontends.keras.plugins import isolated
from webkiln.plugins import import_file
from webkiln.recipe import Recipe, parse_recipe

LAYER = """
import keras

@keras.saving.register_keras_serializable()
class {name}(keras.layers.Layer):
    def call(self, x):
        return x * {factor}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    """A model of two layers, each of a plugin of its own folder that is called as the other is."""
    import keras

    folder = tmp_path / "models" / "net"
    names = {"a": "Doubled", "b": "Tripled"}
    x = y = keras.Input((4,), name="x")
    for place, (part, name) in enumerate(names.items()):
        (folder / part).mkdir(parents=True)
        (folder / part / "plugin.py").write_text(LAYER.format(name=name, factor=place + 2))
        with isolated():
            y = getattr(import_file(folder / part / "plugin.py"), name)(name=name.lower())(y)
    keras.Model(x, y).save(folder / "net.keras")
    table = {"source": "net.keras", "plugins": ["a/plugin.py", "b/plugin.py"], "backends": ["js"]}
    return parse_recipe("net", table, folder / "recipe.toml")


def graph_of(recipe: Recipe, folder: Path) -> bytes:
    with Engine(folder / ".webkiln") as engine:
        graph = ModelGraph(recipe, share())
        return canonical.dumps(canonical.read(engine.cache.store.path(engine.run(graph.convert()).outputs["graph.json"].sha256)))


def test_both_are_run_and_both_are_in_the_keys(recipe: Recipe, tmp_path: Path) -> None:
    first = graph_of(recipe, tmp_path)
    for factor, plugin, name in ((5, recipe.plugins[0], "Doubled"), (7, recipe.plugins[1], "Tripled")):
        plugin.write_text(LAYER.format(name=name, factor=factor))
        again = graph_of(recipe, tmp_path)
        assert again != first
        first = again


def test_keys_have_the_digest_of_each(recipe: Recipe, tmp_path: Path) -> None:
    with Engine(tmp_path / ".webkiln") as engine:
        action = ModelGraph(recipe, share()).load()
        engine.run(action)
        code = engine.consumed(action).document["code"]
        assert {name: digest for name, digest in code.items() if name.startswith("user/")} == {
            "user/plugin.py": canonical.file_digest(recipe.plugins[1]),
            "user/plugin.py#2": canonical.file_digest(recipe.plugins[0]),
        }


def test_modules_of_equal_files_are_apart(tmp_path: Path) -> None:
    files = [tmp_path / part / "plugin.py" for part in ("a", "b")]
    for file in files:
        file.parent.mkdir()
        file.write_text("from pathlib import Path\nSAID = (Path(__file__).parent / 'said.txt').read_text()\n")
        (file.parent / "said.txt").write_text(file.parent.name)
    with isolated():
        modules = [import_file(file) for file in (*files, *files)]
        assert [module.SAID for module in modules] == ["a", "b", "a", "b"]
        assert len({module.__name__ for module in modules}) == 2
        assert str(tmp_path) not in "".join(module.__name__ for module in modules)
    assert not {module.__name__ for module in modules} & set(sys.modules)
