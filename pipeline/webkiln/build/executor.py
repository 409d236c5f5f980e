"""Where stages run: the interface, and a pool of warm worker processes on this machine."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import BoundedSemaphore, Lock
from typing import IO, Any, Protocol

from webkiln import errors
from webkiln.errors import InternalError, ToolError, UserError

LOG_TAIL = 4000
FAREWELL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a stage file on paths. `code` names what the stage imports, with digests, so that no worker runs stale code."""

    task: str
    stage: Path
    inputs: Mapping[str, Path]
    outputs: Mapping[str, Path]
    params: Mapping[str, Any]
    code: Mapping[str, str]
    timeout: float


class Executor(Protocol):
    def execute(self, job: Job) -> str:
        """Run a job and return what it printed. Raises the stage's UserError, ToolError on a timeout or a dead worker."""

    def close(self) -> None: ...


class Worker:
    """A child process in a group of its own, so that what it started dies with it."""

    def __init__(self, pythonpath: Path) -> None:
        path = os.pathsep.join(filter(None, (str(pythonpath), os.environ.get("PYTHONPATH"))))
        self.code: dict[str, str] = {}
        self.log: IO[bytes] = TemporaryFile()  # noqa: SIM115  # lives as long as the worker
        self.process = subprocess.Popen(
            [sys.executable, "-m", "webkiln.build.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,
        )

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any] | None:
        """Send one job and wait for its answer; None when the worker died. Raises TimeoutError."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        deadline = time.monotonic() + timeout
        received = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not received.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError
                chunk = os.read(self.process.stdout.fileno(), 65536)
                if not chunk:
                    return None
                received += chunk
        answer: dict[str, Any] = json.loads(received)
        return answer

    def fits(self, code: Mapping[str, str]) -> bool:
        alive = self.process.poll() is None
        return alive and all(self.code.get(name, digest) == digest for name, digest in code.items())

    def close(self) -> None:
        """Let an idle worker end on its own, so that what it keeps open (a browser, say) is closed."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass

    def log_tail(self) -> str:
        size = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, size - LOG_TAIL))
        return self.log.read().decode(errors="replace").strip()


class LocalPool:
    """At most `size` workers, started when needed and kept warm; one whose imported code has changed is replaced."""

    def __init__(self, pythonpath: Path, size: int | None = None) -> None:
        self._pythonpath = pythonpath
        self._slots = BoundedSemaphore(size or os.cpu_count() or 1)
        self._lock = Lock()
        self._idle: list[Worker] = []

    def execute(self, job: Job) -> str:
        with self._slots:
            worker = self._take(job.code)
            try:
                answer = worker.ask(_request(job), job.timeout)
            except TimeoutError:
                worker.kill()
                raise ToolError(f"{job.task}: stopped after {job.timeout:g} seconds without a result") from None
            except BaseException:
                worker.kill()
                raise
            if answer is None:
                code = worker.process.wait()
                tail = worker.log_tail()
                worker.kill()
                raise ToolError(f"{job.task}: its process ended with status {code}" + (f"\n{tail}" if tail else ""))
            with self._lock:
                self._idle.append(worker)
        return _conclude(job, answer)

    def close(self) -> None:
        with self._lock:
            for worker in self._idle:
                worker.close()
            for worker in self._idle:
                try:
                    worker.process.wait(FAREWELL_SECONDS)
                except subprocess.TimeoutExpired:
                    pass
                worker.kill()
            self._idle.clear()

    def _take(self, code: Mapping[str, str]) -> Worker:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is not None and not worker.fits(code):
            worker.kill()
            worker = None
        worker = worker or Worker(self._pythonpath)
        worker.code.update(code)
        return worker


def _request(job: Job) -> dict[str, Any]:
    return {
        "stage": str(job.stage),
        "inputs": {role: str(path) for role, path in job.inputs.items()},
        "outputs": {role: str(path) for role, path in job.outputs.items()},
        "params": dict(job.params),
    }


def _conclude(job: Job, answer: dict[str, Any]) -> str:
    if answer["status"] == "done":
        return str(answer["printed"])
    if answer["status"] == "internal":
        raise InternalError(f"{job.task}: the stage {job.stage.stem} failed; please report this\n{answer['text']}")
    kind = getattr(errors, answer["type"], UserError)
    error: UserError = kind.__new__(kind)
    Exception.__init__(error, answer["printed"] + answer["text"])
    raise error
