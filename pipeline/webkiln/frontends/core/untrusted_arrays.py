"""Arrays of `.npz` files that are not trusted: headers are checked before data is read, and pickles
are never loaded.
"""

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from webkiln import npz
from webkiln.errors import SourceError
from webkiln.ir.types import Array

MAX_BYTES = 2 << 30
MAX_ARRAYS = 10_000
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
)


@dataclass(frozen=True)
class RecordedArray:
    """An array of the file, before its data is read."""

    key: str
    info: zipfile.ZipInfo
    header: npz.Header

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.header.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.header.shape


@contextmanager
def opened(
    path: Path, what: str
) -> Iterator[tuple[list[RecordedArray], Callable[[RecordedArray], Array]]]:
    """The headers of all arrays of a file, and what reads one. Messages call the file `what`.

    Raise SourceError if it is not readable.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            headers = list(_read_headers(archive, what))
            yield headers, lambda item: _read_array(archive, item)
    except SourceError:
        raise
    except MemoryError:
        raise SourceError(f"{what}: is larger than the memory of this machine") from None
    except DAMAGED as error:
        detail = " ".join(str(error).split())[:200] or type(error).__name__
        raise SourceError(
            f"{what}: is no .npz file of arrays ({detail}); write it with numpy.savez"
        ) from None


def read_all(path: Path, what: str) -> dict[str, Array]:
    """All arrays of a file by name. Raise SourceError if it is not readable."""
    with opened(path, what) as (headers, read):
        return {item.key: read(item) for item in headers}


def _read_headers(archive: zipfile.ZipFile, what: str) -> Iterator[RecordedArray]:
    """Yield the array headers. Raise SourceError for files that are too large, pickles, and wrong
    sizes.
    """
    infos = archive.infolist()
    if len(infos) > MAX_ARRAYS:
        raise SourceError(f"{what}: has {len(infos)} arrays, expected at most {MAX_ARRAYS}")
    if (total := sum(info.file_size for info in infos)) > MAX_BYTES:
        raise SourceError(
            f"{what}: unpacks to {total} bytes according to its header, expected"
            f" at most {MAX_BYTES}"
        )
    seen = set[str]()
    for info in infos:
        key = npz.array_name(info.filename)
        if key in seen:
            raise SourceError(f"{what}: contains two arrays {key!r}; write it with numpy.savez")
        seen.add(key)
        declared_bytes, stored_bytes = (
            (header := npz.read_header(archive, info)).bytes,
            info.file_size - header.start,
        )
        if header.dtype.hasobject:
            raise SourceError(
                f"{what}: {key} is a pickle of Python objects, which is never loaded;"
                " save an array of numbers"
            )
        if declared_bytes != stored_bytes:
            raise SourceError(
                f"{what}: {key} is {header.dtype}{list(header.shape)} of"
                f" {declared_bytes} bytes, and {stored_bytes} follow"
            )
        yield RecordedArray(key, info, header)


def _read_array(archive: zipfile.ZipFile, item: RecordedArray) -> Array:
    array = npz.read_elements(archive, item.info, item.header)
    return np.array(array, item.dtype.newbyteorder("="), order="C").reshape(item.shape)
