"""A warm worker process: reads jobs as JSON lines, runs their stage, answers in JSON lines.

What a stage prints goes back as part of the answer; what libraries write to the file descriptors goes to stderr,
which the parent keeps in a log. The process ends with its parent: when the pipe closes, even in the middle of a job.
"""

import io
import json
import os
import queue
import signal
import sys
import threading
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from webkiln.build import stage
from webkiln.errors import UserError


def answer(job: dict[str, Any], modules: dict[str, ModuleType]) -> dict[str, Any]:
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            path = job["stage"]
            if path not in modules:
                modules[path] = stage.load(Path(path))
            stage.run(modules[path], job)
    except UserError as error:
        return {"status": "user", "type": type(error).__name__, "text": str(error), "printed": printed.getvalue()}
    except MemoryError:
        return {"status": "user", "type": "ToolError", "text": "out of memory", "printed": printed.getvalue()}
    except (Exception, SystemExit):  # noqa: BLE001  # whatever a stage raises must reach the parent
        return {"status": "internal", "text": traceback.format_exc(), "printed": printed.getvalue()}
    return {"status": "done", "printed": printed.getvalue()}


class Jobs:
    """The lines of stdin; when the parent closes it, an idle worker ends and a busy one is killed with all it started."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._waiting = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> str:
        self._waiting.set()
        line = self._lines.get()
        self._waiting.clear()
        return line

    def _read(self) -> None:
        for line in sys.stdin:
            self._lines.put(line)
        if self._waiting.is_set():
            self._lines.put("")
        else:
            os.killpg(0, signal.SIGKILL)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jobs = Jobs()
    modules: dict[str, ModuleType] = {}
    while line := jobs.next():
        answers.write(json.dumps(answer(json.loads(line), modules)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
