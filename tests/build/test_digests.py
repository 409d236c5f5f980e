"""Remembered digests of files: any change of a stamp causes a new read."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from webkiln import canonical
from webkiln.build import digests
from webkiln.build.digests import FileDigests


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    return path


@pytest.fixture
def memo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileDigests:
    """The stored digests, including those of new files."""
    monkeypatch.setattr(digests, "STAMP_MARGIN_NS", -(1 << 62))
    return FileDigests(tmp_path / "state" / "digests.json")


def wait_for_a_tick(path: Path) -> None:
    """Wait until the file system's clock is later than the file's last change."""
    while time.time_ns() - os.stat(path).st_ctime_ns < 40_000_000:
        time.sleep(0.01)


def in_place(path: Path) -> None:
    """Keep the size and modification time, as rsync -t, tar and restored backups do."""
    stat = os.stat(path)
    path.write_bytes(b"after!")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (os.stat(path).st_size, os.stat(path).st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)
    assert os.stat(path).st_ctime_ns != stat.st_ctime_ns


def replaced(path: Path) -> None:
    stat = os.stat(path)
    other = path.with_name("other")
    other.write_bytes(b"after!")
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(path)


def longer(path: Path) -> None:
    stat = os.stat(path)
    path.write_bytes(b"after, and longer")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def later(path: Path) -> None:
    path.write_bytes(b"after!")


@pytest.mark.parametrize("reload", [False, True], ids=["same process", "next process"])
@pytest.mark.parametrize("change", [in_place, replaced, longer, later])
def test_a_changed_file_is_read_again(
    change: Callable[[Path], None], reload: bool, file: Path, memo: FileDigests, tmp_path: Path
) -> None:
    before = memo.digest(file)
    assert before == canonical.file_digest(file)
    wait_for_a_tick(file)
    memo.save()
    change(file)
    reloaded = FileDigests(tmp_path / "state" / "digests.json") if reload else memo
    assert reloaded.stamp_of(file, before) is None
    assert reloaded.digest(file) == canonical.file_digest(file) != before


@pytest.mark.parametrize("field", range(4), ids=["inode", "size", "mtime", "ctime"])
def test_every_field_of_a_stamp_counts(field: int, file: Path, memo: FileDigests) -> None:
    right = memo.digest(file)
    row = memo._rows[os.fspath(file)]
    assert len(row) == 5
    row[4] = "remembered"
    assert memo.digest(file) == "remembered"
    assert memo.stamp_of(file, "remembered") is not None
    assert memo.stamp_of(file, right) is None
    row[field] += 1
    assert memo.stamp_of(file, "remembered") is None
    assert memo.digest(file) == right


def test_a_fresh_file_is_not_remembered(file: Path, tmp_path: Path) -> None:
    """Two changes within a tick of the clock leave equal stamps."""
    memo = FileDigests(tmp_path / "digests.json")
    digest = memo.digest(file)
    assert memo.stamp_of(file, digest) is None
    assert not memo._rows


@pytest.mark.parametrize("older", ["mtime", "both"])
def test_a_file_is_fresh_if_either_of_its_times_is_recent(
    older: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memo = FileDigests(file.with_name("digests.json"))
    os.utime(file, (1e9, 1e9))
    if older == "both":
        now = time.time_ns()
        monkeypatch.setattr(digests.time, "time_ns", lambda: now + 3_000_000_000)
    memo.digest(file)
    assert bool(memo._rows) == (older == "both")


def test_digests_outlive_the_process(
    file: Path, memo: FileDigests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = memo.digest(file)
    memo.save()
    other = FileDigests(tmp_path / "state" / "digests.json")
    monkeypatch.setattr(canonical, "file_digest", lambda path: pytest.fail("read again"))
    assert other.digest(file) == digest


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"rows":{}}', '{"files":3}', '{"files":{"a":'])
def test_a_damaged_file_of_digests_is_ignored(
    damage: str, file: Path, tmp_path: Path, memo: FileDigests
) -> None:
    path = tmp_path / "digests.json"
    path.write_text(damage)
    reload = FileDigests(path)
    assert reload.digest(file) == canonical.file_digest(file)
    reload.save()
    assert list(FileDigests(path)._rows) == [os.fspath(file)]


def test_a_missing_file_is_an_error(memo: FileDigests, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        memo.digest(tmp_path / "none")
