"""The commands of doit that webkiln adds or extends; pyproject.toml registers them."""

import functools
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from doit.cmd_base import DoitCmdBase
from doit.cmd_clean import Clean as DoitClean
from doit.cmd_info import Info as DoitInfo

from webkiln.build.action import Action
from webkiln.build.doit_run import Command, fail, known_in, option, session_of
from webkiln.build.doit_task import DoitTask
from webkiln.build.dry_run import causes, listed
from webkiln.build.engine import Engine
from webkiln.build.executor import LocalPool
from webkiln.build.query import Dependencies
from webkiln.build.session import Session
from webkiln.build.share import share
from webkiln.build.stale import stale_bundles, stale_manifests
from webkiln.build.variables import choice_of, destination
from webkiln.build.watch import Watcher
from webkiln.build.why import shortened


class Clean(Command, DoitClean):  # type: ignore[misc]  # doit has no types
    """`doit clean`, and `doit clean --stale`."""

    cmd_options = (
        *DoitClean.cmd_options,
        option(
            "stale", "remove outputs of builds that no recipe produces any more, and nothing else"
        ),
    )

    @functools.wraps(DoitClean._execute)  # noqa: SLF001  # as in Run
    def _execute(self, dryrun: bool, *options: Any, **named: Any) -> int | None:
        if not self.params["stale"]:
            super()._execute(dryrun, *options, **named)
            return None
        return self._remove(session_of(self.task_list), dry=dryrun)

    def _remove(self, session: Session, *, dry: bool) -> int:
        engine, recipes = session.engine, session.all_recipes()
        for folder in list(stale_bundles(engine.state, Path("dist"), recipes)):
            changed = [] if dry else engine.unpublish(folder)
            self.outstream.write(f"{folder}: {'would be removed' if dry else 'removed'}\n")
            sys.stderr.write(
                "".join(
                    f"warning: {folder}/{name} has changed since a build wrote it, and is kept\n"
                    for name in changed
                )
            )
        for path in () if dry else list(stale_manifests(engine.state, recipes)):
            for stale in (path, path.with_suffix(".keys")):
                stale.unlink(missing_ok=True)
        return 0


class Info(Command, DoitInfo):  # type: ignore[misc]  # doit has no types
    """`doit info TASK`, with the files that the task reads and writes."""

    name = "info"
    doc_purpose = "show one task: its status, inputs and outputs"
    doc_usage = "TASK"

    def _execute(self, pos_args: Sequence[str], hide_status: bool = False) -> int:
        status = int(super()._execute(pos_args, hide_status))
        (task,) = (task for task in self.task_list if task.name == pos_args[0])
        if "step" in (task.meta or {}):
            for title, lines in zip(("inputs", "outputs"), task.meta["step"].files(), strict=True):
                self.outstream.write(
                    f"\n{title:11s}: \n" + "".join(f" - {line}\n" for line in lines)
                )
        return status


class GraphCommand(Command, DoitCmdBase):  # type: ignore[misc]  # doit has no types
    """`doit graph [TASK ...]`"""

    name = "graph"
    doc_purpose = "print the DAG in the DOT language"
    doc_usage = "[TASK ...]"
    cmd_options = ()

    def _execute(self, pos_args: Sequence[str]) -> int:
        known = {task.name: task for task in self.task_list}
        todo = [known_in(known, name) for name in pos_args] or [
            task for task in self.task_list if not task.subtask_of
        ]
        lines, visited = [], set()
        while todo:
            task = todo.pop()
            if task.name in visited:
                continue
            visited.add(task.name)
            lines += [f'  "{producer}" -> "{task.name}";' for producer in task.task_dep]
            todo += [known[producer] for producer in task.task_dep]
        self.outstream.write("digraph webkiln {\n" + "\n".join(sorted(lines)) + "\n}\n")
        return 0


class Query(Command, DoitCmdBase):  # type: ignore[misc]  # doit has no types
    """`doit query TASK`, `doit query FILE`"""

    name = "query"
    doc_purpose = "print what a task needs, and which tasks need a task or a file"
    doc_usage = "TASK | FILE"
    cmd_options = (
        option("deps", "print only what the task needs"),
        option("rdeps", "print only what needs the task or the file"),
        option("direct", "direct dependencies only"),
        option("code", "include webkiln's own files in what the task needs"),
    )

    def _execute(
        self, pos_args: Sequence[str], deps: bool, rdeps: bool, direct: bool, code: bool
    ) -> int:
        if len(pos_args) != 1 or (deps and rdeps):
            return fail(
                "doit query takes the name of one task or file, and at most one of --deps and"
                " --rdeps"
            )
        (name,) = pos_args
        return self._print(name, deps=deps, rdeps=rdeps, direct=direct, code=code)

    def _print(self, name: str, *, deps: bool, rdeps: bool, direct: bool, code: bool) -> int:
        steps = _steps_by_task(self.task_list)
        known = Dependencies(
            session_of(self.task_list).engine, [step.action for step in steps.values()]
        )
        if name not in steps:
            readers = known.readers(Path(name))
            if deps or not readers:
                return fail(
                    f"{name!r} is neither a task nor a file that a task reads; doit list --all"
                    " shows tasks"
                )
            consumers = (
                readers
                if direct
                else [*dict.fromkeys([*readers, *known.needing(readers, direct=False)])]
            )
            self._write(f"{name} is read by", consumers, alone=rdeps)
            return 0
        if not rdeps:
            self._write(
                f"{name} needs", known.needed_by(name, direct=direct, code=code), alone=deps
            )
        if not deps:
            self._write(f"{name} is needed by", known.needing([name], direct=direct), alone=rdeps)
        return 0

    def _write(self, title: str, lines: Iterable[str], *, alone: bool) -> None:
        """Print a list with its title; with `alone`, only the lines, for scripts."""
        output = [*lines] if alone else [title, *(f"  {line}" for line in lines or ["nothing"])]
        self.outstream.write("".join(f"{line}\n" for line in output))


class Why(Command, DoitCmdBase):  # type: ignore[misc]  # doit has no types
    """`doit why TASK`"""

    name = "why"
    doc_purpose = "print why a task will run, or which changes it last ran for"
    doc_usage = "TASK"
    cmd_options = ()

    def _execute(self, pos_args: Sequence[str]) -> int:
        if len(pos_args) != 1:
            return fail("doit why takes the name of one task; doit list --all shows them")
        (name,) = pos_args
        step = known_in(_steps_by_task(self.task_list), name)
        what, reasons_by_task = causes(step.engine, step.action)
        tasks: dict[str, list[str]] = {}
        for task, reason in reasons_by_task:
            tasks.setdefault(reason, []).append(task)
        lines = [
            reason if [name] == those else f"{reason} ({listed(sorted(those))})"
            for reason, those in tasks.items()
        ]
        self.outstream.write(
            f"{name} {what}{' because' if lines else ''}\n"
            + "".join(f"  {line}\n" for line in shortened(lines))
        )
        return 0


class WatchCommand(Command, DoitCmdBase):  # type: ignore[misc]  # doit has no types
    """`doit watch`"""

    name = "watch"
    doc_purpose = "build the bundles of all models, or of model=NAME, and rebuild what changes"
    doc_usage = ""
    cmd_options = ()

    def _execute(self) -> int:
        session = session_of(self.task_list)
        session.lock.release()  # the checkout is locked only during builds
        pool = LocalPool(share().package.parent, homes=session.engine.cache.sandboxes)

        def bundles(engine: Engine) -> Iterator[tuple[Path, Action]]:
            for graph, encoding, variables in session.read_again(engine.share):
                choice = choice_of(engine, graph, encoding, variables)
                yield destination(graph.recipe.name, choice), graph.bundle(choice)

        def opened() -> Engine:
            return Engine(Path(".webkiln"), executor=pool)

        try:
            Watcher(
                session.folder,
                opened,
                bundles,
                _line,
                session.lock.locked,
                force=session.variables.force,
            ).run()
        except KeyboardInterrupt:
            _line("")
        finally:
            pool.close()
        return 0


def _steps_by_task(tasks: Iterable[Any]) -> dict[str, DoitTask]:
    return {task.name: task.meta["step"] for task in tasks if "step" in (task.meta or {})}


def _line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
