"""Progress of a build: a live display on a terminal, plain lines elsewhere."""

import functools
import re
import sys
import time
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

QUIET_SECONDS = 10.0
"""How often a running step is reported where there is no live display."""
REPORTED_SECONDS = 3.0


CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor movements
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # operating system commands and other strings
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]",
    re.MULTILINE | re.DOTALL,
)
"""Characters that change how a terminal shows other text (ECMA-48, section 5; Unicode UAX 9), and
those that no encoding has.
"""


def plain(text: str) -> str:
    """A text without control characters, except tabs and line ends. Output of a step may come from
    a cache that others write.
    """
    return CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


class Progress(Protocol):
    def expect(self, tasks: Mapping[str, float | None]) -> None:
        """Announce the tasks to come, with the seconds that each took in its last run."""

    def start(self, task: str) -> None: ...
    def update(self, task: str, text: str) -> None:
        """Called about once a second while a task runs. `text` is its progress, or empty."""

    def message(self, text: str) -> None:
        """Print lines that concern no running task."""

    def done(self, task: str, printed: str) -> None: ...
    def hit(self, task: str, printed: str) -> None: ...
    def skip(self, task: str) -> None: ...
    def fail(self, task: str) -> None: ...
    def close(self) -> None: ...


class Silent:
    """Prints nothing."""

    def expect(self, tasks: Mapping[str, float | None]) -> None:
        del tasks

    def start(self, task: str) -> None:
        del task

    def update(self, task: str, text: str) -> None:
        del task, text

    def message(self, text: str) -> None:
        del text

    def done(self, task: str, printed: str) -> None:
        del task, printed

    def hit(self, task: str, printed: str) -> None:
        del task, printed

    def skip(self, task: str) -> None:
        del task

    def fail(self, task: str) -> None:
        del task

    def close(self) -> None:
        return


class Lines:
    """One line for each action with its number among the expected ones, and its output. A long one
    is reported now and then.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = Lock()
        self._started: dict[str, float] = {}
        self._reported: dict[str, float] = {}
        self._left: dict[str, float | None] = {}
        self._finished = 0

    def expect(self, tasks: Mapping[str, float | None]) -> None:
        self._left.update(tasks)

    def start(self, task: str) -> None:
        self._started[task] = self._reported[task] = time.monotonic()

    def update(self, task: str, text: str) -> None:
        now = time.monotonic()
        if now - self._reported.get(task, now) >= QUIET_SECONDS:
            self._reported[task] = now
            self._print(f"{task}  {text or 'runs'}, {now - self._started[task]:.0f} s so far", "")

    def message(self, text: str) -> None:
        self._print(plain(text), "")

    def done(self, task: str, printed: str) -> None:
        seconds = time.monotonic() - self._started.pop(task, time.monotonic())
        self._print(
            f"{self._count(task)}{task}  {seconds:.1f} s{self._remaining()}", plain(printed), task
        )

    def hit(self, task: str, printed: str) -> None:
        self._print(f"{self._count(task)}{task}  cached", plain(printed), task)

    def skip(self, task: str) -> None:
        self._count(task)

    def fail(self, task: str) -> None:
        self._print(f"{task}  failed", "", task)

    def close(self) -> None:
        self._stream.flush()

    def _count(self, task: str) -> str:
        """`[3/40] ` for the third of forty expected tasks."""
        with self._lock:
            self._finished += 1
            self._left.pop(task, None)
            total = self._finished + len(self._left)
            return f"[{self._finished:{len(str(total))}}/{total}] " if total > 1 else ""

    def _remaining(self) -> str:
        """The remaining time, if each task takes as long as in its last run."""
        seconds = [seconds for seconds in self._left.values() if seconds is not None]
        left = sum(seconds)
        return (
            f", about {duration(left)} left"
            if left > REPORTED_SECONDS and 2 * len(seconds) >= len(self._left)
            else ""
        )

    def _print(self, line: str, printed: str, task: str = "") -> None:
        del task
        with self._lock:
            self._stream.write(
                line + "\n" + printed + ("\n" if printed and not printed.endswith("\n") else "")
            )
            self._stream.flush()


class Live(Lines):
    """Lines for finished actions. Below them, the number of finished actions, and a spinner and a
    clock for each running one.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._display: RichProgress | None = None
        self._rows: dict[str, TaskID] = {}
        self._total: TaskID | None = None

    def start(self, task: str) -> None:
        super().start(task)
        with self._lock:
            if self._display is None:
                from rich.progress import Progress as RichProgress
                from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

                columns = (
                    SpinnerColumn(),
                    TextColumn("{task.description}", markup=False),
                    TimeElapsedColumn(),
                )
                self._display = RichProgress(*columns, transient=True)
                self._display.start()
                self._total = self._display.add_task("", total=None)
            self._rows[task] = self._display.add_task(task, total=None)
        self._sum_up()

    def update(self, task: str, text: str) -> None:
        if text and self._display is not None and task in self._rows:
            self._display.update(self._rows[task], description=f"{task}  {text}")

    def close(self) -> None:
        if self._display is not None:
            self._display.stop()
        super().close()

    def _print(self, line: str, printed: str, task: str = "") -> None:
        if self._display is None:
            super()._print(line, printed)
            return
        row = self._rows.pop(task, None)
        if row is not None:
            self._display.remove_task(row)
        self._display.console.print(
            line, *([printed.rstrip()] if printed else []), sep="\n", markup=False, highlight=False
        )
        self._sum_up()

    def _sum_up(self) -> None:
        if self._display is not None and self._total is not None:
            total = self._finished + len(self._left)
            self._display.update(
                self._total, description=f"{self._finished} of {total} done{self._remaining()}"
            )


def console() -> Progress:
    return Live(sys.stdout) if sys.stdout.isatty() else Lines(sys.stdout)


@functools.cache
def warn(message: str) -> None:
    """Print a warning once."""
    sys.stderr.write(f"warning: {plain(message)}\n")


def duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def size(count: int) -> str:
    """A number of bytes with its unit."""
    return next(
        (
            f"{count / unit:.1f} {name}"
            for unit, name in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "KB"))
            if count >= unit
        ),
        f"{count} bytes",
    )
