"""What code of the user's opens, lists and imports while it runs: an audit hook in the process of a stage.

Seen is what goes through Python, and files that h5py opens; what other native code or another process reads is not.
"""

import os
import site
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import source_from_cache
from pathlib import Path
from types import FrameType
from typing import Any

from webkiln import canonical
from webkiln.errors import RecipeError

MACHINE = (
    "/proc",
    "/sys",
    "/dev",
    "/etc",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/share",
    "/usr/local/share",
    "/var/cache",
    "/var/lib",
    "/bin",
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
    """Below `roots` everything read is noted; below `own` nothing is; anything else that exists is refused."""

    def __init__(self, roots: Sequence[Path], own: Sequence[Path]) -> None:
        installed = {
            sys.prefix,
            sys.base_prefix,
            sys.exec_prefix,
            *site.getsitepackages(),
            *([site.getusersitepackages()] if site.ENABLE_USER_SITE else []),
        }
        self._own = tuple(sorted({*map(_normal, own), *map(_normal, installed)}))
        self._roots = tuple(map(_normal, roots))
        self._machine = tuple(folder for folder in MACHINE if not any(_below(root, (folder,)) for root in self._roots))
        self._written: set[str] = set()
        self._heard = threading.local()
        self.files: dict[str, Stamp | None] = {}
        self.folders: dict[str, str] = {}
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
        creates = mode[0] in "wx" if isinstance(mode, str) and mode else isinstance(flags, int) and bool(flags & WRITING)
        if not creates:
            self.reads(path)
        elif isinstance(path, str | bytes | os.PathLike):
            self._written.add(_normal(path))

    def lists(self, path: Any) -> None:
        place = self._place("." if path is None else path)
        if place is not None:
            self.folders.setdefault(place, listing(place))

    def _place(self, path: Any) -> str | None:
        """Where below the roots a path leads; None where it is not asked. Raises RecipeError for what is elsewhere."""
        if not isinstance(path, str | bytes | os.PathLike):
            return None
        place = _normal(path)
        if place.endswith(".pyc"):
            try:
                place = source_from_cache(place)
            except ValueError:
                pass
        if _below(place, self._own) or place in self._written:
            return None
        if _below(place, self._machine):
            return None
        if _below(place, self._roots):
            return place
        real = os.path.realpath(place)
        if _below(real, self._roots) and not _below(real, self._own):
            return real
        if _below(real, (*self._own, *self._machine)) or not os.path.exists(real) or _below(self._roots[0], (real,)) or self._importing():
            return None
        self.refused[place] = None
        raise self.refusal()

    def _importing(self) -> bool:
        """Whether a package that is installed is being imported: what it looks at then is its own business, such as the fonts of the system."""
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
            f"{', '.join(self.refused)}: read by the model's own code, and outside the project {self._roots[0]}; "
            "a change of it would go unnoticed: move it into the project, or list it, or its folder, as reads = [...] in the recipe (--reads)"
        )

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if getattr(self._heard, "busy", False) or (handler := HANDLERS.get(event)) is None:
            return
        self._heard.busy = True
        try:
            caller = sys._getframe(2)  # noqa: SLF001
            if not _removes(caller) and not (event in LISTINGS and _searches(caller)):
                handler(self, arguments)
        finally:
            self._heard.busy = False


def _import(recorder: Recorder, arguments: tuple[Any, ...]) -> None:
    if arguments[1]:
        recorder.reads(arguments[1])
    _watch_hdf5()


def _listing(recorder: Recorder, arguments: tuple[Any, ...]) -> None:
    recorder.lists(arguments[0])


def _searches(caller: FrameType) -> bool:
    """Whether Python looks for a module or a package; what it finds is opened."""
    return caller.f_code.co_filename.startswith("<frozen importlib") or "/importlib/" in caller.f_code.co_filename


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
    "ctypes.dlopen": lambda recorder, arguments: recorder.reads(arguments[0]) if os.sep in str(arguments[0]) else None,
    "sqlite3.connect": lambda recorder, arguments: recorder.reads(arguments[0]),
    "webkiln.hdf5": lambda recorder, arguments: recorder.reads(arguments[0]),
}

_recorder: Recorder | None = None
_hooked = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _recorder is not None:
        _recorder.hear(event, arguments)


@contextmanager
def recording(roots: Sequence[Path], own: Sequence[Path]) -> Iterator[Recorder]:
    """Note what is read inside; RecipeError at the end for what was refused, even where the code that read it went on."""
    global _recorder, _hooked  # noqa: PLW0603  # a hook cannot be removed
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked = True
    _watch_hdf5()
    _recorder = recorder = Recorder(roots, own)
    try:
        yield recorder
    finally:
        _recorder = None
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
    """Whether a file changed so shortly before `now`, in seconds since the epoch, that another change may leave the same stamp."""
    return 0 <= now - found[3] / 1e9 < TICK_SECONDS


def listing(folder: str | Path) -> str:
    """A digest of the names in a folder, ABSENT where there is none; names of caches and histories do not count."""
    try:
        return canonical.key(sorted(set(os.listdir(folder)) - UNLISTED))
    except OSError:
        return ABSENT


def _normal(path: Any) -> str:
    return os.path.abspath(os.fsdecode(path))


def _below(place: str, folders: Sequence[str]) -> bool:
    return any(place == folder or place.startswith(folder.rstrip("/") + "/") for folder in folders)
