"""What identifies the state of a file or folder without reading its bytes: stamps, kinds and sizes,
and the names in a folder.
"""

import os
import stat
from collections.abc import Iterable
from importlib.machinery import all_suffixes
from pathlib import Path

from webkiln import canonical

ABSENT = "absent"
UNLISTED = {"__pycache__", ".webkiln", ".git"}

Stamp = tuple[int, int, int, int]
TICK_SECONDS = 0.02
"""Changes of a file within one tick of the kernel's clock, at most 10 ms, leave equal stamps."""


def stamp(path: str) -> Stamp | None:
    """Identifies one state of a file: inode, size, modification and change time. None if it is
    absent.
    """
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_fresh(recorded: Stamp, now: float) -> bool:
    """Whether a file changed so shortly before `now`, in seconds since the epoch, that another
    change could leave the same stamp.
    """
    return 0 <= now - recorded[3] / 1e9 < TICK_SECONDS


def names_in(folder: str | Path) -> frozenset[str]:
    """The names in a folder; those of folders end with a slash. Caches and histories are left out.
    For an absent folder, ABSENT alone.
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
    """The names in a folder that provide a module of this name, as a package or as a file."""
    suffixes = {f"{module}{suffix}" for suffix in all_suffixes()}
    return tuple(
        sorted(name for name in names_in(folder) if name == f"{module}/" or name in suffixes)
    )


def state_of(path: str | Path) -> str:
    """The answer to a query of a file without reading it: its kind, and its size."""
    try:
        status = os.stat(path)
    except OSError:
        return ABSENT
    return describe(status.st_mode, status.st_size)


def describe(mode: int, size: int) -> str:
    return (
        f"file of {size} bytes"
        if stat.S_ISREG(mode)
        else "folder"
        if stat.S_ISDIR(mode)
        else "other"
    )
