"""What doit prints of a build, and the task of up-to-date bundles. It imports nothing heavy, since
null builds should be fast.
"""

import errno
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doit.exceptions import BaseFail, InvalidTask, UnmetDependency
from doit.reporter import ConsoleReporter

from webkiln.errors import UserError

if TYPE_CHECKING:
    from webkiln.build.doit_task import DoitTask
    from webkiln.build.engine import Engine
    from webkiln.build.session import Session

WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class UpToDateTask:
    """Up-to-date bundles as a doit task. No other task leads to it."""

    name: str
    folders: tuple[Path, ...]

    def task(self) -> dict[str, Any]:
        return {
            "basename": "bundle",
            "name": self.name,
            "actions": [],
            "uptodate": [True],
            "meta": {"up_to_date": self.folders},
        }


class Reporter(ConsoleReporter):  # type: ignore[misc]  # doit has no types
    """Prints failures only, one message each. Progress is printed by the engine."""

    desc = "failures only"

    def initialize(self, tasks: Mapping[str, Any], selected_tasks: Sequence[str]) -> None:
        """Check all folders that will be published into, before anything is built for them."""
        self._ends: list[tuple[Path, str]] = []
        self._engine: Engine | None = None
        self._failed = self._is_full = False
        steps = list(_steps(tasks, selected_tasks))
        try:
            for step in steps:
                step.check()
        except UserError as error:
            raise InvalidTask(str(error)) from error
        for step in steps[:1]:
            self._engine = step.engine
            step.engine.expect([each.action for each in steps])

    def execute_task(self, task: Any) -> None:
        del task

    def skip_uptodate(self, task: Any) -> None:
        if "up_to_date" in (task.meta or {}):
            self._ends += [(folder, "up to date") for folder in task.meta["up_to_date"]]
        if "step" in (task.meta or {}):
            task.meta["step"].engine.progress.skip(task.name)
            self._finish_bundle(task.meta["step"], "up to date")

    def add_success(self, task: Any) -> None:
        if "step" in (task.meta or {}):
            self._finish_bundle(task.meta["step"], WRITTEN)

    def _finish_bundle(self, step: "DoitTask", what: str) -> None:
        if step.folder is not None and step.role:
            self._ends.append((step.folder, what))
            if step.facts:
                step.engine.stamp(step.action, step.role, step.folder, step.facts)

    def add_failure(self, task: Any, fail: BaseFail) -> None:
        self._failed = True
        if isinstance(fail, UnmetDependency):
            return
        message = fail.get_msg().rstrip() or task.name
        _, is_full, _ = message.partition(os.strerror(errno.ENOSPC))
        if not (is_full and self._is_full):  # parallel steps fail together
            sys.stderr.write(f"error: {message}\n")
        self._is_full |= bool(is_full)

    def complete_run(self) -> None:
        if self._engine is not None:
            self._engine.progress.close()
        self._warn()
        for folder, what in () if self._failed or self.runtime_errors else self._ends:
            self.outstream.write(f"{folder}: {what}\n")
        for message in self.runtime_errors:
            sys.stderr.write(f"error: {message}\n")

    def _warn(self) -> None:
        """Warn about scalar kernels of the bundles that were written."""
        written = [] if self._failed else [folder for folder, what in self._ends if what == WRITTEN]
        if written:
            from webkiln.build.scalar_kernels import warn

            warn(written)


def _steps(tasks: Mapping[str, Any], selected: Sequence[str]) -> Iterator["DoitTask"]:
    """The steps that the selected tasks need."""
    todo, visited = list(selected), set()
    while todo:
        task = tasks[todo.pop()]
        if task.name not in visited:
            visited.add(task.name)
            todo += task.task_dep
            if "step" in (task.meta or {}):
                yield task.meta["step"]


def build(session: "Session", bundles: Sequence[str]) -> dict[str, Any]:
    """The task that builds all bundles."""
    doc = "build the bundles of all models, or of model=NAME"
    return {
        "basename": "build",
        "doc": doc,
        "actions": None,
        "task_dep": [*bundles],
        "meta": {"session": session},
    }
