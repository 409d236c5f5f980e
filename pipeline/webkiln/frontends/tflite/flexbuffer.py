"""Read flexbuffers, the format of custom operators' options: a map from names to numbers, strings
and lists of numbers.
"""

import struct
from typing import Any

from webkiln.errors import SourceError

NULL, INT, UINT, FLOAT, KEY, STRING = range(6)
INDIRECT = {6: INT, 7: UINT, 8: FLOAT}
MAP, VECTOR = 9, 10
TYPED = {11: INT, 12: UINT, 13: FLOAT}
BOOL = 26
FORMS = {INT: "bhiq", UINT: "BHIQ", FLOAT: "  fd"}
MAX_DEPTH = 8
MAX_ENTRIES = 1 << 16


def read_map(data: bytes, where: str) -> dict[str, Any]:
    """The entries of the map at the root."""
    try:
        value = _root(data)
    except (IndexError, struct.error, UnicodeDecodeError, ValueError):
        raise SourceError(
            f"{where}: its options cannot be read; the file is damaged; convert the model again"
        ) from None
    if not isinstance(value, dict):
        raise SourceError(
            f"{where}: its options are not a map; the file is damaged; convert the model again"
        )
    return value


def _root(data: bytes) -> Any:
    width, packed = data[-1], data[-2]
    offset = len(data) - 2 - width
    return _value(data, offset, width, packed, 0)


def _number(data: bytes, offset: int, width: int, kind: int) -> Any:
    if width not in (1, 2, 4, 8) or offset < 0 or offset + width > len(data):
        raise ValueError
    return struct.unpack_from("<" + FORMS[kind][(1, 2, 4, 8).index(width)], data, offset)[0]


def _target(data: bytes, offset: int, width: int) -> int:
    value = offset - _number(data, offset, width, UINT)
    if value < 0:
        raise ValueError
    return int(value)


def _value(data: bytes, offset: int, parent: int, packed: int, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError
    kind, width = packed >> 2, 1 << (packed & 3)
    if kind == NULL:
        return None
    if kind in (INT, UINT, FLOAT, BOOL):
        value = _number(data, offset, parent, UINT if kind == BOOL else kind)
        return bool(value) if kind == BOOL else value
    target = _target(data, offset, parent)
    if kind in INDIRECT:
        return _number(data, target, width, INDIRECT[kind])
    if kind == KEY:
        return data[target : data.index(0, target)].decode()
    size = _number(data, target - width, width, UINT)
    if size > MAX_ENTRIES:
        raise ValueError
    if kind == STRING:
        return data[target : target + size].decode()
    if kind in TYPED:
        return tuple(
            _number(data, target + number * width, width, TYPED[kind]) for number in range(size)
        )
    if kind not in (MAP, VECTOR):
        raise ValueError
    types = data[target + size * width : target + size * (width + 1)]
    values = [
        _value(data, target + number * width, width, types[number], depth + 1)
        for number in range(size)
    ]
    if kind == VECTOR:
        return tuple(values)
    keys, own = (
        _target(data, target - 3 * width, width),
        _number(data, target - 2 * width, width, UINT),
    )
    names = [_target(data, keys + number * own, own) for number in range(size)]
    return dict(
        zip((data[name : data.index(0, name)].decode() for name in names), values, strict=True)
    )
