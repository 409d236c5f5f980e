"""Actions as values: one execution of a stage, with its inputs and its expected outputs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Blob:
    sha256: str
    bytes: int


HERE, FLEET, UNSIGNED = "here", "fleet", "unsigned"
"""Provenances. Any other value is the ID of the key that signed the entry of a remote cache."""
BUILT = frozenset({HERE, FLEET})


def combined_provenance(provenances: Iterable[str]) -> str:
    """The provenance of a result built from parts: that of the least trusted part."""
    distinct = set(provenances)
    foreign = distinct - BUILT
    if len(foreign) > 1:
        return UNSIGNED
    return next(iter(foreign), FLEET if FLEET in distinct else HERE)


@dataclass(frozen=True, slots=True)
class ActionResult:
    """`outputs`: path -> blob. A file of the folder role `role/` has the path `role/` plus its path
    inside. `printed`: the output of the stage.

    `provenance` names who vouches for the result. It is stored on this machine only, and never read
    from a remote cache.
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
    """A user file."""

    path: Path


@dataclass(frozen=True, slots=True)
class Folder:
    """User files, collected in one folder role under the given names."""

    files: tuple[tuple[str, Path], ...]


@dataclass(frozen=True, slots=True)
class Product:
    """An output of another action. `pattern` selects files of a folder."""

    action: "Action" = field(repr=False)
    path: str
    pattern: str = "*"


@dataclass(frozen=True, slots=True)
class Modules:
    """A Python module of the user, and the modules below `root` that it imports, directly or not.
    Their names are their paths relative to `root`.
    """

    root: Path
    module: str


Input = Local | Folder | Modules | Product


@dataclass(frozen=True, slots=True)
class PerFile:
    """One cached execution for each file of the folder role `source`. The missing ones run
    together.

    The stage reads each file as `<sha256><its suffix>`, and writes `<sha256><suffix>` into the
    folder role `result`.
    """

    source: str
    result: str
    suffix: str


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a stage needs besides its own imports. `code`: files that it runs. `tools`: names in
    toolchain.lock.
    """

    code: tuple[Path, ...] = ()
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UserReads:
    """`roots`: the folders that user code may read; empty for an action that runs none. What it
    reads becomes an input after the run. All files below `tracked_roots` are inputs.
    """

    roots: tuple[Path, ...] = ()
    tracked_roots: tuple[Path, ...] = ()


FINAL = {"bundle", "reference", "verify", "report"}
"""The stages whose results are for users."""


@dataclass(frozen=True, eq=False)
class Action:
    """`timeout`: in seconds. `source`: the name that the user knows for the file of the role
    `source`. It is for messages only and no part of the key.
    """

    task: str
    stage: str
    outputs: tuple[str, ...]
    inputs: Mapping[str, Input] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    requirements: Requirements = Requirements()
    timeout: float = 600.0
    per_file: PerFile | None = None
    source: str = ""
    user_reads: UserReads = UserReads()

    @property
    def final(self) -> bool:
        """Whether users request this result of a build. It is also cached by its source key."""
        return self.stage in FINAL

    @property
    def producers(self) -> tuple["Action", ...]:
        return tuple(
            {
                value.action.task: value.action
                for value in self.inputs.values()
                if isinstance(value, Product)
            }.values()
        )
