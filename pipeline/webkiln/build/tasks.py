"""The DAG as doit tasks.

A dodo.py needs two lines:

    from webkiln.build.tasks import DOIT_CONFIG, tasks
    def task_models(): return tasks("models")
"""

import atexit
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from doit import doit_cmd

from webkiln import canonical
from webkiln.build import progress
from webkiln.build.action import Action
from webkiln.build.backends import missing_compilers
from webkiln.build.doit_task import DoitTask, Reporter, SettledTask, TuneTask
from webkiln.build.engine import Engine
from webkiln.build.fleet.fleet import AT_ONCE
from webkiln.build.fleet.scheduler import VARIABLE as FLEET
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.lock import CheckoutLock
from webkiln.build.session import Session, Variables, choice_of, destination
from webkiln.build.settled import recipe_stamps
from webkiln.build.tuned import place, usual
from webkiln.errors import UserError
from webkiln.recipe import Recipe

STAGES = {
    "fetch": "get the source of each model",
    "load": "read sources into canonical specs and weights",
    "convert": "turn specs into graphs",
    "optimize": "run the passes, one task each",
    "lower": "plan the programs of each backend",
    "generate": "write the code of each program",
    "compile": "compile kernels to objects",
    "link": "link objects to modules",
    "pack": "encode the weights in shards",
    "bundle": "write dist/<model>",
    "reference": "compute the framework's own outputs",
    "verify": "check the bundles against the framework, in browsers",
    "report": "write report.html and verification.json into dist/<model>",
    "tune": "time what may be chosen for each kernel, and write tuned.json beside the recipe",
}


LOOKUPS = 16
"""Models whose results are looked for at once."""
BUILDS = re.compile(r"(run )?((-n ?|--process[ =])\d+ |--explain |--trace[ =]\S+ |build )*")
"""Commands that build bundles alone."""
READING = ("dumpdb", "graph", "help", "info", "list", "query", "tabcompletion", "watch", "why")
"""Commands that change nothing in a checkout; `watch` takes the lock for each of its builds."""
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
    """The tasks of all recipes below `folder`, or of those that `model=` names; user errors end the process with status 2."""
    try:
        given = doit_cmd._CMDLINE_VARS or {}  # noqa: SLF001  # doit tells single variables only, never which were given
        lock = CheckoutLock(Path(".webkiln"), _say)
        sys.excepthook = partial(_ended, None)
        if _changes_the_checkout(sys.argv[1:]):
            lock.acquire()
        engine = Engine(Path(".webkiln"), progress=progress.console())
        warnings.showwarning = _show_warning
        sys.excepthook = partial(_ended, engine)
        atexit.register(engine.close)
        yield from _tasks(Session(engine, Path(folder), given, lock))
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)


def _tasks(session: Session) -> Iterator[dict[str, Any]]:
    engine, folder = session.engine, session.folder
    for stage, doc in STAGES.items():
        yield {"basename": stage, "name": None, "doc": doc}
    quick = _only_builds(sys.argv[1:])
    command = canonical.key([os.fspath(folder), [*sorted(session.given.items())]])
    recipes = recipe_stamps(folder) if quick else {}
    if quick and (folders := engine.settled.command(command, recipes)) is not None:
        yield SettledTask("settled", tuple(folders)).task()
        yield _build(session, ["bundle:settled"])
        return
    variables = session.variables
    bundles: list[str] = []
    short, settled = _shortened(engine, variables) if quick else ({}, None)
    if settled is not None and not missing_compilers():
        engine.settled.note_command(command, recipes, settled)
    for model, recipe in variables.models.items():
        if model in short:
            for task in short[model]:
                bundles.append(f"{task['basename']}:{task['name']}")
                yield task
            continue
        graph, kept = ModelGraph(recipe, engine.share), ModelGraph(recipe, engine.share)
        places: dict[str, Path] = {}
        layered: dict[str, Action] = {}
        facts: dict[str, str] = {}
        groups: dict[str, list[str]] = {}
        for encoding in variables.encodings or recipe.encodings:
            choice = choice_of(engine, graph, encoding, variables)
            asked = variables.backends or choice.backends
            if not choice.layers:
                again = [action for browser in variables.browsers for action in kept.verify(replace(choice, layers=True), browser, asked)]
                layered |= {action.task.removesuffix(":layers"): action for action in again}
            bundle = graph.bundle(choice)
            bundles.append(bundle.task)
            facts[bundle.task] = _facts(recipe, choice)
            places[bundle.task] = places[graph.report(choice, variables.browsers, asked).task] = destination(model, choice)
        for action in graph.actions():
            if action.stage == "verify" and action.params["variant"]:
                groups.setdefault(action.task.replace(f":{action.params['variant']}", ""), []).append(action.task)
            yield DoitTask(
                engine, action, places.get(action.task), layered.get(action.task), variables.force, facts.get(action.task, "")
            ).task()
        for backend in variables.backends or usual(recipe):
            for browser in variables.browsers:
                yield TuneTask(engine, recipe, backend, browser, place(recipe, folder / model), variables.force).task()
        for group, members in groups.items():
            basename, _, name = group.partition(":")
            yield {"basename": basename, "name": name, "actions": None, "task_dep": members}
    yield _build(session, bundles)


def _build(session: Session, bundles: Sequence[str]) -> dict[str, Any]:
    doc = "build the bundles of all models, or of model=NAME"
    return {"basename": "build", "doc": doc, "actions": None, "task_dep": [*bundles], "meta": {"session": session}}


def _changes_the_checkout(words: Sequence[str]) -> bool:
    """Whether a command of doit builds, cleans or forgets."""
    names = [word for word in words if not word.startswith("-") and not VARIABLE.match(word)]
    return names[:1] not in [[name] for name in READING] and not {"--dry-run", "--help", "--version"} & {*words}


def _only_builds(words: Sequence[str]) -> bool:
    """Whether doit was called for bundles alone, by `doit`, `doit build` or `doit run build`, and maybe how many steps may run at once."""
    return BUILDS.fullmatch("".join(f"{word} " for word in words if not VARIABLE.match(word))) is not None


def _shortened(engine: Engine, variables: Variables) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Path] | None]:
    """By model, the tasks of bundles that need none of their steps: nothing changed, or the whole result is known. With them, where nothing changed at
    all, the bundles by their tasks."""
    settled = {model: found for model, recipe in variables.models.items() if (found := _settled(engine, variables, recipe))}
    tasks = {model: [SettledTask(model, tuple(found.values())).task()] for model, found in settled.items()}
    left = {model: _bundles(engine, variables, recipe) for model, recipe in variables.models.items() if model not in settled}
    if not left:
        return tasks, {task: folder for found in settled.values() for task, folder in found.items()}
    with ThreadPoolExecutor(LOOKUPS) as pool:
        known = pool.map(lambda steps: all(engine.restore(step.action) for step in steps), left.values())
        tasks |= {model: [step.task() for step in steps] for (model, steps), found in zip(left.items(), known, strict=True) if found}
    return tasks, None


def _bundles(engine: Engine, variables: Variables, recipe: Recipe) -> list[DoitTask]:
    """The bundles of a recipe as tasks without their steps."""
    graph, found = ModelGraph(recipe, engine.share), []
    for encoding in variables.encodings or recipe.encodings:
        choice = choice_of(engine, graph, encoding, variables)
        place, facts = destination(recipe.name, choice), _facts(recipe, choice)
        found.append(DoitTask(engine, graph.bundle(choice), place, None, variables.force, facts, restored=True))
    return found


def _settled(engine: Engine, variables: Variables, recipe: Recipe) -> dict[str, Path]:
    """The bundles of a recipe by their tasks, if none of them needs anything; nothing is told of them but what files tell."""
    graph, found = ModelGraph(recipe, engine.share), {}
    for encoding in variables.encodings or recipe.encodings:
        choice = choice_of(engine, graph, encoding, variables)
        task = f"bundle:{recipe.name}{choice.suffix}"
        if not engine.settled.holds(task, _facts(recipe, choice)):
            return {}
        found[task] = destination(recipe.name, choice)
    return found


def _facts(recipe: Recipe, choice: Selection) -> str:
    """What is asked for, as one digest."""
    return canonical.key([repr(recipe), repr(choice)])


def _ended(engine: Engine | None, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End in one line where the user ends the build. What was stored is whole, and the processes of steps end with this one."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    if engine is not None:
        engine.progress.close()
    sys.stderr.write("interrupted; the steps that were done are kept\n")
    sys.stderr.flush()
    os._exit(128 + signal.SIGINT)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {message}\n")
