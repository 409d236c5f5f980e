"""Snapshots written by `chainer.serializers.save_hdf5`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from webkiln.errors import SourceError
from webkiln.frontends.chainer.npz_members import MAX_BYTES, MAX_ENTRIES, SAVE, native
from webkiln.frontends.core.probe import check_in_subprocess
from webkiln.frontends.core.stored_weight import StoredWeight
from webkiln.ir.types import Array


@contextmanager
def opened_hdf5(path: Path) -> Iterator[tuple[dict[str, StoredWeight], frozenset[str]]]:
    """The arrays, and the keys whose value is None. A subprocess reads the file first, since
    damaged files can crash the HDF5 library.
    """
    check_in_subprocess(
        "webkiln.frontends.chainer.probe", path, done="read", reader="the HDF5 library", advice=SAVE
    )
    with h5py.File(path, "r") as file:
        yield entries(path.name, file)


def entries(name: str, file: h5py.Group) -> tuple[dict[str, StoredWeight], frozenset[str]]:
    """All data sets by path. Links to other files are not followed."""
    arrays: dict[str, StoredWeight] = {}
    empty: set[str] = set()
    todo: list[tuple[str, h5py.Group, int]] = [("", file, 0)]
    count = 0
    while todo:
        path, group, depth = todo.pop()
        for key in group:
            count += 1
            if count > MAX_ENTRIES or depth > 100:
                raise SourceError(f"{name}: has more than {MAX_ENTRIES} entries, or cyclic groups")
            if not isinstance(group.get(key, getlink=True), h5py.HardLink):
                raise SourceError(f"{name}: {path}{key} is a link to another place; {SAVE}")
            item = group[key]
            if isinstance(item, h5py.Group):
                todo.append((f"{path}{key}/", item, depth + 1))
            elif isinstance(item, h5py.Dataset):
                _entry(name, f"{path}{key}", item, arrays, empty)
    return arrays, frozenset(empty)


def _entry(
    name: str, key: str, item: h5py.Dataset, arrays: dict[str, StoredWeight], empty: set[str]
) -> None:
    if item.shape is None or item.dtype.hasobject:
        empty.add(key)
        return
    if item.external or item.is_virtual:
        raise SourceError(f"{name}: {key} lies in another file; {SAVE}")
    if item.nbytes > MAX_BYTES:
        raise SourceError(f"{name}: {key} claims {item.nbytes} bytes, at most {MAX_BYTES} are read")
    arrays[key] = StoredWeight(key, tuple(item.shape), _reader(name, key, item))


def _reader(name: str, key: str, item: h5py.Dataset) -> Callable[[], Array]:
    def read() -> Array:
        try:
            return native(item[()], f"{name}: {key}")
        except (OSError, RuntimeError, ValueError) as error:
            raise SourceError(f"{name}: {key} cannot be read ({error}); {SAVE}") from None

    return read
