"""Discovered inputs (as depfiles have them): the files and folders that code of the user's read in a run, under machine-independent names.

`2/data/x.npz` is a file below the third root of the action, `2/data/` the names in a folder.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from webkiln import canonical
from webkiln.build.action import Action
from webkiln.build.digests import FileDigests
from webkiln.build.executor import Outcome

ABSENT = "absent"
UNLISTED = {"__pycache__", ".webkiln", ".git"}


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


def digest_of(action: Action, name: str, digests: FileDigests) -> str:
    """The digest of a file's bytes or of the names in a folder, ABSENT where there is none."""
    path = path_of(action, name)
    if path is None:
        return ABSENT
    try:
        if name.endswith("/"):
            return canonical.key(sorted(set(os.listdir(path)) - UNLISTED))
        return digests.digest(path)
    except OSError:
        return ABSENT


def scripts_of(action: Action, names: Iterable[str]) -> tuple[Path, ...]:
    """The Python files among what was read."""
    return tuple(path for name in names if name.endswith(".py") and (path := path_of(action, name)) is not None and path.is_file())


def _name(action: Action, path: str) -> str | None:
    for index, root in enumerate(map(os.path.abspath, action.roots)):
        inside = os.path.relpath(path, root)
        if not inside.startswith(".."):
            return f"{index}/{inside}"
    return None
