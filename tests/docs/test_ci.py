"""docs/ci.md: the workflows are valid, and their steps do what the page states: only the main
branch writes to the cache, all branches read it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.build.tree import Tree, checkout

PAGE = Path(__file__).parents[2] / "docs" / "ci.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def github() -> tuple[list[str], dict[str, str], dict[str, str]]:
    """The commands of the steps, and the environments on the main branch and elsewhere."""
    job = yaml.safe_load(blocks("yaml")[0])["jobs"]["build"]
    writes = job["env"]["WEBKILN_CACHE_WRITE"]
    assert writes == "${{ github.ref == 'refs/heads/main' && '1' || '' }}"
    return (
        [step["run"] for step in job["steps"] if "run" in step],
        {"WEBKILN_CACHE_WRITE": "1"},
        {"WEBKILN_CACHE_WRITE": ""},
    )


def gitlab() -> tuple[list[str], dict[str, str], dict[str, str]]:
    job = yaml.safe_load(blocks("yaml")[2])["models"]
    main, others = job["rules"]
    assert main["if"] == "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"
    return job["script"], main["variables"], others.get("variables", {})


def run(tree: Tree, steps: list[str], programs: Path, **environment: str) -> str:
    """Run each step in a shell, as a runner does. `pip` only prints its arguments, since it would
    install this checkout.
    """
    output = ""
    for step in steps:
        path = f"{programs}:{os.environ['PATH']}"
        process = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step],
            cwd=tree.root,
            env=tree.environment(**environment, PATH=path),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        output += process.stdout + process.stderr
    return output


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {
        "pip": "echo pip $*",
        "webkiln": f"exec {sys.executable} -m webkiln.cli $*",
        "doit": f"exec {sys.executable} -m doit $*",
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("service", [github, gitlab])
@pytest.mark.sample("github")
def test_only_the_main_branch_writes_to_the_cache(
    service: Any, programs: Path, tmp_path: Path
) -> None:
    steps, main, others = service()
    shared = tmp_path / "shared"
    shared.mkdir()
    first, second, third = (
        checkout(tmp_path / f"tree{n}", tmp_path / f"cache{n}", toy=True) for n in range(3)
    )
    output = run(first, steps, programs, WEBKILN_REMOTE_CACHE=str(shared), **others)
    assert "pip install webkiln[remote]" in output
    assert not any(shared.iterdir()), "a pull request stores nothing"
    run(second, steps, programs, WEBKILN_REMOTE_CACHE=str(shared), **main)
    assert any(shared.iterdir())
    run(third, steps, programs, WEBKILN_REMOTE_CACHE=str(shared), **others)
    assert {line["event"] for line in third.log()} == {"hit"}
    assert third.bytes() == second.bytes()


def test_a_cache_is_reused_between_runs(programs: Path, tmp_path: Path) -> None:
    cached_path = yaml.safe_load(blocks("yaml")[1])[0]["with"]["path"]
    assert cached_path == "~/.cache/webkiln", "the default folder without WEBKILN_CACHE"
    first, second = (
        checkout(tmp_path / f"tree{n}", tmp_path / "cache", toy=True) for n in range(2)
    )
    steps, _, others = github()
    run(first, steps, programs, **others)
    run(second, steps, programs, **others)
    assert {line["event"] for line in second.log()} == {"hit"}


def test_keys_are_created_as_documented(tmp_path: Path) -> None:
    (text,) = [block for block in blocks("sh") if "openssl" in block]
    tree = checkout(tmp_path / "tree", tmp_path / "cache", toy=True)
    for part, algorithm in zip(text.split("\n\n"), ("hmac-sha256", "ed25519"), strict=True):
        command = f"{part}\n{sys.executable} -m webkiln.cli cache stat || true"
        process = subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=tree.root,
            env=tree.environment(WEBKILN_REMOTE_CACHE=str(tmp_path)),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert algorithm in process.stdout
