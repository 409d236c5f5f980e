"""The DAG as doit tasks.

A dodo.py needs two lines:

    from webkiln.build.tasks import DOIT_CONFIG, tasks
    def task_models(): return tasks("models")
"""

import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from doit import doit_cmd

from webkiln import canonical
from webkiln.build.fleet.address import VARIABLE as FLEET
from webkiln.build.lock import CheckoutLock
from webkiln.build.reporter import Reporter, UpToDateTask, build
from webkiln.build.session import Session
from webkiln.build.stamps import recipe_stamps
from webkiln.errors import UserError

AT_ONCE = 64
"""The number of steps that a build with a fleet runs at once."""
ELSEWHERE = (FLEET, "WEBKILN_REMOTE_CACHE", "WEBKILN_CACHE_WRITE")
"""Variables that are checked in every build, even in a null build."""
BUILDS = re.compile(r"(run )?((-n ?|--process[ =])\d+ |--explain |--trace[ =]\S+ |build )*")
"""Commands that only build bundles."""
REPORTS = re.compile(r"(report|verify)(:.*)?")
"""Tasks that verify or describe published bundles."""
READING = ("dumpdb", "graph", "help", "info", "list", "query", "tabcompletion", "watch", "why")
"""Commands that change nothing in a checkout. `watch` takes the lock for each of its builds."""
VARIABLE = re.compile(r"\w+=")

DOIT_CONFIG = {
    "backend": "webkiln",
    "dep_file": ".webkiln/doit.db",
    "default_tasks": ["build"],
    "num_process": AT_ONCE if os.environ.get(FLEET) else os.cpu_count() or 1,
    "par_type": "thread",
    "reporter": Reporter,
}


def tasks(folder: str | Path) -> Iterator[dict[str, Any]]:
    """The tasks of all recipes below `folder`, or of those that `model=` names. User errors end the
    process with status 2.
    """
    try:
        # doit has no public list of the variables of its command line.
        arguments = doit_cmd._CMDLINE_VARS or {}  # noqa: SLF001
        state = Path(".webkiln")
        session = Session(state, Path(folder), arguments, CheckoutLock(state, _say))
        sys.excepthook = partial(_handle_exception, session)
        warnings.showwarning = _show_warning
        if _changes_the_checkout(sys.argv[1:]):
            session.lock.acquire()
        yield from _tasks(session)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)


def _tasks(session: Session) -> Iterator[dict[str, Any]]:
    command = canonical.key([os.fspath(session.folder), [*sorted(session.arguments.items())]])
    recipes = recipe_stamps(session.folder) if _only_builds(sys.argv[1:]) else None
    if recipes:
        folders = session.stamps.command(command, recipes)
        if any(map(os.environ.get, ELSEWHERE)):
            _ = session.engine  # checks them
        if folders is not None:
            yield UpToDateTask("up-to-date", tuple(folders)).task()
            yield build(session, ["bundle:up-to-date"])
            return
    from webkiln.build.model_tasks import model_tasks

    yield from model_tasks(session, command, recipes, keep_backends=_reports(sys.argv[1:]))


def _changes_the_checkout(words: Sequence[str]) -> bool:
    """Whether a command of doit builds, cleans or forgets."""
    names = [word for word in words if not word.startswith("-") and not VARIABLE.match(word)]
    return names[:1] not in [[name] for name in READING] and not {
        "--dry-run",
        "--help",
        "--version",
    } & {*words}


def _only_builds(words: Sequence[str]) -> bool:
    """Whether doit only builds bundles: `doit`, `doit build` or `doit run build`, perhaps with a
    number of processes.
    """
    return (
        BUILDS.fullmatch("".join(f"{word} " for word in words if not VARIABLE.match(word)))
        is not None
    )


def _reports(words: Sequence[str]) -> bool:
    """Whether a command verifies or describes bundles, which keep the backends that they have."""
    return any(REPORTS.fullmatch(word) for word in words)


def _handle_exception(
    session: Session, kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print one line if the user interrupts the build. Stored results are complete, and the
    processes of steps end with this one.
    """
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    if "engine" in session.__dict__:
        session.engine.progress.close()
    sys.stderr.write("interrupted; finished steps are kept\n")
    sys.stderr.flush()
    os._exit(128 + signal.SIGINT)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {message}\n")
