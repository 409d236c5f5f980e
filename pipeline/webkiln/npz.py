"""Arrays by name in `.npz` files, whatever the names are: numpy's own functions take some for parameters, or for others with `.npy` behind them.

A zip archive ends a name at its first NUL: that is `%00` in a file, and a `%00` of the name `%2500`."""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

_PERCENT = re.compile("%(?=(?:25)*00)")
_WRITTEN = re.compile("%25(?=(?:25)*00)|%00")


def write(file: Path | IO[bytes], arrays: Mapping[str, np.ndarray[Any, Any]], *, compressed: bool = False) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
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
    return _WRITTEN.sub(lambda found: "\0" if found.group() == "%00" else "%", member.removesuffix(".npy"))


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    with archive.open(info) as member:
        return np.asarray(npy.read_array(member, allow_pickle=False))
