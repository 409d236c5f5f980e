"""The encoding of protobuf, field by field: https://protobuf.dev/programming-guides/encoding/"""

from collections.abc import Iterator
from dataclasses import dataclass

VARINT, LONG, BYTES, WORD = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class WireField:
    """`begin` is where its tag stands, `value` its number where it is one, and `start` to `end` its
    bytes.
    """

    number: int
    wire: int
    begin: int
    start: int
    end: int
    value: int


class Damaged(Exception):
    """The bytes are no message."""


def varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise Damaged(f"a number at byte {at} does not end")


def fields(data: memoryview, at: int, end: int) -> Iterator[WireField]:
    while at < end:
        begin = at
        tag, at = varint(data, at, end)
        number, wire, value = tag >> 3, tag & 7, 0
        if wire == VARINT:
            start = at
            value, at = varint(data, at, end)
        elif wire in (LONG, WORD):
            start, at = at, at + (8 if wire == LONG else 4)
        elif wire == BYTES:
            length, start = varint(data, at, end)
            at = start + length
        else:
            raise Damaged(f"byte {begin} begins no field")
        if at > end or not number:
            raise Damaged(f"the field {number} at byte {begin} is longer than what it is in")
        yield WireField(number, wire, begin, start, at, value)


def encoded(number: int, data: bytes) -> bytes:
    """A field of bytes, a message or packed numbers."""
    return _length(number << 3 | BYTES) + _length(len(data)) + data


def _length(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
