"""Looks at a model file in a process that may die: what reads it can crash, loop or exhaust memory
on
a damaged or hostile file.

A probe is a module with `main() -> int`, which gets the file and further arguments, begins with
`limit_resources`, and prints what it has to say; one that only finds out whether a file can be read
is `looked_at` by its `main`, and asked by `check_apart`. Time is that of the processor, so that a
good file is not called damaged because the machine is busy.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil
from pathlib import Path

from webkiln.errors import SourceError

TIMEOUT_S = 20.0
PATIENCE = 20
"""How many times as long a probe may take by the clock."""
LIMIT = "WEBKILN_PROBE_SECONDS"
BYTES_PER_S = 20 << 20
MEMORY_BYTES = 2 << 30
MEMORY_FACTOR = 4
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Threads would take their share of memory on machines with many cores."""
REFUSED = 3
"""The exit status of a probe that printed why."""


def run_probe(module: str, path: Path, arguments: Sequence[str] = ()) -> tuple[int | None, str]:
    """The exit status of a probe, None where it took too long, and what it printed. A file has a
    share of time and memory by its size.
    """
    root = str(Path(__file__).parents[2])
    limit = ceil(TIMEOUT_S + path.stat().st_size / BYTES_PER_S)
    paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": paths, LIMIT: str(limit)}
    command = [sys.executable, "-m", module, str(path.absolute()), *arguments]
    try:
        ended = subprocess.run(
            command, env=environment, capture_output=True, check=False, timeout=PATIENCE * limit
        )
    except subprocess.TimeoutExpired:
        return None, ""
    exhausted = ended.returncode == -getattr(signal, "SIGXCPU", 0) != 0
    return None if exhausted else ended.returncode, ended.stdout.decode(errors="replace")


def check_apart(
    module: str, path: Path, arguments: Sequence[str] = (), *, done: str, reader: str, advice: str
) -> None:
    """SourceError where a probe refuses a file, or does not survive it; the message says that it
    cannot be `done`, that it crashes the `reader`, and what to do.
    """
    status, printed = run_probe(module, path, arguments)
    if status == REFUSED:
        raise SourceError(printed)
    if status is None:
        raise SourceError(
            f"{path.name}: cannot be {done} in reasonable time; it is damaged; {advice}"
        )
    if status != 0:
        raise SourceError(
            f"{path.name}: crashes {reader} or exhausts its memory; it is damaged; {advice}"
        )


def looked_at(path: Path, look: Callable[[], object]) -> int:
    """The exit status of a probe that looks at a file and raises SourceError where it refuses it."""
    limit_resources(path)
    try:
        look()
    except SourceError as error:
        sys.stdout.buffer.write(str(error).encode(errors="replace"))
        return REFUSED
    except (MemoryError, RecursionError):
        return 1
    return 0


def limit_resources(path: Path) -> None:
    """Bound the memory of this process, and the time of the processor that it takes, where the
    system can.
    """
    try:
        import resource
    except ImportError:
        return
    bounds = {resource.RLIMIT_AS: max(MEMORY_BYTES, MEMORY_FACTOR * path.stat().st_size)}
    if LIMIT in os.environ:
        bounds[resource.RLIMIT_CPU] = int(os.environ[LIMIT])
    for kind, limit in bounds.items():
        hard = resource.getrlimit(kind)[1]
        with suppress(ValueError, OSError):
            resource.setrlimit(
                kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard)
            )
