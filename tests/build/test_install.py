"""`pip install .` installs the commands, and they build digits in an empty folder, without the
checkout.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.build.tree import REPOSITORY

DODO = (
    "from webkiln.build.tasks import DOIT_CONFIG, tasks\ndef task_models(): return"
    ' tasks("models")\n'
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> Path:
    """A new virtual environment with webkiln installed from a wheel. Third-party packages come from
    this environment.
    """
    folder = tmp_path_factory.mktemp("install") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "packages.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        folder / "bin" / "python",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--ignore-installed",
        REPOSITORY,
    ]
    subprocess.run(install, check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    return folder


def run(environment: Path, folder: Path, *arguments: str, status: int = 0) -> str:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHONPATH", "WEBKILN"))
    }
    variables = inherited | {"WEBKILN_CACHE": str(environment.with_name("cache"))}
    program, *rest = arguments
    process = subprocess.run(
        [environment / "bin" / program, *rest],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == status, process.stdout + process.stderr
    return process.stdout + process.stderr


def test_digits_in_an_empty_folder(environment, tmp_path):
    assert "webkiln" in run(
        environment,
        tmp_path,
        "python",
        "-c",
        "import webkiln.build.share as s; print(s.shared_root())",
    )
    run(
        environment,
        tmp_path,
        "webkiln",
        "build",
        "digits",
        "-o",
        "public/digits",
        "--backend",
        "js",
    )
    assert {"index.js", "js.js", "manifest.json", "runtime.js"} <= {
        path.name for path in (tmp_path / "public" / "digits").iterdir()
    }


def test_doit_and_its_commands(environment, tmp_path):
    (tmp_path / "dodo.py").write_text(DODO)
    model = tmp_path / "models" / "mine"
    model.mkdir(parents=True)
    (model / "digits.keras").write_bytes(
        (REPOSITORY / "models" / "digits" / "digits.keras").read_bytes()
    )
    (model / "recipe.toml").write_text('source = "digits.keras"\nbackends = ["js"]\n')
    run(environment, tmp_path, "python", "-m", "doit", "build", "model=mine")
    assert (tmp_path / "dist" / "mine" / "index.js").exists()
    assert "bundle:mine" in run(environment, tmp_path, "python", "-m", "doit", "graph")
    assert "error: unknown model 'other'; valid: mine" in run(
        environment, tmp_path, "python", "-m", "doit", "build", "model=other", status=2
    )
