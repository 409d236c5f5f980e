"""Tuning on webgpu: the forms of products are measured on the class of GPUs that runs, are written
with its name, and are used for this class only.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.backends.adapters import ADAPTERS
from tests.runtime.fake_bundle import stage
from webkiln import canonical
from webkiln.backends import host, pages
from webkiln.backends.compare import relative_error
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.tuned import record
from webkiln.nest.target import GPU_CLASSES
from webkiln.recipe.recipe import Computation, Recipe
from webkiln.recipe.sources import PathSource

DEVICES = {"emulated": 1, **{gpu.name: gpu.multiprocessors for gpu in GPU_CLASSES}}
TESTS = Path(__file__).parents[1]
TRIALS = ((0, 0), (0, 1), (0, 2))
ROWS, SIZE = 16, 160
PRODUCT = f"product {ROWS}x{SIZE} of {SIZE} on data centre"


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    """Two products of one size, and one that is too small to have forms."""
    import keras

    keras.utils.set_random_seed(0)
    layers = keras.layers
    x = y = keras.Input((ROWS, SIZE), batch_size=1, name="x")
    for name in ("first", "second"):
        y = layers.Dense(SIZE, activation="relu", bias_initializer="normal", name=name)(y)
    folder = tmp_path_factory.mktemp("model")
    keras.Model(x, layers.Dense(12, name="head")(y), name="dense").save(folder / "dense.keras")
    return Recipe("dense", PathSource(folder / "dense.keras"))


class Builds:
    """Bundles and programs of a recipe for webgpu."""

    def __init__(self, recipe: Recipe, folder: Path, cache: Path) -> None:
        self.recipe, self.folder, self.cache = recipe, folder, cache

    def build(self, name: str, **choice: Any) -> Path:
        """The folder of a bundle. Its program is beside it."""
        bundle = self.folder / name
        with Engine(self.folder / ".webkiln", cache=self.cache) as engine:
            actions, selection = (
                ModelGraph(self.recipe, engine.share),
                Selection(("webgpu",), **choice),
            )
            engine.publish(actions.bundle(selection), "bundle/", bundle)
            lowered = engine.run(actions.lower("webgpu", selection))
            bundle.with_suffix(".json").write_bytes(engine.data(lowered, "program.json"))
        return bundle


@pytest.fixture(scope="module")
def builds(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Builds:
    return Builds(recipe, tmp_path_factory.mktemp("builds"), cache)


@pytest.fixture(scope="module")
def trials(builds: Builds) -> list[Path]:
    return [builds.build(f"trial{number}", trial=trial) for number, trial in enumerate(TRIALS)]


@pytest.fixture
def on_hopper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages take the software GPU for one of a data centre."""
    run_page = pages.run_page

    def patched(
        what: str, folders: Mapping[str, Path], request: dict[str, Any], *others: Any
    ) -> list[bytes]:
        inner = {**request, "inner": request["script"], "adapter": ADAPTERS[132]}
        inner["script"] = "/commands/with_adapter.mjs"
        scripts = {"/commands/": TESTS / "commands", "/backends/": TESTS / "backends"}
        return run_page(what, {**folders, **scripts}, inner, *others)

    monkeypatch.setattr(pages, "run_page", patched)


def measured(trials: list[Path], folder: Path) -> dict[str, Any]:
    """What the stage measures with these bundles."""
    inputs = {}
    for number, bundle in enumerate(trials):
        inputs |= {
            f"bundle.{number}/": bundle,
            f"program.{number}.json": bundle.with_suffix(".json"),
        }
    outputs = {"measured.json": folder / "measured.json"}
    tune = stage("tune")
    tune.ROUNDS, tune.RUNS = 1, 2
    tune.run(inputs, outputs, {"backend": "webgpu", "browser": "chromium"})
    result: dict[str, Any] = canonical.read(outputs["measured.json"])
    return result


def launched(program: Mapping[str, Any], multiprocessors: int) -> list[dict[str, Any]]:
    """The launches on a device."""

    def ran(steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for step in steps:
            if "multiprocessors" in step:
                large = multiprocessors >= step["multiprocessors"]
                yield from ran(step["then" if large else "else"])
            else:
                yield step

    return list(ran(program["main"]))


def kernels(program: Mapping[str, Any], multiprocessors: int) -> list[str]:
    return [step["kernel"] for step in launched(program, multiprocessors)]


def chosen(launches: Iterable[Mapping[str, Any]], kind: str) -> list[str]:
    """The choices of launches, without the sizes and classes of their keys."""
    decided = (item for step in launches for item in step.get("decided", ()))
    return [item["chosen"] for item in decided if item["key"].startswith(kind)]


def output_of(bundle: Path, x: np.ndarray) -> np.ndarray:
    (result,) = host.run_bundle(bundle, "webgpu", [{"x": x}], host="chromium")
    (output,) = result.outputs.values()
    return output


@pytest.fixture
def profiles(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The profiles of the first round."""
    kept: list[dict[str, Any]] = []
    profile_bundles = host.profile_bundles

    def patched(*arguments: Any, **options: Any) -> list[list[dict[str, Any]]]:
        rounds = profile_bundles(*arguments, **options)
        kept.extend(rounds[0])
        return rounds

    monkeypatch.setattr(host, "profile_bundles", patched)
    return kept


def test_forms_are_tuned_for_the_class_that_runs(
    builds: Builds,
    trials: list[Path],
    on_hopper: None,
    profiles: list[dict[str, Any]],
    tmp_path: Path,
) -> None:
    import keras

    data = measured(trials, tmp_path)
    for bundle, profile in zip(trials, profiles, strict=True):
        ran = [item["kernel"] for item in profile["launches"] if item["count"]]
        assert ran == kernels(canonical.read(bundle.with_suffix(".json")), 132)
        assert profile["multiprocessors"] == 132
    assert data["device"] == "data centre"
    forms = {key: item for key, item in data["kernels"].items() if key.startswith("product")}
    ((key, entry),) = forms.items()
    assert key.startswith(PRODUCT), "one entry for two layers, and none of other classes"
    assert [name.partition(" ")[0] for name in entry["ms"]] == ["direct", "staged", "staged"]
    assert entry["rule"] in entry["ms"]
    assert all(ms > 0 for ms in entry["ms"].values())
    assert not any("emulated" in name for name in data["kernels"])
    file = tmp_path / "tuned.json"
    record(file, "webgpu", data)
    document = canonical.read(file)
    assert document["backends"]["webgpu"]["device"] == "data centre"
    other = next(name for name in entry["ms"] if "parts" in name and name != entry["rule"])
    document["backends"]["webgpu"]["kernels"] = {key: {"chosen": other, "ms": entry["ms"]}}
    file.write_text(json.dumps(document))
    changed = replace(builds.recipe, computation=Computation(tuned=file))
    bundle = Builds(changed, tmp_path, builds.cache).build("tuned")
    program = canonical.read(bundle.with_suffix(".json"))
    usual = canonical.read(builds.build("usual").with_suffix(".json"))
    on_device = launched(program, 132)
    assert chosen(on_device, "product") == [other] * 4, "two launches for each product"
    for name, multiprocessors in DEVICES.items():
        same = kernels(program, multiprocessors) == kernels(usual, multiprocessors)
        assert same == (name != "data centre"), name
    module = (bundle / "webgpu.js").read_text()
    assert all(name in module for name in kernels(program, 132))
    x = np.random.default_rng(0).standard_normal((1, ROWS, SIZE)).astype(np.float32)
    reference = np.asarray(keras.saving.load_model(builds.recipe.source.path)(x))
    for folder in (bundle, builds.folder / "usual"):
        assert relative_error(output_of(folder, x), reference) <= 2e-5


def test_an_emulated_gpu_tunes_itself_only(
    builds: Builds, trials: list[Path], tmp_path: Path
) -> None:
    """Kernels that all devices run are left out, as is what the device does not run."""
    data = measured(trials, tmp_path)
    assert data["device"] == "emulated"
    (key,) = data["kernels"]
    assert key.startswith(f"contraction {ROWS}x{SIZE} of {SIZE} on emulated #")
    file = tmp_path / "tuned.json"
    record(file, "webgpu", data)
    document = canonical.read(file)
    document["backends"]["webgpu"]["kernels"][key] = {"chosen": "8x4", "ms": {"8x4": 0.5}}
    file.write_text(json.dumps(document))
    changed = replace(builds.recipe, computation=Computation(tuned=file))
    bundle = Builds(changed, tmp_path, builds.cache).build("tuned")
    program = canonical.read(bundle.with_suffix(".json"))
    usual = canonical.read(builds.build("usual").with_suffix(".json"))
    for name, multiprocessors in DEVICES.items():
        same = kernels(program, multiprocessors) == kernels(usual, multiprocessors)
        assert same == (name != "emulated"), name
    assert chosen(launched(program, 1), f"contraction {ROWS}x{SIZE}") == ["8x4"] * 2
