"""A worker process: reads jobs as JSON lines, runs their stages, writes answers and progress as
JSON lines.

What a stage prints is part of the answer. What libraries write to the file descriptors goes to
stderr, which the parent keeps in a log. The process ends with its parent, even in the middle of a
job: the pipe closes then.
"""

import atexit
import gc
import io
import json
import os
import queue
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType
from typing import Any

from webkiln.build import stage
from webkiln.build.environment import DOWNLOADS, UMASK
from webkiln.build.reads import ChangedError, recording
from webkiln.errors import MissingPackageError, ToolError, UserError, missing_package

REPORT_SECONDS = 0.5
COLLECTIONS = (100_000, 20, 50)
"""Thresholds of the garbage collector. Modules of frameworks are millions of objects that live
until the end. By default, collecting them takes a quarter of their import time.
"""

Report = Callable[[str], None]


class Printed(io.StringIO):
    """The output of a stage. Its current line is reported as progress."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report

    def write(self, text: str) -> int:
        if line := next(
            (line for line in reversed(text.replace("\r", "\n").split("\n")) if line.strip()), ""
        ):
            self._report(line.strip())
        return super().write(text)


def answer(job: dict[str, Any], modules: dict[str, ModuleType], report: Report) -> dict[str, Any]:
    printed = Printed(report)
    reads: dict[str, Any] = {}
    stage.report_progress = report
    try:
        with redirect_stdout(printed):
            path = job["stage"]
            if path not in modules:
                modules[path] = stage.load(Path(path))
            if "watch" in job:
                reads = watched(modules[path], job)
            else:
                stage.run(modules[path], job)
    except ChangedError:
        return {"status": "changed"}
    except UserError as error:
        return error_answer(error, printed.getvalue())
    except MemoryError:
        return error_answer(ToolError("out of memory"), printed.getvalue())
    # Whatever a stage raises must reach the parent.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        missing = (
            missing_package(error, f"the stage {Path(job['stage']).stem}")
            if isinstance(error, ImportError)
            else None
        )
        if missing is not None:
            return error_answer(missing, printed.getvalue())
        return {"status": "internal", "text": traceback.format_exc(), "printed": printed.getvalue()}
    return {"status": "done", "printed": printed.getvalue(), "reads": reads}


def error_answer(error: UserError, printed: str) -> dict[str, Any]:
    """An error as an answer."""
    module = {"module": error.module} if isinstance(error, MissingPackageError) else {}
    return {
        "status": "user",
        "type": type(error).__name__,
        "text": str(error),
        "printed": printed,
        **module,
    }


def watched(module: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """Run a stage with user code. Returns what the code read below the roots of the job."""
    roots, own = job["watch"]["roots"], job["watch"]["own"]
    os.chdir(roots[0])
    tempfile.tempdir = os.environ["TMPDIR"] = job["watch"]["temporary"]
    sys.dont_write_bytecode = True
    home = Path.home()
    downloads = [home / ".keras" / name for name in DOWNLOADS]
    log = job["watch"]["log"]
    with recording(
        [Path(root) for root in roots],
        [
            *map(Path, own),
            home,
            Path(tempfile.gettempdir()),
            *(path.resolve() for path in downloads),
        ],
        Path(log) if log else None,
    ) as recorder:
        stage.run(module, job)
    return {
        "files": recorder.files,
        "folders": recorder.folders,
        "states": {
            path: state for path, state in recorder.states.items() if path not in recorder.files
        },
        "modules": recorder.modules,
        "packages": packages(),
        "unobserved": sorted(recorder.unobserved),
    }


def packages() -> list[str]:
    """The distributions of the imported modules."""
    owners = packages_distributions()
    return sorted(
        {
            owner
            for top in {name.partition(".")[0] for name in sys.modules}
            for owner in owners.get(top, ())
            if owner != "webkiln"
        }
    )


class Jobs:
    """The lines of stdin. When the parent closes it, an idle worker ends; a busy one is killed with
    all its children.
    """

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> str:
        """The next job; empty when there are no more."""
        return self._lines.get()

    def done(self) -> None:
        """The last job is done, and its answer is about to be sent."""
        self._idle.set()

    def _read(self) -> None:
        for line in sys.stdin:
            self._idle.clear()
            self._lines.put(line)
        if self._idle.is_set():
            self._lines.put("")
        else:
            os.killpg(0, signal.SIGKILL)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.umask(UMASK)
    gc.set_threshold(*COLLECTIONS)
    jobs = Jobs()
    modules: dict[str, ModuleType] = {}
    error_answer = 0.0

    def send(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    def report(text: str) -> None:
        nonlocal error_answer
        if time.monotonic() - error_answer > REPORT_SECONDS:
            error_answer = time.monotonic()
            send({"status": "runs", "text": text[:80]})

    while line := jobs.next():
        message = answer(json.loads(line), modules, report)
        jobs.done()
        send(message)
    # Close open resources, such as a browser, and exit: freeing all objects of a framework takes a
    # second. No public function runs exit handlers before os._exit.
    atexit._run_exitfuncs()  # noqa: SLF001
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
