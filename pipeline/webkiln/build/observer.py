"""Observes the file accesses of native code and child processes of a stage, by a preloaded library
(`observer.c`), on Linux.

The library is compiled once for each cache, with any C compiler that works. Without one, a warning
is printed for each child process, and reads of native code are not noticed.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from webkiln import canonical
from webkiln.build.files import temporary_path

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
class Access:
    """One kind of access to a path, as `observer.c` writes them. `mode` has only the file type;
    `state` is inode, size and times. Of a process, `process` is its number.
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
    """The compiled library, built on the first call for a cache; None where no compiler works."""
    if sys.platform != "linux":
        return None
    target = (
        cache
        / "observers"
        / f"{canonical.key([canonical.file_digest(SOURCE), os.uname().machine])}.so"
    )
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    for compiler in COMPILERS:
        built = temporary_path(target)
        try:
            _compile(compiler, built)
            if _works(built):
                built.replace(target)
                return target
        except (OSError, subprocess.SubprocessError):
            continue
        finally:
            built.unlink(missing_ok=True)
    return None


def _compile(compiler: Sequence[str], built: Path) -> None:
    """Zig caches below the user's home by default, which need not be writable."""
    command = [*compiler, *FLAGS, "-o", str(built), str(SOURCE)]
    with TemporaryDirectory() as zig_cache:
        variables = {
            **os.environ,
            **dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), zig_cache),
        }
        subprocess.run(
            command, env=variables, check=True, capture_output=True, timeout=COMPILER_SECONDS
        )  # fmt: skip


def variables(built: Path, log: Path, ignored: Sequence[str]) -> dict[str, str]:
    """The environment of an observed process. Accesses below `ignored` are not reported."""
    return {"LD_PRELOAD": str(built), VARIABLE: "\n".join([str(log), *ignored])}


def accesses(log: Path, begun: int = 0) -> Iterator[Access]:
    """The observed accesses in order, after the first `begun` bytes of a log."""
    data = log.read_bytes()[begun:] if log.exists() else b""
    for line in data.split(b"\0")[:-1]:
        kind, error, form, inode, size, modified, changed, path = line.split(b" ", 7)
        yield Access(
            kind.decode(),
            int(error),
            int(form) << 12,
            (int(inode), int(size), int(modified), int(changed)),
            os.fsdecode(path),
        )


def _works(built: Path) -> bool:
    """Whether a process that loads the library is observed."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        subprocess.run(
            ["/bin/sh", "-c", ":"],
            env=variables(built, log, []),
            check=True,
            capture_output=True,
            timeout=COMPILER_SECONDS,
        )
        return any(access.kind == "x" for access in accesses(log))
