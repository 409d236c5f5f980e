"""One build at a time in a checkout. doit keeps one database for each checkout, and two builds
would publish a mix of their files.
"""

import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from webkiln import canonical
from webkiln.build.files import writing


class CheckoutLock:
    """A lock on the state folder of a checkout, which the system releases when the process ends.
    The file names the process that holds it.
    """

    def __init__(self, state: Path, report: Callable[[str], None]) -> None:
        self._path = state / "lock"
        self._report = report
        self._file: IO[bytes] | None = None

    def acquire(self) -> None:
        """Wait for the lock, and report once for which process. Raises OutputError where the folder
        cannot be written.
        """
        with writing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = self._path.open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._report(f"waiting for {self._holder()}, which builds in this checkout")
            fcntl.flock(file, fcntl.LOCK_EX)
        with writing(self._path):
            file.truncate(0)
            file.write(
                canonical.dumps(
                    {
                        "command": command(sys.argv),
                        "pid": os.getpid(),
                        "since": time.strftime("%H:%M:%S"),
                    }
                )
            )
            file.flush()
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def _holder(self) -> str:
        try:
            holder = canonical.loads(self._path.read_bytes())
            return f"`{holder['command']}` (process {holder['pid']}, since {holder['since']})"
        except (OSError, ValueError, KeyError, TypeError):
            return "another doit"


def command(words: Sequence[str]) -> str:
    """A command line as users type it."""
    first = Path(words[0]).name if words else ""
    return " ".join(("doit" if first == "__main__.py" else first, *words[1:]))
