"""Chainer snapshots, `.npz` and HDF5: arrays by key path."""

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from webkiln.errors import SourceError
from webkiln.frontends.chainer.npz_members import SAVE, npz_entries, readable_snapshot
from webkiln.frontends.core.stored_weight import StoredWeight

HDF5 = b"\x89HDF\r\n\x1a\n"
ZIP = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True)
class Snapshot:
    """The arrays of a file by key path, and the keys that were saved as None."""

    name: str
    arrays: Mapping[str, StoredWeight]
    empty: frozenset[str]


@contextmanager
def opened(path: Path) -> Iterator[Snapshot]:
    """Open a snapshot for the block."""
    if not path.is_file():
        raise SourceError(f"{path}: the file does not exist; pass a snapshot of Chainer")
    with path.open("rb") as file:
        start = file.read(8)
    if start == HDF5:
        from webkiln.frontends.chainer.hdf5 import opened_hdf5

        with opened_hdf5(path) as (arrays, empty):
            yield Snapshot(path.name, arrays, empty)
        return
    if not start.startswith(ZIP):
        raise SourceError(
            f"{path.name}: is not a snapshot of Chainer, neither .npz nor HDF5; {SAVE}"
        )
    with readable_snapshot(path.name):
        archive = zipfile.ZipFile(path)
    with archive:
        yield Snapshot(path.name, *npz_entries(path.name, archive))
