"""Looks at a model file in a process that may die: what reads it can crash, loop or exhaust memory on a damaged or hostile file.

A probe is a module with `main() -> int`, which gets the file and further arguments, begins with `limit_memory`, and prints what it has to say.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

TIMEOUT_S = 20.0
BYTES_PER_S = 20 << 20
MEMORY_BYTES = 2 << 30
MEMORY_FACTOR = 4
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Threads would take their share of memory on machines with many cores."""


def run_probe(module: str, path: Path, arguments: Sequence[str] = ()) -> tuple[int | None, str]:
    """The exit status of a probe, None where it took too long, and what it printed. A file has a share of time and memory by its size."""
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}
    command = [sys.executable, "-m", module, str(path.absolute()), *arguments]
    limit = TIMEOUT_S + path.stat().st_size / BYTES_PER_S
    try:
        ended = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, ""
    return ended.returncode, ended.stdout.decode(errors="replace")


def limit_memory(path: Path) -> None:
    try:
        import resource
    except ImportError:
        return
    limit = max(MEMORY_BYTES, MEMORY_FACTOR * path.stat().st_size)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
