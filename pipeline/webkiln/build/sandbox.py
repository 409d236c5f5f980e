"""The folder an execution happens in: its inputs are laid out there, its outputs are collected from
there.
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
    """A file of an input: its digest, and where its bytes are: a blob made by `producer`, or a
    `local` file as it was `seen`.
    """

    sha256: str
    blob: Blob | None = None
    producer: Action | None = None
    local: Path | None = None
    state: FileState | None = None


Tree = Mapping[str, InputFile]


class MissingInput(Exception):
    """Blobs that an execution needs are gone or damaged; their producers have to run again."""

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
    """Put the files of each role below `folder`; the files of the role `x` are `x` itself, those of
    `x/` lie in it.
    """
    places: dict[str, Path] = {}
    missing: list[InputFile] = []
    store.fetch(
        [item.blob for tree in trees.values() for item in tree.values() if item.blob is not None]
    )
    for role, tree in trees.items():
        places[role] = folder / role
        (places[role] if role.endswith("/") else places[role].parent).mkdir(
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
    return places


def output_paths(folder: Path, roles: Iterable[str]) -> dict[str, Path]:
    """Where a stage writes its outputs: the places of these roles below `folder`, of which folders
    are made.
    """
    places = {role: folder / role for role in roles}
    for role, path in places.items():
        (path if role.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
    return places


def collect_outputs(
    store: Store, folder: Path, roles: Iterable[str], where: str
) -> dict[str, Blob]:
    """Move what a stage wrote for its output roles into the store."""
    outputs: dict[str, Blob] = {}
    for role in roles:
        path = folder / role
        if role.endswith("/"):
            if not path.is_dir():
                raise InternalError(f"{where}: the stage did not make its output folder {role}")
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
            f"{where}: the stage wrote {', '.join(sorted(left))}, which its outputs do not name"
        )
    return outputs
