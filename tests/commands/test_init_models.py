"""Models that `webkiln init` adds to a project: recipes, types, imports, and errors."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.commands.web_project import PROJECTS, Folder
from tests.frontends.onnx.models import model
from webkiln.build import backends
from webkiln.commands import build

DOUBLED = """import keras


@keras.saving.register_keras_serializable(name="Doubled")
class Doubled(keras.layers.Layer):
    def call(self, x):
        return x * 2
"""


def net(path: Path, names: tuple[str, str] = ("x", "y")) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in names]
    weight = helper.make_tensor(
        "w", TensorProto.FLOAT, [3], np.ones(3, np.float32).tobytes(), raw=True
    )
    onnx.save(
        model(
            [helper.make_node("Mul", [names[0], "w"], [names[1]])], values[:1], values[1:], [weight]
        ),
        path,
    )
    return path


@pytest.mark.parametrize(
    ("path_of_model", "weights_file", "source"),
    [
        ("app/assets/net.onnx", "", "../../assets/net.onnx"),
        ("elsewhere/net.onnx", "", "net.onnx"),
        ("elsewhere/net.onnx", "net.onnx.data", "../../../elsewhere/net.onnx"),
    ],
)
def test_a_model_file_gets_a_recipe_and_a_page(
    path_of_model: str,
    weights_file: str,
    source: str,
    folder: Folder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backends, "missing_compilers", lambda: ["no emcc"])
    monkeypatch.setattr(build, "missing_compilers", lambda: ["no emcc"])
    folder.fill(PROJECTS["html"])
    path = net(folder.root.parent / path_of_model)
    if weights_file:
        onnx.save(
            onnx.load(path),
            path,
            save_as_external_data=True,
            location=weights_file,
            size_threshold=0,
        )
    folder.init(str(path))
    assert folder.text("models/net/recipe.toml") == f'source = "{source}"\n'
    assert (folder.root / "models" / "net" / source).resolve().read_bytes() == path.read_bytes()
    assert "x: Float32Array.from({ length: 3 }, (_, at) => (at * 0.618 + 0.5) % 1)," in folder.text(
        "model.js"
    )
    assert "Array.from(outputs.y.slice(0, 5), Number)" in folder.text("model.js")


def test_a_model_outside_the_project_is_copied(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "missing_compilers", lambda: ["no emcc"])
    monkeypatch.setattr(build, "missing_compilers", lambda: ["no emcc"])
    folder.fill(PROJECTS["html"])
    net(folder.root.parent / "elsewhere" / "net.onnx")
    folder.init("../elsewhere/net.onnx")
    assert folder.text("models/net/recipe.toml") == 'source = "net.onnx"\n'


def test_a_second_model_is_typed_and_its_import_is_printed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "missing_compilers", lambda: ["no emcc"])
    folder.fill(PROJECTS["vanilla-ts"])
    folder.init()
    net(folder.root / "net.onnx")
    printed = folder.init("net.onnx")
    assert "changed    src/webkiln-env.d.ts: types" in printed
    assert "import { load } from 'webkiln:net' in your code" in printed
    types = folder.text("src/webkiln-env.d.ts")
    assert (
        types.index('declare module "webkiln:digits"')
        < types.index('declare module "webkiln:net"')
        < types.index("declare module 'webkiln:*'")
    )


@pytest.mark.long
def test_plugins_and_trust_are_written_to_the_recipe(folder: Folder) -> None:
    import keras

    from tests.commands.models import Doubled

    folder.fill({**PROJECTS["html"], "layers.py": DOUBLED})
    x = keras.Input((4,), name="x")
    doubled = keras.layers.Lambda(lambda value: value * 2, output_shape=(4,), name="code")(
        Doubled(name="own")(x)
    )
    keras.Model(x, doubled).save(folder.root / "code.keras")
    assert "--trust-source" in folder.init("code.keras", status=2)
    folder.init("code.keras", "--trust-source", "--plugin", "layers.py")
    assert (
        folder.text("models/code/recipe.toml")
        == 'source = "../../code.keras"\nplugins = ["../../layers.py"]\ntrust_source = true\n'
    )


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        (
            {},
            (),
            (
                "no web project found: no vite, next or other bundler in package.json, no"
                " vite.config.js or"
            ),
        ),
        ({"package.json": "{"}, (), "package.json is not JSON"),
        (
            PROJECTS["html"],
            ("digit",),
            "digit: no such file; give the path of a model file, such as my.keras,",
        ),
        (PROJECTS["html"], ("index.html",), "index.html"),
        ({**PROJECTS["html"], "broken.keras": "no model"}, ("broken.keras",), "broken.keras"),
        (
            PROJECTS["html"],
            ("resnet50",),
            "resnet50 is included in webkiln and needs no recipe; import it as 'webkiln:resnet50'",
        ),
    ],
)
def test_failures_leave_the_project_unchanged(
    files: dict[str, str], arguments: tuple[str, ...], message: str, folder: Folder
) -> None:
    folder.fill(files)
    before = folder.files()
    assert message in folder.init(*arguments, status=2)
    assert folder.files() == before
