"""The protobuf wire format: https://protobuf.dev/programming-guides/encoding/"""

from collections.abc import Iterator
from dataclasses import dataclass

VARINT, I64, LEN, I32 = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class WireField:
    """A field: `begin` is the offset of its tag, `start` to `end` are its bytes, `value` is its
    number if it is a varint.
    """

    number: int
    wire: int
    begin: int
    start: int
    end: int
    value: int


class MalformedMessage(Exception):
    """The bytes are not a protobuf message."""


def varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Decode the varint at `at`; return it and the offset after it."""
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise MalformedMessage(f"byte {at}: unterminated varint")


def fields(data: memoryview, at: int, end: int) -> Iterator[WireField]:
    """Yield the fields of the message between two offsets."""
    while at < end:
        begin = at
        tag, at = varint(data, at, end)
        number, wire, value = tag >> 3, tag & 7, 0
        if wire == VARINT:
            start = at
            value, at = varint(data, at, end)
        elif wire in (I64, I32):
            start, at = at, at + (8 if wire == I64 else 4)
        elif wire == LEN:
            length, start = varint(data, at, end)
            at = start + length
        else:
            raise MalformedMessage(f"the tag at byte {begin} has wire type {wire}")
        if at > end or not number:
            raise MalformedMessage(f"the field {number} at byte {begin} is longer than its message")
        yield WireField(number, wire, begin, start, at, value)


def encode_field(number: int, data: bytes) -> bytes:
    """Encode a length-delimited field: bytes, a message or packed numbers."""
    return _length(number << 3 | LEN) + _length(len(data)) + data


def _length(value: int) -> bytes:
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)
