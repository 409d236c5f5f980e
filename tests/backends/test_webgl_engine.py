"""The WebGL engine: no read-back within a run, freed textures, and errors that name a remedy."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.backends.harness import ROOT, Job, run
from tests.hosts import PAGE_LEGS
from webkiln import canonical
from webkiln.backends import frame, pages
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.errors import ToolError
from webkiln.ops.table import parse
from webkiln.recipe.read import read_recipe

SCENARIOS = ("lost", "absent", "unrenderable", "narrow", "small", "worker", "counted")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digits")
    recipe = read_recipe(ROOT / "models" / "digits" / "recipe.toml")
    with Engine(folder / "state") as engine:
        engine.publish(
            ModelGraph(recipe, engine.share).bundle(Selection(("webgl", "js"), "float32")),
            "bundle/",
            folder / "bundle",
        )
    return Path(folder / "bundle")


@pytest.fixture(
    scope="module", params=[browser for browser, backend in PAGE_LEGS if backend == "webgl"]
)
def browser(request: Any) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def answers(bundle: Path, browser: str) -> dict[str, Any]:
    """The answers of all scenarios, in one page."""
    folders = {"/repository/": ROOT, "/bundle/": bundle}
    request = {
        "script": "/repository/tests/backends/webgl_scenarios.mjs",
        "bundle": "/bundle/index.js",
        "scenarios": SCENARIOS,
    }
    got = pages.run_page(
        "the WebGL scenarios", folders, request, [b""] * len(SCENARIOS), 120, browser
    )
    texts = [frame.decode(answer).outputs["text"].tobytes() for answer in got]
    return dict(zip(SCENARIOS, map(json.loads, texts), strict=True))


@pytest.mark.sample("chromium")
def test_a_lost_context_is_reported_and_reloading_helps(answers: dict[str, Any]) -> None:
    codes = [error["code"] for error in answers["lost"]["errors"]]
    assert codes == ["ContextLost", "ContextLost"]
    assert "load it again" in answers["lost"]["errors"][0]["message"]
    assert answers["lost"]["same"]


def test_without_webgl_the_next_backend_is_used(answers: dict[str, Any]) -> None:
    assert answers["absent"]["alone"] == {
        "code": "NoBackend",
        "message": "WebGL 2 is not available",
    }
    assert answers["absent"]["backend"] == "js"
    assert [failure["code"] for failure in answers["absent"]["failures"]] == ["NoBackend"]


def test_without_float_targets_there_is_no_backend(answers: dict[str, Any]) -> None:
    assert answers["unrenderable"]["code"] == "NoBackend"
    assert "float textures" in answers["unrenderable"]["message"]


def test_narrow_textures_give_the_same_numbers_in_more_layers(answers: dict[str, Any]) -> None:
    layered, narrow, wide = answers["narrow"]
    assert layered == narrow == wide
    assert any(narrow)


def test_a_tensor_beyond_the_largest_texture_is_refused(answers: dict[str, Any]) -> None:
    assert answers["small"]["code"] == "OutOfMemory"
    assert answers["small"]["message"].endswith("holds at most 16384")


def test_the_model_runs_in_a_worker_that_supports_webgl(
    answers: dict[str, Any], browser: str
) -> None:
    """WebKitGTK supports WebGL only in pages, so a model that requests no other backend moves
    there.
    """
    assert answers["worker"] is (browser != "webkit")


def test_a_run_draws_its_launches_and_reads_its_outputs(
    answers: dict[str, Any], bundle: Path
) -> None:
    launches = canonical.read(bundle / "manifest.json")["launches"]["webgl"]
    assert answers["counted"]["run"] == {"draws": len(launches), "reads": 1}


def test_disposing_deletes_everything(answers: dict[str, Any]) -> None:
    assert answers["counted"]["created"] == answers["counted"]["deleted"] > 0


INTEGERS = "graph g\ninput x: int64[3]\ny: int64[3] = Add(x, x) {}\noutput y = y\n"


def test_integers_beyond_32_bits_are_errors_with_name_and_value(tmp_path: Path) -> None:
    with pytest.raises(
        ToolError,
        match=(
            r"WrongValue: program 0: 'x': element 1 is 1099511627776; this backend stores int64 as"
            r" int32, which cannot represent it"
        ),
    ):
        run([Job(parse(INTEGERS), {"x": np.array([1, 2**40, 3])})], "webgl", tmp_path)


def test_integers_within_32_bits_pass(tmp_path: Path) -> None:
    values = np.array([1, -(2**29), 3])
    (outputs,) = run([Job(parse(INTEGERS), {"x": values})], "webgl", tmp_path)
    np.testing.assert_array_equal(outputs["y"], values * 2)
    assert outputs["y"].dtype == np.int64
