"""Executes stages: the interface, and a pool of warm worker processes on this machine."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from threading import BoundedSemaphore, Lock
from typing import IO, Any, Protocol

from webkiln import errors
from webkiln.build.environment import environment, furnish
from webkiln.build.file_stamps import Stamp
from webkiln.build.observer import variables
from webkiln.build.reads import ChangedError
from webkiln.build.scratch import Scratch
from webkiln.build.system_paths import python_folders, system_folders
from webkiln.errors import InternalError, MissingPackageError, ToolError, UserError, WebkilnError

LOG_TAIL = 4000
FAREWELL_SECONDS = 5.0
PROGRESS_SECONDS = 1.0


def _ignored(text: str) -> None:
    del text


@dataclass(frozen=True, slots=True)
class Watch:
    """Permissions of a job that runs user code. Reads below `roots` are allowed and recorded. Those
    below `own`, webkiln's files, are not recorded. `temporary` is for scratch files. `observer` is
    the library that observes native code.
    """

    roots: tuple[Path, ...]
    own: tuple[Path, ...]
    temporary: Path
    observer: Path | None = None

    @property
    def log(self) -> Path | None:
        """The file that the observer writes."""
        return self.temporary.with_name("looks") if self.observer is not None else None


def observation(watch: Watch | None, home: Path) -> dict[str, str]:
    """The variables of a process whose native code and children are observed."""
    if watch is None or watch.observer is None or watch.log is None:
        return {}
    return variables(
        watch.observer,
        watch.log,
        [
            *map(str, (*watch.own, watch.temporary, home)),
            *python_folders(),
            *system_folders(watch.roots),
        ],
    )


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a stage file on paths. `code` are the digests of what the stage imports, so that
    no worker runs stale code.
    """

    task: str
    stage: Path
    inputs: Mapping[str, Path]
    outputs: Mapping[str, Path]
    params: Mapping[str, Any]
    code: Mapping[str, str]
    timeout: float
    watch: Watch | None = None
    report: Callable[[str], None] = _ignored


@dataclass(frozen=True, slots=True)
class Outcome:
    """The output of a job, and the accesses of its user code.

    `files`: files that it read, with stamps. `folders`: folders that it listed, with digests of the
    names. `states`: files that it queried, with their states. `modules`: by folder, the modules
    that it tried to import, with the files that provide them. `packages`: the distributions of all
    imports. `unobserved`: programs whose reads were not observed. `tools`: the versions that
    computed the result, if it ran on another machine.
    """

    printed: str
    files: Mapping[str, Stamp | None] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    packages: Sequence[str] = ()
    unobserved: Sequence[str] = ()
    tools: Mapping[str, str] | None = None


class Executor(Protocol):
    def execute(self, job: Job) -> Outcome:
        """Run a job. Raises the stage's UserError, or ToolError on a timeout or a dead worker."""

    def close(self) -> None: ...


class Worker:
    """A child process in its own process group, so that its children die with it. It has its own
    home folder.
    """

    def __init__(
        self,
        pythonpath: Path,
        homes: Path | None = None,
        *,
        downloads: bool = False,
        watch: Watch | None = None,
    ) -> None:
        self._scratch = Scratch(homes or Path(gettempdir()), "home-")
        home = self._scratch.folder
        furnish(home, os.environ, downloads=downloads)
        self.code: dict[str, str] = {}
        self.log: IO[bytes] = TemporaryFile()  # noqa: SIM115  # lives as long as the worker
        self.process = subprocess.Popen(
            [sys.executable, "-m", "webkiln.build.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=environment(home, pythonpath, os.environ, foreign=watch is not None)
            | observation(watch, home),
            start_new_session=True,
        )

    def ask(
        self, request: dict[str, Any], timeout: float, report: Callable[[str], None]
    ) -> dict[str, Any] | None:
        """Send one job and wait for its answer. Progress is passed to `report`. None if the worker
        died. Raises TimeoutError.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        deadline = time.monotonic() + timeout
        received, progress = b"", ""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                left = deadline - time.monotonic()
                if not selector.select(max(0.0, min(left, PROGRESS_SECONDS))):
                    if left <= 0:
                        raise TimeoutError
                    report(progress)
                    continue
                chunk = os.read(self.process.stdout.fileno(), 65536)
                if not chunk:
                    return None
                *lines, received = (received + chunk).split(b"\n")
                for message in map(json.loads, lines):
                    if message["status"] != "runs":
                        return dict(message)
                    progress = message["text"]
                    report(progress)

    def fits(self, code: Mapping[str, str]) -> bool:
        alive = self.process.poll() is None
        return alive and all(self.code.get(name, digest) == digest for name, digest in code.items())

    def close(self) -> None:
        """Let an idle worker exit by itself, so that it closes its resources, such as a browser."""
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
        self._scratch.close()

    def log_tail(self) -> str:
        size = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, size - LOG_TAIL))
        return self.log.read().decode(errors="replace").strip()


class LocalPool:
    """At most `size` workers, started on demand and kept warm. A worker whose imported code has
    changed is replaced. A job with user code has its own worker.
    """

    def __init__(
        self, pythonpath: Path, size: int | None = None, homes: Path | None = None
    ) -> None:
        self._pythonpath = pythonpath
        self._homes = homes
        self._slots = BoundedSemaphore(size or os.cpu_count() or 1)
        self._lock = Lock()
        self._idle: list[Worker] = []

    def execute(self, job: Job) -> Outcome:
        with self._slots:
            worker = (
                self._take(job.code)
                if job.watch is None
                else Worker(self._pythonpath, self._homes, downloads=True, watch=job.watch)
            )
            try:
                answer = worker.ask(_request(job), job.timeout, job.report)
            except TimeoutError:
                worker.kill()
                raise ToolError(
                    f"{job.task}: stopped after {job.timeout:g} seconds without a result"
                ) from None
            except BaseException:
                worker.kill()
                raise
            if answer is None:
                code = worker.process.wait()
                tail = worker.log_tail()
                worker.kill()
                raise ToolError(
                    f"{job.task}: the worker process ended with status {code}"
                    + (f"\n{tail}" if tail else "")
                )
            if job.watch is not None:
                worker.kill()
            else:
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
        worker = worker or Worker(self._pythonpath, self._homes)
        worker.code.update(code)
        return worker


def _request(job: Job) -> dict[str, Any]:
    watch = job.watch
    watched = (
        {}
        if watch is None
        else {
            "roots": [*map(str, watch.roots)],
            "own": [*map(str, watch.own)],
            "temporary": str(watch.temporary),
            "log": str(watch.log or ""),
        }
    )
    return ({"watch": watched} if watched else {}) | {
        "stage": str(job.stage),
        "inputs": {role: str(path) for role, path in job.inputs.items()},
        "outputs": {role: str(path) for role, path in job.outputs.items()},
        "params": dict(job.params),
    }


def _conclude(job: Job, answer: dict[str, Any]) -> Outcome:
    if answer["status"] == "done":
        reads = dict(answer["reads"])
        files = {path: stamp and tuple(stamp) for path, stamp in reads.pop("files", {}).items()}
        return Outcome(str(answer["printed"]), files, **reads)
    if answer["status"] == "changed":
        raise ChangedError
    raise failure(f"{job.task}: the stage {job.stage.stem} failed; please report this", answer)


def failure(what: str, answer: Mapping[str, Any]) -> WebkilnError:
    """The error in the answer of a worker."""
    if answer["status"] == "internal":
        return InternalError(f"{what}\n{answer['text']}")
    kind = getattr(errors, str(answer.get("type")), None)
    kind = kind if isinstance(kind, type) and issubclass(kind, UserError) else UserError
    error: UserError = kind.__new__(kind)
    Exception.__init__(error, str(answer.get("printed", "")) + str(answer["text"]))
    if isinstance(error, MissingPackageError):
        error.module = str(answer.get("module", ""))
    return error
