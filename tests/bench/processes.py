"""Measures the time and memory of a command with all processes that it starts."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

INTERVAL_S = 0.1


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the name (state, parent, ...), empty if the process has
    ended.
    """
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def parent(pid: int) -> int | None:
    """The parent of a process, or the process that adopted it. None if it has ended."""
    return next(map(int, _stat(pid)[1:2]), None)


def ticks(pid: int) -> int:
    """The processor time of a process in clock ticks, 0 if it has ended."""
    return sum(map(int, _stat(pid)[11:13]))


def family(root: int) -> set[int]:
    """A process and all its descendants."""
    parents = {
        pid: parent(pid) for pid in (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
    }
    members = {root}
    while (
        children := {pid for pid, parent_pid in parents.items() if parent_pid in members} - members
    ):
        members |= children
    return members


def milliseconds(root: int, kind: str, *, main_only: bool = False) -> float:
    """The processor time of the browser's processes of a kind, such as `gpu-process` or `renderer`,
    below a process; of their main threads, or of all.
    """
    nanoseconds = 0
    for pid in family(root):
        folder = Path(f"/proc/{pid}")
        with contextlib.suppress(OSError):
            if f"--type={kind}".encode() in (folder / "cmdline").read_bytes():
                tasks = folder / "task"
                for thread in [tasks / str(pid)] if main_only else tasks.iterdir():
                    nanoseconds += int((thread / "schedstat").read_text().split()[0])
    return nanoseconds / 1e6


def kilobytes(pid: int, file: str, key: str) -> int:
    """The value of `key` in /proc/<pid>/<file>, 0 if the process has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1])
    return 0


def measure(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> tuple[float, int]:
    """Run a command. Returns its duration in seconds, and the maximum in bytes of the sum of the
    proportional set sizes of its processes. Exits if the command fails.
    """
    begin, peak = time.perf_counter(), 0
    with subprocess.Popen(command, env=environment, stdout=sys.stderr) as process:
        while process.poll() is None:
            peak = max(
                peak, sum(kilobytes(pid, "smaps_rollup", "Pss") for pid in family(process.pid))
            )
            time.sleep(INTERVAL_S)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - begin, peak * 1024
