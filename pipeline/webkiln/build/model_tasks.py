"""The DAG of models as doit tasks."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build.action import Action
from webkiln.build.backends import missing_compilers
from webkiln.build.doit_task import DoitTask, TuneTask
from webkiln.build.engine import Engine
from webkiln.build.file_stamps import Stamp
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.reporter import UpToDateTask, build
from webkiln.build.session import Session
from webkiln.build.tuned import tuned_file, usual
from webkiln.build.variables import Variables, choice_of, destination
from webkiln.recipe.recipe import Recipe

STAGES = {
    "fetch": "get the source of each model",
    "load": "read sources into canonical specs and weights",
    "convert": "turn specs into graphs",
    "optimize": "run the passes, one task each",
    "samples": "read the samples by which errors and ranges are measured",
    "calibrate": "measure the ranges of activations on the samples",
    "choose": "measure errors, and choose the encoding of each layer",
    "quantize": "put codes and scales in place of weights, for each encoding that has blocks",
    "encode": "compute the codes and scales",
    "lower": "plan the programs of each backend",
    "generate": "write the code of each program",
    "compile": "compile kernels to objects",
    "link": "link objects to modules",
    "pack": "write the weights into shards",
    "bundle": "write dist/<model>",
    "reference": "compute the framework's own outputs",
    "verify": "check the bundles against the framework, in browsers",
    "report": "write report.html and verification.json into dist/<model>",
    "tune": "time the candidates for each kernel, and write tuned.json next to the recipe",
}

LOOKUPS = 16
"""The number of models whose results are looked up at once."""


def model_tasks(
    session: Session,
    command: str,
    recipes: Mapping[str, Stamp] | None,
    *,
    keep_backends: bool = False,
) -> Iterator[dict[str, Any]]:
    """The tasks of all requested models, and `build`. `recipes`: the stamps of all recipes, if only
    bundles are requested; `command` then identifies the command.
    """
    engine, folder = session.engine, session.folder
    for stage, doc in STAGES.items():
        yield {"basename": stage, "name": None, "doc": doc}
    variables = replace(session.variables, keep_backends=keep_backends)
    bundles: list[str] = []
    short, up_to_date = _shortened(engine, variables) if recipes is not None else ({}, None)
    if up_to_date is not None and recipes is not None and not missing_compilers():
        engine.stamps.record_command(command, recipes, up_to_date)
    for model, recipe in variables.models.items():
        if model in short:
            for task in short[model]:
                bundles.append(f"{task['basename']}:{task['name']}")
                yield task
            continue
        requested = _requested(engine, variables, recipe)
        bundles += requested.facts
        yield from _step_tasks(engine, variables, requested)
        for backend in variables.backends or usual(recipe):
            for browser in variables.browsers:
                yield TuneTask(
                    engine,
                    recipe,
                    backend,
                    browser,
                    tuned_file(recipe, folder / model),
                    variables.force,
                ).task()
        yield from _verification_groups(requested.graph)
    yield build(session, bundles)


@dataclass(frozen=True)
class _Requested:
    """What a build of one recipe requests.

    `graph` has the actions. `folders`: the folders of its bundles and reports. `facts`: a digest
    for each bundle. `layered`: for each verification, that of a bundle that also returns the
    outputs of layers. All are by task.
    """

    graph: ModelGraph
    folders: Mapping[str, Path]
    facts: Mapping[str, str]
    layered: Mapping[str, Action]


def _requested(engine: Engine, variables: Variables, recipe: Recipe) -> _Requested:
    graph, layer_graph = ModelGraph(recipe, engine.share), ModelGraph(recipe, engine.share)
    folders: dict[str, Path] = {}
    layered: dict[str, Action] = {}
    facts: dict[str, str] = {}
    encodings = variables.encodings or recipe.bundle.encodings
    for encoding in encodings:
        choice = choice_of(engine, graph, encoding, variables)
        backends = variables.backends or choice.backends
        if not choice.layers:
            verifications = [
                action
                for browser in variables.browsers
                for action in layer_graph.verify(replace(choice, layers=True), browser, backends)
            ]
            layered |= {action.task.removesuffix(":layers"): action for action in verifications}
        bundle = graph.bundle(choice)
        report = graph.report(choice, variables.browsers, backends, encodings)
        facts[bundle.task] = _facts(recipe, choice)
        folders[bundle.task] = folders[report.task] = destination(recipe.name, choice)
    return _Requested(graph, folders, facts, layered)


def _step_tasks(
    engine: Engine, variables: Variables, requested: _Requested
) -> Iterator[dict[str, Any]]:
    """A task for each action."""
    for action in requested.graph.actions():
        yield DoitTask(
            engine,
            action,
            requested.folders.get(action.task),
            requested.layered.get(action.task),
            variables.force,
            requested.facts.get(action.task, ""),
        ).task()


def _verification_groups(graph: ModelGraph) -> Iterator[dict[str, Any]]:
    """A task for the verifications of all variants of a backend."""
    groups: dict[str, list[str]] = {}
    for action in graph.actions():
        if action.stage == "verify" and (variant := action.params["variant"]):
            groups.setdefault(action.task.replace(f":{variant}", ""), []).append(action.task)
    for group, members in groups.items():
        basename, _, name = group.partition(":")
        yield {"basename": basename, "name": name, "actions": None, "task_dep": members}


def _shortened(
    engine: Engine, variables: Variables
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Path] | None]:
    """The tasks, by model, of bundles that need none of their steps: they are stamped, or a cache
    has their results. If all bundles are stamped, also their folders by task.
    """
    up_to_date = {
        model: bundles
        for model, recipe in variables.models.items()
        if (bundles := _up_to_date(engine, variables, recipe))
    }
    tasks = {
        model: [UpToDateTask(model, tuple(bundles.values())).task()]
        for model, bundles in up_to_date.items()
    }
    left = {
        model: _bundles(engine, variables, recipe)
        for model, recipe in variables.models.items()
        if model not in up_to_date
    }
    if not left:
        return tasks, {
            task: folder for bundles in up_to_date.values() for task, folder in bundles.items()
        }
    with ThreadPoolExecutor(LOOKUPS) as pool:
        known = pool.map(
            lambda steps: all(engine.restore(step.action) for step in steps), left.values()
        )
        tasks |= {
            model: [step.task() for step in steps]
            for (model, steps), restored in zip(left.items(), known, strict=True)
            if restored
        }
    return tasks, None


def _bundles(engine: Engine, variables: Variables, recipe: Recipe) -> list[DoitTask]:
    """The bundles of a recipe as tasks without the steps that lead to them."""
    graph, tasks = ModelGraph(recipe, engine.share), []
    for encoding in variables.encodings or recipe.bundle.encodings:
        choice = choice_of(engine, graph, encoding, variables)
        folder, facts = destination(recipe.name, choice), _facts(recipe, choice)
        tasks.append(
            DoitTask(
                engine, graph.bundle(choice), folder, None, variables.force, facts, restored=True
            )
        )
    return tasks


def _up_to_date(engine: Engine, variables: Variables, recipe: Recipe) -> dict[str, Path]:
    """The folders of the bundles of a recipe by task, if all of them are stamped; else empty."""
    graph, bundles = ModelGraph(recipe, engine.share), {}
    for encoding in variables.encodings or recipe.bundle.encodings:
        choice = choice_of(engine, graph, encoding, variables)
        task = f"bundle:{recipe.name}{choice.suffix}"
        if not engine.stamps.holds(task, _facts(recipe, choice)):
            return {}
        bundles[task] = destination(recipe.name, choice)
    return bundles


def _facts(recipe: Recipe, choice: Selection) -> str:
    """A digest of the recipe and the selection."""
    return canonical.key([repr(recipe), repr(choice)])
