"""*Stamps* prove that a bundle is up to date from file metadata alone (inode, size, times). A build
that finds a bundle up to date records the stamps of its inputs, of its published files, of
webkiln's own files, and of the folders in which programs and packages are found. While all of them
stay the same, no key is computed: hundreds of untouched models cost one `stat` for each of their
files.

Where any stamp differs, the build checks every step again. If the file is damaged or deleted, it
does so too.
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
from webkiln.build.file_stamps import Stamp, is_fresh, stamp
from webkiln.build.files import write_atomic
from webkiln.build.remote.signing import Signer
from webkiln.build.share import Share

SCHEMA = "webkiln.stamps/1"
STAMPS = "stamps.json"
"""The name of the file in a tree's state folder."""
COMMANDS = 7
"""The number of remembered commands, in addition to the latest."""
CODE = ("stages", "kernels", "runtime")
SKIPPED = {"__pycache__", "node_modules"}
LOCKS = ("toolchain.lock", "requirements.lock")


class Stamps:
    """The recorded stamps of a tree, compared with its present state.

    `key_id` names the key that results must be signed with, if any. Stamps recorded under another
    key do not count.
    """

    def __init__(self, path: Path, shared: Share, digests: FileDigests, key_id: str = "") -> None:
        self._path = path
        self.digests = digests
        self._here = canonical.key({**_environment(shared), "key": key_id})
        self._rows: dict[str, dict[str, Any]] = {}
        self._commands: dict[str, dict[str, Any]] = {}
        self._is_new = False
        try:
            recorded = canonical.read(path)
            if recorded["schema"] == SCHEMA and recorded["here"] == self._here:
                self._rows, self._commands = dict(recorded["rows"]), dict(recorded["commands"])
        except (OSError, ValueError, KeyError, TypeError):
            self._is_new = True

    def holds(self, task: str, facts: str) -> bool:
        """Whether a bundle is up to date: built with the same `facts`, a digest of its recipe and
        of the selection, from files that have not changed, and published unchanged.
        """
        row = self._rows.get(task)
        return row is not None and row["facts"] == facts and self._is_intact(row)

    def _is_intact(self, row: Mapping[str, Any]) -> bool:
        return all(_stamp(name) == then for name, then in row["files"].items())

    def command(self, command: str, recipes: Mapping[str, Stamp]) -> list[Path] | None:
        """The folders of the bundles of a command that has nothing to do, without reading a recipe;
        None if it may have. `command` identifies the command; `recipes` are the stamps of all
        recipes.
        """
        known = self._commands.get(command)
        if (
            known is None
            or not recipes
            or known["recipes"] != {path: [*then] for path, then in recipes.items()}
        ):
            return None
        rows = [self._rows.get(task) for task in known["bundles"]]
        return (
            [*map(Path, known["bundles"].values())]
            if all(row is not None and self._is_intact(row) for row in rows)
            else None
        )

    def record_command(
        self, command: str, recipes: Mapping[str, Stamp], bundles: Mapping[str, Path]
    ) -> None:
        """Record that a command had nothing to do: its bundles by task, and the stamps of the
        recipes before they were read.
        """
        if recipes:
            latest = [*self._commands.items()][-COMMANDS:]
            row = {
                "recipes": {path: [*then] for path, then in recipes.items()},
                "bundles": {task: str(bundles[task]) for task in bundles},
            }
            self._commands = {**dict(latest), command: row}
            self._is_new = True

    def record(self, task: str, facts: str, files: Mapping[Path, str]) -> None:
        """Record a bundle that is up to date, with the digests of its inputs and published files,
        unless one of these files has other bytes now.
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
    """The recorded stamps of the tree with this state folder."""
    return Stamps(state / STAMPS, shared, digests, signer.key_id if signer is not None else "")


def recipe_stamps(folder: Path) -> dict[str, Stamp]:
    """The stamps of all recipes in a folder, by path. Empty if one changed so recently that its
    stamp may hide another change.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        now = time.time()
        paths = sorted(f"{entry.path}/recipe.toml" for entry in entries)
        current = {path: known for path in paths if (known := stamp(path)) is not None}
        return {} if any(is_fresh(known, now) for known in current.values()) else current
    return {}


def _environment(shared: Share) -> Mapping[str, Any]:
    """The stamps of webkiln's own files and of the folders in which programs and packages are
    found, and the relevant variables.
    """
    code = [shared.package, *(shared.root / name for name in CODE)]
    files = [
        *(path for folder in code for path in _files(os.fspath(folder))),
        *(os.fspath(shared.root / name) for name in LOCKS),
    ]
    folders = [
        *os.environ.get("PATH", "").split(os.pathsep),
        os.environ.get("EMSDK", ""),
        *sys.path,
    ]
    return {
        "files": {path: _stamp(path) for path in files},
        "places": {path: _stamp(path) for path in folders},
        "python": sys.version,
        "compiler": os.environ.get(VARIABLE),
        "environment": keyed(os.environ, reaches_network=True),
    }


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name not in SKIPPED:
                    yield from _files(entry.path)
            else:
                yield entry.path


def _stamp(path: str) -> list[int] | None:
    current = stamp(path)
    return None if current is None else [*current]
