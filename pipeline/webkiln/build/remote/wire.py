"""Messages of the Remote Execution API, version 2 (https://github.com/bazelbuild/remote-apis), that
a cache needs.

The few fields are encoded and decoded here, so that lookups need no library for protocol buffers.
"""

from collections.abc import Iterator, Sequence

from webkiln.build.action import Blob
from webkiln.build.remote.remote import RemoteError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
OUTPUT_FILES, STDOUT = 2, 5
PATH, DIGEST = 1, 2
HASH, SIZE = 1, 2


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def field(number: int, value: bytes | int) -> bytes:
    """One field of a message: bytes, a UTF-8 string or a message, or an integer."""
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value) if value else b""
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a message. Raises RemoteError where it is malformed."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise RemoteError("it answers with a malformed message")
        if at + size > len(data):
            raise RemoteError("it answers with a truncated message")
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        number, shift, at = number | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return number, at
    raise RemoteError("it answers with a malformed message")


def values(data: bytes, number: int) -> list[bytes]:
    """The values of a repeated field of bytes, strings or messages."""
    return [
        value
        for field_number, value in fields(data)
        if field_number == number and isinstance(value, bytes)
    ]


def integer(data: bytes, number: int) -> int:
    """The value of an integer field, 0 where it is absent."""
    return next(
        (
            value
            for field_number, value in fields(data)
            if field_number == number and isinstance(value, int)
        ),
        0,
    )


def digest(blob: Blob) -> bytes:
    return field(HASH, blob.sha256.encode()) + field(SIZE, blob.bytes)


def wrapped(entry: bytes, blobs: Sequence[Blob]) -> bytes:
    """An ActionResult that names the blobs, so that servers keep them as long as the entry, which
    is its standard output.
    """
    files = (field(PATH, blob.sha256.encode()) + field(DIGEST, digest(blob)) for blob in blobs)
    return b"".join(field(OUTPUT_FILES, file) for file in files) + field(STDOUT, entry)


def unwrapped(data: bytes) -> bytes:
    """The entry in an ActionResult; empty where it is malformed."""
    try:
        return next(iter(values(data, STDOUT)), b"")
    except RemoteError:
        return b""
