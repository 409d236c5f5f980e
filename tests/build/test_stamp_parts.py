"""All dependencies of a stamped bundle are checked, one by one."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.commands.small import write_model
from webkiln import canonical
from webkiln.build import digests, stamps
from webkiln.build.digests import FileDigests
from webkiln.build.share import Share
from webkiln.build.stamps import Stamps
from webkiln.cli import main


@pytest.fixture
def recorded_stamps(
    share: Share, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Stamps]:
    """The recorded stamps of a tree with one bundle and one source file, as
    read by the next build.
    """
    monkeypatch.setattr(digests, "STAMP_MARGIN_NS", -(1 << 62))
    monkeypatch.setattr(stamps, "is_fresh", lambda stamp, now: False)
    for name in ("kernels", "runtime"):
        (share.root / name).mkdir()
        (share.root / name / "file").write_text("")
    (tmp_path / "source").write_text("1")
    digests_of_files = FileDigests(tmp_path / "digests.json")

    def read(key_id: str = "") -> Stamps:
        return Stamps(tmp_path / "stamps.json", share, digests_of_files, key_id)

    recorded = read()
    digest = digests_of_files.digest(tmp_path / "source")
    recorded.record("bundle:m", "facts", {tmp_path / "source": digest})
    (tmp_path / "models" / "m").mkdir(parents=True)
    (tmp_path / "models" / "m" / "recipe.toml").write_text("")
    recorded.record_command(
        "build", stamps.recipe_stamps(tmp_path / "models"), {"bundle:m": tmp_path / "dist"}
    )
    recorded.save()
    assert holds(read(), tmp_path) == (True, [tmp_path / "dist"])
    return read


def holds(read: Stamps, folder: Path) -> tuple[bool, list[Path] | None]:
    return read.holds("bundle:m", "facts"), read.command(
        "build", stamps.recipe_stamps(folder / "models")
    )


SURROUNDINGS: dict[str, Callable[[Share, pytest.MonkeyPatch], object]] = {
    "stage": lambda share, patch: share.stage("one").write_text("MORE = 1\n"),
    "kernel": lambda share, patch: (share.root / "kernels" / "file").write_text("1"),
    "runtime": lambda share, patch: (share.root / "runtime" / "file").write_text("1"),
    "new file of the runtime": lambda share, patch: (share.root / "runtime" / "new").write_text(
        "1"
    ),
    "package": lambda share, patch: (share.package / "part.py").write_text("SIZE = 33\n"),
    "toolchain": lambda share, patch: (share.root / "toolchain.lock").write_text("[tools]\n"),
    "requirements": lambda share, patch: (share.root / "requirements.lock").unlink(),
    "path": lambda share, patch: patch.setenv("PATH", f"{os.environ['PATH']}:{share.root}"),
    "emscripten": lambda share, patch: patch.setenv("EMSDK", str(share.root)),
    "python's path": lambda share, patch: patch.syspath_prepend(str(share.package)),
    "python": lambda share, patch: patch.setattr(sys, "version", "4"),
    "compiler": lambda share, patch: patch.setenv("WEBKILN_COMPILER", "emcc"),
    "libraries": lambda share, patch: patch.setenv("LD_LIBRARY_PATH", "/elsewhere"),
    "proxy": lambda share, patch: patch.setenv("https_proxy", "http://proxy:1"),
}


@pytest.mark.parametrize("change", SURROUNDINGS)
def test_the_environment_of_a_tree_is_part_of_its_stamps(
    change: str,
    recorded_stamps: Callable[..., Stamps],
    share: Share,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    SURROUNDINGS[change](share, monkeypatch)
    assert holds(recorded_stamps(), tmp_path) == (False, None)


def test_unused_files_are_not_part_of_the_stamps(
    recorded_stamps: Callable[..., Stamps], share: Share, tmp_path: Path
) -> None:
    for folder in ("__pycache__", "node_modules"):
        (share.package / folder).mkdir()
        (share.package / folder / "new").write_text("")
    assert holds(recorded_stamps(), tmp_path)[0]


def test_stamps_count_only_with_the_same_key(
    recorded_stamps: Callable[..., Stamps], tmp_path: Path
) -> None:
    assert holds(recorded_stamps("hmac-sha256:1"), tmp_path) == (False, None)
    assert holds(recorded_stamps(), tmp_path)[0]


@pytest.mark.parametrize(
    "change", ["source", "gone", "facts", "task", "command", "recipe", "another recipe", "schema"]
)
def test_stamps_count_only_with_the_same_facts_and_files(
    change: str, recorded_stamps: Callable[..., Stamps], tmp_path: Path
) -> None:
    task, facts, command = "bundle:m", "facts", "build"
    match change:
        case "source":
            (tmp_path / "source").write_text("2")
        case "gone":
            (tmp_path / "source").unlink()
        case "facts":
            facts = "others"
        case "task":
            task = "bundle:n"
        case "command":
            command = "build backend=js"
        case "recipe":
            (tmp_path / "models" / "m" / "recipe.toml").write_text("more")
        case "another recipe":
            (tmp_path / "models" / "n").mkdir()
            (tmp_path / "models" / "n" / "recipe.toml").write_text("")
        case "schema":
            path = tmp_path / "stamps.json"
            canonical.write(path, {**canonical.read(path), "schema": "webkiln.stamps/0"})
    read = recorded_stamps()
    assert read.holds(task, facts) == (change in ("command", "recipe", "another recipe"))
    result = read.command(command, stamps.recipe_stamps(tmp_path / "models"))
    assert (result is not None) == (change in ("facts", "task"))


def test_a_file_that_changed_since_is_not_stamped(
    recorded_stamps: Callable[..., Stamps], tmp_path: Path
) -> None:
    read = recorded_stamps()
    read.record("bundle:m", "facts", {tmp_path / "source": "0" * 64})
    assert not read.holds("bundle:m", "facts")
    read.save()
    assert not recorded_stamps().holds("bundle:m", "facts")


def test_a_recently_changed_recipe_has_no_stamp(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "recipe.toml").write_text("")
    path = tmp_path / "m" / "recipe.toml"
    fresh = os.stat(path).st_ctime_ns / 1e9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stamps.time, "time", lambda: fresh)
        assert stamps.recipe_stamps(tmp_path) == {}
        patch.setattr(stamps.time, "time", lambda: fresh + 100)
        assert stamps.recipe_stamps(tmp_path).keys() == {str(path)}


def in_place(path: Path, old: bytes, new: bytes) -> None:
    """Write other bytes of the same size and restore the modification time, as rsync -t, tar and
    restored backups do.
    """
    stat, data = os.stat(path), path.read_bytes()
    assert data.count(old) == 1
    assert len(new) == len(old)
    with path.open("r+b") as file:
        file.write(data.replace(old, new))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    after = os.stat(path)
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (
        stat.st_ino,
        stat.st_size,
        stat.st_mtime_ns,
    )


def test_a_build_notices_a_model_that_changed_with_equal_stamps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(digests, "STAMP_MARGIN_NS", -(1 << 62))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEBKILN_CACHE", str(tmp_path / "cache"))
    model = write_model(tmp_path / "model.onnx")

    def build() -> tuple[str, bytes]:
        assert main(["build", "model.onnx", "--backend", "js", "--dim", "N=2", "-o", "out"]) == 0
        (shard,) = (tmp_path / "out").glob("weights-*.bin")
        return next(
            line for line in capsys.readouterr().out.splitlines() if line.startswith("out: ")
        ), shard.read_bytes()

    old, new = np.float32(-1).tobytes(), np.float32(-2).tobytes()
    _, before = build()
    assert build() == ("out: up to date", before)
    in_place(model, old, new)
    assert build() == ("out: written", before.replace(old, new))
