"""Named arrays in `.npz` files.

Unlike numpy's functions, these accept any name: numpy confuses some with its parameters, and others
with the same name plus `.npy`. Zip archives truncate names at NUL characters, so a NUL is stored as
`%00`, and a literal `%00` as `%2500`. For untrusted files, `read_header` returns the metadata of an
array without reading its elements, and `read_elements` reads them.
"""

import io
import re
import tokenize
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

_PERCENT = re.compile("%(?=(?:25)*00)")
_ESCAPED = re.compile("%25(?=(?:25)*00)|%00")
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_HEADER_BYTES = 10_000
"""The maximum header that numpy reads from untrusted files."""
_PREFIX_BYTES = 12
"""The magic string, the version and the length of the header."""


class VersionError(ValueError):
    """An array in an unsupported version of the `.npy` format. Arrays of numbers use 1.0 or 2.0."""

    def __init__(self, version: tuple[int, int]) -> None:
        self.version = version
        super().__init__(f"unsupported version {version} of the .npy format")


@dataclass(frozen=True, slots=True)
class Header:
    """The `.npy` header of a member. `start` is the offset of the elements in bytes; `is_fortran`
    means column-major.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool
    start: int

    @property
    def bytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize


def write(
    file: Path | IO[bytes], arrays: Mapping[str, np.ndarray[Any, Any]], *, compressed: bool = False
) -> None:
    with zipfile.ZipFile(
        file, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    ) as archive:
        for name, value in arrays.items():
            with archive.open(f"{_member(name)}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, np.asanyarray(value), allow_pickle=False)


def read(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Read all arrays, in the order of the file. Raises zipfile.BadZipFile or ValueError if the
    file is invalid.
    """
    with zipfile.ZipFile(path) as archive:
        return {array_name(info.filename): _array(archive, info) for info in archive.infolist()}


def _member(name: str) -> str:
    return _PERCENT.sub("%25", name).replace("\0", "%00")


def array_name(member: str) -> str:
    """The name of the array in the member of an archive."""
    return _ESCAPED.sub(
        lambda match: "\0" if match.group() == "%00" else "%", member.removesuffix(".npy")
    )


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    with archive.open(info) as member:
        return np.asarray(npy.read_array(member, allow_pickle=False))


def read_header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Header:
    """Read the header of an untrusted array, without its elements.

    Raises ValueError, or an error of `zipfile`, if it is invalid.
    """
    with archive.open(info) as member:
        prefix = io.BytesIO(member.read(_HEADER_BYTES + _PREFIX_BYTES))
    version = npy.read_magic(prefix)
    if version not in _READERS:
        raise VersionError(version)
    try:
        shape, is_fortran, dtype = _READERS[version](prefix)
    except tokenize.TokenError as error:
        raise ValueError(str(error)) from None
    return Header(tuple(shape), dtype, is_fortran, prefix.tell())


def read_elements(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, header: Header
) -> np.ndarray[Any, Any]:
    """Read a numeric array whose size matches its header."""
    flat = np.frombuffer(archive.read(info), header.dtype, prod(header.shape), header.start)
    return flat.reshape(header.shape, order="F" if header.is_fortran else "C")
