"""Bundles that need nothing, told by the stamps of files alone: of hundreds of models the untouched
ones cost one look at each of their files.

What is noted here follows from a build that found everything up to date; where anything
differs, the build looks at every step again. Damage to this file costs no more than that.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.backends.compilers import VARIABLE
from webkiln.build.digests import FileDigests
from webkiln.build.environment import keyed
from webkiln.build.files import write_atomic
from webkiln.build.reads import Stamp, is_fresh, stamp
from webkiln.build.remote.signing import Signer
from webkiln.build.share import Share

SCHEMA = "webkiln.stamps/1"
STAMPS = "stamps.json"
"""The name of the file in a tree's state folder."""
COMMANDS = 7
"""So many commands are remembered besides the latest."""
CODE = ("stages", "kernels", "runtime")
ASIDE = {"__pycache__", "node_modules"}
LOCKS = ("toolchain.lock", "requirements.lock")


class Stamps:
    """What was noted of a tree, and what is there now.

    `key_id` names the key that results must be signed with, if any: what was settled under another
    rule is not settled.
    """

    def __init__(self, path: Path, shared: Share, digests: FileDigests, key_id: str = "") -> None:
        self._path = path
        self.digests = digests
        self._here = canonical.key({**_surroundings(shared), "key": key_id})
        self._rows: dict[str, dict[str, Any]] = {}
        self._commands: dict[str, dict[str, Any]] = {}
        self._is_new = False
        try:
            held = canonical.read(path)
            if held["schema"] == SCHEMA and held["here"] == self._here:
                self._rows, self._commands = dict(held["rows"]), dict(held["commands"])
        except (OSError, ValueError, KeyError, TypeError):
            self._is_new = True

    def holds(self, task: str, facts: str) -> bool:
        """Whether a bundle is as it was noted: made with the same `facts`, a digest of its recipe
        and
        of what was asked for, of files that have not changed, and published as it was.
        """
        row = self._rows.get(task)
        return row is not None and row["facts"] == facts and self._is_intact(row)

    def _is_intact(self, row: Mapping[str, Any]) -> bool:
        return all(_stamp(name) == then for name, then in row["files"].items())

    def command(self, command: str, recipes: Mapping[str, Stamp]) -> list[Path] | None:
        """Where the bundles are of a command that has nothing to do, told without reading a recipe;
        None where it may have. `command` says which command it is, and `recipes` are the stamps of
        all recipes.
        """
        found = self._commands.get(command)
        if (
            found is None
            or not recipes
            or found["recipes"] != {path: [*then] for path, then in recipes.items()}
        ):
            return None
        rows = [self._rows.get(task) for task in found["bundles"]]
        return (
            [*map(Path, found["bundles"].values())]
            if all(row is not None and self._is_intact(row) for row in rows)
            else None
        )

    def record_command(
        self, command: str, recipes: Mapping[str, Stamp], bundles: Mapping[str, Path]
    ) -> None:
        """Remember that a command had nothing to do: its bundles by their tasks, and the stamps
        that the recipes had before they were read.
        """
        if recipes:
            kept = [*self._commands.items()][-COMMANDS:]
            row = {
                "recipes": {path: [*then] for path, then in recipes.items()},
                "bundles": {task: str(bundles[task]) for task in bundles},
            }
            self._commands = {**dict(kept), command: row}
            self._is_new = True

    def record(self, task: str, facts: str, files: Mapping[Path, str]) -> None:
        """Remember a bundle that is up to date and made of, or published as, files with these
        digests, unless one of them has other bytes now.
        """
        stamps = {
            os.fspath(path): self.digests.stamp_of(path, digest) for path, digest in files.items()
        }
        if None in stamps.values():
            self._is_new |= self._rows.pop(task, None) is not None
        else:
            self._rows[task] = {"facts": facts, "files": stamps}
            self._is_new = True

    def save(self) -> None:
        if self._is_new:
            write_atomic(
                self._path,
                canonical.dumps(
                    {
                        "schema": SCHEMA,
                        "here": self._here,
                        "rows": self._rows,
                        "commands": self._commands,
                    }
                ),
            )
            self._is_new = False


def read_stamps(state: Path, shared: Share, digests: FileDigests, signer: Signer | None) -> Stamps:
    """What was noted of the tree with this state folder."""
    return Stamps(state / STAMPS, shared, digests, signer.key_id if signer is not None else "")


def recipe_stamps(folder: Path) -> dict[str, Stamp]:
    """The stamps of all recipes in a folder, by their paths; none where one changed so lately that
    its stamp may hide another change.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        now = time.time()
        paths = sorted(f"{entry.path}/recipe.toml" for entry in entries)
        found = {path: known for path in paths if (known := stamp(path)) is not None}
        return {} if any(is_fresh(known, now) for known in found.values()) else found
    return {}


def _surroundings(shared: Share) -> Mapping[str, Any]:
    """webkiln's own files, where programs and packages are looked for, and when these folders
    changed.
    """
    code = [shared.package, *(shared.root / name for name in CODE)]
    files = [
        *(path for folder in code for path in _files(os.fspath(folder))),
        *(os.fspath(shared.root / name) for name in LOCKS),
    ]
    places = [*os.environ.get("PATH", "").split(os.pathsep), os.environ.get("EMSDK", ""), *sys.path]
    return {
        "files": {path: _stamp(path) for path in files},
        "places": {path: _stamp(path) for path in places},
        "python": sys.version,
        "compiler": os.environ.get(VARIABLE),
        "environment": keyed(os.environ, reaches_network=True),
    }


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name not in ASIDE:
                    yield from _files(entry.path)
            else:
                yield entry.path


def _stamp(path: str) -> list[int] | None:
    found = stamp(path)
    return None if found is None else [*found]
