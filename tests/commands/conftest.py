import argparse
import io
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.commands.small import write_model
from tests.commands.web_project import Folder
from tests.runtime import fake_bundle
from webkiln.cli import main
from webkiln.commands import build
from webkiln.recipe.recipe import Recipe

PACKAGE = Path(__file__).resolve().parents[2] / "pipeline"

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Call = Callable[..., str]
Parsed = Callable[..., Recipe]

RECIPE = """
source = "model.bin"
source_format = "tflite"
signature = "old"
backends = ["js"]
batch_size = 1
dims = { N = 7, M = 8 }
values = { factor = 1.5 }
input_shapes = { other = [1, 2] }
from_layers = ["early"]
to_layers = ["data_dependent"]
reference = "old.npz"
reads = ["data"]
plugins = ["plugin.py"]
operators = ["operators.py"]
"""


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_bundle.build(tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of model files."""
    from tests.commands import models

    folder = tmp_path_factory.mktemp("sources")
    models.write(folder)
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def folder(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    monkeypatch.setenv("WEBKILN_CACHE", str(cache))
    return Folder(tmp_path / "app", capsys)


@pytest.fixture
def webkiln(tmp_path: Path, cache: Path) -> Command:
    """Run a command in an empty folder with the compiler that it selects. By default it runs in
    this process, where stages and browsers stay warm; with `env` or other options of
    `subprocess.run`, in a separate process.
    """

    def run(*arguments: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
        words = [*map(str, arguments)]
        settings = {"WEBKILN_CACHE": str(cache), "WEBKILN_COMPILER": ""}
        if not options:
            return _run_in_process(words, tmp_path, settings)
        command = [sys.executable, "-m", "webkiln.cli", *words]
        environment = os.environ | settings | {"PYTHONPATH": str(PACKAGE), **options.pop("env", {})}
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            **options,
        )

    return run


def _run_in_process(
    words: Sequence[str], folder: Path, settings: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a command in this process; return its output and exit status."""
    printed, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("warnings.showwarning", warnings.showwarning)
        for name, value in settings.items():
            patch.setenv(name, value)
        with redirect_stdout(printed), redirect_stderr(errors):
            try:
                status = main(words)
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 1
    return subprocess.CompletedProcess(
        ["webkiln", *words], status, printed.getvalue(), errors.getvalue()
    )


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Run a command in an empty folder with a separate cache, check its exit status, and return its
    output.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEBKILN_CACHE", str(tmp_path / "cache"))
    for name in (
        "WEBKILN_REMOTE_CACHE",
        "WEBKILN_CACHE_WRITE",
        "WEBKILN_CACHE_KEY",
        "WEBKILN_FLEET",
    ):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str | Path, code: int = 0) -> str:
        got = main([*map(str, words)])
        printed = capsys.readouterr()
        assert got == code, printed
        return printed.out + printed.err

    return run


@pytest.fixture
def parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Parsed:
    """Return the recipe for options of `webkiln build`."""
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "model.onnx")
    (tmp_path / "model.bin").write_bytes(b"")
    (tmp_path / "makes.py").write_text("def net(size=3): ...\n")
    (tmp_path / "names.txt").write_text("a cat\ndog, big\n\n")
    (tmp_path / "known").mkdir()
    (tmp_path / "known" / "recipe.toml").write_text(RECIPE)
    parser = argparse.ArgumentParser(allow_abbrev=False)
    build.add_source_arguments(parser)
    return lambda *words: build.recipe_of(parser.parse_args([*map(str, words)]))
