"""Atomic writes, and operating-system errors turned into errors that the user can fix."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from webkiln.errors import OutputError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError under `path` (no permission, disk full, read-only) into an OutputError that
    names it.
    """
    try:
        yield
    except OSError as error:
        what = error.strerror or type(error).__name__
        raise OutputError(
            f"{path}: cannot be written: {what}. Nothing was changed there; free space or choose"
            " another folder."
        ) from error


def temporary_path(path: Path, suffix: str = "") -> Path:
    """A new temporary name in the folder of `path`, so that a rename stays on one file system."""
    return path.with_name(f".{path.name}.{os.getpid()}-{token_hex(4)}{suffix}")


def write_atomic(path: Path, data: bytes) -> None:
    """Replace `path` by `data`. Readers get the old bytes or the new ones, never a mix."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_path(path)
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
