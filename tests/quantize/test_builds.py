"""Builds of a trained network in encodings that measurements choose, and what runs again."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from webkiln.backends import host
from webkiln.backends.compare import relative_error
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.errors import UserError
from webkiln.ir.types import Array
from webkiln.recipe.quantization import Quantization, UserFunction
from webkiln.recipe.read import read_recipe
from webkiln.recipe.recipe import Recipe, checked
from webkiln.recipe.values import BLOCK_ENCODINGS, MIXED, STATIC

DIGITS = Path(__file__).parents[2] / "models" / "digits"
TEST = np.load(DIGITS / "test.npz")
IMAGES, LABELS = TEST["images"], TEST["labels"]
SCRIPT = """
from pathlib import Path

import numpy as np

def images():
    data = np.load(Path(__file__).with_name("samples.npz"))["image"]
    return [{"image": data[n : n + 1]} for n in range(3, 9)]

def lost(outputs, expected):
    def correct(found):
        return [int(sample["scores"].argmax()) for sample in found]
    pairs = list(zip(correct(outputs), correct(expected)))
    return sum(a != b for a, b in pairs) / len(pairs)

def nothing(outputs, expected):
    return float("nan")
"""


class Project:
    """Builds of the digits network with other settings, in one cache."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder, folder / "state"
        self.samples = folder / "samples.npz"
        self.write_samples(slice(0, 24))
        self.script = folder / "functions.py"
        self.script.write_text(SCRIPT)

    def write_samples(self, which: slice) -> None:
        np.savez(self.samples, image=IMAGES[which])

    def recipe(self, encoding: str, **settings: Any) -> Recipe:
        recipe = read_recipe(DIGITS / "recipe.toml")
        bundle = replace(
            recipe.bundle, encodings=(encoding,), quantization=Quantization(**settings)
        )
        code = replace(recipe.user_code, project=self.folder)
        return checked(replace(recipe, bundle=bundle, user_code=code), "recipe.toml")

    def build(self, encoding: str, **settings: Any) -> tuple[Path, Counter[str], Mapping[str, Any]]:
        """The bundle, the executed actions, and the choice."""
        log = self.state / "log.jsonl"
        before = len(log.read_text().splitlines()) if log.exists() else 0
        out = self.folder / encoding
        choice: dict[str, Any] = {}
        with Engine(self.state, cache=self.folder / "cache") as engine:
            graph = ModelGraph(self.recipe(encoding, **settings), engine.share)
            engine.publish(graph.bundle(Selection(("js",), encoding)), "bundle/", out)
            if encoding in (MIXED, STATIC):
                result = engine.run(graph.choose(encoding))
                for name in ("choice.json", "errors.json"):
                    choice |= json.loads(engine.data(result, name))
        lines = [json.loads(line) for line in log.read_text().splitlines()[before:]]
        ran = Counter(
            line["task"].replace(":digits", "") for line in lines if line["event"] == "execute"
        )
        return out, ran, choice


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def exact(project: Project) -> list[Array]:
    return outputs(project.build("float32")[0], IMAGES)


def outputs(bundle: Path, images: Array) -> list[Array]:
    given = [{"image": images[number : number + 1]} for number in range(len(images))]
    return [result.outputs["scores"] for result in host.run_bundle(bundle, "js", given)]


def errors(found: list[Array], expected: list[Array]) -> float:
    return max(relative_error(*pair) for pair in zip(found, expected, strict=True))


def accuracy(found: list[Array]) -> float:
    labels = [int(scores.argmax()) for scores in found]
    return float(np.mean(labels == LABELS))


def weights(bundle: Path) -> int:
    return sum(path.stat().st_size for path in bundle.glob("*.bin"))


@pytest.mark.parametrize("encoding", [*BLOCK_ENCODINGS, STATIC])
def test_a_trained_network_stays_accurate(
    encoding: str, project: Project, exact: list[Array]
) -> None:
    bundle, _, _ = project.build(encoding, calibration=project.samples)
    found = outputs(bundle, IMAGES)
    assert accuracy(found) >= accuracy(exact) - 0.01
    difference = np.stack(found) - np.stack(exact)
    assert 1e-5 < np.sqrt(np.square(difference).mean()) < (0.01 if "int8" in encoding else 0.03)
    share = weights(bundle) / weights(project.folder / "float32")
    assert share < (0.35 if "int8" in encoding else 0.22)


@pytest.mark.parametrize("bound", [0.003, 0.05])
def test_the_error_is_within_the_bound(bound: float, project: Project, exact: list[Array]) -> None:
    """That of the bundle is the one that was measured without building it."""
    bundle, _, choice = project.build(MIXED, calibration=project.samples, max_error=bound)
    error = errors(outputs(bundle, IMAGES[:24]), exact[:24])
    assert choice["error"] <= bound
    assert error == pytest.approx(choice["error"], rel=1e-2, abs=1e-6)
    assert weights(bundle) < (0.5 if bound < 0.01 else 0.25) * weights(project.folder / "float32")
    assert {row["layer"] for row in choice["measured"]} == {"conv2+norm2", "conv3"}
    assert all(row["error"] > 0 for row in choice["measured"])


def test_integers_have_the_error_that_was_measured(project: Project, exact: list[Array]) -> None:
    bundle, _, choice = project.build(STATIC, calibration=project.samples)
    assert set(choice["weights"].values()) == {STATIC}
    error = errors(outputs(bundle, IMAGES[:24]), exact[:24])
    assert error == pytest.approx(choice["error"], rel=0.2)


def test_sensitive_layers_stay_float(project: Project) -> None:
    _, _, all_of_them = project.build(STATIC, calibration=project.samples)
    bound = 0.6 * all_of_them["error"]
    _, _, choice = project.build(STATIC, calibration=project.samples, max_error=bound)
    kinds = Counter(choice["weights"].values())
    assert kinds["float32"]
    assert kinds[STATIC]
    assert choice["error"] <= bound
    assert len(choice["measured"]) == 4


def test_a_metric_bounds_the_error(project: Project) -> None:
    """No sample changes its class."""
    metric = UserFunction(project.script, "lost")
    calibration = UserFunction(project.script, "images")
    _, ran, choice = project.build(MIXED, calibration=calibration, metric=metric, max_error=1e-6)
    assert choice["error"] == 0
    assert {"int4", "int4-64", "int4-128", "uint4"} & set(choice["weights"].values())
    assert "samples" in ran
    project.script.write_text(project.script.read_text() + "\nEDITED = True\n")
    _, ran, _ = project.build(MIXED, calibration=calibration, metric=metric, max_error=1e-6)
    assert set(ran) == {"samples", f"choose:{MIXED}"}
    with pytest.raises(UserError, match="nothing returned nan, expected an error of 0 or more"):
        project.build(
            MIXED, calibration=calibration, metric=UserFunction(project.script, "nothing")
        )
    with pytest.raises(UserError, match="there is no function 'nobody'"):
        project.build(MIXED, calibration=UserFunction(project.script, "nobody"))


def test_other_samples_generate_no_code(project: Project) -> None:
    project.write_samples(slice(0, 24))
    project.build(STATIC, calibration=project.samples)
    assert not project.build(STATIC, calibration=project.samples)[1]
    project.write_samples(slice(24, 48))
    _, ran, _ = project.build(STATIC, calibration=project.samples)
    assert {"samples", "calibrate", f"choose:{STATIC}", f"encode:{STATIC}"} <= set(ran)
    assert {task.partition(":")[0] for task in ran} == {
        *("samples", "calibrate", "choose", "encode", "pack", "bundle"),
    }
    project.write_samples(slice(0, 24))


def test_layers_have_encodings_of_their_own(project: Project) -> None:
    whole, _, _ = project.build("int4")
    size = weights(whole)
    bundle, _, _ = project.build("int4", layers={"conv3": "float32"})
    assert weights(bundle) > size + 3 * 9 * 32 * 64
    with pytest.raises(UserError, match="names 'conv9', which is no layer"):
        project.build("int4", layers={"conv9": "float32"})
    _, _, choice = project.build(
        MIXED, calibration=project.samples, layers={"conv*": "float16"}, max_error=0.05
    )
    kinds = {name: kind for name, kind in choice["weights"].items() if "conv" in name}
    assert set(kinds.values()) <= {"float16", "float32"}


def test_samples_of_another_model_are_refused(project: Project, tmp_path: Path) -> None:
    other = tmp_path / "other.npz"
    np.savez(other, picture=IMAGES[:3])
    with pytest.raises(
        UserError, match=r"other.npz does not fit the model:\n  picture is no input"
    ):
        project.build(STATIC, calibration=other)
    with pytest.raises(UserError, match=r"set --calibration samples.npz"):
        project.build(STATIC)
