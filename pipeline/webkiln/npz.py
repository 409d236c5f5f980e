"""Arrays by name in `.npz` files, whatever the names are: numpy's own functions take some for
parameters, or for others with `.npy` behind them.

A zip archive ends a name at its first NUL: that is `%00` in a file, and a `%00` of the name
`%2500`. Of files that are not trusted, `header` tells what they say of an array before `read_told`
reads it.
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
_WRITTEN = re.compile("%25(?=(?:25)*00)|%00")
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_HEADER_BYTES = 10_000
"""As many as numpy reads of a header that is not trusted."""
_BEFORE_HEADER = 12


class VersionError(ValueError):
    """An array is written in a version of numpy's format that no array of numbers needs."""

    def __init__(self, version: tuple[int, int]) -> None:
        self.version = version
        super().__init__(f"an array of version {version} of numpy's format")


@dataclass(frozen=True, slots=True)
class Header:
    """What a member of an archive says of its array. `start` is where the elements begin;
    `is_fortran`: the first axis is the innermost.
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
    """The arrays in the file's order; zipfile.BadZipFile or ValueError where it is no such file."""
    with zipfile.ZipFile(path) as archive:
        return {key_of(info.filename): _array(archive, info) for info in archive.infolist()}


def _member(name: str) -> str:
    return _PERCENT.sub("%25", name).replace("\0", "%00")


def key_of(member: str) -> str:
    """The name of the array that a member of the archive holds."""
    return _WRITTEN.sub(
        lambda found: "\0" if found.group() == "%00" else "%", member.removesuffix(".npy")
    )


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    with archive.open(info) as member:
        return np.asarray(npy.read_array(member, allow_pickle=False))


def header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Header:
    """Of an array that is not trusted, whose bytes are not read; ValueError, or an error of
    zipfile's, where it is none.
    """
    with archive.open(info) as member:
        begin = io.BytesIO(member.read(_HEADER_BYTES + _BEFORE_HEADER))
    version = npy.read_magic(begin)
    if version not in _READERS:
        raise VersionError(version)
    try:
        shape, is_fortran, dtype = _READERS[version](begin)
    except tokenize.TokenError as error:
        raise ValueError(str(error)) from None
    return Header(tuple(shape), dtype, is_fortran, begin.tell())


def read_told(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, told: Header
) -> np.ndarray[Any, Any]:
    """The array of a member that has as many bytes as its header tells; numbers alone."""
    flat = np.frombuffer(archive.read(info), told.dtype, prod(told.shape), told.start)
    return flat.reshape(told.shape, order="F" if told.is_fortran else "C")
