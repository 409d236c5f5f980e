"""Records what user code reads, lists, imports and queries while it runs.

An audit hook and a module finder in the process of a stage observe what goes through Python. The
library of `observer.py` observes native code and child processes, and queries of files that Python
does not audit.
"""

import os
import stat
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import source_from_cache
from pathlib import Path
from types import FrameType
from typing import Any

from webkiln.build.file_stamps import (
    ABSENT,
    TICK_SECONDS,
    Stamp,
    candidates,
    describe,
    digest_of_names,
    is_fresh,
    names_in,
    stamp,
)
from webkiln.build.observer import Access, accesses
from webkiln.build.system_paths import absolute, is_below, python_folders, system_folders
from webkiln.errors import RecipeError

WRITING = os.O_WRONLY | os.O_TRUNC
LISTINGS = ("os.listdir", "os.scandir")


class Recorder:
    """Records all accesses below `roots` and ignores those below `own`. Access to any other
    existing file is an error.
    """

    def __init__(self, roots: Sequence[Path], own: Sequence[Path]) -> None:
        self._roots = tuple(map(absolute, roots))
        self._own = tuple(sorted({*map(absolute, own), *map(absolute, python_folders())}))
        self._system = system_folders(roots)
        self._written: set[str] = set()
        self._ignored: set[str] = set()
        self._thread = threading.local()
        self._listings: Counter[str] = Counter()
        self._names: dict[str, frozenset[str]] = {}
        self.files: dict[str, Stamp | None] = {}
        self.states: dict[str, str] = {}
        self.modules: dict[str, dict[str, tuple[str, ...]]] = {}
        self.unobserved: set[str] = set()
        self.refused: dict[str, None] = {}

    def reads(self, path: Any) -> None:
        target = self._resolve(path)
        if target is not None and target not in self.files and not os.path.isdir(target):
            recorded = stamp(target)
            while recorded is not None and is_fresh(recorded, time.time()):
                time.sleep(TICK_SECONDS)
                recorded = stamp(target)
            self.files[target] = recorded

    def opens(self, path: Any, mode: Any, flags: Any) -> None:
        creates = (
            mode[0] in "wx"
            if isinstance(mode, str) and mode
            else isinstance(flags, int) and bool(flags & WRITING)
        )
        if not creates:
            self.reads(path)
        elif isinstance(path, str | bytes | os.PathLike):
            self._written.add(absolute(path))

    def lists(self, path: Any) -> None:
        target = self._resolve("." if path is None else path)
        if target is not None:
            self._names.setdefault(target, names_in(target))

    def imports(self, name: str, folders: Iterable[Any]) -> None:
        """Record the files by which a module could be found in these folders, whether it is there
        or not.
        """
        busy, self._thread.busy = getattr(self._thread, "busy", False), True
        try:
            for folder in folders:
                if (
                    isinstance(folder, str)
                    and is_below(target := absolute(folder or "."), self._roots)
                    and not is_below(target, self._own)
                ):
                    self.modules.setdefault(target, {}).setdefault(name, candidates(target, name))
        finally:
            self._thread.busy = busy

    def runs(self, program: Any) -> None:
        """Record a program that user code runs and that no observer sees."""
        if isinstance(program, str | bytes | os.PathLike) and not self._importing():
            self.unobserved.add(os.fsdecode(program))

    def merge(self, accesses: Iterable[Access]) -> None:
        """Add what the observer of native code recorded, in its order."""
        listings: Counter[str] = Counter()
        begun: dict[int, str] = {}
        written: set[str] = set()
        for access in accesses:
            if access.kind in "ex":
                begun[access.process] = access.path if access.kind == "e" else ""
                continue
            if access.kind == "w":
                written.add(absolute(access.path))
                continue
            target = self._resolve_native(access)
            if target is None or target in written:
                continue
            if access.kind == "l":
                listings[target] += 1
            elif access.kind in "rp" and not stat.S_ISDIR(access.mode):
                self.files.setdefault(target, None if access.error else access.state)
            else:
                self.states.setdefault(target, _state(access))
        for target, count in listings.items():
            if count > self._listings[target]:
                self._names.setdefault(target, names_in(target))
        self._written |= written
        self.unobserved = {path for path in begun.values() if path}
        for target in self._written:
            self.states.pop(target, None)

    @property
    def folders(self) -> dict[str, str]:
        """The folders that were listed, with digests of their names. Raises ChangedError where
        another process changed them.
        """
        digests = {}
        for target, names in self._names.items():
            now = names_in(target)
            own = {
                os.path.basename(path) for path in self._written if os.path.dirname(path) == target
            }
            if names - own != now - own:
                raise ChangedError
            digests[target] = digest_of_names(now)
        return digests

    def _resolve(self, path: Any) -> str | None:
        """The path below the roots that a path leads to; None where it is not recorded. Raises
        RecipeError for a path elsewhere.
        """
        if not isinstance(path, str | bytes | os.PathLike):
            return None
        target = _source_of(absolute(path))
        if is_below(target, self._own) or target in self._written:
            return None
        if is_below(target, self._system):
            return None
        if is_below(target, self._roots):
            return target
        real = os.path.realpath(target)
        if is_below(real, self._roots) and not is_below(real, self._own):
            return real
        if (
            is_below(real, (*self._own, *self._system))
            or not os.path.exists(real)
            or is_below(self._roots[0], (real,))
            or self._importing()
        ):
            self._ignored.add(target)
            return None
        self.refused[target] = None
        raise self.refusal()

    def _resolve_native(self, access: Access) -> str | None:
        """The path below the roots of a native access, as `_resolve`. Reads of files elsewhere are
        an error at the end of the run.
        """
        target = _source_of(absolute(access.path))
        if is_below(target, (*self._own, *self._system)) or target in self._written:
            return None
        if is_below(target, self._roots):
            return target
        real = os.path.realpath(target)
        if is_below(real, (*self._own, *self._system)):
            return None
        if is_below(real, self._roots):
            return real
        if (
            access.kind == "r"
            and not access.error
            and stat.S_ISREG(access.mode)
            and target not in self._ignored
        ):
            self.refused[target] = None
        return None

    def _importing(self) -> bool:
        """Whether an installed package is being imported. What it reads meanwhile, such as system
        fonts, is not an input.
        """
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
        while frame is not None:
            target = absolute(frame.f_code.co_filename)
            if is_below(target, self._roots) and not is_below(target, self._own):
                return False
            if frame.f_code.co_name == "<module>" and is_below(target, self._own):
                return True
            frame = frame.f_back
        return False

    def refusal(self) -> RecipeError:
        """The error for files that were read and are no inputs."""
        return RecipeError(
            f"{', '.join(self.refused)}: read by the model's own code, but outside the project"
            f" {self._roots[0]}; changes of it would not be noticed; move it into the project, or"
            " list it or its folder as reads = [...] in the recipe (--reads)"
        )

    def handle_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in LISTINGS and isinstance(arguments[0], str | bytes | os.PathLike | None):
            self._listings[absolute("." if arguments[0] is None else arguments[0])] += 1
        if getattr(self._thread, "busy", False) or (handler := HANDLERS.get(event)) is None:
            return
        self._thread.busy = True
        try:
            caller = sys._getframe(2)  # noqa: SLF001
            if not _removes(caller) and not (event in LISTINGS and _searches(caller)):
                handler(self, arguments)
        finally:
            self._thread.busy = False


def _source_of(target: str) -> str:
    """The source of a bytecode file; any other file itself."""
    if target.endswith(".pyc"):
        with suppress(ValueError):
            return source_from_cache(target)
    return target


def _import(recorder: Recorder, arguments: tuple[Any, ...]) -> None:
    if arguments[1]:
        recorder.reads(arguments[1])
    _watch_hdf5()


def _listing(recorder: Recorder, arguments: tuple[Any, ...]) -> None:
    recorder.lists(arguments[0])


def _searches(caller: FrameType) -> bool:
    """Whether Python is searching for a module or a package. It opens what it finds."""
    return (
        caller.f_code.co_filename.startswith("<frozen importlib")
        or "/importlib/" in caller.f_code.co_filename
    )


def _removes(caller: FrameType) -> bool:
    """Whether a folder is being removed, whose entries are named relative to it."""
    return caller.f_code.co_name.startswith("_rmtree")


HANDLERS: dict[str, Callable[[Recorder, tuple[Any, ...]], None]] = {
    "open": lambda recorder, arguments: recorder.opens(*arguments),
    "import": _import,
    "os.listdir": _listing,
    "os.scandir": _listing,
    "os.link": lambda recorder, arguments: recorder.reads(arguments[0]),
    "os.rename": lambda recorder, arguments: recorder.reads(arguments[0]),
    "ctypes.dlopen": lambda recorder, arguments: (
        recorder.reads(arguments[0]) if os.sep in str(arguments[0]) else None
    ),
    "sqlite3.connect": lambda recorder, arguments: recorder.reads(arguments[0]),
    "os.exec": lambda recorder, arguments: recorder.runs(arguments[0]),
    "os.posix_spawn": lambda recorder, arguments: recorder.runs(arguments[0]),
    "os.system": lambda recorder, arguments: recorder.runs(arguments[0]),
    "subprocess.Popen": lambda recorder, arguments: recorder.runs(arguments[0]),
    "webkiln.hdf5": lambda recorder, arguments: recorder.reads(arguments[0]),
}

_recorder: Recorder | None = None
_hooked = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _recorder is not None:
        _recorder.handle_event(event, arguments)


class Finder:
    """Observes which modules are searched for. Finds none."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def find_spec(self, name: str, path: Iterable[Any] | None = None, target: Any = None) -> None:
        self._recorder.imports(name.rpartition(".")[2], [*(sys.path if path is None else path)])


class ChangedError(Exception):
    """An input of a run changed while it ran."""


@contextmanager
def recording(
    roots: Sequence[Path], own: Sequence[Path], log: Path | None = None
) -> Iterator[Recorder]:
    """Record the accesses of the body. Raises RecipeError at the end for files that are no inputs,
    even if the code that read them ignored the first error.

    `log` is the file that the observer of native code and child processes writes, if there is one.
    """
    global _recorder, _hooked  # noqa: PLW0603  # a hook cannot be removed
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked = True
    _watch_hdf5()
    _recorder = recorder = Recorder(roots, own)
    finder = Finder(recorder)
    begun = log.stat().st_size if log is not None and log.exists() else 0
    sys.meta_path.insert(0, finder)
    try:
        yield recorder
    finally:
        _recorder = None
        sys.meta_path.remove(finder)
    if log is not None:
        recorder.merge(accesses(log, begun))
    if recorder.refused:
        raise recorder.refusal()


def _watch_hdf5() -> None:
    """Make the files that h5py opens visible to the audit hook; it opens them in native code."""
    h5f = sys.modules.get("h5py.h5f")
    if h5f is None or not hasattr(h5f, "open") or hasattr(h5f.open, "watched"):
        return
    opens = h5f.open

    def watched(name: Any, flags: int = 0, *more: Any, **options: Any) -> Any:
        if os.path.isfile(name):  # else what h5py calls an object in memory
            sys.audit("webkiln.hdf5", name)
        return opens(name, flags, *more, **options)

    watched.watched = True  # type: ignore[attr-defined]
    h5f.open = watched  # type: ignore[attr-defined]


def _state(access: Access) -> str:
    return ABSENT if access.error else describe(access.mode, access.state[1])
