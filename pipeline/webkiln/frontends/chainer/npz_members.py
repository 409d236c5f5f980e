"""Arrays of untrusted `.npz` files. Nothing is executed, and sizes are checked before use."""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from webkiln import npz
from webkiln.errors import SourceError, WebkilnError
from webkiln.frontends.core.stored_weight import StoredWeight
from webkiln.ir.types import DTYPES, Array

MAX_BYTES = 16 << 30
MAX_ENTRIES = 1 << 20
RATIO_FREE_BYTES = 1 << 20
MAX_RATIO = 200
SAVE = "save it again with chainer.serializers.save_npz"


@contextmanager
def readable_snapshot(name: str) -> Iterator[None]:
    """Convert any error of a parser of untrusted bytes to a SourceError that names the file."""
    try:
        yield
    except WebkilnError:
        raise
    except Exception as error:  # noqa: BLE001 - parsers of untrusted bytes raise anything
        what = " ".join(str(error).split())[:200] or type(error).__name__
        raise SourceError(
            f"{name}: not a readable snapshot ({what}); it may be truncated or damaged; {SAVE}"
        ) from None


def npz_entries(
    name: str, archive: zipfile.ZipFile
) -> tuple[dict[str, StoredWeight], frozenset[str]]:
    """The arrays, and the keys that were saved as None."""
    arrays: dict[str, StoredWeight] = {}
    empty: set[str] = set()
    with readable_snapshot(name):
        members = archive.infolist()
        if len(members) > MAX_ENTRIES or len({member.filename for member in members}) != len(
            members
        ):
            raise SourceError(
                f"{name}: has {len(members)} members (at most {MAX_ENTRIES}, without repeated"
                " names); it is not a snapshot of Chainer"
            )
        for member in members:
            if not member.filename.endswith(".npy"):
                raise SourceError(
                    f"{name}: its member {member.filename!r} is not"
                    " an array; a snapshot is a file of save_npz"
                )
            key = member.filename.removesuffix(".npy").strip("/")
            array = _member(name, archive, member, key)
            if array is None:
                empty.add(key)
            else:
                arrays[key] = array
    return arrays, frozenset(empty)


def _member(
    name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo, key: str
) -> StoredWeight | None:
    """The header of an array. None for an object array, which is a pickle and is not read; None is
    saved as one.
    """
    ratio = member.file_size / max(member.compress_size, 1)
    if member.file_size > MAX_BYTES or (member.file_size > RATIO_FREE_BYTES and ratio > MAX_RATIO):
        raise SourceError(
            f"{name}: {key} claims {member.file_size} bytes from {member.compress_size} (at most"
            f" {MAX_BYTES}, and {MAX_RATIO} times); refused"
        )
    try:
        header = npz.read_header(archive, member)
    except npz.VersionError as error:
        raise SourceError(
            f"{name}: {key} is written in version {error.version} of .npy; {SAVE}"
        ) from None
    if header.dtype.hasobject:
        return None
    if (follow := member.file_size - header.start) != header.bytes:
        raise SourceError(
            f"{name}: {key} has {follow} bytes, {header.dtype}{list(header.shape)} needs"
            f" {header.bytes}"
        )
    return StoredWeight(key, header.shape, _reader(name, archive, member, header))


def _reader(
    name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo, header: npz.Header
) -> Callable[[], Array]:
    def read() -> Array:
        with readable_snapshot(name):
            return native(npz.read_elements(archive, member, header), f"{name}: {member.filename}")

    return read


def native(array: Array, where: str) -> Array:
    """Convert to native byte order and to a supported dtype."""
    result = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))).reshape(array.shape)
    if str(result.dtype) not in DTYPES:
        raise SourceError(f"{where}: is of {result.dtype}; webkiln has {', '.join(DTYPES)}")
    return result
