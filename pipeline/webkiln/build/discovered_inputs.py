"""Discovered inputs (as depfiles have them): what code of the user's looked at in a run, under
machine-independent names.

`2/data/x.npz` is a file below the third root of the action, `2/data/` the names in a folder,
`tree:2/` all files of that root, `stat:2/x` the kind and size of what may be there,
`import:2/lib:a,b` the files by which the modules `a` and `b` are found in a folder, `package:numpy`
an installed distribution.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from webkiln import canonical
from webkiln.build.action import Action
from webkiln.build.digests import FileDigests, FileState
from webkiln.build.executor import Outcome
from webkiln.build.reads import ABSENT, UNLISTED, candidates, digest_of_names, names_in, state_of

STATE, MODULES, PACKAGE, TREE = "stat:", "import:", "package:", "tree:"
IN_TOOLS = "its version is among the tools"


@dataclass(frozen=True, slots=True)
class Discovered:
    """What each name stands for, and the files among them as they were seen."""

    digests: Mapping[str, str]
    files: Mapping[Path, FileState]


def names_of(action: Action, outcome: Outcome) -> tuple[str, ...]:
    """What a run looked at, and the roots that the recipe lists, which may be read in ways that
    cannot be seen.
    """
    whole = [
        (index, root) for index, root in enumerate(action.roots) if root in action.tracked_roots
    ]
    declared = {f"{index}/." if root.is_file() else f"{TREE}{index}/" for index, root in whole}
    return tuple(
        sorted(
            declared
            | _observed(action, outcome).keys()
            | {PACKAGE + name for name in outcome.packages}
        )
    )


def packages_of(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.removeprefix(PACKAGE) for name in names if name.startswith(PACKAGE))


def path_of(action: Action, name: str) -> Path | None:
    """The file or folder of a name; None for other names, and those that an action of other roots
    gave.
    """
    index, _, inside = name.partition("/")
    known = index.isdecimal() and int(index) < len(action.roots)
    return Path(os.path.abspath(action.roots[int(index)])) / inside if known else None


def discovered(action: Action, names: Iterable[str], digests: FileDigests) -> Discovered:
    """What has these names now. Raises RecipeError where a file keeps changing."""
    found: dict[str, str] = {}
    files: dict[Path, FileState] = {}
    for name in names:
        if name.startswith(PACKAGE):
            found[name] = IN_TOOLS
        elif name.startswith(TREE):
            path = path_of(action, name.removeprefix(TREE))
            below = {} if path is None else _tree(path, digests)
            found[name] = (
                canonical.key(
                    {
                        place.relative_to(path).as_posix(): seen.sha256
                        for place, seen in below.items()
                    }
                )
                if path
                else ABSENT
            )
            files |= below
        elif name.startswith(STATE):
            path = path_of(action, name.removeprefix(STATE))
            found[name] = ABSENT if path is None else state_of(path)
        elif name.startswith(MODULES):
            folder, _, modules = name.removeprefix(MODULES).rpartition(":")
            path = path_of(action, folder)
            found[name] = (
                ABSENT
                if path is None
                else _candidates(
                    {module: candidates(path, module) for module in modules.split(",")}
                )
            )
        elif (path := path_of(action, name)) is None:
            found[name] = ABSENT
        elif name.endswith("/"):
            found[name] = digest_of_names(names_in(path))
        else:
            try:
                files[path] = digests.observe(path)
                found[name] = files[path].sha256
            except OSError:
                found[name] = ABSENT
    return Discovered(found, files)


def is_same(action: Action, outcome: Outcome, now: Discovered) -> bool:
    """Whether everything that a run looked at is now as it was then."""
    for path, then in outcome.files.items():
        if (name := _name(action, path)) is not None:
            seen = now.files.get(path_of(action, name) or Path())
            if (None if seen is None else seen.stamp) != then:
                return False
    return all(
        value is None or now.digests[name] == value
        for name, value in _observed(action, outcome).items()
    )


def scripts_of(action: Action, names: Iterable[str]) -> tuple[Path, ...]:
    """The Python files among what was read."""
    return tuple(
        path
        for name in names
        if name.endswith(".py") and (path := path_of(action, name)) is not None and path.is_file()
    )


def _observed(action: Action, outcome: Outcome) -> dict[str, str | None]:
    """What a run looked at by name, and what it saw; None for a file, of which it saw a stamp."""
    found: dict[str, str | None] = {}
    for path in outcome.files:
        if (name := _name(action, path)) is not None:
            found[name] = None
    for path, names in outcome.folders.items():
        if (name := _name(action, path)) is not None:
            found[f"{name}/"] = names
    for path, state in outcome.states.items():
        if (name := _name(action, path)) is not None:
            found[STATE + name] = state
    for path, modules in outcome.modules.items():
        if (name := _name(action, path)) is not None:
            found[f"{MODULES}{name}:{','.join(sorted(modules))}"] = _candidates(modules)
    return found


def _tree(folder: Path, digests: FileDigests) -> dict[Path, FileState]:
    """All files below a folder, but for caches and histories. Links to folders are not followed."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - UNLISTED)
        for name in names:
            with suppress(OSError):
                found[Path(place) / name] = digests.observe(Path(place) / name)
    return found


def _candidates(modules: Mapping[str, Sequence[str]]) -> str:
    return canonical.key({name: list(found) for name, found in modules.items()})


def _name(action: Action, path: str) -> str | None:
    for index, root in enumerate(map(os.path.abspath, action.roots)):
        inside = os.path.relpath(path, root)
        if not inside.startswith(".."):
            return f"{index}/{inside}"
    return None
