"""The DAG of models as doit tasks."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build.action import Action
from webkiln.build.backends import missing_compilers
from webkiln.build.doit_task import DoitTask, TuneTask
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.reads import Stamp
from webkiln.build.reporter import UpToDateTask, build
from webkiln.build.session import Session
from webkiln.build.tuned import place, usual
from webkiln.build.variables import Variables, choice_of, destination
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


def model_tasks(
    session: Session, command: str, recipes: Mapping[str, Stamp] | None
) -> Iterator[dict[str, Any]]:
    """The tasks of all models that a command asks for, and `build`. `recipes`: the stamps of all
    recipes, where bundles alone are asked for; `command` then says which command it is.
    """
    engine, folder = session.engine, session.folder
    for stage, doc in STAGES.items():
        yield {"basename": stage, "name": None, "doc": doc}
    variables = session.variables
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
        graph, kept = ModelGraph(recipe, engine.share), ModelGraph(recipe, engine.share)
        places: dict[str, Path] = {}
        layered: dict[str, Action] = {}
        facts: dict[str, str] = {}
        groups: dict[str, list[str]] = {}
        for encoding in variables.encodings or recipe.encodings:
            choice = choice_of(engine, graph, encoding, variables)
            asked = variables.backends or choice.backends
            if not choice.layers:
                again = [
                    action
                    for browser in variables.browsers
                    for action in kept.verify(replace(choice, layers=True), browser, asked)
                ]
                layered |= {action.task.removesuffix(":layers"): action for action in again}
            bundle = graph.bundle(choice)
            bundles.append(bundle.task)
            facts[bundle.task] = _facts(recipe, choice)
            places[bundle.task] = places[graph.report(choice, variables.browsers, asked).task] = (
                destination(model, choice)
            )
        for action in graph.actions():
            if action.stage == "verify" and action.params["variant"]:
                groups.setdefault(
                    action.task.replace(f":{action.params['variant']}", ""), []
                ).append(action.task)
            yield DoitTask(
                engine,
                action,
                places.get(action.task),
                layered.get(action.task),
                variables.force,
                facts.get(action.task, ""),
            ).task()
        for backend in variables.backends or usual(recipe):
            for browser in variables.browsers:
                yield TuneTask(
                    engine, recipe, backend, browser, place(recipe, folder / model), variables.force
                ).task()
        for group, members in groups.items():
            basename, _, name = group.partition(":")
            yield {"basename": basename, "name": name, "actions": None, "task_dep": members}
    yield build(session, bundles)


def _shortened(
    engine: Engine, variables: Variables
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Path] | None]:
    """By model, the tasks of bundles that need none of their steps: nothing changed, or the whole
    result is known. With them, where nothing changed at all, the bundles by their tasks.
    """
    up_to_date = {
        model: found
        for model, recipe in variables.models.items()
        if (found := _up_to_date(engine, variables, recipe))
    }
    tasks = {
        model: [UpToDateTask(model, tuple(found.values())).task()]
        for model, found in up_to_date.items()
    }
    left = {
        model: _bundles(engine, variables, recipe)
        for model, recipe in variables.models.items()
        if model not in up_to_date
    }
    if not left:
        return tasks, {
            task: folder for found in up_to_date.values() for task, folder in found.items()
        }
    with ThreadPoolExecutor(LOOKUPS) as pool:
        known = pool.map(
            lambda steps: all(engine.restore(step.action) for step in steps), left.values()
        )
        tasks |= {
            model: [step.task() for step in steps]
            for (model, steps), found in zip(left.items(), known, strict=True)
            if found
        }
    return tasks, None


def _bundles(engine: Engine, variables: Variables, recipe: Recipe) -> list[DoitTask]:
    """The bundles of a recipe as tasks without their steps."""
    graph, found = ModelGraph(recipe, engine.share), []
    for encoding in variables.encodings or recipe.encodings:
        choice = choice_of(engine, graph, encoding, variables)
        place, facts = destination(recipe.name, choice), _facts(recipe, choice)
        found.append(
            DoitTask(
                engine, graph.bundle(choice), place, None, variables.force, facts, restored=True
            )
        )
    return found


def _up_to_date(engine: Engine, variables: Variables, recipe: Recipe) -> dict[str, Path]:
    """The bundles of a recipe by their tasks, if none of them needs anything; nothing is told of
    them but what files tell.
    """
    graph, found = ModelGraph(recipe, engine.share), {}
    for encoding in variables.encodings or recipe.encodings:
        choice = choice_of(engine, graph, encoding, variables)
        task = f"bundle:{recipe.name}{choice.suffix}"
        if not engine.stamps.holds(task, _facts(recipe, choice)):
            return {}
        found[task] = destination(recipe.name, choice)
    return found


def _facts(recipe: Recipe, choice: Selection) -> str:
    """What is asked for, as one digest."""
    return canonical.key([repr(recipe), repr(choice)])
