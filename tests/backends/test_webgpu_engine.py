"""The WebGPU engine: one submission per run, freed buffers, and errors that name a remedy."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.backends.harness import ROOT, Job, run
from tests.hosts import PAGE_LEGS
from webkiln.backends import frame, pages
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.errors import ToolError
from webkiln.ops.table import parse
from webkiln.recipe.read import read_recipe

SCENARIOS = ("lost", "destroyed", "destroyedOwn", "broken", "absent", "blocked", "small", "counted")


@pytest.fixture(
    scope="module", params=[browser for browser, backend in PAGE_LEGS if backend == "webgpu"]
)
def browser(request: Any) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def answers(browser: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The answers of all scenarios, in one page, on a bundle of digits."""
    folder = tmp_path_factory.mktemp("digits")
    recipe = read_recipe(ROOT / "models" / "digits" / "recipe.toml")
    with Engine(folder / "state") as engine:
        engine.publish(
            ModelGraph(recipe, engine.share).bundle(Selection(("webgpu", "js"), "float32")),
            "bundle/",
            folder / "bundle",
        )
    folders = {"/repository/": ROOT, "/bundle/": Path(folder / "bundle")}
    request = {
        "script": "/repository/tests/backends/webgpu_scenarios.mjs",
        "bundle": "/bundle/index.js",
        "scenarios": SCENARIOS,
    }
    got = pages.run_page(
        "the WebGPU scenarios", folders, request, [b""] * len(SCENARIOS), 120, browser
    )
    texts = [frame.decode(answer).outputs["text"].tobytes() for answer in got]
    return dict(zip(SCENARIOS, map(json.loads, texts), strict=True))


@pytest.mark.sample("chromium")
def test_a_lost_device_rejects_the_run_and_the_next_one_works(answers: dict[str, Any]) -> None:
    assert answers["lost"]["pending"]["code"] == "DeviceLost"
    assert "run the model again" in answers["lost"]["pending"]["message"]
    assert (answers["lost"]["other"], answers["lost"]["same"]) == (True, True)


def test_a_destroyed_device_rejects_pending_runs_and_later_ones_have_another(
    answers: dict[str, Any],
) -> None:
    answer = answers["destroyed"]
    assert [error["code"] for error in answer["errors"]] == ["DeviceLost"] * 6
    assert (answer["again"], answer["inWorker"], answer["afterwards"]) == ("ok", "ok", "ok")
    assert answer["onNewDevice"]


def test_a_destroyed_device_of_the_page_is_refused(answers: dict[str, Any]) -> None:
    assert [error["code"] for error in answers["destroyedOwn"]["errors"]] == ["DeviceLost"] * 5
    assert all(
        "with a new device" in error["message"] for error in answers["destroyedOwn"]["errors"]
    )


def test_a_device_error_ends_the_model_and_reloading_helps(
    answers: dict[str, Any],
) -> None:
    assert answers["broken"]["error"]["code"] == "Trapped"
    assert "usage" in answers["broken"]["error"]["message"]
    assert answers["broken"]["again"] == 1


def test_without_webgpu_the_next_backend_is_used(answers: dict[str, Any]) -> None:
    assert answers["absent"]["alone"]["code"] == "NoBackend"
    assert "navigator.gpu" in answers["absent"]["alone"]["message"]
    assert answers["absent"]["backend"] == "js"
    assert [failure["code"] for failure in answers["absent"]["failures"]] == ["NoBackend"]


def test_without_an_adapter_there_is_no_backend(answers: dict[str, Any]) -> None:
    assert answers["blocked"]["code"] == "NoBackend"
    assert "no adapter" in answers["blocked"]["message"]


def test_a_model_beyond_the_binding_limit_is_refused_when_it_loads(answers: dict[str, Any]) -> None:
    assert answers["small"]["code"] == "OutOfMemory"
    assert "binds at most 1024" in answers["small"]["message"]


def test_a_run_is_one_submission_and_one_read_back(answers: dict[str, Any]) -> None:
    assert answers["counted"]["run"] == {"submitted": 1, "mapped": 1}


def test_disposing_destroys_every_buffer(answers: dict[str, Any]) -> None:
    assert answers["counted"]["created"] == answers["counted"]["destroyed"] > 0


INTEGERS = "graph g\ninput x: int64[3]\ny: int64[3] = Add(x, x) {}\noutput y = y\n"


def test_integers_beyond_32_bits_are_errors_with_name_and_value(tmp_path: Path) -> None:
    with pytest.raises(
        ToolError,
        match=(
            r"WrongValue: program 0: 'x': element 1 is 1099511627776; this backend stores int64 as"
            r" int32, which cannot represent it"
        ),
    ):
        run([Job(parse(INTEGERS), {"x": np.array([1, 2**40, 3])})], "webgpu", tmp_path)


def test_integers_within_32_bits_pass(tmp_path: Path) -> None:
    values = np.array([1, -(2**29), 3])
    (outputs,) = run([Job(parse(INTEGERS), {"x": values})], "webgpu", tmp_path)
    np.testing.assert_array_equal(outputs["y"], values * 2)
    assert outputs["y"].dtype == np.int64
