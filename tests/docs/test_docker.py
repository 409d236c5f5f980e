"""The Dockerfile passes hadolint. Its instructions, run here one by one, result in a webkiln that
builds a model as documented.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.build.remotes import SERVERS
from webkiln import canonical

REPOSITORY = Path(__file__).resolve().parents[2]
DOCKERFILE = REPOSITORY / "Dockerfile"


def instructions() -> list[tuple[str, str]]:
    """Each instruction with its arguments, on one line."""
    lines = [
        line
        for line in DOCKERFILE.read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    return [
        (instruction, arguments)
        for instruction, _, arguments in (
            line.partition(" ") for line in "\n".join(lines).replace("\\\n", " ").splitlines()
        )
    ]


def context(folder: Path) -> None:
    """Copy the build context of `docker build`: the tracked files that .dockerignore does not
    exclude.
    """
    patterns = [
        line[1:]
        for line in (REPOSITORY / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, tracked.stdout.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REPOSITORY / name, target)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A replacement of Debian's installer, which checks that the requested packages are installed
    here, and of `rm`, which removes nothing.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {
        "apt-get": (
            'case "$1" in update) ;; install) shift; for name; do case "$name" in -*) ;; *)'
            ' dpkg-query -W "$name" || exit 1;; esac; done;; *) exit 1;; esac'
        ),
        "rm": '[ "$*" = "-rf $(echo /var/lib/apt/lists/*)" ] && echo "would remove lists"',
    }.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


def python(folder: Path) -> None:
    """The Python of the image. It has no packages except pip, which is that of this environment."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = folder / "bin" / "pip"
    pip.write_text(
        f"#!/bin/sh\nPIP_NO_COMPILE=0 exec {sys.executable} -m pip --python"
        f' {folder / "bin" / "python"} "$@"\n'
    )
    pip.chmod(0o755)


def run_command(*command: str | Path, folder: Path, environment: Mapping[str, str]) -> str:
    process = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout + process.stderr


def test_hadolint_finds_nothing() -> None:
    process = subprocess.run(
        [SERVERS / "hadolint", DOCKERFILE], capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stdout) == (0, "")


def variables(text: str) -> Iterator[tuple[str, str]]:
    for instruction in shlex.split(text):
        name, _, value = instruction.partition("=")
        yield name, value


def test_every_line_runs_and_builds_a_model(programs: Path, tmp_path: Path) -> None:
    workdir, home, source = (tmp_path / name for name in ("opt", "home", "src"))
    for folder in (workdir, home, source):
        folder.mkdir()
    python(tmp_path / "python")
    build_values = {
        "EXTRAS": "onnx",
        "PIP_EXTRA_INDEX_URL": os.environ.get("PIP_EXTRA_INDEX_URL", ""),
        "WEBKILN_CACHE": str(tmp_path / "cache"),
        "HOME": str(home),
    }
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WEBKILN", "PYTEST", "PYTHONPATH", "VIRTUAL_ENV"))
    }
    environment |= {"PATH": f"{programs}:{tmp_path / 'python' / 'bin'}:{environment['PATH']}"}
    entry = ""
    for instruction, arguments in instructions():
        match instruction:
            case "COPY":
                assert arguments == ". ."
                context(workdir)
            case "ARG" | "ENV":
                environment |= {
                    name: build_values[name] or environment.get(name, "")
                    for name, _ in variables(arguments)
                }
            case "RUN":
                run_command(
                    "bash",
                    "-ec",
                    arguments,
                    folder=workdir,
                    environment={name: value for name, value in environment.items() if value},
                )
            case "ENTRYPOINT":
                (entry,) = canonical.loads(arguments.encode())
            case _:
                assert instruction in ("FROM", "WORKDIR", "VOLUME", "CMD"), instruction
    (command,) = re.findall(
        r"docker run --rm -v \"\$PWD:/src\" webkiln (.*)", DOCKERFILE.read_text()
    )
    write_model(source / "model.onnx")
    shared = tmp_path / "shared"
    shared.mkdir()
    team = {"WEBKILN_REMOTE_CACHE": str(shared)}
    printed = run_command(
        entry,
        *command.split(),
        folder=source,
        environment=environment | team | {"WEBKILN_CACHE_WRITE": "1"},
    )
    assert "dist/model" in printed
    assert {path.name for path in (source / "dist" / "model").iterdir()} >= {
        "manifest.json",
        "index.js",
        "relaxed.wasm",
        "js.js",
    }
    assert (tmp_path / "cache").stat().st_mode & 0o7777 == 0o1777
    fresh = {"WEBKILN_CACHE": str(tmp_path / "fresh"), "PYTHONPATH": str(REPOSITORY / "pipeline")}
    run_command(
        sys.executable,
        "-m",
        "webkiln.cli",
        *command.split(),
        "-o",
        "again",
        folder=source,
        environment=environment | team | fresh,
    )
    (log,) = (tmp_path / "fresh" / "state").glob("*/log.jsonl")
    assert {canonical.loads(line)["event"] for line in log.read_text().splitlines()} == {"hit"}, (
        "a checkout uses the results of the image"
    )


def write_model(path: Path) -> None:
    """A linear classifier."""
    weights = helper.make_tensor("w", TensorProto.FLOAT, [4, 3], [0.5] * 12)
    node = helper.make_node("Gemm", ["x", "w"], ["y"])
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
        for name, size in (("x", 4), ("y", 3))
    )
    onnx.save(helper.make_model(helper.make_graph([node], "g", [x], [y], [weights])), path)
