"""Why a task runs: the differences between what two of its runs consumed."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webkiln.build.action import Action, Product
from webkiln.build.discovered_inputs import MODULES, PACKAGE, STATE, TREE, path_of
from webkiln.build.state import Run

ABBREVIATED = 12
LINES = 20
"""The maximal number of printed lines."""
FIRST = "it has not run here before"
GONE = "its result is no longer in any cache"
RAN_FIRST = "it had not run here before"
FORGOTTEN = "no record of its runs exists"
ELSEWHERE = "it was found in a cache by its source key, with other code and tools"


@dataclass(frozen=True, slots=True)
class Reason:
    """A line for people. `producer` is the action whose output changed, if the reason is that."""

    text: str
    producer: Action | None = None


def reasons(action: Action, old: Run, new: Run) -> list[Reason]:
    """What changed between two runs of an action: files first, then products, code, parameters and
    tools.
    """
    files = [Reason(f"{_shown(path)} {what}") for path, what in _changes(old.files, new.files)]
    before, after = old.document, new.document
    if "origin" in before or "origin" in after:
        return files or [Reason(ELSEWHERE)]
    other = [f"{name} {what}" for name, what in _changes(before["code"], after["code"])]
    other += [f"parameter {line}" for line in _values("", before["params"], after["params"])]
    other += [f"tool {line}" for line in _values("", before["tools"], after["tools"])]
    other += [
        f"environment variable {line}"
        for line in _values("", before.get("environment", {}), after.get("environment", {}))
    ]
    other += _discovered(
        action, before.get("reads", {}), after.get("reads", {}), {*old.files, *new.files}
    )
    other += _values("", _rest(before), _rest(after))
    return [*files, *_products(action, before, after), *map(Reason, other)]


def shortened(lines: Sequence[str], most: int = LINES) -> list[str]:
    return (
        [*lines]
        if len(lines) <= most
        else [*lines[: most - 1], f"and {len(lines) - most + 1} more"]
    )


def _products(
    action: Action, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Reason]:
    for role, what in _changes(before["inputs"], after["inputs"]):
        value = action.inputs.get(role)
        if isinstance(value, Product):
            pattern = value.pattern if value.pattern != "*" else ""
            yield Reason(f"{value.path}{pattern} of {value.action.task} {what}", value.action)


def _discovered(
    action: Action, old: Mapping[str, str], new: Mapping[str, str], files: set[str]
) -> Iterator[str]:
    """Changes of discovered inputs, except files, which are listed already."""
    for name, what in _changes(old, new):
        if name.startswith(PACKAGE):
            yield f"the imported package {name.removeprefix(PACKAGE)} {what}"
        elif name.startswith(STATE):
            yield (
                f"the existence or size of {_path_shown(action, name.removeprefix(STATE))} {what}"
            )
        elif name.startswith(MODULES):
            folder, _, modules = name.removeprefix(MODULES).rpartition(":")
            yield (
                f"the files in {_path_shown(action, folder)} that provide"
                f" {modules.replace(',', ', ')} {what}"
            )
        elif name.endswith("/") and not name.startswith(TREE):
            yield f"the names in {_path_shown(action, name)} {what}"
        elif str(path_of(action, name.removeprefix(TREE))) not in files and not name.startswith(
            TREE
        ):
            yield f"{_path_shown(action, name)} {what}"


def _path_shown(action: Action, name: str) -> str:
    path = path_of(action, name)
    return name if path is None else _shown(os.fspath(path))


def _shown(path: str) -> str:
    """A path; relative to the working folder if it is below it."""
    try:
        return Path(path).relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path


def _changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            yield name, "is new"
        elif name not in new:
            yield name, "is no longer used"
        elif old[name] != new[name]:
            yield name, "changed"


def _rest(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: document.get(name) for name in ("schema", "stage", "outputs")}


def _values(where: str, old: Any, new: Any) -> Iterator[str]:
    """One line for each field that was added, removed or changed. Nested tables are compared."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys()):
            field = f"{where} {name}".strip()
            if name not in old:
                yield f"{field}: added, {_value(new[name])}"
            elif name not in new:
                yield f"{field}: removed, was {_value(old[name])}"
            else:
                yield from _values(field, old[name], new[name])
    elif old != new:
        yield f"{where}: {_value(old)} -> {_value(new)}"


def _value(value: Any) -> str:
    text = str(value)
    return text[:ABBREVIATED] if len(text) == 64 and " " not in text else text
