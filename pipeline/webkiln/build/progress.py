"""Telling the user what runs: a live display on a terminal, plain lines elsewhere."""

import sys
import time
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Progress(Protocol):
    def start(self, task: str) -> None: ...
    def done(self, task: str, printed: str) -> None: ...
    def hit(self, task: str, printed: str) -> None: ...
    def fail(self, task: str) -> None: ...
    def close(self) -> None: ...


class Silent:
    """Says nothing."""

    def start(self, task: str) -> None:
        del task

    def done(self, task: str, printed: str) -> None:
        del task, printed

    def hit(self, task: str, printed: str) -> None:
        del task, printed

    def fail(self, task: str) -> None:
        del task

    def close(self) -> None:
        return


class Lines:
    """One line per action, and what it printed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = Lock()
        self._started: dict[str, float] = {}

    def start(self, task: str) -> None:
        self._started[task] = time.monotonic()

    def done(self, task: str, printed: str) -> None:
        self._say(f"{task}  {time.monotonic() - self._started.pop(task, time.monotonic()):.1f} s", printed)

    def hit(self, task: str, printed: str) -> None:
        self._say(f"{task}  cached", printed)

    def fail(self, task: str) -> None:
        self._say(f"{task}  failed", "")

    def close(self) -> None:
        self._stream.flush()

    def _say(self, line: str, printed: str) -> None:
        with self._lock:
            self._stream.write(line + "\n" + printed + ("\n" if printed and not printed.endswith("\n") else ""))
            self._stream.flush()


class Live(Lines):
    """Lines for what is done, and below them a spinner and a clock for each action that runs."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._display: RichProgress | None = None
        self._rows: dict[str, TaskID] = {}

    def start(self, task: str) -> None:
        super().start(task)
        with self._lock:
            if self._display is None:
                from rich.progress import Progress as RichProgress
                from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

                columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
                self._display = RichProgress(*columns, transient=True)
                self._display.start()
            self._rows[task] = self._display.add_task(task, total=None)

    def close(self) -> None:
        if self._display is not None:
            self._display.stop()
        super().close()

    def _say(self, line: str, printed: str) -> None:
        if self._display is None:
            super()._say(line, printed)
            return
        row = self._rows.pop(line.partition("  ")[0], None)
        if row is not None:
            self._display.remove_task(row)
        self._display.console.print(line, *([printed.rstrip()] if printed else []), sep="\n", markup=False, highlight=False)


def console() -> Progress:
    return Live(sys.stdout) if sys.stdout.isatty() else Lines(sys.stdout)
