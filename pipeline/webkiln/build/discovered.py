"""Discovered inputs (as depfiles have them): the files and folders that code of the user's read in a run, under machine-independent names.

`2/data/x.npz` is a file below the third root of the action, `2/data/` the names in a folder.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from webkiln.build.action import Action
from webkiln.build.digests import FileDigests, Seen
from webkiln.build.executor import Outcome
from webkiln.build.reads import ABSENT, listing


@dataclass(frozen=True, slots=True)
class Discovered:
    """Digests by name, of files, of the names in folders, or ABSENT; and the files among them as they were seen."""

    digests: Mapping[str, str]
    files: Mapping[Path, Seen]


def names_of(action: Action, outcome: Outcome) -> tuple[str, ...]:
    """What a run read, and the roots that are files, which may be read in ways that cannot be seen."""
    declared = {f"{index}/." for index, root in enumerate(action.roots) if root.is_file()}
    files = {name for path in outcome.files if (name := _name(action, path)) is not None}
    folders = {f"{name}/" for path in outcome.folders if (name := _name(action, path)) is not None}
    return tuple(sorted(declared | files | folders))


def path_of(action: Action, name: str) -> Path | None:
    """None for a name that an action of other roots gave."""
    index, _, inside = name.partition("/")
    return Path(os.path.abspath(action.roots[int(index)])) / inside if int(index) < len(action.roots) else None


def discovered(action: Action, names: Iterable[str], digests: FileDigests) -> Discovered:
    """What has these names now. Raises RecipeError where a file keeps changing."""
    found: dict[str, str] = {}
    files: dict[Path, Seen] = {}
    for name in names:
        path = path_of(action, name)
        if path is None:
            found[name] = ABSENT
        elif name.endswith("/"):
            found[name] = listing(path)
        else:
            try:
                files[path] = digests.look(path)
                found[name] = files[path].sha256
            except OSError:
                found[name] = ABSENT
    return Discovered(found, files)


def is_same(action: Action, outcome: Outcome, now: Discovered) -> bool:
    """Whether everything that a run read is now as it was then."""
    for path, then in outcome.files.items():
        if (name := _name(action, path)) is not None:
            seen = now.files.get(path_of(action, name) or Path())
            if (None if seen is None else seen.stamp) != then:
                return False
    folders = ((name, then) for path, then in outcome.folders.items() if (name := _name(action, path)) is not None)
    return all(now.digests[f"{name}/"] == then for name, then in folders)


def scripts_of(action: Action, names: Iterable[str]) -> tuple[Path, ...]:
    """The Python files among what was read."""
    return tuple(path for name in names if name.endswith(".py") and (path := path_of(action, name)) is not None and path.is_file())


def _name(action: Action, path: str) -> str | None:
    for index, root in enumerate(map(os.path.abspath, action.roots)):
        inside = os.path.relpath(path, root)
        if not inside.startswith(".."):
            return f"{index}/{inside}"
    return None
