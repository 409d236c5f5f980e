"""`doit run`, and what all commands share. It imports nothing heavy, since null builds should be
fast.
"""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doit.cmd_run import Run as DoitRun

from webkiln.build.session import Session
from webkiln.errors import MissingPackageError, UserError, WebkilnError

if TYPE_CHECKING:
    from webkiln.build.action import Action
    from webkiln.build.engine import Engine


def option(name: str, what: str, kind: type = bool, default: Any = False) -> dict[str, Any]:
    return {
        "name": name.replace("-", "_"),
        "long": name,
        "type": kind,
        "default": default,
        "help": what,
    }


class Command:
    """A command of doit whose options may also follow the names of tasks: `doit build --dry-run`.
    User errors are printed in one line.

    `params` are the values of all options, including those that doit's own commands do not know.
    """

    params: Mapping[str, Any]

    def parse_execute(self, words: Sequence[str]) -> Any:
        # The other base class, DoitCmdBase, defines the parser and parse_execute.
        own = super()
        ordered = options_first(words, self.cmdparser.options)  # type: ignore[attr-defined]
        return guarded(lambda: own.parse_execute(ordered))  # type: ignore[attr-defined]

    def execute(self, params: Mapping[str, Any], args: Sequence[str]) -> Any:
        self.params = params
        try:
            return super().execute(params, args)  # type: ignore[misc]  # of DoitCmdBase
        finally:
            if not isinstance(sys.exception(), KeyboardInterrupt):  # it ends the process at once
                for session in sessions_of(getattr(self, "task_list", ())):
                    session.close()


def options_first(words: Sequence[str], options: Iterable[Any]) -> list[str]:
    """A command line with its known options and their values moved to the front."""
    flags = {f"-{option.short}": option for option in options if option.short} | {
        f"--{option.long}": option for option in options if option.long
    }
    todo = [*words]
    front: list[str] = []
    rest: list[str] = []
    while todo:
        word = todo.pop(0)
        option = flags.get(word.partition("=")[0])
        (rest if option is None else front).append(word)
        if option is not None and option.type is not bool and "=" not in word and todo:
            front.append(todo.pop(0))
    return [*front, *rest]


class Run(Command, DoitRun):  # type: ignore[misc]  # doit has no types
    """`doit run`, which is also the default of `doit build`."""

    cmd_options = (
        *DoitRun.cmd_options,
        option("dry-run", "print what would run, and why; run nothing"),
        option("explain", "print why each step runs"),
        option(
            "trace",
            "write when each step ran to this file, in Chrome's trace-event format",
            str,
            "",
        ),
    )

    @functools.wraps(DoitRun._execute)  # noqa: SLF001  # doit reads option names from the signature
    def _execute(self, *options: Any, **named: Any) -> int:
        session = session_of(self.task_list)
        if self.params["dry_run"]:
            return self._forecast(session.engine)
        if self.params["explain"]:
            session.engine.log.explains = True
        try:
            status = int(super()._execute(*options, **named))
        finally:
            if self.params["trace"]:
                session.engine.log.timeline.write(Path(self.params["trace"]))
        if status and "engine" in session.__dict__ and session.engine.missing:
            from webkiln.build.package_installer import install_and_restart

            install_and_restart(session.engine.missing, session.close)
        return status

    def _forecast(self, engine: "Engine") -> int:
        from webkiln.build.dry_run import UP_TO_DATE, forecast, summary
        from webkiln.build.why import shortened

        steps = forecast(engine, _requested(self.task_list, self.sel_tasks))
        for step in steps:
            if step.what != UP_TO_DATE:
                why = shortened(step.why)
                reason = f": {why[0]}" if len(why) == 1 else ""
                self.outstream.write(f"{step.task}  {step.what}{reason}\n")
                self.outstream.write("".join(f"    {line}\n" for line in why if len(why) > 1))
        self.outstream.write(f"{summary(steps)}\n")
        return 0


def session_of(tasks: Iterable[Any]) -> Session:
    return next(sessions_of(tasks))


def sessions_of(tasks: Iterable[Any]) -> Iterator[Session]:
    """One for each call of `tasks` in a dodo.py."""
    for task in tasks:
        if "session" in (task.meta or {}):
            yield task.meta["session"]


def _requested(tasks: Iterable[Any], selected: Sequence[str] | None) -> "Iterator[Action]":
    """The actions of the selected tasks; a group stands for its members."""
    known = {task.name: task for task in tasks}
    for name in selected or ():
        task = known_in(known, name)
        if "step" in (task.meta or {}):
            yield task.meta["step"].action
        elif task.actions or "up_to_date" in (task.meta or {}):
            continue
        else:
            yield from _requested(known.values(), task.task_dep)


def known_in(table: Mapping[str, Any], name: str) -> Any:
    if name not in table:
        sys.exit(fail(f"unknown task {name!r}; doit list --all shows them"))
    return table[name]


def guarded(work: Callable[[], Any]) -> int:
    """Run a command and return its status. Errors are printed in one line."""
    try:
        return int(work() or 0)
    except UserError as error:
        if isinstance(error, MissingPackageError):
            from webkiln.build.package_installer import install_and_restart

            install_and_restart([error.module])
        return fail(str(error))
    except WebkilnError as error:
        fail(str(error))
        return 3


def fail(message: str) -> int:
    sys.stderr.write(f"error: {message}\n")
    return 2
