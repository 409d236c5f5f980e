"""Read flatbuffers by descriptions of their tables. Every offset is checked against the buffer, and
tables are read on access.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from webkiln.errors import SourceError

SCALARS = {
    "bool": ("<?", 1),
    "byte": ("<b", 1),
    "ubyte": ("<B", 1),
    "short": ("<h", 2),
    "ushort": ("<H", 2),
    "int": ("<i", 4),
    "uint": ("<I", 4),
    "long": ("<q", 8),
    "ulong": ("<Q", 8),
    "float": ("<f", 4),
}
MAX_TEXT = 1 << 20

FlatSchema = Mapping[str, Mapping[str, "TableField"]]


@dataclass(frozen=True, slots=True)
class TableField:
    """A field of a table: its name, and its type, which is the name of a scalar, `string`, the name
    of a table, one of these in brackets for a vector, or `union`, whose type number is in the
    preceding field. An absent scalar has the default.
    """

    number: int
    kind: str
    default: Any = 0


def fields(**kinds: str | tuple[str, Any]) -> dict[str, TableField]:
    """The fields of a table in order. A union takes two numbers. Fields whose names start with `_`
    are not read.
    """
    table: dict[str, TableField] = {}
    number = 0
    for name, item in kinds.items():
        kind, default = item if isinstance(item, tuple) else (item, 0)
        number += kind == "union"
        table[name] = TableField(number, kind, default)
        number += 1
    return table


class FlatBuffer:
    """The bytes of a file, and its name for messages."""

    def __init__(self, data: bytes | memoryview, name: str, schema: FlatSchema) -> None:
        self.data, self.name, self.schema = memoryview(data), name, schema

    def root(self, table: str) -> "FlatTable":
        return FlatTable(self, table, self.offset(0))

    def scalar(self, kind: str, position: int) -> Any:
        form, size = SCALARS[kind]
        self.check(position, size)
        return struct.unpack_from(form, self.data, position)[0]

    def offset(self, position: int) -> int:
        """The target of the offset at a position."""
        target = position + self.scalar("uint", position)
        self.check(target, 4)
        return int(target)

    def check(self, position: int, size: int) -> None:
        if position < 0 or size < 0 or position + size > len(self.data):
            raise SourceError(
                f"{self.name}: {size} bytes at {position} are outside the file, which has"
                f" {len(self.data)}; it is damaged; copy or convert it again"
            )


class FlatTable:
    """A table of a buffer: `table["name"]` is a scalar, a string, a FlatTable, a FlatVector or
    None.
    """

    def __init__(self, buffer: FlatBuffer, kind: str, position: int) -> None:
        self.buffer, self.kind, self.position = buffer, kind, position
        self.layout = buffer.schema[kind]
        self.slots = position - buffer.scalar("int", position)
        buffer.check(self.slots, 4)
        self.size = buffer.scalar("ushort", self.slots)
        buffer.check(self.slots, self.size)

    def __getitem__(self, name: str) -> Any:
        field = self.layout[name]
        position = self._position(field.number)
        if field.kind == "union":
            return self._union(field, position)
        if position is None:
            return field.default if field.kind in SCALARS else None
        return _read(self.buffer, field.kind, position)

    def vector(self, name: str) -> "FlatVector":
        """A vector. An absent one is empty."""
        value = self[name]
        return (
            value
            if isinstance(value, FlatVector)
            else FlatVector(self.buffer, self.layout[name].kind[1:-1], 0, 0)
        )

    def text(self, name: str) -> str:
        return self[name] or ""

    def union(self, name: str) -> int:
        """The type number of a union; 0 means none."""
        position = self._position(self.layout[name].number - 1)
        return 0 if position is None else int(self.buffer.scalar("ubyte", position))

    def opened(self, name: str, kind: str) -> "FlatTable | None":
        """The table in a union, of a given type."""
        position = self._position(self.layout[name].number)
        return (
            None if position is None else FlatTable(self.buffer, kind, self.buffer.offset(position))
        )

    def _union(self, field: TableField, position: int | None) -> int | None:
        return None if position is None else self.buffer.offset(position)

    def _position(self, number: int) -> int | None:
        slot = 4 + 2 * number
        if slot + 2 > self.size:
            return None
        offset = self.buffer.scalar("ushort", self.slots + slot)
        return self.position + offset if offset else None


class FlatVector:
    """Elements of one type, read on access."""

    def __init__(self, buffer: FlatBuffer, kind: str, position: int, count: int) -> None:
        self.buffer, self.kind, self.position, self.count = buffer, kind, position, count
        self.width = SCALARS[kind][1] if kind in SCALARS else 4
        buffer.check(position, count * self.width)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self.count:
            raise SourceError(
                f"{self.buffer.name}: element {index} of a vector with {self.count}"
                f" ({self.kind}) is out of range; the file is damaged; convert it again"
            )
        return _read(self.buffer, self.kind, self.position + index * self.width)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(self.count))

    def numbers(self) -> tuple[Any, ...]:
        """All scalars as an array."""
        form = SCALARS[self.kind][0]
        return struct.unpack_from(f"<{self.count}{form[1]}", self.data(), 0)

    def data(self) -> memoryview:
        return self.buffer.data[self.position : self.position + self.count * self.width]


def _read(buffer: FlatBuffer, kind: str, position: int) -> Any:
    if kind in SCALARS:
        return buffer.scalar(kind, position)
    target = buffer.offset(position)
    if kind == "string":
        size = buffer.scalar("uint", target)
        buffer.check(target + 4, size)
        if size > MAX_TEXT:
            raise SourceError(
                f"{buffer.name}: a string has {size} bytes; the file is damaged; convert it again"
            )
        return bytes(buffer.data[target + 4 : target + 4 + size]).decode("utf-8", errors="replace")
    if kind.startswith("["):
        return FlatVector(buffer, kind[1:-1], target + 4, buffer.scalar("uint", target))
    return FlatTable(buffer, kind, target)
