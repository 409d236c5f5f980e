"""The DAG as doit tasks, and doit's extra commands. Only `doit_task.py` beside it imports doit, too.

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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from doit import doit_cmd
from doit.cmd_base import DoitCmdBase
from doit.cmd_info import Info as DoitInfo

from webkiln import canonical
from webkiln.build import progress
from webkiln.build.action import Action
from webkiln.build.backends import backends_of, buildable, missing_compilers
from webkiln.build.cache import ActionCache, cache_folder
from webkiln.build.doit_task import DoitTask, Reporter, SettledTask, TuneTask
from webkiln.build.engine import Engine
from webkiln.build.executor import LocalPool
from webkiln.build.fleet.fleet import AT_ONCE
from webkiln.build.fleet.scheduler import VARIABLE as FLEET
from webkiln.build.graph import BROWSERS, ModelGraph, Selection
from webkiln.build.share import share
from webkiln.build.tuned import place, usual
from webkiln.build.watch import Watcher
from webkiln.build.why import difference
from webkiln.errors import RecipeError, UserError
from webkiln.recipe import BACKENDS, ENCODINGS, ExportSource, ModuleSource, Recipe, choose, read_recipes, with_parameters

VARIABLES = ("model", "backend", "encoding", "browser", "layers", "weights", "force")
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
BUILDS = re.compile(r"(run )?(-n ?\d+ |--process[ =]\d+ )?(build )?")
VARIABLE = re.compile(r"\w+=")

DOIT_CONFIG = {
    "backend": "webkiln",
    "dep_file": ".webkiln/doit.db",
    "default_tasks": ["build"],
    "num_process": AT_ONCE if os.environ.get(FLEET) else os.cpu_count() or 1,
    "par_type": "thread",
    "reporter": Reporter,
}


@dataclass(frozen=True, slots=True)
class Variables:
    """The `name=value` arguments of a doit command, checked."""

    models: Mapping[str, Recipe]
    backends: tuple[str, ...] | None
    encodings: tuple[str, ...] | None
    browsers: tuple[str, ...]
    layers: bool
    force: bool = False


def tasks(folder: str | Path) -> Iterator[dict[str, Any]]:
    """The tasks of all recipes below `folder`, or of those that `model=` names; user errors end the process with status 2."""
    try:
        given = doit_cmd._CMDLINE_VARS or {}  # noqa: SLF001  # doit tells single variables only, never which were given
        variables = read_variables(given, read_recipes(Path(folder)))
        engine = Engine(Path(".webkiln"), progress=progress.console())
        warnings.showwarning = _show_warning
        sys.excepthook = partial(_ended, engine)
        atexit.register(engine.close)
        yield from _tasks(engine, variables, Path(folder))
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)


def read_variables(given: Mapping[str, str], recipes: Mapping[str, Recipe]) -> Variables:
    for name in given:
        choose("variable", [name], VARIABLES)
    lists = {name: tuple(filter(None, value.split(","))) for name, value in given.items()}
    unasked = tuple(name for name, recipe in recipes.items() if not recipe.on_request)
    models = choose("model", lists["model"], recipes.keys()) if "model" in lists else unasked
    if not models:
        raise RecipeError("no models: a model is a folder with a recipe.toml")
    layers, force = (choose(f"value of {name}", lists.get(name, ("no",)), ("no", "yes")) for name in ("layers", "force"))
    return Variables(
        models={name: _weighted(recipes[name], given.get("weights")) for name in models},
        backends=choose("backend", lists["backend"], BACKENDS) if "backend" in lists else None,
        encodings=choose("encoding", lists["encoding"], ENCODINGS) if "encoding" in lists else None,
        browsers=choose("browser", lists["browser"], BROWSERS) if "browser" in lists else BROWSERS[:1],
        layers="yes" in layers,
        force="yes" in force,
    )


def _weighted(recipe: Recipe, weights: str | None) -> Recipe:
    """The recipe with `weights` for that parameter of the function that makes the model, if it has it."""
    source = recipe.source
    takes = isinstance(source, ExportSource | ModuleSource) and "weights" in source.parameters
    return with_parameters(recipe, {"weights": weights}) if weights is not None and takes else recipe


def destination(model: str, choice: Selection) -> Path:
    """`dist/<model>`, or `dist/<model>-<encoding>`, and `-layers` where layers are kept."""
    return Path("dist") / (model + choice.suffix.replace(":", "-"))


def _tasks(engine: Engine, variables: Variables, folder: Path) -> Iterator[dict[str, Any]]:
    for stage, doc in STAGES.items():
        yield {"basename": stage, "name": None, "doc": doc}
    bundles: list[str] = []
    short = _shortened(engine, variables) if _only_builds(sys.argv[1:]) else {}
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
            choice = _choice(engine, graph, encoding, variables)
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
    doc = "build the bundles of all models, or of model=NAME"
    yield {"basename": "build", "doc": doc, "actions": None, "task_dep": bundles, "meta": {"models": folder}}


def _only_builds(words: Sequence[str]) -> bool:
    """Whether doit was called for bundles alone, by `doit`, `doit build` or `doit run build`, and maybe how many steps may run at once."""
    return BUILDS.fullmatch("".join(f"{word} " for word in words if not VARIABLE.match(word))) is not None


def _shortened(engine: Engine, variables: Variables) -> dict[str, list[dict[str, Any]]]:
    """By model, the tasks of bundles that need none of their steps: nothing changed, or the whole result is known."""
    found: dict[str, list[dict[str, Any]]] = {}
    for model, recipe in variables.models.items():
        if settled := _settled(engine, variables, recipe):
            found[model] = [each.task() for each in settled]
    left: dict[str, list[DoitTask]] = {
        model: _bundles(engine, variables, recipe) for model, recipe in variables.models.items() if model not in found
    }
    with ThreadPoolExecutor(LOOKUPS) as pool:
        known = pool.map(lambda steps: all(engine.restore(step.action) for step in steps), left.values())
        for (model, steps), is_known in zip(left.items(), known, strict=True):
            if is_known:
                found[model] = [step.task() for step in steps]
    return found


def _bundles(engine: Engine, variables: Variables, recipe: Recipe) -> list[DoitTask]:
    """The bundles of a recipe as tasks without their steps."""
    graph, found = ModelGraph(recipe, engine.share), []
    for encoding in variables.encodings or recipe.encodings:
        choice = _choice(engine, graph, encoding, variables)
        place, facts = destination(recipe.name, choice), _facts(recipe, choice)
        found.append(DoitTask(engine, graph.bundle(choice), place, None, variables.force, facts, restored=True))
    return found


def _settled(engine: Engine, variables: Variables, recipe: Recipe) -> list[SettledTask]:
    """The bundles of a recipe, if none of them needs anything; nothing is told of them but what files tell."""
    graph, found = ModelGraph(recipe, engine.share), []
    for encoding in variables.encodings or recipe.encodings:
        choice = _choice(engine, graph, encoding, variables)
        name = f"{recipe.name}{choice.suffix}"
        if not engine.settled.holds(f"bundle:{name}", _facts(recipe, choice)):
            return []
        found.append(SettledTask(name, destination(recipe.name, choice)))
    return found


def _facts(recipe: Recipe, choice: Selection) -> str:
    """What is asked for, as one digest."""
    return canonical.key([repr(recipe), repr(choice)])


def _choice(engine: Engine, graph: ModelGraph, encoding: str, variables: Variables) -> Selection:
    """What is built in one encoding. Where compilers are missing, and the cache has no result of theirs, wasm is left out unless it was asked for."""
    recipe = graph.recipe
    folder = destination(recipe.name, Selection((), encoding, variables.layers))
    choice = Selection(backends_of(recipe, variables.backends, folder), encoding, variables.layers)
    possible = choice if "wasm" in (variables.backends or ()) else buildable(engine, graph, choice)
    if possible != choice:
        progress.warn("; ".join([f"{folder} is built without wasm", *missing_compilers()]))
    return possible


class Info(DoitInfo):  # type: ignore[misc]  # doit has no types
    """`doit info TASK`, with the files that the task reads and writes."""

    name = "info"
    doc_purpose = "show one task: its status, inputs and outputs"
    doc_usage = "TASK"

    def _execute(self, pos_args: Sequence[str], hide_status: bool = False) -> int:
        status = int(super()._execute(pos_args, hide_status))
        (task,) = (task for task in self.task_list if task.name == pos_args[0])
        if "step" in (task.meta or {}):
            for title, lines in zip(("inputs", "outputs"), task.meta["step"].files(), strict=True):
                self.outstream.write(f"\n{title:11s}: \n" + "".join(f" - {line}\n" for line in lines))
        return status


class GraphCommand(DoitCmdBase):  # type: ignore[misc]  # doit has no types
    """`doit graph [TASK ...]`"""

    name = "graph"
    doc_purpose = "print the DAG in the dot language"
    doc_usage = "[TASK ...]"
    cmd_options = ()

    def _execute(self, pos_args: Sequence[str]) -> int:
        known = {task.name: task for task in self.task_list}
        todo = [_known(known, name) for name in pos_args] or [task for task in self.task_list if not task.subtask_of]
        lines, seen = [], set()
        while todo:
            task = todo.pop()
            if task.name in seen:
                continue
            seen.add(task.name)
            lines += [f'  "{producer}" -> "{task.name}";' for producer in task.task_dep]
            todo += [known[producer] for producer in task.task_dep]
        self.outstream.write("digraph webkiln {\n" + "\n".join(sorted(lines)) + "\n}\n")
        return 0


class Why(DoitCmdBase):  # type: ignore[misc]  # doit has no types
    """`doit why TASK`"""

    name = "why"
    doc_purpose = "print what differs between the two latest keys of a task"
    doc_usage = "TASK"
    cmd_options = ()

    def _execute(self, pos_args: Sequence[str]) -> int:
        known = {task.name: task for task in self.task_list if task.meta}
        if len(pos_args) != 1:
            return _fail("doit why takes the name of one task; doit list --all shows them")
        step: DoitTask = _known(known, pos_args[0]).meta["step"]
        latest = step.engine.state.keys(pos_args[0])
        now = step.engine.document(step.action)
        if now is not None and now not in latest[:1]:
            latest.insert(0, now)
        if len(latest) < 2:
            self.outstream.write(f"{pos_args[0]}: one key so far\n" if latest else f"{pos_args[0]}: never ran\n")
            return 0
        self.outstream.write("\n".join(difference(latest[1], latest[0])) + "\n")
        return 0


class WatchCommand(DoitCmdBase):  # type: ignore[misc]  # doit has no types
    """`doit watch`"""

    name = "watch"
    doc_purpose = "build the bundles of all models, or of model=NAME, and again what changes"
    doc_usage = ""
    cmd_options = ()

    def _execute(self) -> int:
        (folder,) = (task.meta["models"] for task in self.task_list if "models" in (task.meta or {}))
        given = doit_cmd._CMDLINE_VARS or {}  # noqa: SLF001  # as in `tasks`
        pool = LocalPool(share().package.parent, homes=ActionCache(cache_folder()).sandboxes)

        def bundles(engine: Engine) -> Iterator[tuple[Path, Action]]:
            variables = read_variables(given, read_recipes(folder))
            for model, recipe in variables.models.items():
                graph = ModelGraph(recipe, engine.share)
                for encoding in variables.encodings or recipe.encodings:
                    choice = _choice(engine, graph, encoding, variables)
                    yield destination(model, choice), graph.bundle(choice)

        try:
            Watcher(folder, lambda: Engine(Path(".webkiln"), executor=pool), bundles, _line, force=given.get("force") == "yes").run()
        except KeyboardInterrupt:
            _line("")
        finally:
            pool.close()
        return 0


def _line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _known(tasks: Mapping[str, Any], name: str) -> Any:
    if name not in tasks:
        sys.exit(_fail(f"unknown task {name!r}; doit list --all shows them"))
    return tasks[name]


def _fail(message: str) -> int:
    sys.stderr.write(f"error: {message}\n")
    return 2


def _ended(engine: Engine, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End in one line where the user ends the build. What was stored is whole, and the processes of steps end with this one."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    engine.progress.close()
    sys.stderr.write("interrupted; the steps that were done are kept\n")
    sys.stderr.flush()
    os._exit(128 + signal.SIGINT)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {message}\n")
