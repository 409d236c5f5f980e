"""The time at which each step of a build ran, in Chrome's trace-event format, which
chrome://tracing and Perfetto open.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from webkiln.build.files import write_atomic

PROCESS = 1


class Timeline:
    """The steps of one build. Overlapping steps are in different rows. Thread-safe."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self._lock = Lock()
        self._busy: set[int] = set()
        self._rows = 0
        self._events: list[dict[str, Any]] = []

    @contextmanager
    def step(self, task: str, kind: str, **more: Any) -> Iterator[None]:
        """Record the execution of the body; `kind` is its category."""
        with self._lock:
            row = next(number for number in range(len(self._busy) + 1) if number not in self._busy)
            self._busy.add(row)
            self._rows = max(self._rows, row + 1)
        begun = time.perf_counter()
        try:
            yield
        finally:
            ended = time.perf_counter()
            times = {"ts": self._microseconds(begun), "dur": round((ended - begun) * 1e6)}
            with self._lock:
                self._busy.discard(row)
                self._events.append(
                    {
                        "name": task,
                        "cat": kind,
                        "ph": "X",
                        **times,
                        "pid": PROCESS,
                        "tid": row + 1,
                        "args": more,
                    }
                )

    def mark(self, task: str, kind: str) -> None:
        """Record an event without duration."""
        now = self._microseconds(time.perf_counter())
        with self._lock:
            self._events.append(
                {
                    "name": task,
                    "cat": kind,
                    "ph": "i",
                    "s": "p",
                    "ts": now,
                    "pid": PROCESS,
                    "tid": 1,
                    "args": {},
                }
            )

    def write(self, file: Path) -> None:
        """Write what was recorded so far. Raises OutputError where the file cannot be written."""
        with self._lock:
            events = sorted(self._events, key=lambda event: event["ts"])
            names = [("process_name", 1, f"webkiln in {Path.cwd().name}, process {os.getpid()}")]
            names += [("thread_name", row + 1, f"steps {row + 1}") for row in range(self._rows)]
        heads = [
            {"name": kind, "ph": "M", "pid": PROCESS, "tid": row, "args": {"name": text}}
            for kind, row, text in names
        ]
        write_atomic(
            file, json.dumps({"traceEvents": [*heads, *events], "displayTimeUnit": "ms"}).encode()
        )

    def _microseconds(self, moment: float) -> int:
        return round((moment - self._begun) * 1e6)
