"""Inspect a model file in a subprocess: reading a damaged or hostile file can crash, loop or
exhaust memory.

A probe is a module with `main() -> int`. It receives the file and further arguments, calls
`limit_resources` first, and prints its result. A probe that only checks whether a file is readable
uses `run_check` as its `main`; callers use `check_in_subprocess`. The time limit counts CPU time,
so a busy machine does not make a good file look damaged.
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
"""The wall-clock limit, as a multiple of the CPU time limit."""
LIMIT = "WEBKILN_PROBE_SECONDS"
BYTES_PER_S = 20 << 20
MEMORY_BYTES = 2 << 30
MEMORY_FACTOR = 4
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Each thread reserves memory, which on machines with many cores exceeds the limit."""
REFUSED = 3
"""The exit status of a probe that printed why it rejects the file."""


def run_probe(module: str, path: Path, arguments: Sequence[str] = ()) -> tuple[int | None, str]:
    """Run a probe; return its exit status, None after a timeout, and its standard output. The
    limits of time and memory grow with the file size.
    """
    root = str(Path(__file__).parents[2])
    limit = ceil(TIMEOUT_S + path.stat().st_size / BYTES_PER_S)
    paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": paths, LIMIT: str(limit)}
    command = [sys.executable, "-m", module, str(path.absolute()), *arguments]
    try:
        process = subprocess.run(
            command, env=environment, capture_output=True, check=False, timeout=PATIENCE * limit
        )
    except subprocess.TimeoutExpired:
        return None, ""
    exhausted = process.returncode == -getattr(signal, "SIGXCPU", 0) != 0
    return None if exhausted else process.returncode, process.stdout.decode(errors="replace")


def check_in_subprocess(
    module: str, path: Path, arguments: Sequence[str] = (), *, done: str, reader: str, advice: str
) -> None:
    """Raise SourceError if a probe rejects a file or crashes on it. The message states that the
    file cannot be `done` (a participle), that it crashes `reader`, and `advice`.
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


def run_check(path: Path, check: Callable[[], object]) -> int:
    """Run `check` under resource limits and return the exit status of the probe; REFUSED, with the
    message printed, if it raises SourceError.
    """
    limit_resources(path)
    try:
        check()
    except SourceError as error:
        sys.stdout.buffer.write(str(error).encode(errors="replace"))
        return REFUSED
    except (MemoryError, RecursionError):
        return 1
    return 0


def limit_resources(path: Path) -> None:
    """Limit the memory and the CPU time of this process, if the operating system supports it."""
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
