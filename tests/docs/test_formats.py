"""docs/formats.md states what a build does: roles and parameters of stages, and keys of files."""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from tests.frontends.onnx.models import model
from tests.recipes import with_fields
from webkiln import canonical
from webkiln.build.action import Action
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import share
from webkiln.errors import RecipeError
from webkiln.frontends.core.formats import BY_NAME
from webkiln.recipe.quantization import Quantization, UserFunction
from webkiln.recipe.read import read_recipe
from webkiln.recipe.recipe import LabelsFile, Reading, Recipe, UserCode
from webkiln.recipe.sources import ExportSource, ModuleSource, PathSource, UrlSource
from webkiln.recipe.values import BACKENDS, MIXED

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text("utf-8")
FILE = Path("/nowhere/file.py")
URL = UrlSource("https://localhost/labels.json", "0" * 64)
SETTINGS: dict[str, Any] = {
    "user_code.plugins": (FILE,),
    "user_code.operators": (FILE,),
    "user_code.trust_source": True,
    "inputs.batch_size": 2,
    "inputs.shapes": {"x": (1, "T")},
    "inputs.dims": {"N": 3},
    "inputs.values": {"factor": 3},
    "reading.from_layers": ("a",),
    "reading.to_layers": ("b",),
    "reading.signature": "serve",
    "verification.sample_sizes": {"T": 3},
    "computation.precision": "float16",
    "computation.float16": "rounded",
    "computation.products": "dot",
    "computation.caches": "int8",
    "computation.matrices": True,
    "bundle.labels": LabelsFile(URL),
    "verification.reference": Path("/nowhere/r.npz"),
    "computation.tuned": Path("/nowhere/tuned.json"),
    "bundle.quantization": Quantization(
        calibration=Path("/nowhere/s.npz"), metric=UserFunction(FILE, "f")
    ),
}


def recipes(folder: Path) -> Iterator[Recipe]:
    """Each format with each setting and each kind of source."""
    file = folder / "model"
    file.write_bytes(b"")
    function = ModuleSource(folder, "m", "f", {})
    for reading in map(Reading, BY_NAME):
        for key, value in SETTINGS.items():
            yield with_fields(Recipe("m", PathSource(file), reading), {key: value})
        yield Recipe("m", PathSource(file, file), reading)
        yield Recipe("m", function, reading, user_code=UserCode((FILE,)))
        yield Recipe("m", replace(function, weights=file), reading)
        yield Recipe("m", ExportSource(FILE, "f", {"a": 1}), reading)
        yield Recipe("m", URL, reading)
        called = Quantization(calibration=UserFunction(FILE, "f"))
        yield with_fields(Recipe("m", PathSource(file), reading), {"bundle.quantization": called})


def actions(folder: Path) -> Iterator[Action]:
    for recipe in recipes(folder):
        with suppress(RecipeError):
            graph = ModelGraph(recipe, share())
            graph.report(Selection(BACKENDS), ("chromium",), (), ("float32", "int4", MIXED))
            graph.report(Selection(("js",), MIXED), ("chromium",))
            graph.lower("js", Selection(("js",), trial=(0, 1)))
            graph.tune("js", "chromium")
            yield from graph.actions()


def names(text: str) -> set[str]:
    """The names in backticks outside parentheses."""
    text_outside = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\([^()]*\)[^()]*\)", "", text))
    return set(re.findall(r"`([^`]+)`", text_outside))


def section(heading: str) -> str:
    match = re.search(
        rf"^##+ {re.escape(heading)}\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE
    )
    assert match is not None, f"docs/formats.md has no section {heading}"
    return match[1]


def listed_names(stage: str, kind: str) -> set[str]:
    match = re.search(rf"^\* {kind}: (.*?)(?=^\*|^$)", section(stage), re.DOTALL | re.MULTILINE)
    assert match is not None, f"{stage} has no {kind}"
    return names(match[1])


def test_stages_have_the_listed_roles_and_parameters(tmp_path: Path) -> None:
    actual: dict[tuple[str, str], set[str]] = defaultdict(set)
    for action in actions(tmp_path):
        actual[action.stage, "inputs"] |= {re.sub(r"\d+", "<n>", role) for role in action.inputs}
        actual[action.stage, "outputs"] |= {*action.outputs}
        actual[action.stage, "parameters"] |= action.params.keys()
    stages = {stage for stage, _ in actual}
    assert stages == {path.stem for path in (ROOT / "stages").glob("*.py")}
    differences = {}
    for stage in stages:
        for kind in ("inputs", "outputs", "parameters"):
            expected = listed_names(stage, kind)
            if (stage, kind) == ("reference", "parameters"):
                expected |= (listed_names("load", kind) | listed_names("convert", kind)) - {
                    "backends"
                }
            if actual[stage, kind] != expected:
                missing, extra = actual[stage, kind] - expected, expected - actual[stage, kind]
                differences[f"{stage}, {kind}"] = (
                    f"not listed: {missing}; listed but unused: {extra}"
                )
    assert not differences


def keys(file: str) -> tuple[set[str], set[str]]:
    """The keys in the section of a file, and the subset of optional keys."""
    required: set[str] = set()
    optional: set[str] = set()
    for item in re.findall(r"^\* (.*?)(?=^\* |^\S|^$)", section(file), re.DOTALL | re.MULTILINE):
        for part in re.split(r"; (?=`)", item):
            if head := re.match(r"(`\w+`(?:, `\w+`)*)( \(optional\))?(?=:|$)", part.strip()):
                item_keys = set(re.findall(r"\w+", head[1]))
                required |= item_keys
                optional |= item_keys if head[2] else set()
    return required, optional


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The contents of the JSON files of digits, by file name."""
    state = tmp_path_factory.mktemp("state")
    recipe = read_recipe(ROOT / "models" / "digits" / "recipe.toml")
    contents: dict[str, list[Any]] = defaultdict(list)
    with Engine(state) as engine:
        graph = ModelGraph(recipe, engine.share)
        graph.report(Selection(BACKENDS), ("node",), ("js", "wasm"))
        for action in graph.actions():
            for role, blob in engine.run(action).outputs.items():
                if role.endswith(".json"):
                    data = canonical.read(engine.cache.store.path(blob.sha256))
                    contents[role.rpartition("/")[2]].append(data)
    return contents


@pytest.mark.parametrize(
    "file",
    [
        *("weights.json", "graph.json", "sizes.json", "shards.json", "program.json"),
        *("manifest.json", "result.json", "verification.json"),
    ],
)
def test_files_have_the_listed_keys(file: str, files: dict[str, list[Any]]) -> None:
    required, optional = keys(file)
    assert files[file]
    for data in files[file]:
        assert required - optional <= data.keys() <= required, file


def pyramid(folder: Path) -> Recipe:
    """A model whose sizes must be even."""
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "H", "W"])
    factors = helper.make_tensor("factors", TensorProto.FLOAT, [4], [1, 1, 2, 2])
    nodes = [
        helper.make_node("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Resize", ["half", "", "factors"], ["twice"]),
        helper.make_node("Add", ["x", "twice"], ["y"]),
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    onnx.save(model(nodes, [image], [output], [factors]), folder / "pyramid.onnx")
    return Recipe("pyramid", PathSource(folder / "pyramid.onnx"))


def described(file: str, key: str) -> set[str]:
    """The words in the item of a key."""
    items = re.findall(r"^\* (.*?)(?=^\* |^\S|^$)", section(file), re.DOTALL | re.MULTILINE)
    (item,) = (item for item in items if item.startswith(f"`{key}`:"))
    if item.strip().endswith("the same"):
        return described(file, "inputs")
    return set(re.findall(r"\w+", item))


def test_entries_have_the_listed_keys(files: dict[str, list[Any]], tmp_path: Path) -> None:
    with Engine(tmp_path / "state") as engine:
        lower = ModelGraph(pyramid(tmp_path), engine.share).lower("js", Selection(("js",)))
        program = canonical.read(
            engine.cache.store.path(engine.run(lower).outputs["program.json"].sha256)
        )
    assert program["divisibility"]
    assert any("declared_shape" in entry for entry in program["inputs"])
    for data in (program, *files["program.json"]):
        for key in ("divisibility", "guards", "inputs", "outputs", "states", "layers", "init"):
            for entry in data[key]:
                assert entry.keys() <= described("program.json", key), key
