"""Reads a model file in a process that may die: the HDF5 library can crash, loop or exhaust memory on a damaged or hostile file.

Run: python -m webkiln.frontends.keras.probe FILE
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from webkiln.errors import SourceError
from webkiln.frontends.keras.reader import parse_model

TIMEOUT_S = 20.0
BYTES_PER_S = 20 << 20
MEMORY_BYTES = 4 << 30
MEMORY_FACTOR = 4


def check_readable(path: Path) -> None:
    """Raise SourceError for a file that cannot be parsed within its share of time and memory; every other error is left to the parser."""
    size = path.stat().st_size
    root = str(Path(__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}
    command = [sys.executable, "-m", "webkiln.frontends.keras.probe", str(path.absolute())]
    try:
        ended = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=TIMEOUT_S + size / BYTES_PER_S)
    except subprocess.TimeoutExpired:
        raise SourceError(f"{path.name}: cannot be read in reasonable time; it is damaged; save it again with model.save()") from None
    if ended.returncode != 0:
        raise SourceError(f"{path.name}: crashes or exhausts the HDF5 library; it is damaged; save it again with model.save()")


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:
        return
    limit = max(MEMORY_BYTES, MEMORY_FACTOR * size)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def main() -> int:
    path = Path(sys.argv[1])
    _limit_memory(path.stat().st_size)
    try:
        parse_model(path)
    except MemoryError:
        return 1
    except Exception as error:  # noqa: BLE001 - whatever the parser says, it says again in the caller
        return int(isinstance(error.__context__, MemoryError))
    return 0


if __name__ == "__main__":
    sys.exit(main())
