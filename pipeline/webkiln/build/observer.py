"""What native code and child processes of a stage look at: a library that is loaded before all
others
(`observer.c`), on Linux.

It is compiled once for each cache with whatever C compiler there is. Without one, child processes
are warned of, and what native code reads goes unnoticed.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from webkiln import canonical
from webkiln.build.files import beside

SOURCE = Path(__file__).with_name("observer.c")
VARIABLE = "WEBKILN_OBSERVER"
FLAGS = ("-O1", "-fPIC", "-shared", "-nostdlib", "-w")
COMPILERS = (
    ("clang-19", "-fuse-ld=lld"),
    ("clang", "-fuse-ld=lld"),
    ("cc",),
    ("gcc",),
    ("clang",),
    (sys.executable, "-m", "ziglang", "cc"),
)
COMPILER_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Look:
    """One kind of look at a path, as `observer.c` lists them; `mode` has the type alone, `state` is
    inode, size and times. Of a process, `process` is its number.
    """

    kind: str
    error: int
    mode: int
    state: tuple[int, int, int, int]
    path: str

    @property
    def process(self) -> int:
        return self.state[0]


def library(cache: Path) -> Path | None:
    """The compiled library, made on the first call for a cache; None where nothing here can make
    one.
    """
    if sys.platform != "linux":
        return None
    place = (
        cache
        / "observers"
        / f"{canonical.key([canonical.file_digest(SOURCE), os.uname().machine])}.so"
    )
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    for compiler in COMPILERS:
        made = beside(place)
        try:
            _compile(compiler, made)
            if _works(made):
                made.replace(place)
                return place
        except (OSError, subprocess.SubprocessError):
            continue
        finally:
            made.unlink(missing_ok=True)
    return None


def _compile(compiler: Sequence[str], made: Path) -> None:
    """Zig keeps what it compiles, by default below the user's home, which need not be writable."""
    command = [*compiler, *FLAGS, "-o", str(made), str(SOURCE)]
    with TemporaryDirectory() as kept:
        given = {
            **os.environ,
            **dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), kept),
        }
        subprocess.run(
            command, env=given, check=True, capture_output=True, timeout=COMPILER_SECONDS
        )  # fmt: skip


def variables(made: Path, log: Path, ignored: Sequence[str]) -> dict[str, str]:
    """The environment of a process that is observed; what lies below `ignored` is not told."""
    return {"LD_PRELOAD": str(made), VARIABLE: "\n".join([str(log), *ignored])}


def looks(log: Path, begun: int = 0) -> Iterator[Look]:
    """What was observed, in its order, after the first `begun` bytes of a log."""
    data = log.read_bytes()[begun:] if log.exists() else b""
    for line in data.split(b"\0")[:-1]:
        kind, error, form, inode, size, modified, changed, path = line.split(b" ", 7)
        yield Look(
            kind.decode(),
            int(error),
            int(form) << 12,
            (int(inode), int(size), int(modified), int(changed)),
            os.fsdecode(path),
        )


def _works(made: Path) -> bool:
    """Whether a process that the library is loaded into is observed."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        subprocess.run(
            ["/bin/sh", "-c", ":"],
            env=variables(made, log, []),
            check=True,
            capture_output=True,
            timeout=COMPILER_SECONDS,
        )
        return any(look.kind == "x" for look in looks(log))
