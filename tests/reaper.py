"""Ends the processes that a run of the tests leaves behind, however the run ends: browsers,
drivers, displays, servers.

A separate process watches the run and records its descendants. When the run has ended, even by a
signal that cannot be handled, it kills those that are still running. Descendants whose parents have
died are recognised by an environment variable.
"""

import os
import select
import subprocess
import sys
from pathlib import Path

import psutil

VARIABLE = "WEBKILN_TESTS"
POLL_SECONDS = 1.0
ROOT = Path(__file__).resolve().parents[1]


def start() -> "subprocess.Popen[bytes]":
    """Watch this process. The watcher ignores its standard input; the end of that input is the end
    of the run.
    """
    os.environ[VARIABLE] = str(os.getpid())
    return subprocess.Popen(
        [sys.executable, "-m", "tests.reaper", str(os.getpid())],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        start_new_session=True,
    )


def watch(run: psutil.Process) -> None:
    recorded: set[psutil.Process] = set()
    while not select.select([sys.stdin], [], [], POLL_SECONDS)[0]:
        recorded |= descendants(run)
    for process in remaining_processes(run.pid, recorded):
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


def descendants(run: psutil.Process) -> set[psutil.Process]:
    try:
        return {*run.children(recursive=True)}
    except psutil.NoSuchProcess:
        return set()


def remaining_processes(run: int, recorded: set[psutil.Process]) -> list[psutil.Process]:
    """The processes of a run that still exist, except this one."""
    return [
        process
        for process in {*recorded, *psutil.process_iter()}
        if process.pid != os.getpid() and (process in recorded or belongs_to(run, process))
    ]


def belongs_to(run: int, process: psutil.Process) -> bool:
    try:
        return process.environ().get(VARIABLE) == str(run)
    except (psutil.Error, OSError):
        return False


if __name__ == "__main__":
    watch(psutil.Process(int(sys.argv[1])))
