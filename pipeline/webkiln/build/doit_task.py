"""An action as a doit task."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doit.exceptions import TaskError, TaskFailed

from webkiln.build import progress
from webkiln.build.action import Action, Folder, Input, Local, Modules, Product
from webkiln.build.backends import present
from webkiln.build.engine import Engine
from webkiln.build.names import REPORT, bundle_files
from webkiln.build.tuned import hint, shown, tune
from webkiln.errors import UserError, VerificationError, WebkilnError
from webkiln.recipe.form import Form
from webkiln.recipe.recipe import Recipe


@dataclass(frozen=True, slots=True, repr=False)
class DoitTask:
    """An action as a doit task. `folder`: where its output is published, if it is. `layered`: the
    action that verifies the same bundle with its layers kept, which locates a failure. `facts`: the
    digest that the stamps of a bundle record. `restored`: the result is known without the steps
    that lead to it.
    """

    engine: Engine
    action: Action
    folder: Path | None
    layered: Action | None
    force: bool = False
    facts: str = ""
    restored: bool = False

    def __repr__(self) -> str:
        return f"<the key of {self.action.task}; `doit why {self.action.task}` prints what changed>"

    @property
    def role(self) -> str:
        """The output that is published."""
        return "bundle/" if self.action.stage == "bundle" else ""

    def check(self) -> None:
        """Raise OutputError where publishing would overwrite files that no build wrote."""
        if self.folder is not None:
            names = (
                bundle_files(
                    self.action.params["name"],
                    self.action.params["backends"],
                    Form(**self.action.params["form"]),
                )
                if self.role
                else REPORT
            )
            self.engine.check_folder(self.folder, names, force=self.force)

    def execute(self) -> Any:
        try:
            with nullcontext() if self.folder is None else self.engine.reserve(self.folder):
                self.engine.run(self.action)
                if self.folder is not None:
                    before = present(self.folder) if self.role else []
                    self.engine.publish(
                        self.action,
                        self.role,
                        self.folder,
                        replace_all=bool(self.role),
                        force=self.force,
                    )
                    if gone := [
                        name for name in before if name not in self.action.params["backends"]
                    ]:
                        progress.warn(
                            f"{self.folder}: {', '.join(gone)} is no longer in it, since neither"
                            " the recipe nor backend= names it"
                        )
        except VerificationError as error:
            return TaskError(self._located(str(error)))
        except UserError as error:
            return TaskError(str(error))
        except WebkilnError as error:
            return TaskFailed(str(error))
        return {"done": True}

    def _located(self, failure: str) -> str:
        """The message of a failed verification, with the first layer that differs."""
        if self.layered is None:
            return failure
        try:
            self.engine.run(self.layered)
        except WebkilnError as error:
            return str(error)
        return f"{failure}\n  with its layers kept, which prevents some fusion, the bundle verifies"

    def current(self, task: Any, values: Mapping[str, Any]) -> bool:
        del task
        if not values or self.engine.current(self.action) is None:
            return False
        return self.folder is None or self.engine.published(self.action, self.role, self.folder)

    def clean(self) -> None:
        for name in self.engine.clean(self.action, self.folder):
            sys.stderr.write(
                f"warning: {self.folder}/{name} has changed since a build wrote it, and is kept\n"
            )

    def files(self) -> tuple[list[str], list[str]]:
        """The inputs and outputs of the action; paths of outputs that are published."""
        reads = [
            line for role, value in self.action.inputs.items() for line in _described(role, value)
        ]
        result = self.engine.current(self.action)
        writes = sorted(result.outputs) if result is not None else list(self.action.outputs)
        return reads, [
            str(self.folder / name.removeprefix(self.role)) if self.folder else name
            for name in writes
        ]

    def task(self) -> dict[str, Any]:
        stage, _, name = self.action.task.partition(":")
        return {
            "basename": stage,
            "name": name,
            "actions": [self.execute],
            "uptodate": [self.current],
            "targets": [str(self.engine.state.manifest_path(self.action.task))],
            "task_dep": (
                [] if self.restored else [producer.task for producer in self.action.producers]
            ),
            "clean": [self.clean],
            "io": {"capture": False},
            "meta": {"step": self},
        }


@dataclass(frozen=True, slots=True, repr=False)
class TuneTask:
    """The measurements of tuning candidates for one backend as a doit task. The fastest are written
    into `file`. The engine runs the builds that it needs.
    """

    engine: Engine
    recipe: Recipe
    backend: str
    browser: str
    file: Path
    force: bool = False

    def execute(self) -> Any:
        try:
            changes = tune(
                self.engine, self.recipe, self.backend, self.browser, self.file, rerun=self.force
            )
        except UserError as error:
            return TaskError(str(error))
        except WebkilnError as error:
            return TaskFailed(str(error))
        title = f"{self.recipe.name}, {self.backend} in {self.browser}"
        sys.stdout.write(f"{shown(title, changes)}\n{hint(self.file, self.recipe)}\n")
        return True

    def task(self) -> dict[str, Any]:
        name = f"{self.recipe.name}:{self.backend}:{self.browser}"
        return {
            "basename": "tune",
            "name": name,
            "actions": [self.execute],
            "uptodate": [False],
            "io": {"capture": False},
        }


def _described(role: str, value: Input) -> Iterator[str]:
    match value:
        case Local(path):
            yield f"{role}: {path}"
        case Folder(files):
            yield from (f"{role}{name}: {path}" for name, path in files)
        case Modules(root, module):
            yield f"{role}: {module} and the modules that it imports below {root}"
        case Product(action, path, pattern):
            yield f"{role}: {path}{pattern if pattern != '*' else ''} of {action.task}"
