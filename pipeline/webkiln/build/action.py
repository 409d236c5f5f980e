"""Actions as values: one execution of a stage, its inputs and what it must write."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Blob:
    sha256: str
    bytes: int


HERE, FLEET, UNSIGNED = "here", "fleet", "unsigned"
"""Provenances. Any other one is the ID of the key that signed the entry of a remote cache."""
BUILT = frozenset({HERE, FLEET})


def combined_provenance(provenances: Iterable[str]) -> str:
    """The provenance of what was made of parts with these: that of the part that is trusted least."""
    found = set(provenances)
    foreign = found - BUILT
    if len(foreign) > 1:
        return UNSIGNED
    return next(iter(foreign), FLEET if FLEET in found else HERE)


@dataclass(frozen=True, slots=True)
class ActionResult:
    """Output path -> blob, and what the stage printed. A path below a folder role is `role/` plus
    the
    path inside.

    `provenance`: who vouches for it. It is kept on this machine only and never read from a remote
    cache.
    """

    outputs: Mapping[str, Blob]
    printed: str = ""
    provenance: str = HERE

    def to_json(self) -> dict[str, Any]:
        blobs = {
            path: {"sha256": blob.sha256, "bytes": blob.bytes}
            for path, blob in self.outputs.items()
        }
        return {"outputs": blobs, "printed": self.printed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], provenance: str) -> "ActionResult":
        outputs = {
            path: Blob(blob["sha256"], blob["bytes"]) for path, blob in data["outputs"].items()
        }
        return cls(outputs, data["printed"], provenance)


@dataclass(frozen=True, slots=True)
class Local:
    """A file of the user's."""

    path: Path


@dataclass(frozen=True, slots=True)
class Folder:
    """Files of the user's, gathered in one folder role under the given names."""

    files: tuple[tuple[str, Path], ...]


@dataclass(frozen=True, slots=True)
class Product:
    """An output of another action; `pattern` keeps only the files of a folder that match it."""

    action: "Action" = field(repr=False)
    path: str
    pattern: str = "*"


@dataclass(frozen=True, slots=True)
class Modules:
    """A Python module of the user's and those below `root` that it imports, directly or not, under
    their places below `root`.
    """

    root: Path
    module: str


Input = Local | Folder | Modules | Product


@dataclass(frozen=True, slots=True)
class PerFile:
    """One cached execution per file of the folder role `source`; the missing ones run together.

    The stage sees each file as `<sha256><its suffix>`, and writes `<sha256><suffix>` into the
    folder role `result`.
    """

    source: str
    result: str
    suffix: str


@dataclass(frozen=True, eq=False)
class Action:
    """`code` names files that the stage runs beyond its own imports. `tools` are names in
    toolchain.lock. `timeout` is in seconds.

    `roots`: code of the user's runs in it, which may look below these; what it looks at becomes an
    input when it has run. Those of `whole` are inputs with all their files. `final`: what users
    want of a build; its result is also found by what the whole of it is made of, without looking at
    the steps between. `source` is what the user calls the file of the role `source`; it is for
    messages and takes no part in the key.
    """

    task: str
    stage: str
    outputs: tuple[str, ...]
    inputs: Mapping[str, Input] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    code: tuple[Path, ...] = ()
    tools: tuple[str, ...] = ()
    timeout: float = 600.0
    per_file: PerFile | None = None
    source: str = ""
    roots: tuple[Path, ...] = ()
    tracked_roots: tuple[Path, ...] = ()
    final: bool = False

    @property
    def producers(self) -> tuple["Action", ...]:
        return tuple(
            {
                value.action.task: value.action
                for value in self.inputs.values()
                if isinstance(value, Product)
            }.values()
        )
