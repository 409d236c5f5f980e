"""Invalid input on the command line: one clear error each, exit status 2, no traceback, no partial
output.
"""

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.conftest import Command
from tests.commands.refusals import check
from webkiln.recipe.values import ENCODINGS

FILES = {
    "truncated.keras": (
        "truncated.keras: the end of the .keras archive is missing: the file is truncated"
    ),
    "truncated.h5": "truncated.h5: not a readable Keras model",
    "letter.keras": "letter.keras: neither a .keras archive nor an HDF5 file",
    "empty.keras": "empty.keras: neither a .keras archive nor an HDF5 file",
    "absent.keras": "absent.keras: no such file",
    "bomb.keras": "refused as a zip bomb",
    "lambda.keras": (
        "lam (Lambda): a Lambda layer is Python code inside the model file and is not executed"
    ),
    "unknown.keras": "unknown class, which is never imported",
    "nan.keras": "conv (Conv2D) kernel holds 1 NaN",
}
OPTIONS = {
    "--input-shape 1,7,6,1": "input x: its shape is",
    "--input-shape 1,6,6": "input x: its shape is",
    "--input-shape image=1,6,6,1": "there is no input image; inputs are x",
    "--input-shape 1,-6,6,1": "--input-shape is '1,-6,6,1'",
    "--input-shape 0,6,6,1": "--input-shape is '0,6,6,1'",
    "--batch-size 0": "--batch-size is '0', expected a positive integer",
    "--backend cuda": "unknown backend 'cuda'; valid: webgpu, wasm, webgl, js",
    "--backend ,": "unknown backend ''; valid: webgpu, wasm, webgl, js",
    "--encoding int3": f"unknown encoding 'int3'; valid: {', '.join(ENCODINGS)}",
    "--plugin absent.py": "absent.py: cannot be read",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.sample(6)
def test_files(name: str, webkiln: Command, sources: Path, tmp_path: Path) -> None:
    check(webkiln("build", sources / name, "-o", "public/model"), FILES[name], tmp_path)


@pytest.mark.parametrize("command", ["build", "inspect"])
def test_all_unknown_names_are_reported_at_once(
    command: str, webkiln: Command, sources: Path, tmp_path: Path
) -> None:
    done = webkiln(
        command, sources / "unknown.keras", *(("-o", "public/model") if command == "build" else ())
    )
    check(done, "unknown.keras: 2 unsupported parts", tmp_path)
    assert [line.split(":")[0].strip() for line in done.stderr.splitlines()[1:]] == [
        "first (Doubled)",
        "second (Doubled)",
    ]
    assert "--plugin FILE.py" in done.stderr


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.sample(5)
def test_options(option: str, webkiln: Command, sources: Path, tmp_path: Path) -> None:
    check(
        webkiln("build", sources / "good.keras", "-o", "public/model", *option.split(" ")),
        OPTIONS[option],
        tmp_path,
    )


def test_a_file_at_the_output_path_is_not_overwritten(
    webkiln: Command, sources: Path, tmp_path: Path
) -> None:
    target = tmp_path / "notes"
    target.write_text("mine")
    for output in (target, target / "model"):
        done = webkiln("build", sources / "good.keras", "-o", output, "--backend", "js")
        assert (done.returncode, done.stderr.count("error: "), done.stderr.count("\n")) == (
            2,
            1,
            1,
        ), done.stderr
        assert str(output) in done.stderr
        assert target.read_text() == "mine"
        assert [path.name for path in tmp_path.iterdir()] == ["notes"]


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """A folder in which no user can write, not even root."""
    if os.geteuid() == 0:
        yield Path("/proc/1")
    else:
        folder = tmp_path / "locked"
        folder.mkdir(mode=0o500)
        yield folder
        folder.rmdir()


def test_an_unwritable_folder(unwritable: Path, webkiln: Command, sources: Path) -> None:
    done = webkiln("build", sources / "good.keras", "-o", unwritable / "model", "--backend", "js")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {unwritable}/model: cannot be written: ")
    assert done.stderr.count("\n") == 1
    assert not (unwritable / "model").exists()


def test_an_unwritable_cache_names_its_variable(
    unwritable: Path, webkiln: Command, sources: Path, tmp_path: Path
) -> None:
    done = webkiln(
        "build",
        sources / "good.keras",
        "-o",
        tmp_path / "model",
        "--backend",
        "js",
        env={"WEBKILN_CACHE": str(unwritable / "cache")},
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {unwritable}/cache: the cache cannot be written (")
    assert "WEBKILN_CACHE" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path | None]:
    """A file system of 64 KB; None if none can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "webkiln", str(folder)]
    mounted = (
        shutil.which("mount") is not None
        and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )
    yield folder if mounted else None
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("full", ["output", "cache"])
def test_a_full_disk(
    full: str, small_disk: Path | None, webkiln: Command, sources: Path, tmp_path: Path
) -> None:
    """If no small file system can be mounted, a limit on the size of files replaces it."""
    build = ("build", sources / "good.keras", "--backend", "js", "-o")
    folder = small_disk or tmp_path / "limited"
    folder.mkdir(exist_ok=True)
    limit = None if small_disk else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
    warm = webkiln(*build, tmp_path / "elsewhere")
    assert warm.returncode == 0, warm.stderr
    if full == "output":
        done = webkiln(*build, folder / "model", preexec_fn=limit)
    else:
        done = webkiln(
            *build,
            tmp_path / "public",
            env={"WEBKILN_CACHE": str(folder / "cache")},
            preexec_fn=limit,
        )
        assert not (tmp_path / "public").exists()
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error: ") == 1
    assert "cannot be written: " in done.stderr
    assert not [path for path in folder.iterdir() if path.name != "cache"], (
        "nothing half-written is left"
    )
