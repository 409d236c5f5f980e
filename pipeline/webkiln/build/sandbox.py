"""The folder in which an action is executed: its inputs are placed there, its outputs are collected
from there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from webkiln.build.action import Action, Blob
from webkiln.build.digests import FileState
from webkiln.build.files import writing
from webkiln.build.scratch import Scratch
from webkiln.build.store import Store
from webkiln.errors import InternalError


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of an input: its digest, and the source of its bytes. This is a blob written by
    `producer`, or a `local` file in the given `state`.
    """

    sha256: str
    blob: Blob | None = None
    producer: Action | None = None
    local: Path | None = None
    state: FileState | None = None


Tree = Mapping[str, InputFile]


class MissingInput(Exception):
    """Blobs that an execution needs are missing or damaged. Their producers have to run again."""

    def __init__(self, items: Sequence[InputFile]) -> None:
        super().__init__(", ".join(item.sha256 for item in items))
        self.items = items
        self.producers = tuple(
            {
                item.producer.task: item.producer for item in items if item.producer is not None
            }.values()
        )


@contextmanager
def sandbox(parent: Path) -> Iterator[Path]:
    scratch = Scratch(parent)
    try:
        yield scratch.folder
    finally:
        scratch.close()


def place_inputs(store: Store, folder: Path, trees: Mapping[str, Tree]) -> dict[str, Path]:
    """Put the files of each role below `folder`. The file of the role `x` is `x` itself; those of
    `x/` are in that folder.
    """
    paths: dict[str, Path] = {}
    missing: list[InputFile] = []
    store.fetch(
        [item.blob for tree in trees.values() for item in tree.values() if item.blob is not None]
    )
    for role, tree in trees.items():
        paths[role] = folder / role
        (paths[role] if role.endswith("/") else paths[role].parent).mkdir(
            parents=True, exist_ok=True
        )
        for inside, item in sorted(tree.items()):
            path = folder / role / inside if inside else folder / role
            path.parent.mkdir(parents=True, exist_ok=True)
            if item.local is not None:
                path.symlink_to(item.local.absolute())
            elif item.blob is not None:
                with writing(folder):
                    if not store.materialise(item.blob, path, own=False):
                        missing.append(item)
    if missing:
        raise MissingInput(missing)
    return paths


def output_paths(folder: Path, roles: Iterable[str]) -> dict[str, Path]:
    """The paths of these output roles below `folder`. Their folders are created."""
    paths = {role: folder / role for role in roles}
    for role, path in paths.items():
        (path if role.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
    return paths


def collect_outputs(
    store: Store, folder: Path, roles: Iterable[str], where: str
) -> dict[str, Blob]:
    """Move what a stage wrote for its output roles into the store."""
    outputs: dict[str, Blob] = {}
    for role in roles:
        path = folder / role
        if role.endswith("/"):
            if not path.is_dir():
                raise InternalError(f"{where}: the stage did not create its output folder {role}")
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    outputs[role + file.relative_to(path).as_posix()] = store.put(file)
        elif path.is_file():
            outputs[role] = store.put(path)
        else:
            raise InternalError(f"{where}: the stage did not write its output {role}")
    left = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    if left:
        raise InternalError(
            f"{where}: the stage wrote {', '.join(sorted(left))}, which is not among its outputs"
        )
    return outputs
