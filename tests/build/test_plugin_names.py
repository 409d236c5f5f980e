"""User files with the same name: each is run, each is in the keys, and each reruns the steps that
use it.
"""

import sys
from pathlib import Path

import onnx
import pytest
from onnx import helper

from webkiln import canonical
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph
from webkiln.build.share import share
from webkiln.frontends.keras.plugins import isolated
from webkiln.plugins import import_file
from webkiln.recipe.read import parse_recipe
from webkiln.recipe.recipe import Recipe

HANDLER = """
from webkiln.frontends.onnx.converter import OnnxConverter

@OnnxConverter.register_handler("{name}", domain="mine")
def handler(call):
    return call.op("LeakyRelu", [call.tensor(0)], {{"alpha": {alpha}}})
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    """A model of two operators, which two plugins with the same file name convert. Each is in a
    separate folder.
    """
    folder = tmp_path / "models" / "net"
    for folder_name, name in {"a": "First", "b": "Second"}.items():
        (folder / folder_name).mkdir(parents=True)
        (folder / folder_name / "plugin.py").write_text(HANDLER.format(name=name, alpha=0.5))
    nodes = [
        helper.make_node("First", ["x"], ["z"], domain="mine"),
        helper.make_node("Second", ["z"], ["y"], domain="mine"),
    ]
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 4]) for name in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    onnx.save(
        helper.make_model(
            helper.make_graph(nodes, "net", [x], [y]), opset_imports=opsets, ir_version=8
        ),
        folder / "net.onnx",
    )
    table = {"source": "net.onnx", "plugins": ["a/plugin.py", "b/plugin.py"], "backends": ["js"]}
    return parse_recipe("net", table, folder / "recipe.toml")


def graph_of(recipe: Recipe, folder: Path) -> bytes:
    with Engine(folder / ".webkiln") as engine:
        graph = ModelGraph(recipe, share())
        return canonical.dumps(
            canonical.read(
                engine.cache.store.path(engine.run(graph.convert()).outputs["graph.json"].sha256)
            )
        )


def test_both_plugins_run_and_are_in_the_keys(recipe: Recipe, tmp_path: Path) -> None:
    first = graph_of(recipe, tmp_path)
    for alpha, plugin, name in (
        (0.25, recipe.user_code.plugins[0], "First"),
        (0.125, recipe.user_code.plugins[1], "Second"),
    ):
        plugin.write_text(HANDLER.format(name=name, alpha=alpha))
        second_graph = graph_of(recipe, tmp_path)
        assert second_graph != first
        first = second_graph


def test_keys_contain_the_digest_of_each_plugin(recipe: Recipe, tmp_path: Path) -> None:
    with Engine(tmp_path / ".webkiln") as engine:
        action = ModelGraph(recipe, share()).convert()
        engine.run(action)
        code = engine.consumed(action).document["code"]
        assert {name: digest for name, digest in code.items() if name.startswith("user/")} == {
            "user/plugin.py": canonical.file_digest(recipe.user_code.plugins[1]),
            "user/plugin.py#2": canonical.file_digest(recipe.user_code.plugins[0]),
        }


def test_modules_of_equal_files_are_distinct(tmp_path: Path) -> None:
    files = [tmp_path / folder_name / "plugin.py" for folder_name in ("a", "b")]
    for file in files:
        file.parent.mkdir()
        file.write_text(
            "from pathlib import Path\nSAID = (Path(__file__).parent / 'said.txt').read_text()\n"
        )
        (file.parent / "said.txt").write_text(file.parent.name)
    with isolated():
        modules = [import_file(file) for file in (*files, *files)]
        assert [module.SAID for module in modules] == ["a", "b", "a", "b"]
        assert len({module.__name__ for module in modules}) == 2
        assert str(tmp_path) not in "".join(module.__name__ for module in modules)
    assert not {module.__name__ for module in modules} & set(sys.modules)
