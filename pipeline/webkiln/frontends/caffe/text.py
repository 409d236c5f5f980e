"""Text definitions (`.prototxt`): protobuf's text format. Fields of forks are kept by name.

https://protobuf.dev/reference/protobuf/textformat-spec/
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.caffe.schema import messages

MAX_TEXT = 16 << 20
MAX_DEPTH = 16
LONGEST = 200
WHOLE = re.compile(r"-?(\d+|0[xX][0-9a-fA-F]+)")
Unknown = dict[str, Any]
"""Fields by name: numbers, words, strings, nested tables, and tuples of these for repeated fields.
"""


@dataclass
class Definition:
    """A net as a message, and for each layer, by its index in the file, the fields that Caffe does
    not have.
    """

    net: Any
    unknown: dict[int, Unknown] = field(default_factory=dict)


def read_text(data: bytes, name: str) -> Definition:
    """Raise SourceError, with the line, if the text is not a definition."""
    from google.protobuf import text_format

    if len(data) > MAX_TEXT:
        raise SourceError(f"{name}: has {len(data)} bytes; a definition has at most {MAX_TEXT}")
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{name}: is not text ({error.reason} at byte {error.start}); a definition is UTF-8"
        ) from None
    try:
        return _Reader(text_format.Tokenizer(lines)).definition()
    except text_format.ParseError as error:
        raise SourceError(
            f"{name}: {_located(error)}; it is not a definition of a net, or damaged"
        ) from None
    except (ValueError, TypeError, OverflowError) as error:
        raise SourceError(f"{name}: {error}; it is not a definition of a net, or damaged") from None


def _located(error: Any) -> str:
    line = error.GetLine()
    text = (str(error).partition(" : ")[2] or str(error)).rpartition("': ")[2][:LONGEST]
    return text if line is None else f"line {line}: {text}"


class _Reader:
    def __init__(self, tokens: Any) -> None:
        self.tokens = tokens

    def definition(self) -> Definition:
        net = messages()["NetParameter"]()
        result = Definition(net)
        net_unknown: Unknown = {}
        while not self.tokens.AtEnd():
            index = len(net.layer) + len(net.layers)
            unknown: Unknown = {}
            name = self.entry(net, 0, unknown)
            if name in ("layer", "layers"):
                if unknown:
                    result.unknown[index] = unknown
            elif unknown:
                net_unknown |= unknown
        if net_unknown:
            raise ValueError(
                f"the net has a field {next(iter(net_unknown))}, which nets of Caffe lack"
            )
        return result

    def entry(self, message: Any, depth: int, unknown: Unknown) -> str:
        """Read one field. Unknown fields of nested messages are kept under its name."""
        name = str(self.tokens.ConsumeIdentifier())
        described = message.DESCRIPTOR.fields_by_name.get(name)
        colon = self.tokens.TryConsume(":")
        if described is None:
            _keep(unknown, name, self.generic(depth, colon=colon))
        else:
            for _ in self.items():
                fields: Unknown = {}
                self.value(message, described, depth, fields)
                if fields:
                    if described.name in ("layer", "layers"):
                        unknown |= fields
                    else:
                        _keep(unknown, name, fields)
        self.tokens.TryConsume(",") or self.tokens.TryConsume(";")
        return name

    def items(self) -> Iterator[None]:
        """Read one value, or each item of a bracketed list."""
        if not self.tokens.TryConsume("["):
            yield
            return
        if self.tokens.TryConsume("]"):
            return
        yield
        while self.tokens.TryConsume(","):
            yield
        self.tokens.Consume("]")

    def value(self, message: Any, described: Any, depth: int, unknown: Unknown) -> None:
        repeated = described.is_repeated
        if described.message_type is not None:
            item = getattr(message, described.name)
            item = item.add() if repeated else item
            item.SetInParent()
            self.inside(item, depth, unknown)
            return
        value = self.scalar(described)
        if repeated:
            getattr(message, described.name).append(value)
        else:
            setattr(message, described.name, value)

    def inside(self, message: Any, depth: int, unknown: Unknown) -> None:
        end = self.opened(depth)
        while not self.tokens.TryConsume(end):
            self.entry(message, depth + 1, unknown)

    def opened(self, depth: int) -> str:
        if depth >= MAX_DEPTH:
            raise self.tokens.ParseError(f"messages are nested more than {MAX_DEPTH} levels deep")
        if self.tokens.TryConsume("<"):
            return ">"
        self.tokens.Consume("{")
        return "}"

    def scalar(self, described: Any) -> Any:
        kinds = described
        if described.enum_type is not None:
            return self.enum(described.enum_type)
        match described.cpp_type:
            case kinds.CPPTYPE_STRING:
                return self.tokens.ConsumeString()
            case kinds.CPPTYPE_BOOL:
                return self.tokens.ConsumeBool()
            case kinds.CPPTYPE_FLOAT | kinds.CPPTYPE_DOUBLE:
                return self.tokens.ConsumeFloat()
        return int(self.tokens.ConsumeInteger())

    def enum(self, described: Any) -> int:
        word = str(self.tokens.ConsumeIdentifierOrNumber())
        values = described.values_by_name
        number = (
            values[word].number
            if word in values
            else int(word)
            if word.isdecimal() and len(word) < 10
            else None
        )
        if number is None or number not in described.values_by_number:
            raise self.tokens.ParseErrorPreviousToken(
                f"{described.name} has no {word}; there are {', '.join(values)}"
            )
        return int(number)

    def generic(self, depth: int, *, colon: bool) -> Any:
        """The value of an unknown field, whose type is inferred from its spelling."""
        if self.tokens.LookingAt("{") or self.tokens.LookingAt("<"):
            end, fields = self.opened(depth), Unknown()
            while not self.tokens.TryConsume(end):
                name = str(self.tokens.ConsumeIdentifier())
                _keep(fields, name, self.generic(depth + 1, colon=self.tokens.TryConsume(":")))
                self.tokens.TryConsume(",") or self.tokens.TryConsume(";")
            return fields
        if not colon:
            self.tokens.Consume(":")
        if self.tokens.LookingAt("["):
            return tuple(self.plain() for _ in self.items())
        return self.plain()

    def plain(self) -> Any:
        token = str(self.tokens.token)
        if token[:1] in ("'", '"'):
            return self.tokens.ConsumeString()
        if token in ("true", "false"):
            return self.tokens.ConsumeBool()
        if token[:1] in "-.0123456789":
            return (
                int(self.tokens.ConsumeInteger())
                if WHOLE.fullmatch(token)
                else self.tokens.ConsumeFloat()
            )
        return str(self.tokens.ConsumeIdentifier())


def _keep(table: Unknown, name: str, value: Any) -> None:
    if name in table:
        before = table[name] if isinstance(table[name], tuple) else (table[name],)
        value = (*before, *(value if isinstance(value, tuple) else (value,)))
    table[name] = value
