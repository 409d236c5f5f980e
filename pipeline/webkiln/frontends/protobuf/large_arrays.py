"""Messages of protobuf without their long arrays, which stay in the file: a mark in the message
says
where.

A model is parsed, checked and copied as what it says, and not as what it weighs.
"""

import mmap
from collections.abc import Mapping
from pathlib import Path
from secrets import token_bytes
from struct import Struct
from typing import Any

from webkiln.frontends.protobuf.wire import BYTES, Damaged, encoded, fields

MARK = token_bytes(16)
"""How marks begin, in this process alone: no file can hold one."""
PLACE = Struct("<QQ")
LEAST_BYTES = 1 << 16
DEEPEST = 64
MOST_FIELDS = 1 << 20
"""How many fields of one message are looked at; what follows them stays in it."""


def slim(path: Path, layout: Mapping[int, Any]) -> bytes:
    """The message in a file, with marks for its long arrays.

    `layout` leads to them: by the numbers of fields, the layout of the messages in them, or for an
    array the number of the field of bytes that the mark is put into. What is no message is given as
    it is.
    """
    if path.stat().st_size < LEAST_BYTES:
        return path.read_bytes()
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as data,
    ):
        try:
            return _slim(
                data, (0, len(data)), layout, str(path).encode("utf-8", "surrogateescape"), 0
            )
        except Damaged:
            return bytes(data)


def _slim(
    data: memoryview, within: tuple[int, int], layout: Mapping[int, Any], path: bytes, depth: int
) -> bytes:
    made, copied = bytearray(), within[0]
    for count, field in enumerate(fields(data, *within)):
        if depth > DEEPEST or count > MOST_FIELDS:
            break
        inner = layout.get(field.number)
        if inner is None or field.wire != BYTES or field.end - field.start < LEAST_BYTES:
            continue
        made += data[copied : field.begin]
        copied = field.end
        if isinstance(inner, int):
            made += encoded(inner, MARK + PLACE.pack(field.start, field.end - field.start) + path)
        else:
            made += encoded(
                field.number, _slim(data, (field.start, field.end), inner, path, depth + 1)
            )
    return bytes(made + data[copied : within[1]])


def length(data: bytes) -> int:
    """How many bytes an array has that is in a message, or apart from it."""
    return int(PLACE.unpack_from(data, len(MARK))[1]) if data.startswith(MARK) else len(data)


def whole(data: bytes) -> bytes:
    """The bytes of an array that is in a message, or apart from it."""
    if not data.startswith(MARK):
        return data
    start, size = PLACE.unpack_from(data, len(MARK))
    with Path(data[len(MARK) + PLACE.size :].decode("utf-8", "surrogateescape")).open("rb") as file:
        file.seek(start)
        return file.read(size)
