"""Bundles that need nothing, told by the stamps of files alone: of hundreds of models the untouched ones cost one look at each of their files.

What is noted here follows from a build that found everything up to date; where anything
differs, the build looks at every step again. Damage to this file costs no more than that.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build.digests import FileDigests
from webkiln.build.environment import keyed
from webkiln.build.files import write_atomic
from webkiln.build.reads import stamp
from webkiln.build.share import Share

SCHEMA = "webkiln.settled/3"
SETTLED = "settled.json"
"""The name of the file in a tree's state folder."""
CODE = ("stages", "kernels", "runtime")
ASIDE = {"__pycache__", "node_modules"}
LOCKS = ("toolchain.lock", "requirements.lock")


class Settled:
    """What was noted of a tree, and what is there now.

    `key_id` names the key that results must be signed with, if any: what was settled under another rule is not settled.
    """

    def __init__(self, path: Path, shared: Share, digests: FileDigests, key_id: str = "") -> None:
        self._path = path
        self._digests = digests
        self._here = canonical.key({**_surroundings(shared), "key": key_id})
        self._rows: dict[str, dict[str, Any]] = {}
        self._is_new = False
        try:
            held = canonical.read(path)
            if held["schema"] == SCHEMA and held["here"] == self._here:
                self._rows = dict(held["rows"])
        except (OSError, ValueError, KeyError, TypeError):
            self._is_new = True

    def holds(self, task: str, facts: str) -> bool:
        """Whether a bundle is as it was noted: made with the same `facts`, a digest of its recipe and of what was asked for, of files that have not
        changed, and published as it was."""
        row = self._rows.get(task)
        return row is not None and row["facts"] == facts and all(_stamp(name) == then for name, then in row["files"].items())

    def note(self, task: str, facts: str, files: Mapping[Path, str]) -> None:
        """Remember a bundle that is up to date and made of, or published as, files with these digests, unless one of them has other bytes now."""
        stamps = {os.fspath(path): self._digests.known(path, digest) for path, digest in files.items()}
        if None in stamps.values():
            self._is_new |= self._rows.pop(task, None) is not None
        else:
            self._rows[task] = {"facts": facts, "files": stamps}
            self._is_new = True

    def save(self) -> None:
        if self._is_new:
            write_atomic(self._path, canonical.dumps({"schema": SCHEMA, "here": self._here, "rows": self._rows}))
            self._is_new = False


def _surroundings(shared: Share) -> Mapping[str, Any]:
    """webkiln's own files, where programs and packages are looked for, and when these folders changed."""
    code = [shared.package, *(shared.root / name for name in CODE)]
    files = [*(path for folder in code for path in _files(os.fspath(folder))), *(os.fspath(shared.root / name) for name in LOCKS)]
    places = [*os.environ.get("PATH", "").split(os.pathsep), os.environ.get("EMSDK", ""), *sys.path]
    return {
        "files": {path: _stamp(path) for path in files},
        "places": {path: _stamp(path) for path in places},
        "python": sys.version,
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
