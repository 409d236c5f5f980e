"""Read a code object from Python's marshal format, of Python 2.7 and 3.4 to 3.13, as data.

Nothing is executed, and no object of Python's own type `code` is made. The format is that of
CPython's Python/marshal.c.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_BYTES = 1 << 16
MAX_OBJECTS = 10_000
MAX_DEPTH = 20
REFERENCED = 0x80
DIGIT_BITS = 15

LAYOUTS: dict[str, tuple[str, ...]] = {
    "2.7": (
        *("argcount", "locals", "stack", "flags", ".code", ".constants", ".names", ".variables"),
        *(".free", ".cells", ".file", ".name", "line", ".lines"),
    ),
    "3.7": (
        *("argcount", "keyword_only", "locals", "stack", "flags", ".code", ".constants", ".names"),
        *(".variables", ".free", ".cells", ".file", ".name", "line", ".lines"),
    ),
    "3.10": (
        *("argcount", "positional_only", "keyword_only", "locals", "stack", "flags", ".code"),
        *(".constants", ".names", ".variables", ".free", ".cells", ".file", ".name", "line"),
        ".lines",
    ),
    "3.13": (
        *("argcount", "positional_only", "keyword_only", "stack", "flags", ".code", ".constants"),
        *(".names", ".variables", ".kinds", ".file", ".name", ".qualified", "line", ".lines"),
        ".exceptions",
    ),
}
"""The last version of Python with a layout -> the fields of a code object. Those with a dot are
objects, the others 32-bit integers.
"""


class NotMarshalled(Exception):
    """The bytes are no code object of this layout."""


@dataclass(frozen=True, slots=True)
class Code:
    """A code object: `layout` is a key of LAYOUTS, `arguments` are the names of its arguments."""

    layout: str
    code: bytes
    constants: tuple[Any, ...]
    names: tuple[str, ...]
    variables: tuple[str, ...]
    arguments: tuple[str, ...]
    is_closed: bool
    """Whether it reads no variables of an outer function, and takes no variable number of
    arguments.
    """


def read_code(data: bytes) -> Code | None:
    """The code object in `data`, which must be all of it; None if there is none, or if it is
    ambiguous.
    """
    if len(data) > MAX_BYTES:
        return None
    found = []
    for layout in LAYOUTS:
        try:
            reader = _Reader(data, layout)
            value = reader.object(0)
        except (NotMarshalled, struct.error, IndexError, UnicodeDecodeError, ValueError):
            continue
        if isinstance(value, Code) and reader.place == len(data):
            found.append(value)
    return found[0] if len(found) == 1 else None


class _Reader:
    def __init__(self, data: bytes, layout: str) -> None:
        self.data, self.layout, self.place, self.count = data, layout, 0, 0
        self.references: list[Any] = []
        self.interned: list[str] = []

    def object(self, depth: int) -> Any:
        self.count += 1
        if depth > MAX_DEPTH or self.count > MAX_OBJECTS:
            raise NotMarshalled
        kind = self.bytes(1)[0]
        referenced = bool(kind & REFERENCED) and self.layout != "2.7"
        mark = chr(kind & ~REFERENCED if referenced else kind)
        slot = len(self.references)
        if referenced:
            self.references.append(None)
        value = self._value(mark, depth)
        if referenced:
            self.references[slot] = value
        return value

    def _value(self, mark: str, depth: int) -> Any:
        if mark in SINGLETONS:
            return SINGLETONS[mark]
        if mark in NUMBERS:
            pattern = NUMBERS[mark]
            values = struct.unpack(pattern, self.bytes(struct.calcsize(pattern)))
            return complex(*values) if mark == "y" else values[0]
        if mark in TEXTS:
            size, decode = TEXTS[mark]
            value = decode(self.bytes(self.number(size)))
            if mark == "t" and self.layout == "2.7":
                self.interned.append(value)
            return value
        if mark in "([<>)":
            count = self.number("B" if mark == ")" else "<i")
            items = [self.object(depth + 1) for _ in range(self.checked(count))]
            return items if mark == "[" else tuple(items)
        if mark == "R" and self.layout == "2.7":
            return self.interned[self.checked(self.number("<i"))]
        if mark == "r" and self.layout != "2.7":
            return self.references[self.checked(self.number("<i"))]
        if mark == "l":
            return self._long()
        if mark == "c":
            return self._code(depth)
        raise NotMarshalled

    def _long(self) -> int:
        size = self.number("<i")
        digits = [self.number("<H") for _ in range(self.checked(abs(size)))]
        total = sum(digit << DIGIT_BITS * place for place, digit in enumerate(digits))
        return -total if size < 0 else total

    def _code(self, depth: int) -> Code:
        fields: dict[str, Any] = {
            name.lstrip("."): self.object(depth + 1) if name[0] == "." else self.number("<i")
            for name in LAYOUTS[self.layout]
        }
        texts = [self._names(fields[name]) for name in ("names", "variables")]
        for name in ("free", "cells"):
            self._names(fields.get(name, ()))
        stored = [fields.get(name, b"") for name in ("code", "kinds", "lines", "exceptions")]
        named = [fields.get(name, "") for name in ("file", "name", "qualified")]
        if (
            not all(isinstance(value, bytes) for value in stored)
            or not all(isinstance(value, str | bytes) for value in named)
            or not isinstance(fields["constants"], tuple)
        ):
            raise NotMarshalled
        kinds = fields.get("kinds", b"")
        outer = fields.get("free") or fields.get("cells") or any(kind & 0xC0 for kind in kinds)
        count = fields["argcount"] + fields.get("keyword_only", 0)
        return Code(
            self.layout,
            fields["code"],
            fields["constants"],
            texts[0],
            texts[1],
            texts[1][: self.checked(count)],
            is_closed=not outer and not fields["flags"] & 0x2AC,
        )

    def _names(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, tuple) or not all(isinstance(item, str | bytes) for item in value):
            raise NotMarshalled
        return tuple(item.decode() if isinstance(item, bytes) else item for item in value)

    def number(self, pattern: str) -> int:
        return int(struct.unpack(pattern, self.bytes(struct.calcsize(pattern)))[0])

    def checked(self, count: int) -> int:
        if not 0 <= count <= MAX_OBJECTS:
            raise NotMarshalled
        return count

    def bytes(self, count: int) -> bytes:
        if count < 0 or self.place + count > len(self.data):
            raise NotMarshalled
        self.place += count
        return self.data[self.place - count : self.place]


SINGLETONS: dict[str, Any] = {"N": None, "F": False, "T": True, ".": Ellipsis}
NUMBERS = {"i": "<i", "I": "<q", "g": "<d", "y": "<dd"}
TEXTS: dict[str, tuple[str, Callable[[bytes], Any]]] = {
    "f": ("B", float),
    "s": ("<i", bytes),
    "t": ("<i", bytes.decode),
    "u": ("<i", lambda data: data.decode("utf-8", "surrogatepass")),
    "a": ("<i", lambda data: data.decode("ascii")),
    "A": ("<i", lambda data: data.decode("ascii")),
    "z": ("B", lambda data: data.decode("ascii")),
    "Z": ("B", lambda data: data.decode("ascii")),
}
"""The type of the length, and the value of that many bytes."""
