"""Protobuf messages without their large arrays: references to the file replace the data.

Parsing, checking and copying a model then costs no memory for its weights.
"""

import mmap
from collections.abc import Mapping
from pathlib import Path
from secrets import token_bytes
from struct import Struct
from typing import Any

from webkiln.frontends.protobuf.wire import LEN, MalformedMessage, encode_field, fields

MAGIC = token_bytes(16)
"""Prefix of references, random in each process: no file can contain one."""
EXTENT = Struct("<QQ")
MIN_BYTES = 1 << 16
MAX_DEPTH = 64
MAX_FIELDS = 1 << 20
"""The number of fields of a message that are searched for arrays; further fields are copied."""


def strip_arrays(path: Path, layout: Mapping[int, Any]) -> bytes:
    """The message in a file, with references in place of its large arrays.

    `layout` locates them: it maps a field number to the layout of the message in it, or, for an
    array, to the number of the bytes field that receives the reference. Malformed messages are
    returned unchanged.
    """
    if path.stat().st_size < MIN_BYTES:
        return path.read_bytes()
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as data,
    ):
        try:
            return _strip(
                data, (0, len(data)), layout, str(path).encode("utf-8", "surrogateescape"), 0
            )
        except MalformedMessage:
            return bytes(data)


def _strip(
    data: memoryview, within: tuple[int, int], layout: Mapping[int, Any], path: bytes, depth: int
) -> bytes:
    result, copied = bytearray(), within[0]
    for count, field in enumerate(fields(data, *within)):
        if depth > MAX_DEPTH or count > MAX_FIELDS:
            break
        inner = layout.get(field.number)
        if inner is None or field.wire != LEN or field.end - field.start < MIN_BYTES:
            continue
        result += data[copied : field.begin]
        copied = field.end
        if isinstance(inner, int):
            result += encode_field(
                inner, MAGIC + EXTENT.pack(field.start, field.end - field.start) + path
            )
        else:
            result += encode_field(
                field.number, _strip(data, (field.start, field.end), inner, path, depth + 1)
            )
    return bytes(result + data[copied : within[1]])


def is_reference(data: bytes) -> bool:
    """Whether bytes refer to an array in the file."""
    return data.startswith(MAGIC)


def array_length(data: bytes) -> int:
    """The number of bytes of an array, inline or by reference."""
    return int(EXTENT.unpack_from(data, len(MAGIC))[1]) if is_reference(data) else len(data)


def array_bytes(data: bytes) -> bytes:
    """The bytes of an array, inline or by reference."""
    if not is_reference(data):
        return data
    start, size = EXTENT.unpack_from(data, len(MAGIC))
    with Path(data[len(MAGIC) + EXTENT.size :].decode("utf-8", "surrogateescape")).open(
        "rb"
    ) as file:
        file.seek(start)
        return file.read(size)
