"""Whether a program multiplies in float16 depends on the times of two shaders, which a page
pretends: a clock that advances when the shaders run, on a device that compiles float16 as float32.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.backends.harness import ROOT, write_program
from tests.programs import program, with_target
from webkiln.backends import frame, pages
from webkiln.backends.table import REGISTRY
from webkiln.nest.target import ARITHMETIC
from webkiln.ops.table import parse

SCENARIOS = ("choices", "cached", "together", "lost", "lostMeanwhile", "rejected", "others")
GRAPH = """graph g
input x: float32[64,32]
input w: float32[32,64]
y: float32[64,64] = MatMul(x, w)
output y = y
"""
PROBE = "float16 probe"


def write(folder: Path, precision: str) -> str:
    """The code of a large product."""
    target = with_target(
        REGISTRY["webgpu"], precision=precision, runs={"blocks": (16,), "classes": ()}
    )
    write_program(program(parse(GRAPH), target, "float32"), folder)
    return (folder / "webgpu.js").read_text()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("probe")
    write(folder, ARITHMETIC)
    folders = {"/repository/": ROOT, "/program/": folder}
    request = {
        "script": "/repository/tests/backends/float16_probe.mjs",
        "code": "/program/webgpu.js",
        "scenarios": SCENARIOS,
    }
    got = pages.run_page("the probe", folders, request, [b""] * len(SCENARIOS), 120)
    texts = [frame.decode(answer).outputs["text"].tobytes() for answer in got]
    return dict(zip(SCENARIOS, map(json.loads, texts), strict=True))


def test_clearly_faster_float16_is_used_and_no_other(answers: dict[str, Any]) -> None:
    """Differences below the rounding of the clock count as none."""
    choices = answers["choices"]
    assert {choice["clock"] for choice in choices} >= {None}
    for choice in choices:
        assert choice["probes"] == 1
        (used,) = choice["compiled"]
        if choice["ratio"] >= 1 or choice["rounded"] == 1:
            assert used == "f32", choice
        elif choice["ratio"] == 0.5 or choice["rounded"] < 0.01:
            assert used == "f16", choice


def test_runs_take_less_than_five_milliseconds(answers: dict[str, Any]) -> None:
    assert all(0 < choice["spent"] < 5 for choice in answers["choices"]), answers["choices"]


def test_a_device_is_measured_once(answers: dict[str, Any]) -> None:
    first, second, other = (answers["cached"][name] for name in ("first", "second", "other"))
    assert (first["compiled"], first["probes"]) == (["f16"], 1)
    assert (second["compiled"], second["probes"]) == ([], 0)
    assert (other["compiled"], other["probes"]) == (["f16"], 1)
    assert (answers["together"]["compiled"], answers["together"]["probes"]) == (["f16"], 1)


def test_the_device_after_a_lost_one_is_measured_again(answers: dict[str, Any]) -> None:
    lost = answers["lost"]
    assert (lost["devices"], lost["first"], lost["probes"]) == (2, 1, 2)
    assert lost["compiled"] == ["f16", "f16"]


def test_the_program_loads_if_its_device_is_lost_while_it_is_measured(
    answers: dict[str, Any],
) -> None:
    lost = answers["lostMeanwhile"]
    assert (lost["devices"], lost["probes"]) == (2, 2)
    assert lost["compiled"][-1] == "f16"


def test_a_rejected_shader_means_float32_and_leaves_the_device_usable(
    answers: dict[str, Any],
) -> None:
    rejected = answers["rejected"]
    assert rejected["first"]["compiled"] == ["f32"]
    assert (rejected["second"]["probes"], rejected["uncaptured"]) == (0, 0)


def test_emulated_gpus_and_those_without_float16_are_not_measured(answers: dict[str, Any]) -> None:
    others = answers["others"]
    for name in ("emulated", "without"):
        assert (others[name]["compiled"], others[name]["probes"]) == (["f32"], 0)
    assert (others["chosen"]["compiled"], others["chosen"]["probes"]) == (["f16"], 0)


@pytest.mark.parametrize(
    ("precision", "contained"), [("float32", False), ("float16", False), (ARITHMETIC, True)]
)
def test_only_code_with_float16_arithmetic_contains_the_probe(
    precision: str, contained: bool, tmp_path: Path
) -> None:
    assert (PROBE in write(tmp_path, precision)) == contained
