import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.runtime import fake_bundle

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_bundle.build(tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with model files."""
    from tests.commands import models

    folder = tmp_path_factory.mktemp("sources")
    models.write(folder)
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def webkiln(tmp_path: Path, cache: Path) -> Command:
    """Runs the real command line in a process of its own, in an empty folder."""

    def run(*arguments: str | Path, **more: Any) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "webkiln.cli", *map(str, arguments)]
        package = Path(__file__).resolve().parents[2] / "pipeline"
        environment = os.environ | {"WEBKILN_CACHE": str(cache), "PYTHONPATH": str(package), **more.pop("env", {})}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False, **more)

    return run
