"""What builds wrote into a folder of the user, according to a record of each publication, or else
to the manifest of the bundle.
"""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build.digests import FileDigests
from webkiln.build.files import write_atomic
from webkiln.build.names import is_plain, may_be_published

OTHER = "no file"
"""Represents the content of a path that is neither absent nor a regular file: a folder, a link, a
device.
"""
COPY = re.compile(r"\.webkiln-[0-9a-f]{16}(-\d+)?")
"""The names of temporary copies that are renamed when a publication is complete."""
MANIFESTS = {"manifest.json": "webkiln.bundle/1", "verification.json": "webkiln.verification/1"}

Known = Mapping[str, frozenset[str]]
"""File -> the digests of what builds wrote under that name, or were about to write."""


@dataclass(frozen=True, slots=True)
class Record:
    """`temporary`: the names of copies of an unfinished publication. `created`: whether a build
    created the folder.
    """

    files: Known = field(default_factory=dict)
    temporary: tuple[str, ...] = ()
    created: bool = False

    def to_json(self) -> dict[str, Any]:
        files = {name: sorted(digests) for name, digests in self.files.items()}
        return {"files": files, "temporary": list(self.temporary), "made": self.created}


class Records:
    """One file for each published folder, below `root`. If one is deleted, the manifest of the
    bundle is used instead.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, folder: Path) -> Path:
        return self.root / canonical.digest(os.fsencode(folder))

    def read(self, folder: Path) -> Record:
        try:
            data = canonical.read(self.path(folder))
            files = {
                name: frozenset(map(str, digests))
                for name, digests in data["files"].items()
                if is_plain(name)
            }
            return Record(
                files,
                tuple(name for name in data["temporary"] if COPY.fullmatch(name)),
                bool(data["made"]),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return Record()

    def write(self, folder: Path, record: Record) -> None:
        write_atomic(self.path(folder), canonical.dumps(record.to_json()))

    def forget(self, folder: Path) -> None:
        self.path(folder).unlink(missing_ok=True)


def content(path: Path, digests: FileDigests) -> str | None:
    """The digest of a regular file, OTHER for anything else, None where there is nothing."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    try:
        return digests.digest(path) if stat.S_ISREG(mode) else OTHER
    except PermissionError:
        return OTHER


def claimed(folder: Path) -> dict[str, frozenset[str]]:
    """The files that a bundle and its report list, with their digests. Only names that builds use
    count.
    """
    files: dict[str, frozenset[str]] = {}
    for manifest, schema in MANIFESTS.items():
        try:
            if not stat.S_ISREG(os.lstat(folder / manifest).st_mode):
                continue
            data = (folder / manifest).read_bytes()
            value = canonical.loads(data)
            if value["schema"] != schema or canonical.dumps(value) != data:
                continue
            listed = {
                name: frozenset({str(entry["sha256"])})
                for name, entry in value.get("files", {}).items()
                if may_be_published(name, str(value.get("name", "")))
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        files |= {**listed, manifest: frozenset({canonical.digest(data)})}
    return files


def united(*tables: Known) -> dict[str, frozenset[str]]:
    names = {name for table in tables for name in table}
    return {name: frozenset().union(*(table.get(name, ()) for table in tables)) for name in names}
