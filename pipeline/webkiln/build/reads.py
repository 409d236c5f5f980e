"""What code of the user's opens, lists, imports and asks about while it runs.

An audit hook and a finder of modules in the process of a stage see what goes through Python. The
library of `observer.py` sees what native code and child processes look at, and questions whether a
file is there.
"""

import os
import site
import stat
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import all_suffixes
from importlib.util import source_from_cache
from pathlib import Path
from types import FrameType
from typing import Any

from webkiln import canonical
from webkiln.build.observer import Look, looks
from webkiln.errors import RecipeError

MACHINE = (
    "/proc",
    "/sys",
    "/dev",
    "/etc",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/share",
    "/usr/local/share",
    "/var/cache",
    "/var/lib",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/run",
)
"""What belongs to the system, as the Python installation and its packages do."""
WRITING = os.O_WRONLY | os.O_TRUNC
LISTINGS = ("os.listdir", "os.scandir")
ABSENT = "absent"
UNLISTED = {"__pycache__", ".webkiln", ".git"}

Stamp = tuple[int, int, int, int]
TICK_SECONDS = 0.02
"""Changes of a file within one tick of the kernel's clock, at most 10 ms, leave equal stamps."""


class Recorder:
    """Below `roots` everything read is noted; below `own` nothing is; anything else that exists is
    refused.
    """

    def __init__(self, roots: Sequence[Path], own: Sequence[Path]) -> None:
        self._roots = tuple(map(_normal, roots))
        self._own = tuple(sorted({*map(_normal, own), *map(_normal, installed())}))
        self._machine = machine(roots)
        self._written: set[str] = set()
        self._spared: set[str] = set()
        self._heard = threading.local()
        self._listings: Counter[str] = Counter()
        self._names: dict[str, frozenset[str]] = {}
        self.files: dict[str, Stamp | None] = {}
        self.states: dict[str, str] = {}
        self.modules: dict[str, dict[str, tuple[str, ...]]] = {}
        self.unobserved: set[str] = set()
        self.refused: dict[str, None] = {}

    def reads(self, path: Any) -> None:
        place = self._place(path)
        if place is not None and place not in self.files and not os.path.isdir(place):
            found = stamp(place)
            while found is not None and is_fresh(found, time.time()):
                time.sleep(TICK_SECONDS)
                found = stamp(place)
            self.files[place] = found

    def opens(self, path: Any, mode: Any, flags: Any) -> None:
        creates = (
            mode[0] in "wx"
            if isinstance(mode, str) and mode
            else isinstance(flags, int) and bool(flags & WRITING)
        )
        if not creates:
            self.reads(path)
        elif isinstance(path, str | bytes | os.PathLike):
            self._written.add(_normal(path))

    def lists(self, path: Any) -> None:
        place = self._place("." if path is None else path)
        if place is not None:
            self._names.setdefault(place, names_in(place))

    def imports(self, name: str, folders: Iterable[Any]) -> None:
        """Note for which files of a module these folders are searched, whether it is in one of them
        or not.
        """
        busy, self._heard.busy = getattr(self._heard, "busy", False), True
        try:
            for folder in folders:
                if (
                    isinstance(folder, str)
                    and _below(place := _normal(folder or "."), self._roots)
                    and not _below(place, self._own)
                ):
                    self.modules.setdefault(place, {}).setdefault(name, candidates(place, name))
        finally:
            self._heard.busy = busy

    def runs(self, program: Any) -> None:
        """Note a program that code of the user's runs, and that no observer sees."""
        if isinstance(program, str | bytes | os.PathLike) and not self._importing():
            self.unobserved.add(os.fsdecode(program))

    def merge(self, looks: Iterable[Look]) -> None:
        """Add what the observer of native code saw, in its order."""
        listings: Counter[str] = Counter()
        begun: dict[int, str] = {}
        written: set[str] = set()
        for look in looks:
            if look.kind in "ex":
                begun[look.process] = look.path if look.kind == "e" else ""
                continue
            if look.kind == "w":
                written.add(_normal(look.path))
                continue
            place = self._natively(look)
            if place is None or place in written:
                continue
            if look.kind == "l":
                listings[place] += 1
            elif look.kind in "rp" and not stat.S_ISDIR(look.mode):
                self.files.setdefault(place, None if look.error else look.state)
            else:
                self.states.setdefault(place, _state(look))
        for place, count in listings.items():
            if count > self._listings[place]:
                self._names.setdefault(place, names_in(place))
        self._written |= written
        self.unobserved = {path for path in begun.values() if path}
        for place in self._written:
            self.states.pop(place, None)

    @property
    def folders(self) -> dict[str, str]:
        """The folders that were listed, with digests of their names. Raises ChangedError where
        others than this run changed these.
        """
        found = {}
        for place, names in self._names.items():
            now = names_in(place)
            own = {
                os.path.basename(path) for path in self._written if os.path.dirname(path) == place
            }
            if names - own != now - own:
                raise ChangedError
            found[place] = digest_of_names(now)
        return found

    def _place(self, path: Any) -> str | None:
        """Where below the roots a path leads; None where it is not asked. Raises RecipeError for
        what is elsewhere.
        """
        if not isinstance(path, str | bytes | os.PathLike):
            return None
        place = _source_of(_normal(path))
        if _below(place, self._own) or place in self._written:
            return None
        if _below(place, self._machine):
            return None
        if _below(place, self._roots):
            return place
        real = os.path.realpath(place)
        if _below(real, self._roots) and not _below(real, self._own):
            return real
        if (
            _below(real, (*self._own, *self._machine))
            or not os.path.exists(real)
            or _below(self._roots[0], (real,))
            or self._importing()
        ):
            self._spared.add(place)
            return None
        self.refused[place] = None
        raise self.refusal()

    def _natively(self, look: Look) -> str | None:
        """Where below the roots a native look leads, as `_place`; files elsewhere that were read
        are refused in the end.
        """
        place = _source_of(_normal(look.path))
        if _below(place, (*self._own, *self._machine)) or place in self._written:
            return None
        if _below(place, self._roots):
            return place
        real = os.path.realpath(place)
        if _below(real, (*self._own, *self._machine)):
            return None
        if _below(real, self._roots):
            return real
        if (
            look.kind == "r"
            and not look.error
            and stat.S_ISREG(look.mode)
            and place not in self._spared
        ):
            self.refused[place] = None
        return None

    def _importing(self) -> bool:
        """Whether a package that is installed is being imported: what it looks at then is its own
        business, such as the fonts of the system.
        """
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
        while frame is not None:
            place = _normal(frame.f_code.co_filename)
            if _below(place, self._roots) and not _below(place, self._own):
                return False
            if frame.f_code.co_name == "<module>" and _below(place, self._own):
                return True
            frame = frame.f_back
        return False

    def refusal(self) -> RecipeError:
        """What was read although it is nowhere among the inputs."""
        return RecipeError(
            f"{', '.join(self.refused)}: read by the model's own code, and outside the project"
            f" {self._roots[0]}; a change of it would go unnoticed: move it into the project, or"
            " list it, or its folder, as reads = [...] in the recipe (--reads)"
        )

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in LISTINGS and isinstance(arguments[0], str | bytes | os.PathLike | None):
            self._listings[_normal("." if arguments[0] is None else arguments[0])] += 1
        if getattr(self._heard, "busy", False) or (handler := HANDLERS.get(event)) is None:
            return
        self._heard.busy = True
        try:
            caller = sys._getframe(2)  # noqa: SLF001
            if not _removes(caller) and not (event in LISTINGS and _searches(caller)):
                handler(self, arguments)
        finally:
            self._heard.busy = False


def _source_of(place: str) -> str:
    """The source that a file of bytecode was made of; any other file itself."""
    if place.endswith(".pyc"):
        with suppress(ValueError):
            return source_from_cache(place)
    return place


def _import(recorder: Recorder, arguments: tuple[Any, ...]) -> None:
    if arguments[1]:
        recorder.reads(arguments[1])
    _watch_hdf5()


def _listing(recorder: Recorder, arguments: tuple[Any, ...]) -> None:
    recorder.lists(arguments[0])


def _searches(caller: FrameType) -> bool:
    """Whether Python looks for a module or a package; what it finds is opened."""
    return (
        caller.f_code.co_filename.startswith("<frozen importlib")
        or "/importlib/" in caller.f_code.co_filename
    )


def _removes(caller: FrameType) -> bool:
    """Whether a folder is removed, whose entries are named from where it lies."""
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
        _recorder.hear(event, arguments)


class Finder:
    """Sees which modules are looked for, and finds none."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def find_spec(self, name: str, path: Iterable[Any] | None = None, target: Any = None) -> None:
        self._recorder.imports(name.rpartition(".")[2], [*(sys.path if path is None else path)])


class ChangedError(Exception):
    """What a run read changed while it ran."""


@contextmanager
def recording(
    roots: Sequence[Path], own: Sequence[Path], log: Path | None = None
) -> Iterator[Recorder]:
    """Note what is read inside; RecipeError at the end for what was refused, even where the code
    that
    read it went on.

    `log` is what an observer of native code and child processes writes, if there is one.
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
        recorder.merge(looks(log, begun))
    if recorder.refused:
        raise recorder.refusal()


def _watch_hdf5() -> None:
    """Tell of the files that h5py opens, which it does without Python."""
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


def stamp(path: str) -> Stamp | None:
    """What tells one state of a file from the next; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def is_fresh(found: Stamp, now: float) -> bool:
    """Whether a file changed so shortly before `now`, in seconds since the epoch, that another
    change may leave the same stamp.
    """
    return 0 <= now - found[3] / 1e9 < TICK_SECONDS


def installed() -> tuple[str, ...]:
    """Where Python and its packages are. Libraries may be opened by their real paths where an
    environment is reached through a link.
    """
    users = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages(), *users}
    return (*folders, *{os.path.realpath(folder) for folder in folders} - folders)


def machine(roots: Sequence[Path]) -> tuple[str, ...]:
    """The folders of MACHINE, but those that a root is in."""
    return tuple(
        folder for folder in MACHINE if not any(_below(_normal(root), (folder,)) for root in roots)
    )


def names_in(folder: str | Path) -> frozenset[str]:
    """The names in a folder, those of folders with a slash; those of caches and histories do not
    count. Where there is no folder, ABSENT alone.
    """
    try:
        with os.scandir(folder) as entries:
            return frozenset(
                entry.name + "/" * entry.is_dir() for entry in entries if entry.name not in UNLISTED
            )
    except OSError:
        return frozenset({ABSENT})


def digest_of_names(names: Iterable[str]) -> str:
    return canonical.key(sorted(names))


def candidates(folder: str | Path, module: str) -> tuple[str, ...]:
    """The names in a folder by which a module of this name, a package first, would be found there."""
    suffixes = {f"{module}{suffix}" for suffix in all_suffixes()}
    return tuple(
        sorted(name for name in names_in(folder) if name == f"{module}/" or name in suffixes)
    )


def state_of(path: str | Path) -> str:
    """What questions about a file that do not read it are answered by: its kind, and its size."""
    try:
        found = os.stat(path)
    except OSError:
        return ABSENT
    return _described(found.st_mode, found.st_size)


def _state(look: Look) -> str:
    return ABSENT if look.error else _described(look.mode, look.state[1])


def _described(mode: int, size: int) -> str:
    return (
        f"file of {size} bytes"
        if stat.S_ISREG(mode)
        else "folder"
        if stat.S_ISDIR(mode)
        else "other"
    )


def _normal(path: Any) -> str:
    return os.path.abspath(os.fsdecode(path))


def _below(place: str, folders: Sequence[str]) -> bool:
    return any(place == folder or place.startswith(folder.rstrip("/") + "/") for folder in folders)
