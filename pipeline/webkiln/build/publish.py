"""Bundles and reports in the user's folders: written whole or not at all, and never at the cost of the user's own files."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from webkiln import canonical
from webkiln.build.action import ActionResult, Blob
from webkiln.build.digests import FileDigests
from webkiln.build.files import beside, writing
from webkiln.build.store import Store
from webkiln.errors import OutputError

RECORD = "published.json"


class Publisher:
    """Knows which files of a folder it wrote, from a record in the state folder."""

    def __init__(self, store: Store, digests: FileDigests, state: Path) -> None:
        self._store = store
        self._digests = digests
        self._state = state

    def intact(self, result: ActionResult, role: str, folder: Path) -> bool:
        """Whether every file of the output lies in `folder` with its digest."""
        try:
            return all(self._digests.digest(folder / name) == blob.sha256 for name, blob in _files(result, role).items())
        except OSError:
            return False

    def publish(self, result: ActionResult, role: str, folder: Path, *, whole: bool) -> bool:
        """Swap in a folder with the output's files; False, and nothing changed, where a blob is missing.

        With `whole` the files of earlier builds go; files that no build wrote always stay.
        """
        folder = folder.absolute()
        files = _files(result, role)
        with self._exclusive(), writing(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            if folder.exists() and not folder.is_dir():
                raise OutputError(f"{folder}: is a file, and a bundle is a folder; choose another name")
            self._recover(folder)
            fresh, aside = beside(folder, ".new"), beside(folder, ".old")
            try:
                fresh.mkdir()
                for name, blob in files.items():
                    if not self._store.materialise(blob, fresh / name, own=True):
                        return False
                ours = self._recorded(folder)
                self._record(folder, sorted(set(files) | (set() if whole else ours)))
                if folder.exists():
                    folder.rename(aside)
                try:
                    fresh.rename(folder)
                except OSError:
                    if aside.exists():
                        aside.rename(folder)
                    raise
                if aside.exists():
                    _keep(aside, folder, set(files) | (ours if whole else set()))
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
        return True

    def remove(self, folder: Path) -> None:
        """Delete what was published into `folder`, and the folder if nothing else is in it."""
        folder = folder.absolute()
        with self._exclusive(), writing(folder):
            for name in self._recorded(folder):
                (folder / name).unlink(missing_ok=True)
            self._record(folder, [])
            for path in sorted((folder, *folder.rglob("*")), reverse=True):
                if path.is_dir() and not any(path.iterdir()):
                    path.rmdir()

    def _recover(self, folder: Path) -> None:
        """Tidy up after a build that was killed in the middle of a swap."""
        for stale in folder.parent.glob(f".{folder.name}.*.new"):
            shutil.rmtree(stale, ignore_errors=True)
        for stale in folder.parent.glob(f".{folder.name}.*.old"):
            if not folder.exists():
                stale.rename(folder)

    def _recorded(self, folder: Path) -> set[str]:
        try:
            return set(canonical.read(self._state / RECORD)[str(folder)])
        except (OSError, ValueError, KeyError):
            pass
        try:
            return {*canonical.read(folder / "manifest.json")["files"], "manifest.json"}
        except (OSError, ValueError, KeyError):
            return set()

    def _record(self, folder: Path, names: list[str]) -> None:
        path = self._state / RECORD
        try:
            records = canonical.read(path)
        except (OSError, ValueError):
            records = {}
        temporary = beside(path)
        temporary.write_bytes(canonical.dumps(records | {str(folder): names}))
        temporary.replace(path)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        with writing(self._state):
            self._state.mkdir(parents=True, exist_ok=True)
            lock = (self._state / "publish.lock").open("w")
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _files(result: ActionResult, role: str) -> dict[str, Blob]:
    if not role.endswith("/"):
        return {role: result.outputs[role]} if role else dict(result.outputs)
    return {path.removeprefix(role): blob for path, blob in result.outputs.items() if path.startswith(role)}


def _keep(aside: Path, folder: Path, drop: set[str]) -> None:
    """Move what the build did not write from the old folder to the new one."""
    for path in sorted(aside.rglob("*")):
        name = path.relative_to(aside)
        if (path.is_symlink() or not path.is_dir()) and name.as_posix() not in drop:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            path.rename(folder / name)
    shutil.rmtree(aside, ignore_errors=True)
