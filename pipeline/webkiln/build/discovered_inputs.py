"""*Discovered inputs*: what user code read in a run, under machine-independent names, as in
depfiles. They are part of the key of an action that runs user code. The names of the last runs are
stored by the key of the declared inputs; a lookup digests these names again and so completes the
key.

`2/data/x.npz` is a file below the third root of the action, `2/data/` the names in a folder,
`tree:2/` all files of that root, `stat:2/x` the kind and size of a file that may exist,
`import:2/lib:a,b` the files that provide the modules `a` and `b` in a folder, `package:numpy` an
installed distribution.
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
from webkiln.build.file_stamps import (
    ABSENT,
    UNLISTED,
    candidates,
    digest_of_names,
    names_in,
    state_of,
)

STATE, MODULES, PACKAGE, TREE = "stat:", "import:", "package:", "tree:"
IN_TOOLS = "its version is among the tools"


@dataclass(frozen=True, slots=True)
class Discovered:
    """The digest of each name, and the states of the files among them."""

    digests: Mapping[str, str]
    files: Mapping[Path, FileState]


def names_of(action: Action, outcome: Outcome) -> tuple[str, ...]:
    """The names of what a run read, and of the roots that the recipe lists. Those are inputs in
    full, since some reads cannot be observed.
    """
    tracked = [
        (i, root)
        for i, root in enumerate(action.user_reads.roots)
        if root in action.user_reads.tracked_roots
    ]
    declared = {f"{index}/." if root.is_file() else f"{TREE}{index}/" for index, root in tracked}
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
    """The file or folder of a name; None for other kinds of names, and for names of an action with
    other roots.
    """
    index, _, inside = name.partition("/")
    known = index.isdecimal() and int(index) < len(action.user_reads.roots)
    return Path(os.path.abspath(action.user_reads.roots[int(index)])) / inside if known else None


def discovered(action: Action, names: Iterable[str], digests: FileDigests) -> Discovered:
    """The present digests of these names. Raises RecipeError where a file keeps changing."""
    values: dict[str, str] = {}
    files: dict[Path, FileState] = {}
    for name in names:
        if name.startswith(PACKAGE):
            values[name] = IN_TOOLS
        elif name.startswith(TREE):
            path = path_of(action, name.removeprefix(TREE))
            below = {} if path is None else _tree(path, digests)
            values[name] = (
                canonical.key(
                    {
                        file.relative_to(path).as_posix(): state.sha256
                        for file, state in below.items()
                    }
                )
                if path
                else ABSENT
            )
            files |= below
        elif name.startswith(STATE):
            path = path_of(action, name.removeprefix(STATE))
            values[name] = ABSENT if path is None else state_of(path)
        elif name.startswith(MODULES):
            folder, _, modules = name.removeprefix(MODULES).rpartition(":")
            path = path_of(action, folder)
            values[name] = (
                ABSENT
                if path is None
                else _candidates(
                    {module: candidates(path, module) for module in modules.split(",")}
                )
            )
        elif (path := path_of(action, name)) is None:
            values[name] = ABSENT
        elif name.endswith("/"):
            values[name] = digest_of_names(names_in(path))
        else:
            try:
                files[path] = digests.observe(path)
                values[name] = files[path].sha256
            except OSError:
                values[name] = ABSENT
    return Discovered(values, files)


def is_same(action: Action, outcome: Outcome, now: Discovered) -> bool:
    """Whether all that a run read is still the same."""
    for path, then in outcome.files.items():
        if (name := _name(action, path)) is not None:
            state = now.files.get(path_of(action, name) or Path())
            if (None if state is None else state.stamp) != then:
                return False
    return all(
        value is None or now.digests[name] == value
        for name, value in _observed(action, outcome).items()
    )


def scripts_of(action: Action, names: Iterable[str]) -> tuple[Path, ...]:
    """The Python files among discovered inputs."""
    return tuple(
        path
        for name in names
        if name.endswith(".py") and (path := path_of(action, name)) is not None and path.is_file()
    )


def _observed(action: Action, outcome: Outcome) -> dict[str, str | None]:
    """What a run observed, by name; None for a file, of which it recorded a stamp."""
    values: dict[str, str | None] = {}
    for path in outcome.files:
        if (name := _name(action, path)) is not None:
            values[name] = None
    for path, names in outcome.folders.items():
        if (name := _name(action, path)) is not None:
            values[f"{name}/"] = names
    for path, state in outcome.states.items():
        if (name := _name(action, path)) is not None:
            values[STATE + name] = state
    for path, modules in outcome.modules.items():
        if (name := _name(action, path)) is not None:
            values[f"{MODULES}{name}:{','.join(sorted(modules))}"] = _candidates(modules)
    return values


def _tree(folder: Path, digests: FileDigests) -> dict[Path, FileState]:
    """All files below a folder, without caches and histories. Links to folders are not followed."""
    files = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - UNLISTED)
        for name in names:
            with suppress(OSError):
                files[Path(parent) / name] = digests.observe(Path(parent) / name)
    return files


def _candidates(modules: Mapping[str, Sequence[str]]) -> str:
    return canonical.key({name: list(found) for name, found in modules.items()})


def _name(action: Action, path: str) -> str | None:
    for index, root in enumerate(map(os.path.abspath, action.user_reads.roots)):
        inside = os.path.relpath(path, root)
        if not inside.startswith(".."):
            return f"{index}/{inside}"
    return None
