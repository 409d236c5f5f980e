"""Publishing changes files that builds wrote and nothing else, whatever interrupts it."""

import errno
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.build.system_calls import killed_at
from webkiln import canonical
from webkiln.build.action import ActionResult
from webkiln.build.digests import FileDigests
from webkiln.build.publish import Publisher
from webkiln.build.store import LocalStore
from webkiln.errors import OutputError


class Bench:
    """A folder with a new publisher. `publish(index="1")` publishes a file `index.js` with the
    content `1`.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = LocalStore(root / "blobs")
        self.folder = root / "public" / "m"

    @property
    def publisher(self) -> Publisher:
        return Publisher(
            self.store, FileDigests(self.root / "digests.json"), self.root / "published"
        )

    def result(self, **texts: str) -> ActionResult:
        outputs = {}
        for name, text in texts.items():
            path = self.root / "scratch"
            path.write_text(text)
            outputs[f"bundle/{name}.js"] = self.store.put(path)
        return ActionResult(outputs)

    def publish(self, *, force: bool = False, replace_all: bool = True, **texts: str) -> bool:
        return self.publisher.publish(
            self.result(**texts), "bundle/", self.folder, replace_all=replace_all, force=force
        )

    def texts(self) -> dict[str, str]:
        return {
            path.relative_to(self.folder).as_posix(): path.read_text()
            for path in self.folder.rglob("*")
            if path.is_file()
        }


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_only_files_of_an_earlier_build_are_removed(bench: Bench) -> None:
    bench.publish(a="1", b="2")
    (bench.folder / "mine").write_text("mine")
    bench.publish(a="3", c="4")
    assert bench.texts() == {"a.js": "3", "c.js": "4", "mine": "mine"}


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
    assert bench.texts() == {"a.js": "1", "b.js": "2"}


def test_a_damaged_blob_changes_nothing(bench: Bench) -> None:
    bench.publish(a="1")
    result = bench.result(a="2")
    bench.store.path(result.outputs["bundle/a.js"].sha256).unlink()
    assert not bench.publisher.publish(result, "bundle/", bench.folder, replace_all=True)
    assert bench.texts() == {"a.js": "1"}


@pytest.mark.parametrize("kind", ["file", "changed", "link", "folder"])
def test_files_that_no_build_wrote_are_not_overwritten(bench: Bench, kind: str) -> None:
    path = bench.folder / "index.js"
    bench.folder.mkdir(parents=True)
    if kind == "file":
        path.write_text("mine")
    elif kind == "changed":
        bench.publish(index="1")
        path.write_text("mine")
    elif kind == "link":
        (bench.root / "mine").write_text("mine")
        path.symlink_to(bench.root / "mine")
    else:
        path.mkdir()
    for publish in (
        lambda: bench.publisher.check(bench.folder, ["index.js"]),
        lambda: bench.publish(index="2", a="3"),
    ):
        with pytest.raises(OutputError, match=r"public/m: index\.js would be overwritten"):
            publish()
    if kind != "folder":
        assert bench.texts() == {"index.js": "mine"}
        assert bench.publish(force=True, index="2")
        assert bench.texts() == {"index.js": "2"}
        assert not path.is_symlink()
    if kind == "link":
        assert (bench.root / "mine").read_text() == "mine"


def test_equal_files_may_be_replaced(bench: Bench) -> None:
    bench.folder.mkdir(parents=True)
    (bench.folder / "index.js").write_text("1")
    assert bench.publish(index="1")
    assert bench.publish(index="2")


def test_links_modes_and_empty_folders_are_preserved(bench: Bench) -> None:
    real = bench.root / "real"
    (real / "empty").mkdir(parents=True)
    real.chmod(0o2750)
    bench.folder.parent.mkdir()
    bench.folder.symlink_to(real)
    inode = real.stat().st_ino
    bench.publish(index="1", a="1")
    (real / "a.js").chmod(0o640)
    bench.publish(index="2", a="2")
    bench.publisher.remove(bench.folder)
    bench.publish(index="3", a="3")
    assert bench.folder.is_symlink()
    assert real.stat().st_ino == inode
    assert stat.S_IMODE(real.stat().st_mode) == 0o2750
    assert (real / "empty").is_dir()
    bench.publisher.remove(bench.folder)
    assert [path.name for path in real.iterdir()] == ["empty"]


def test_modes_set_by_the_user_are_preserved(bench: Bench) -> None:
    bench.publish(a="1")
    (bench.folder / "a.js").chmod(0o640)
    bench.publish(a="2")
    assert stat.S_IMODE((bench.folder / "a.js").stat().st_mode) == 0o640


def test_publishing_does_not_replace_the_folder(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.folder.mkdir(parents=True)
    monkeypatch.chdir(bench.folder)
    bench.folder = Path()
    bench.publish(a="1")
    bench.publish(a="2")
    assert Path.cwd().is_dir()
    assert Path("a.js").read_text() == "2"


@pytest.mark.parametrize("forgotten", [False, True])
def test_removing_deletes_published_files(bench: Bench, forgotten: bool) -> None:
    bench.publish(a="1", b="2")
    (bench.folder / "b.js").write_text("mine")
    if forgotten:
        shutil.rmtree(bench.root / "published")
    assert bench.publisher.remove(bench.folder) == ([] if forgotten else ["b.js"])
    assert bench.texts() == ({"a.js": "1", "b.js": "mine"} if forgotten else {"b.js": "mine"})


HOSTILE = (
    "../../precious",
    "/{root}/precious",
    "x/../../../precious",
    "link/precious",
    "precious",
    ".",
    "..",
    "",
    "a\0b",
    "CON",
    "/dev/null",
    "index.js/..",
)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("location", ["manifest", "record", "temporary"])
def test_forged_manifests_and_records_never_affect_user_files(
    bench: Bench, name: str, location: str
) -> None:
    name = name.replace("{root}", str(bench.root))
    bench.publish(a="1")
    for folder in (bench.root, bench.folder):
        (folder / "precious").write_text("precious")
    (bench.folder / "link").symlink_to(bench.root)
    digest = canonical.digest(b"precious")
    if location == "manifest":
        files = {name: {"sha256": digest, "bytes": 8}}
        canonical.write(
            bench.folder / "manifest.json",
            {"schema": "webkiln.bundle/1", "files": files, "backends": {}},
        )
    else:
        (record,) = (path for path in (bench.root / "published").iterdir() if not path.suffix)
        data = json.loads(record.read_text())
        record.write_text(
            json.dumps(
                data
                | (
                    {"temporary": [name]}
                    if location == "temporary"
                    else {"files": data["files"] | {name: [digest]}}
                )
            )
        )
    before = {
        path: path.read_text() for path in bench.root.rglob("precious") if "link" not in path.parts
    }
    if (location, name) == ("record", "precious"):
        # records are trusted: a plain file name with this digest counts as published
        return
    bench.publish(a="2")
    bench.publisher.remove(bench.folder)
    assert {path: path.read_text() for path in before} == before
    assert (bench.folder / "link").is_symlink()


def _kills(bench: Bench, step: int, **texts: str) -> Iterator[int]:
    """Kill a publication at every `step`-th system call. Each starts from the same state."""
    saved = bench.root.parent / "saved"
    shutil.copytree(bench.root, saved, symlinks=True)
    number = 0
    while True:
        number += step
        ended = not killed_at(number, lambda: bench.publish(**texts))
        yield number
        if ended:
            return
        shutil.rmtree(bench.root)
        shutil.copytree(saved, bench.root, symlinks=True)


@pytest.mark.parametrize("step", [1, 11])
@pytest.mark.sample("11")
def test_a_kill_at_any_system_call_loses_nothing(step: int, tmp_path: Path) -> None:
    bench = Bench(tmp_path / "bench")
    bench.root.mkdir()
    old = {"index": "old 1", "runtime": "old 2", "gone": "old 3", "same": "same"}
    new = {"index": "new 1", "runtime": "new 2", "more": "new 4", "same": "same"}
    bench.publish(**old)
    bench.result(**new)
    user_files = {
        "mine.txt": "mine",
        ".hidden": "mine",
        "sub/page.html": "mine",
        "zebra.js": "mine",
    }
    for name, text in user_files.items():
        (bench.folder / name).parent.mkdir(exist_ok=True)
        (bench.folder / name).write_text(text)
    before, after = ({f"{name}.js": text for name, text in texts.items()} for texts in (old, new))
    states = set()
    for _ in _kills(bench, step, **new):
        texts = bench.texts()
        assert {name: texts.pop(name) for name in user_files} == user_files
        if "index.js" in texts:
            bundle = {
                name: text for name, text in texts.items() if not name.startswith(".webkiln-")
            }
            assert bundle == before or after.items() <= bundle.items(), (
                "what loads is the old bundle or the new one"
            )
        states.add(tuple(sorted(texts.items())))
        assert bench.publish(**new)
        assert bench.texts() == after | user_files
        assert bench.publisher.intact(bench.result(**new), "bundle/", bench.folder)
    assert len(states) > 8, "the kills hit publishing in many states"


@pytest.mark.parametrize("step", [1, 5])
@pytest.mark.sample("5")
def test_a_kill_while_removing_loses_nothing(step: int, tmp_path: Path) -> None:
    bench = Bench(tmp_path / "bench")
    bench.root.mkdir()
    bench.publish(index="1", a="2", b="3")
    (bench.folder / "mine").write_text("mine")
    shutil.copytree(bench.root, tmp_path / "saved")
    number, ended = 0, False
    while not ended:
        number += step
        ended = not killed_at(number, lambda: bench.publisher.remove(bench.folder))
        assert (bench.folder / "mine").read_text() == "mine"
        bench.publisher.remove(bench.folder)
        assert bench.texts() == {"mine": "mine"}
        shutil.rmtree(bench.root)
        shutil.copytree(tmp_path / "saved", bench.root)
    assert number > 20


def test_an_unwritable_folder_is_reported_before_the_build(bench: Bench) -> None:
    bench.folder.parent.mkdir()
    bench.folder.parent.chmod(0o555)
    (bench.root / "file").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        bench.publisher.check(bench.root / "file" / "m", ["index.js"])
    if os.geteuid():
        with pytest.raises(OutputError, match="no permission"):
            bench.publisher.check(bench.folder, ["index.js"])
    bench.folder.parent.chmod(0o755)
