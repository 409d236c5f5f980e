"""What a build would do, found without doing it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from webkiln.build.action import Action
from webkiln.build.engine import Engine
from webkiln.build.why import FIRST, FORGOTTEN, GONE, RAN_FIRST, reasons

NAMED = 3
"""So many tasks are named in one line."""
UP_TO_DATE, CACHED, RUNS, MAY_RUN = "is up to date", "is taken from the cache", "runs", "may run"


@dataclass(frozen=True, slots=True)
class Step:
    """`what` a build would do with an action, one of the four words above, and why."""

    task: str
    what: str
    why: tuple[str, ...] = ()


def forecast(engine: Engine, wanted: Iterable[Action]) -> list[Step]:
    """The steps that a build of the wanted actions looks at, producers first. What a step makes of
    changed inputs is not known before it runs, so that those after it may run.
    """
    found: dict[str, Step] = {}
    for action in wanted:
        for each in _needed(engine, action, found):
            found[each.task] = _step(engine, each, found)
    return [*found.values()]


def summary(steps: Iterable[Step]) -> str:
    """How many steps there are of each kind, in a line."""
    told = [step.what for step in steps]
    words = {
        RUNS: "run",
        MAY_RUN: "may run after them",
        CACHED: "from the cache",
        UP_TO_DATE: "up to date",
    }
    return (
        ", ".join(f"{count} {word}" for what, word in words.items() if (count := told.count(what)))
        or "nothing to do"
    )


def _needed(engine: Engine, action: Action, found: dict[str, Step]) -> Iterator[Action]:
    """The actions that a build looks at for one, producers first: those behind a known result are
    not.
    """
    if action.task in found:
        return
    if engine.predict(action) is None:
        for producer in action.producers:
            yield from _needed(engine, producer, found)
    if action.task not in found:
        yield action


def _step(engine: Engine, action: Action, found: dict[str, Step]) -> Step:
    if engine.current(action) is not None:
        return Step(action.task, UP_TO_DATE)
    if engine.predict(action) is not None:
        return Step(action.task, CACHED)
    waits = [producer.task for producer in action.producers if engine.predict(producer) is None]
    if waits:
        return Step(action.task, MAY_RUN, (f"it takes what {listed(waits)} makes",))
    now, old = engine.consumed(action), engine.state.runs(action.task)
    if not old:
        return Step(action.task, RUNS, (FIRST,))
    if now is None:  # an input comes from the cache
        cached = [each.task for each in action.producers if engine.current(each) is None]
        return Step(
            action.task, RUNS, (f"it takes what {listed(cached)} makes, which the cache has",)
        )
    return Step(
        action.task,
        RUNS,
        tuple(reason.text for reason in reasons(action, old[0], now.run)) or (GONE,),
    )


def listed(tasks: Sequence[str]) -> str:
    """The first names of a list, and how many more there are."""
    return ", ".join(tasks[:NAMED]) + (
        f" and {len(tasks) - NAMED} more" if len(tasks) > NAMED else ""
    )


def causes(engine: Engine, action: Action) -> tuple[str, list[tuple[str, str]]]:
    """What a build does with an action, or did last, as the end of a sentence; and why, as pairs of
    a task, where changes begin, and a reason.
    """
    if engine.current(action) is None:
        steps = forecast(engine, [action])
        found = [(step.task, line) for step in steps if step.what == RUNS for line in step.why]
        return (
            "runs in the next build" if found else "is taken from the cache in the next build"
        ), found
    return "is up to date; it last ran", _last_causes(engine, action, set())


def _last_causes(engine: Engine, action: Action, seen: set[str]) -> list[tuple[str, str]]:
    seen.add(action.task)
    runs = engine.state.runs(action.task)
    if len(runs) < 2:
        return [(action.task, RAN_FIRST if runs else FORGOTTEN)]
    found: list[tuple[str, str]] = []
    for reason in reasons(action, runs[1], runs[0]):
        if reason.producer is None:
            found.append((action.task, reason.text))
        elif reason.producer.task not in seen:
            found += _last_causes(engine, reason.producer, seen)
    return found
