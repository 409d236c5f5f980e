"""Two builds into one folder: the second waits before it starts any work. The output of steps
reaches the terminal without control characters.
"""

import fcntl
import io
import os
import subprocess
import sys

import pytest

from tests.build.tree import Tree
from webkiln import canonical
from webkiln.build import progress
from webkiln.build.progress import Lines, plain

BUILD = (sys.executable, "-m", "webkiln.cli", "build", "models/toy/model.json", "-o", "public/toy")


def start_build(tree: Tree, *arguments: str) -> subprocess.Popen[str]:
    command = [*BUILD, *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=tree.root, env=tree.environment(), text=True, **pipes)


def test_the_second_build_waits_before_it_works(toy: Tree) -> None:
    folder = toy.root / "public" / "toy"
    lock = (
        toy.cache / "published" / f"{canonical.digest(os.fsencode(os.path.realpath(folder)))}.build"
    )
    lock.parent.mkdir(parents=True)
    with lock.open("w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        with start_build(toy) as build:
            assert build.stderr is not None
            assert (
                "another build is writing there; this one waits for it" in build.stderr.readline()
            )
            assert not folder.exists()
            assert not (toy.cache / "actions").exists()
            fcntl.flock(lock_file, fcntl.LOCK_UN)
            printed, errors = build.communicate(timeout=120)
    assert (build.returncode, errors) == (0, "")
    assert "public/toy: written" in printed


def test_many_builds_of_several_models_into_one_folder(toy: Tree) -> None:
    names = ("toy", "second", "third")
    builds = [start_build(toy, "--name", name, "--backend", "js") for name in names]
    results = [(*build.communicate(timeout=240), build.returncode) for build in builds]
    assert [status for *_, status in results] == [0] * len(names), results
    assert not any(
        "Traceback" in text or "FileNotFoundError" in text
        for *texts, _ in results
        for text in texts
    )
    folder = toy.root / "public" / "toy"
    manifest = canonical.read(folder / "manifest.json")
    assert manifest["name"] in names
    files = {
        path.name: canonical.file_digest(path)
        for path in folder.iterdir()
        if path.name != "manifest.json"
    }
    assert files == {name: entry["sha256"] for name, entry in manifest["files"].items()}


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("epoch 1\tloss 0.5\n", "epoch 1\tloss 0.5\n"),
        ("\x1b[31mred\x1b[0m \x1b[2K\x1b[1A\x1b[?25l", "red "),
        ("\x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bc\x1bPq\x1b\\\x1b_x\x07y", "y"),
        ("10 %\r20 %\r\nend", "10 %\n20 %\nend"),
        ("\x07\x08\x7f\x9b31m\x00\x85", "31m"),
        ("\u202eevil\u2066\u2069", "evil"),
        ("\ud800x\udcff", "x"),
        ("naïve 日本語 🙂\n", "naïve 日本語 🙂\n"),
        ("\x1b]0;never ended", ""),
    ],
)
def test_control_characters_do_not_reach_the_terminal(printed: str, expected: str) -> None:
    assert plain(printed) == expected
    for method in ("hit", "done"):
        stream = io.StringIO()
        lines = Lines(stream)
        lines.start("load:model")
        getattr(lines, method)("load:model", printed)
        assert stream.getvalue().split("\n", 1)[1].rstrip("\n") == expected.rstrip("\n")


def test_warnings_contain_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    progress.warn("server says \x1b[2Jgone")
    assert capsys.readouterr().err == "warning: server says gone\n"
