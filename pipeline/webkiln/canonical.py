"""Canonical JSON and digests: equal values give equal bytes on every machine."""

import hashlib
import json
from pathlib import Path
from typing import Any


def dumps(value: Any) -> bytes:
    """Serialise `value` as UTF-8 JSON with sorted keys and without spaces.

    Raises ValueError for NaN and infinities.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def loads(data: bytes | str) -> Any:
    return json.loads(data)


def read(path: Path) -> Any:
    return loads(path.read_bytes())


def write(path: Path, value: Any) -> None:
    path.write_bytes(dumps(value))


def digest(data: bytes | memoryview) -> str:
    """The lower-case hexadecimal SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def key(value: Any) -> str:
    """The digest of a value's canonical JSON."""
    return digest(dumps(value))
