"""How long a command takes, and how much memory it has with all that it starts."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

EVERY_S = 0.1


def _stat(pid: int) -> list[str]:
    """What /proc/<pid>/stat has after the name: the state, the parent, ... Nothing where the
    process is gone.
    """
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def parent(pid: int) -> int | None:
    """The process that started one, or took it over; None where that is gone."""
    return next(map(int, _stat(pid)[1:2]), None)


def ticks(pid: int) -> int:
    """The time of a processor that a process has had, 0 where it is gone."""
    return sum(map(int, _stat(pid)[11:13]))


def family(root: int) -> set[int]:
    """A process and all below it."""
    above = {
        pid: parent(pid) for pid in (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
    }
    members = {root}
    while more := {pid for pid, one in above.items() if one in members} - members:
        members |= more
    return members


def kilobytes(pid: int, file: str, key: str) -> int:
    """A line of /proc/<pid>/<file>, 0 where the process is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1])
    return 0


def watched(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> tuple[float, int]:
    """Seconds, and the largest sum in bytes of the proportional set sizes of a command and all that
    it starts. Ends the program where the command fails.
    """
    begin, peak = time.perf_counter(), 0
    with subprocess.Popen(command, env=environment, stdout=sys.stderr) as process:
        while process.poll() is None:
            peak = max(
                peak, sum(kilobytes(pid, "smaps_rollup", "Pss") for pid in family(process.pid))
            )
            time.sleep(EVERY_S)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - begin, peak * 1024
