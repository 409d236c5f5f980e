"""Publishes bundles and reports into folders of the user, file by file. Files that no build wrote
are never moved, changed or removed.

A publication writes a record of what it will write, then temporary copies in the same folder, then
renames these. While files change, the entry points of the bundle are absent: a bundle that a kill
left half published does not load, and the next build completes it.
"""

import fcntl
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from webkiln.build.action import ActionResult, Blob
from webkiln.build.digests import FileDigests
from webkiln.build.files import writing
from webkiln.build.names import LAST, is_plain
from webkiln.build.publication_record import OTHER, Known, Record, Records, claimed, content, united
from webkiln.build.store import Store
from webkiln.errors import InternalError, OutputError

NAMED = 5


class Publisher:
    """Owns the files that its last publication wrote into a folder, as long as their bytes are the
    same, and nothing else.
    """

    def __init__(self, store: Store, digests: FileDigests, records: Path) -> None:
        self._store = store
        self._digests = digests
        self._records = Records(records)
        self._reserved: set[Path] = set()

    def intact(self, result: ActionResult, role: str, folder: Path) -> bool:
        """Whether every file of the output is in `folder` with its digest, and no publication there
        was interrupted.
        """
        real_folder = Path(os.path.realpath(folder))
        try:
            same = all(
                content(real_folder / name, self._digests) == blob.sha256
                for name, blob in _files(result, role).items()
            )
        except OSError:
            return False
        return same and not self._records.read(real_folder).temporary

    def paths(self, result: ActionResult, role: str, folder: Path) -> dict[Path, str]:
        """The files of an output in `folder`, with their digests."""
        real_folder = Path(os.path.realpath(folder))
        return {real_folder / name: blob.sha256 for name, blob in _files(result, role).items()}

    def check(self, folder: Path, names: Iterable[str], *, force: bool = False) -> None:
        """Raise OutputError where `folder` cannot be written, or contains a file of one of these
        names that no build wrote.
        """
        folder = folder.absolute()
        real_folder = Path(os.path.realpath(folder))
        existing = next(
            path for path in (real_folder, *real_folder.parents) if os.path.lexists(path)
        )
        if not existing.is_dir():
            raise OutputError(
                f"{folder}: cannot be written: {existing} is a file, and a bundle is a folder;"
                " choose another name"
            )
        if not os.access(existing, os.W_OK | os.X_OK):
            raise OutputError(
                f"{folder}: cannot be written: no permission to write into {existing}; choose"
                " another folder"
            )
        contents = {
            name: text
            for name in names
            if (text := content(real_folder / name, self._digests)) is not None
        }
        _refuse(
            folder,
            contents,
            self._known(real_folder, self._records.read(real_folder)) if contents else {},
            force=force,
        )

    def publish(
        self,
        result: ActionResult,
        role: str,
        folder: Path,
        *,
        replace_all: bool,
        force: bool = False,
    ) -> bool:
        """Write an output into `folder`. False if a blob is missing; then nothing changes.

        With `replace_all`, files of earlier publications are deleted. Raises OutputError where a
        file that no build wrote would be overwritten; `force` overwrites it.
        """
        folder = folder.absolute()
        files = _files(result, role)
        with self._exclusive(folder) as real_folder, writing(folder):
            record = self._recovered(real_folder)
            known = self._known(real_folder, record)
            contents = {
                name: content(real_folder / name, self._digests) for name in {*files, *known}
            }
            changes = _changes(folder, files, known, contents, replace_all=replace_all, force=force)
            token = token_hex(8)
            temporary = {
                name: f".webkiln-{token}-{number}" for number, name in enumerate(changes.written)
            }
            ours = {name: frozenset({blob.sha256}) for name, blob in files.items()}
            begun = Record(
                united(known, ours),
                (*temporary.values(), f".webkiln-{token}"),
                record.created or not real_folder.exists(),
            )
            self._records.write(real_folder, begun)
            if not self._copy(
                real_folder,
                {copy: (files[name], real_folder / name) for name, copy in temporary.items()},
            ):
                self._records.write(real_folder, record)
                return False
            with _incomplete(folder):
                for name in changes.withdrawn:
                    (real_folder / name).unlink()
                for name, copy in temporary.items():
                    (real_folder / copy).replace(real_folder / name)
                for name in changes.stale:
                    (real_folder / name).unlink()
            remaining = (
                {}
                if replace_all
                else {name: digests for name, digests in known.items() if contents[name] in digests}
            )
            self._records.write(real_folder, Record({**remaining, **ours}, (), begun.created))
        return True

    def remove(self, folder: Path) -> list[str]:
        """Delete what was published into `folder`, and the folder if a build created it and it is
        empty then. Files that have changed since stay and are returned.
        """
        folder = folder.absolute()
        with self._exclusive(folder) as real_folder, writing(folder):
            record = self._recovered(real_folder)
            known = self._known(real_folder, record)
            contents = {name: content(real_folder / name, self._digests) for name in known}
            self._records.write(real_folder, replace(record, files=known))
            for name in reversed(_ordered(name for name in known if contents[name] in known[name])):
                (real_folder / name).unlink()
            if record.created:
                with suppress(OSError):
                    real_folder.rmdir()
            self._records.forget(real_folder)
        return sorted(
            name for name, text in contents.items() if text is not None and text not in known[name]
        )

    def _copy(self, real_folder: Path, copies: Mapping[str, tuple[Blob, Path]]) -> bool:
        """Write blobs into temporary files next to the files that they will replace, with the same
        modes. If one cannot be written, all are removed.
        """
        created = not real_folder.exists()
        try:
            real_folder.mkdir(parents=True, exist_ok=True)
            self._store.fetch([blob for blob, _ in copies.values()])
            for name, (blob, target) in copies.items():
                if not self._store.materialise(blob, real_folder / name, own=True):
                    break
                with suppress(FileNotFoundError):
                    mode = os.lstat(target).st_mode
                    if stat.S_ISREG(mode):
                        (real_folder / name).chmod(stat.S_IMODE(mode))
            else:
                return True
        except OSError:
            self._drop(real_folder, copies, created=created)
            raise
        self._drop(real_folder, copies, created=created)
        return False

    @staticmethod
    def _drop(real_folder: Path, names: Iterable[str], *, created: bool) -> None:
        for name in names:
            (real_folder / name).unlink(missing_ok=True)
        if created:
            with suppress(OSError):
                real_folder.rmdir()

    def _recovered(self, real_folder: Path) -> Record:
        """The record of a folder, after removing the copies of an interrupted publication."""
        record = self._records.read(real_folder)
        for name in record.temporary:
            with suppress(FileNotFoundError, NotADirectoryError):
                (real_folder / name).unlink()
        return record

    @staticmethod
    def _known(real_folder: Path, record: Record) -> Known:
        return united(record.files, claimed(real_folder))

    @contextmanager
    def reserve(self, folder: Path, report: Callable[[str], None]) -> Iterator[None]:
        """Reserve a folder for one build, from its checks to its last file. Another build waits
        here, and reports so; a publication of the same build does not wait.
        """
        real_folder = Path(os.path.realpath(folder))
        if real_folder in self._reserved:
            yield
            return
        path = self._records.path(real_folder).with_suffix(".build")
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = path.open("w")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                report(f"{folder}: another build is writing there; this one waits for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            self._reserved.add(real_folder)
            try:
                yield
            finally:
                self._reserved.discard(real_folder)

    @contextmanager
    def _exclusive(self, folder: Path) -> Iterator[Path]:
        """The real path of the folder, for one publication at a time."""
        real_folder = Path(os.path.realpath(folder))
        path = self._records.path(real_folder).with_suffix(".lock")
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = path.open("w")
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield real_folder


@contextmanager
def _incomplete(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{folder}: is partly written: {error.strerror}; fix that and build again to complete"
            " it"
        ) from error


def _files(result: ActionResult, role: str) -> dict[str, Blob]:
    files = {
        path.removeprefix(role): blob
        for path, blob in result.outputs.items()
        if path.startswith(role)
    }
    if paths := sorted(name for name in files if not is_plain(name)):
        raise InternalError(
            f"a bundle is one folder of files, but its stage wrote {', '.join(paths)}"
        )
    return files


@dataclass(frozen=True)
class _Changes:
    """What a publication changes in a folder: files that are `withdrawn` before others change, and
    files that are `written` then, in this order; `stale` files are deleted.
    """

    withdrawn: Sequence[str]
    written: Sequence[str]
    stale: Sequence[str]


def _changes(
    folder: Path,
    files: Mapping[str, Blob],
    known: Known,
    contents: Mapping[str, str | None],
    *,
    replace_all: bool,
    force: bool,
) -> _Changes:
    """The changes after which `folder` has these files. `contents`: what it has now. Raises
    OutputError where a file that no build wrote would be overwritten.
    """
    fresh = [name for name, blob in files.items() if contents[name] != blob.sha256]
    overwritten = {name: text for name in fresh if (text := contents[name]) is not None}
    _refuse(folder, overwritten, known, force=force)
    stale = [
        name
        for name in known
        if replace_all and name not in files and contents[name] in known[name]
    ]
    withdrawn = (
        [name for name in LAST if name in files and contents[name] is not None]
        if stale or overwritten
        else []
    )
    return _Changes(withdrawn, _ordered({*fresh, *withdrawn}), stale)


def _ordered(names: Iterable[str]) -> list[str]:
    """Data before code; the entry points last."""
    return sorted(
        names,
        key=lambda name: (
            name in LAST,
            LAST.index(name) if name in LAST else 0,
            name.endswith(".js"),
            name,
        ),
    )


def _refuse(folder: Path, contents: Mapping[str, str], known: Known, *, force: bool) -> None:
    """Raise OutputError where files exist that no build wrote."""
    if folders := [
        name
        for name, text in contents.items()
        if text == OTHER and (folder / name).is_dir() and not (folder / name).is_symlink()
    ]:
        raise OutputError(
            f"{folder}: {_listed(folders)} would be overwritten and is a folder; move it away, or"
            " choose another folder"
        )
    foreign = [name for name, text in contents.items() if text not in known.get(name, ())]
    if not foreign or force:
        return
    changed = [name for name in foreign if name in known]
    what = "changed since a build wrote it" if foreign == changed else "no build wrote it"
    raise OutputError(
        f"{folder}: {_listed(foreign)} would be overwritten ({what}); choose another folder, move"
        " the files that you want to keep, or use --force (doit: force=yes)"
    )


def _listed(names: Sequence[str] | Collection[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - NAMED} more" if len(ordered) > NAMED else ""
    return ", ".join(ordered[:NAMED]) + more
