"""A page imports the code for its GPU only: the module for emulated GPUs, or the other one."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.backends.adapters import ADAPTERS
from tests.bundle_page import in_page
from webkiln.backends.compare import relative_error
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.codegen.device_programs import EMULATED
from webkiln.ir.types import Array
from webkiln.recipe.form import Form
from webkiln.recipe.recipe import Bundle, Recipe
from webkiln.recipe.sources import PathSource

USUAL, REPLACEMENT = "webgpu.js", f"webgpu{EMULATED}.js"
SHAPE = (1, 16, 16, 8)
PAGE = """const [options, adapter, device, done] = arguments;
const tell = (type, name, info) => info && Object.defineProperty(
  type.prototype, name, { get: () => info });
(async () => {
  tell(GPUAdapter, 'info', adapter);
  tell(GPUDevice, 'adapterInfo', device);
  const own = options.device && await (await navigator.gpu.requestAdapter()).requestDevice();
  const { load } = await import('/bundle/index.js');
  const model = await load({ backends: ['webgpu'], ...options, ...(own ? { device: own } : {}) });
  const x = Float32Array.from({ length: SIZE }, (_, at) => Math.sin(at));
  done({ y: [...Object.values(await model.run(x))[0]] });
})().catch(error => done({ error: `${error.code} ${error.message}` }));"""


def network() -> Any:
    import keras

    keras.utils.set_random_seed(0)
    x = keras.Input(batch_shape=SHAPE)
    y = keras.layers.Conv2D(16, 3, padding="same", activation="relu")(x)
    return keras.Model(x, keras.layers.Conv2D(16, 3, padding="same")(y))


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Array]:
    """The saved network, and its output."""
    path = tmp_path_factory.mktemp("network") / "net.keras"
    model = network()
    model.save(path)
    x = np.sin(np.arange(np.prod(SHAPE))).reshape(SHAPE).astype(np.float32)
    return path, np.asarray(model(x)).ravel()


def build(path: Path, form: Form) -> Path:
    folder = path.parent / f"{form.kind} {form.hashed}"
    if not folder.exists():
        recipe = Recipe("net", PathSource(path), bundle=Bundle(form=form))
        with Engine(path.parent / ".webkiln") as engine:
            actions = ModelGraph(recipe, engine.share)
            engine.publish(actions.bundle(Selection(("webgpu",))), "bundle/", folder)
    return folder


def loaded(
    folder: Path,
    options: Mapping[str, Any],
    adapter: Mapping[str, str] | None = None,
    device: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The output of the model, or its error, in a page whose adapter and device have this
    `GPUAdapterInfo`.
    """
    script = PAGE.replace("SIZE", str(np.prod(SHAPE)))
    return in_page(folder, script, dict(options), adapter, device)


def without(folder: Path, name: str, target: Path) -> Path:
    """A copy of a bundle that lacks the module `name`."""
    shutil.copytree(folder, target)
    (path,) = (path for path in target.iterdir() if path.name.split("-")[0] in (name, name[:-3]))
    path.unlink()
    return target


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("options", [{"worker": True}, {"worker": False}], ids=str)
def test_a_page_without_a_gpu_needs_one_module(reference, options, hashed, tmp_path):
    path, expected = reference
    folder = build(path, Form(hashed=hashed))
    result = loaded(without(folder, USUAL, tmp_path / "usual"), options)
    assert relative_error(np.array(result["y"]), expected) < 1e-5
    failed = loaded(without(folder, REPLACEMENT, tmp_path / "emulated"), options)
    assert failed["error"].startswith("MissingFile"), failed


@pytest.mark.parametrize("device", [False, True], ids=["own device", "device of the page"])
def test_a_page_with_a_gpu_needs_the_other_module(reference, device, tmp_path):
    path, expected = reference
    folder = without(build(path, Form()), REPLACEMENT, tmp_path / "bundle")
    hopper = ADAPTERS[132]
    result = loaded(folder, {"worker": False, "device": device}, hopper, hopper)
    assert relative_error(np.array(result["y"]), expected) < 1e-5


@pytest.mark.parametrize("which", ["adapter", "device"])
def test_modules_are_right_on_gpus_of_other_classes(reference, which):
    path, expected = reference
    result = loaded(build(path, Form()), {"worker": False}, **{which: ADAPTERS[132]})
    assert relative_error(np.array(result["y"]), expected) < 1e-5


@pytest.mark.parametrize("worker", [True, False])
def test_a_single_file_has_both_modules(reference, worker):
    path, expected = reference
    folder = build(path, Form("single"))
    assert not (folder / REPLACEMENT).exists()
    result = loaded(folder, {"worker": worker})
    assert relative_error(np.array(result["y"]), expected) < 1e-5
    if not worker:
        result = loaded(folder, {"worker": False}, ADAPTERS[132], ADAPTERS[132])
        assert relative_error(np.array(result["y"]), expected) < 1e-5
