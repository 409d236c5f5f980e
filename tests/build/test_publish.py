"""A destination changes as a whole or not at all."""

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest

from webkiln.build.action import ActionResult
from webkiln.build.digests import FileDigests
from webkiln.build.publish import Publisher
from webkiln.build.store import LocalStore
from webkiln.errors import OutputError


class Bench:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = LocalStore(root / "blobs")
        self.publisher = Publisher(self.store, FileDigests(root / "digests.json"), root / "state")
        self.folder = root / "public" / "m"

    def publish(self, **texts: str) -> bool:
        outputs = {}
        for name, text in texts.items():
            path = self.root / "scratch"
            path.write_text(text)
            outputs[f"bundle/{name}"] = self.store.put(path)
        return self.publisher.publish(ActionResult(outputs), "bundle/", self.folder, whole=True)

    def texts(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.folder.iterdir()}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_files_of_an_earlier_build_go_and_others_stay(bench: Bench) -> None:
    bench.publish(a="1", b="2")
    (bench.folder / "mine").write_text("mine")
    bench.publish(a="3", c="4")
    assert bench.texts() == {"a": "3", "c": "4", "mine": "mine"}


def test_a_full_disk_changes_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.publish(a="1", b="2")
    copied = []

    def copyfile(source: Any, target: Any) -> None:
        copied.append(target)
        if len(copied) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        Path(target).write_bytes(Path(source).read_bytes())

    monkeypatch.setattr(shutil, "copyfile", copyfile)
    with pytest.raises(OutputError, match=r"public/m: cannot be written: No space left"):
        bench.publish(a="3", b="4")
    assert bench.texts() == {"a": "1", "b": "2"}
    assert [path.name for path in bench.folder.parent.iterdir()] == ["m"]


def test_a_swap_that_was_killed_is_tidied_up(bench: Bench) -> None:
    bench.publish(a="1")
    (bench.folder / "mine").write_text("mine")
    bench.folder.rename(bench.folder.with_name(".m.1-abc.old"))
    bench.folder.with_name(".m.1-abd.new").mkdir()
    bench.publish(a="2")
    assert bench.texts() == {"a": "2", "mine": "mine"}
    assert [path.name for path in bench.folder.parent.iterdir()] == ["m"]


def test_a_damaged_blob_changes_nothing(bench: Bench) -> None:
    bench.publish(a="1")
    path = bench.root / "scratch"
    path.write_text("2")
    blob = bench.store.put(path)
    bench.store.path(blob.sha256).unlink()
    assert not bench.publisher.publish(ActionResult({"bundle/a": blob}), "bundle/", bench.folder, whole=True)
    assert bench.texts() == {"a": "1"}
