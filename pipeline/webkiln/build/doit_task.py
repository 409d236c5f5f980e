"""An action as a doit task, and the reporter of doit."""

import errno
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doit.exceptions import BaseFail, InvalidTask, TaskError, TaskFailed, UnmetDependency
from doit.reporter import ConsoleReporter

from webkiln.build.action import Action, Folder, Input, Local, Modules, Product
from webkiln.build.engine import Engine
from webkiln.build.names import REPORT, bundle_files
from webkiln.build.tuned import hint, shown, tune
from webkiln.errors import UserError, VerificationError, WebkilnError
from webkiln.recipe import Form, Recipe


@dataclass(frozen=True, slots=True, repr=False)
class DoitTask:
    """An action as a doit task; `folder` is where its outputs are published, if they are. `layered` is what verifies the same bundle with its
    layers kept, to tell where one that fails goes wrong. `facts` is what a bundle is settled by. One that is `restored` is known without its steps."""

    engine: Engine
    action: Action
    folder: Path | None
    layered: Action | None
    force: bool = False
    facts: str = ""
    restored: bool = False

    def __repr__(self) -> str:
        return f"<the key of {self.action.task}; `doit why {self.action.task}` tells what changed>"

    @property
    def role(self) -> str:
        """The output that is published."""
        return "bundle/" if self.action.stage == "bundle" else ""

    def check(self) -> None:
        """OutputError where what this step publishes would overwrite what no build wrote."""
        if self.folder is not None:
            names = (
                bundle_files(self.action.params["name"], self.action.params["backends"], Form(**self.action.params["form"]))
                if self.role
                else REPORT
            )
            self.engine.check_folder(self.folder, names, force=self.force)

    def execute(self) -> Any:
        try:
            with nullcontext() if self.folder is None else self.engine.reserve(self.folder):
                self.engine.run(self.action)
                if self.folder is not None:
                    self.engine.publish(self.action, self.role, self.folder, whole=bool(self.role), force=self.force)
        except VerificationError as error:
            return TaskError(self._located(str(error)))
        except UserError as error:
            return TaskError(str(error))
        except WebkilnError as error:
            return TaskFailed(str(error))
        return {"done": True}

    def _located(self, failure: str) -> str:
        """What a failed verification says, with the layer that it starts at."""
        if self.layered is None:
            return failure
        try:
            self.engine.run(self.layered)
        except WebkilnError as error:
            return str(error)
        return f"{failure}\n  with its layers kept, which leaves less to fuse, the bundle verifies"

    def current(self, task: Any, values: Mapping[str, Any]) -> bool:
        del task
        if not values or self.engine.current(self.action) is None:
            return False
        return self.folder is None or self.engine.published(self.action, self.role, self.folder)

    def clean(self) -> None:
        for name in self.engine.clean(self.action, self.folder):
            sys.stderr.write(f"warning: {self.folder}/{name} has changed since a build wrote it, and stays\n")

    def files(self) -> tuple[list[str], list[str]]:
        """What the action reads, and what it writes with the place of what is published."""
        reads = [line for role, value in self.action.inputs.items() for line in _described(role, value)]
        result = self.engine.current(self.action)
        writes = sorted(result.outputs) if result is not None else list(self.action.outputs)
        return reads, [str(self.folder / name.removeprefix(self.role)) if self.folder else name for name in writes]

    def task(self) -> dict[str, Any]:
        stage, _, name = self.action.task.partition(":")
        return {
            "basename": stage,
            "name": name,
            "actions": [self.execute],
            "uptodate": [self.current],
            "targets": [str(self.engine.state.manifest_path(self.action.task))],
            "task_dep": [] if self.restored else [producer.task for producer in self.action.producers],
            "clean": [self.clean],
            "io": {"capture": False},
            "meta": {"step": self},
        }


@dataclass(frozen=True, slots=True)
class SettledTask:
    """Bundles that need nothing, as a doit task that no other leads to."""

    name: str
    folders: tuple[Path, ...]

    def task(self) -> dict[str, Any]:
        return {"basename": "bundle", "name": self.name, "actions": [], "uptodate": [True], "meta": {"settled": self.folders}}


@dataclass(frozen=True, slots=True, repr=False)
class TuneTask:
    """The measurements of what may be chosen for one backend as a doit task, which writes the fastest into `file`. The engine runs what it needs."""

    engine: Engine
    recipe: Recipe
    backend: str
    browser: str
    file: Path
    force: bool = False

    def execute(self) -> Any:
        try:
            changes = tune(self.engine, self.recipe, self.backend, self.browser, self.file, anew=self.force)
        except UserError as error:
            return TaskError(str(error))
        except WebkilnError as error:
            return TaskFailed(str(error))
        sys.stdout.write(f"{shown(f'{self.recipe.name}, {self.backend} in {self.browser}', changes)}\n{hint(self.file, self.recipe)}\n")
        return True

    def task(self) -> dict[str, Any]:
        name = f"{self.recipe.name}:{self.backend}:{self.browser}"
        return {"basename": "tune", "name": name, "actions": [self.execute], "uptodate": [False], "io": {"capture": False}}


def _described(role: str, value: Input) -> Iterator[str]:
    match value:
        case Local(path):
            yield f"{role}: {path}"
        case Folder(files):
            yield from (f"{role}{name}: {path}" for name, path in files)
        case Modules(root, module):
            yield f"{role}: {module} and what it imports below {root}"
        case Product(action, path, pattern):
            yield f"{role}: {path}{pattern if pattern != '*' else ''} of {action.task}"


class Reporter(ConsoleReporter):  # type: ignore[misc]  # doit has no types
    """Failures only, one message each; what runs is told by the engine's progress."""

    desc = "failures only"

    def initialize(self, tasks: Mapping[str, Any], selected_tasks: Sequence[str]) -> None:
        """Look at everything that will be published before anything is built for it."""
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
        if "settled" in (task.meta or {}):
            self._ends += [(folder, "up to date") for folder in task.meta["settled"]]
        if "step" in (task.meta or {}):
            task.meta["step"].engine.progress.skip(task.name)
            self._tell(task.meta["step"], "up to date")

    def add_success(self, task: Any) -> None:
        if "step" in (task.meta or {}):
            self._tell(task.meta["step"], "written")

    def _tell(self, step: "DoitTask", what: str) -> None:
        if step.folder is not None and step.role:
            self._ends.append((step.folder, what))
            if step.facts:
                step.engine.settle(step.action, step.role, step.folder, step.facts)

    def add_failure(self, task: Any, fail: BaseFail) -> None:
        self._failed = True
        if isinstance(fail, UnmetDependency):
            return
        message = fail.get_msg().rstrip() or task.name
        _, is_full, _ = message.partition(os.strerror(errno.ENOSPC))
        if not (is_full and self._is_full):  # steps that run at once fail at once
            sys.stderr.write(f"error: {message}\n")
        self._is_full |= bool(is_full)

    def complete_run(self) -> None:
        if self._engine is not None:
            self._engine.progress.close()
        for folder, what in () if self._failed or self.runtime_errors else self._ends:
            self.outstream.write(f"{folder}: {what}\n")
        for message in self.runtime_errors:
            sys.stderr.write(f"error: {message}\n")


def _steps(tasks: Mapping[str, Any], selected: Sequence[str]) -> Iterator[DoitTask]:
    """The steps that the selected tasks need."""
    todo, seen = list(selected), set()
    while todo:
        task = tasks[todo.pop()]
        if task.name not in seen:
            seen.add(task.name)
            todo += task.task_dep
            if "step" in (task.meta or {}):
                yield task.meta["step"]
