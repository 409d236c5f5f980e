"""With `WEBKILN_INSTALL=1`, a command that lacks a package installs it and restarts."""

import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tests.commands.blocked import without
from tests.commands.conftest import Command
from tests.frontends.onnx.models import classifier
from webkiln.backends import compilers
from webkiln.build import package_installer
from webkiln.errors import ToolError

PIP = """import pathlib, sys

here = pathlib.Path(__file__).parent
with (here / "asked").open("a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
if {succeeds}:
    (here / "sitecustomize.py").unlink()
"""
DODO = (
    "from webkiln.build.tasks import DOIT_CONFIG, tasks\ndef task_models(): return"
    ' tasks("models")\n'
)


def without_package(folder: Path, package: str, *, succeeds: bool) -> tuple[dict[str, str], Path]:
    """The environment of a command that cannot import a package until a fake pip runs, and the file
    that records pip's arguments.
    """
    settings = without(folder, package)
    packages_folder = folder / "blocked"
    (packages_folder / "pip.py").write_text(PIP.format(succeeds=succeeds))
    return (
        settings
        | {
            "WEBKILN_INSTALL": "1",
            "WEBKILN_CACHE": str(folder / "cache"),
        },
        packages_folder / "asked",
    )


def test_a_build_installs_what_its_model_needs(webkiln: Command, tmp_path: Path) -> None:
    onnx.save(classifier(), tmp_path / "net.onnx")
    settings, pip_log = without_package(tmp_path, "onnx", succeeds=True)
    done = webkiln("build", "net.onnx", "-o", "out", "--backend", "js", env=settings)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "js.js").is_file()
    assert done.stderr.count("installing onnx, required by this command (once)\n") == 1
    (line,) = pip_log.read_text().splitlines()
    assert line.startswith("install ")
    assert line.endswith("requirements.lock onnx")


def test_an_installation_without_effect_is_an_error(webkiln: Command, tmp_path: Path) -> None:
    onnx.save(classifier(), tmp_path / "net.onnx")
    settings, pip_log = without_package(tmp_path, "onnx", succeeds=False)
    done = webkiln("build", "net.onnx", "-o", "out", "--backend", "js", env=settings)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("pip install onnx")
    assert len(pip_log.read_text().splitlines()) == 1


def test_doit_installs_what_its_recipes_need(tmp_path: Path) -> None:
    (tmp_path / "models" / "net").mkdir(parents=True)
    (tmp_path / "dodo.py").write_text(DODO)
    (tmp_path / "models" / "net" / "recipe.toml").write_text(
        'source = "net.onnx"\nbackends = ["js"]\n'
    )
    onnx.save(classifier(), tmp_path / "models" / "net" / "net.onnx")
    settings, pip_log = without_package(tmp_path, "onnx", succeeds=True)
    command = [sys.executable, "-m", "doit", "build", "model=net"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=settings,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "dist" / "net" / "js.js").is_file()
    assert len(pip_log.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("modules", "settings"), [(["onnx"], {}), (["evil-package"], {"WEBKILN_INSTALL": "1"})]
)
def test_only_known_packages_are_installed_and_only_on_request(
    modules: list[str], settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker of a fleet may name any module."""
    monkeypatch.delenv("WEBKILN_INSTALL", raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(
        package_installer.subprocess, "run", lambda *_, **__: pytest.fail("pip was run")
    )
    package_installer.install_and_restart(modules)


@pytest.mark.parametrize(
    ("requested", "module"), [("", "ziglang"), ("zig", "ziglang"), ("emcc", None)]
)
def test_the_package_is_not_installed_for_another_compiler(
    requested: str, module: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(compilers.VARIABLE, requested)
    for name in ("_emcc_program", "_zig_program", "_with_version"):
        monkeypatch.setattr(compilers, name, lambda: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolError) as raised:
        compilers.choose()
    assert getattr(raised.value, "module", None) == module
