"""Predicts what a build would do."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from webkiln.build.action import Action
from webkiln.build.engine import Engine
from webkiln.build.why import FIRST, FORGOTTEN, GONE, RAN_FIRST, reasons

NAMED = 3
"""The number of tasks that are named in one line."""
UP_TO_DATE, CACHED, RUNS, MAY_RUN = "is up to date", "is in the cache", "runs", "may run"


@dataclass(frozen=True, slots=True)
class Step:
    """`what` a build would do with an action, one of the four phrases above, and why."""

    task: str
    what: str
    why: tuple[str, ...] = ()


def forecast(engine: Engine, requested: Iterable[Action]) -> list[Step]:
    """The steps that a build of the requested actions checks, producers first. The outputs of a
    step with changed inputs are unknown before it runs, so steps that consume them may run.
    """
    steps: dict[str, Step] = {}
    for action in requested:
        for each in _needed(engine, action, steps):
            steps[each.task] = _step(engine, each)
    return [*steps.values()]


def summary(steps: Iterable[Step]) -> str:
    """The number of steps of each kind, in one line."""
    kinds = [step.what for step in steps]
    words = {
        RUNS: "run",
        MAY_RUN: "may run after them",
        CACHED: "from the cache",
        UP_TO_DATE: "up to date",
    }
    return (
        ", ".join(f"{count} {word}" for what, word in words.items() if (count := kinds.count(what)))
        or "nothing to do"
    )


def _needed(engine: Engine, action: Action, steps: Mapping[str, Step]) -> Iterator[Action]:
    """The actions that a build checks for one, producers first; without the producers of a known
    result.
    """
    if action.task in steps:
        return
    if engine.predict(action) is None:
        for producer in action.producers:
            yield from _needed(engine, producer, steps)
    if action.task not in steps:
        yield action


def _step(engine: Engine, action: Action) -> Step:
    if engine.current(action) is not None:
        return Step(action.task, UP_TO_DATE)
    if engine.predict(action) is not None:
        return Step(action.task, CACHED)
    waits = [producer.task for producer in action.producers if engine.predict(producer) is None]
    if waits:
        return Step(action.task, MAY_RUN, (f"it reads outputs of {listed(waits)}",))
    now, old = engine.consumed(action), engine.state.runs(action.task)
    if not old:
        return Step(action.task, RUNS, (FIRST,))
    if now is None:  # an input is in the cache only
        cached = [each.task for each in action.producers if engine.current(each) is None]
        return Step(
            action.task, RUNS, (f"it reads outputs of {listed(cached)}, which the cache has",)
        )
    return Step(
        action.task,
        RUNS,
        tuple(reason.text for reason in reasons(action, old[0], now.run)) or (GONE,),
    )


def listed(tasks: Sequence[str]) -> str:
    """The first names of a list, and the number of the others."""
    return ", ".join(tasks[:NAMED]) + (
        f" and {len(tasks) - NAMED} more" if len(tasks) > NAMED else ""
    )


def causes(engine: Engine, action: Action) -> tuple[str, list[tuple[str, str]]]:
    """What a build does with an action, or did last, as a predicate; and why, as pairs of the task
    where a change originates and a reason.
    """
    if engine.current(action) is None:
        steps = forecast(engine, [action])
        reasons_by_task = [
            (step.task, line) for step in steps if step.what == RUNS for line in step.why
        ]
        return (
            "runs in the next build" if reasons_by_task else "is in the cache for the next build"
        ), reasons_by_task
    return "is up to date; it last ran", _last_causes(engine, action, set())


def _last_causes(engine: Engine, action: Action, visited: set[str]) -> list[tuple[str, str]]:
    visited.add(action.task)
    runs = engine.state.runs(action.task)
    if len(runs) < 2:
        return [(action.task, RAN_FIRST if runs else FORGOTTEN)]
    causes: list[tuple[str, str]] = []
    for reason in reasons(action, runs[1], runs[0]):
        if reason.producer is None:
            causes.append((action.task, reason.text))
        elif reason.producer.task not in visited:
            causes += _last_causes(engine, reason.producer, visited)
    return causes
