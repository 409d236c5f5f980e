"""Runs programs of the documents that import Keras. Since that import takes most of their time,
each runs in a fork of a process that has imported it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FORKS = """
import json, os, runpy, sys, traceback

import keras

for line in sys.stdin:
    folder, name = json.loads(line)
    child = os.fork()
    if not child:
        status = 1
        try:
            os.chdir(folder)
            with open("printed.txt", "wb") as printed:
                os.dup2(printed.fileno(), 1)
                os.dup2(printed.fileno(), 2)
            sys.argv, sys.path[0] = [name], folder
            runpy.run_path(name, run_name="__main__")
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Programs:
    """Runs programs one by one."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, folder: Path, name: str) -> tuple[int, str]:
        """Run `python name` in a folder. Returns its status and output."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([str(folder), name]), file=self._process.stdin, flush=True)
        status = self._process.stdout.readline()
        assert status, "Keras cannot be imported"
        return int(status), (folder / "printed.txt").read_text(errors="replace")


@contextmanager
def programs() -> Iterator[Programs]:
    with subprocess.Popen(
        [sys.executable, "-c", FORKS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ,
        text=True,
    ) as process:
        yield Programs(process)
        assert process.stdin is not None
        process.stdin.close()
