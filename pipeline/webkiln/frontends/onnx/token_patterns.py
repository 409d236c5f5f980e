r"""Regular expressions of RE2 as those of JavaScript.

The Tokenizer of onnxruntime searches for the leftmost longest match, JavaScript for the leftmost
greedy one. They are equal if each character can continue a match in one way only. Other expressions
are refused, and those that match the empty string. `\w`, `\d`, `\s` and `\b` are ASCII in RE2.

Source: https://github.com/google/re2/wiki/Syntax
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import inf

MAX_POSITIONS = 500
MAX_REPEATS = 1000
LAST = 0x10FFFF
Ranges = tuple[tuple[int, int], ...]
DIGIT: Ranges = ((48, 57),)
WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
PERL: dict[str, Ranges] = {"d": DIGIT, "w": WORD, "s": ((9, 10), (12, 13), (32, 32))}
POSIX: dict[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "digit": DIGIT,
    "lower": ((97, 122),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": WORD,
}
CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
COUNT = re.compile(r"\{(\d+)(,(\d*))?\}")
HEXADECIMAL = re.compile(r"x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})")
GROUP = re.compile(r"\((\?:|\?P?<\w+>|(?!\?))")


class PatternError(Exception):
    """An expression cannot be converted. The message says why."""


@dataclass(frozen=True, slots=True)
class Character:
    """One character of these ranges of code points."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Boundary:
    """The start or end of a word or, if negated, any other place."""

    negated: bool


@dataclass(frozen=True, slots=True)
class Concatenation:
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """From `least` to `most` times; `most` may be infinite."""

    item: "Node"
    least: int
    most: float


Node = Character | Boundary | Concatenation | Alternation | Repetition


def javascript_pattern(text: str) -> str:
    """The source of the equivalent JavaScript expression, for the flag `u`. Raise PatternError if
    there is none.
    """
    node = _Parser(text).parse()
    automaton = _Automaton()
    if automaton.add(node).nullable:
        raise PatternError("it matches the empty string")
    if automaton.is_ambiguous():
        raise PatternError("a character may continue a match in more than one way")
    return _printed(node)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def parse(self) -> Node:
        node = self.alternation()
        if self.at < len(self.text):
            raise PatternError("it has a ) without a (")
        return node

    def alternation(self) -> Node:
        items = [self.concatenation()]
        while self.take("|"):
            items.append(self.concatenation())
        return items[0] if len(items) == 1 else Alternation(tuple(items))

    def concatenation(self) -> Node:
        items: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            items.append(self.repetition())
        return Concatenation(tuple(items))

    def repetition(self) -> Node:
        node = self.atom()
        bounds = self.bounds()
        if bounds is None:
            return node
        if max(bounds[0], bounds[1] if bounds[1] < inf else 0) > MAX_REPEATS:
            raise PatternError(f"it repeats more than {MAX_REPEATS} times")
        if self.take("?"):
            raise PatternError("it has a lazy quantifier")
        if self.bounds() is not None:
            raise PatternError("it has two quantifiers in a row")
        return Repetition(node, *bounds)

    def bounds(self) -> tuple[int, float] | None:
        for mark, bounds in (("*", (0, inf)), ("+", (1, inf)), ("?", (0, 1))):
            if self.take(mark):
                return bounds
        if count := COUNT.match(self.text, self.at):
            self.at = count.end()
            least = int(count[1])
            return least, least if count[2] is None else int(count[3]) if count[3] else inf
        return None

    def atom(self) -> Node:
        character = self.text[self.at]
        if character == "(":
            return self.group()
        if character in "^$":
            raise PatternError(f"it has an anchor, {character}")
        if character in "*+?":
            raise PatternError(f"nothing precedes its {character}")
        self.at += 1
        if character == ".":
            return Character(_complement(((10, 10),)))
        if character == "[":
            return self.character_class()
        if character == "\\":
            if self.text[self.at : self.at + 1] in ("b", "B"):
                self.at += 1
                return Boundary(negated=self.text[self.at - 1] == "B")
            return Character(self.escape())
        return Character(((ord(character), ord(character)),))

    def group(self) -> Node:
        start = GROUP.match(self.text, self.at)
        if start is None:
            raise PatternError(f"it has a group {self.text[self.at : self.at + 3]}")
        self.at = start.end()
        node = self.alternation()
        if not self.take(")"):
            raise PatternError("it has a ( without a )")
        return node

    def escape(self) -> Ranges:
        """The characters of an escape sequence, whose backslash has been read."""
        name = self.text[self.at : self.at + 1]
        if code := HEXADECIMAL.match(self.text, self.at):
            self.at = code.end()
            value = int(code[1] or code[2], 16)
            return ((value, value),)
        self.at += 1
        if name.lower() in PERL:
            ranges = PERL[name.lower()]
            return _complement(ranges) if name.isupper() else ranges
        value = CONTROLS.get(name, ord(name) if name and not name.isalnum() else -1)
        if value < 0 or value > 127:
            raise PatternError(f"it has the escape sequence \\{name}")
        return ((value, value),)

    def character_class(self) -> Node:
        negated = self.take("^")
        ranges: list[tuple[int, int]] = []
        is_first = True
        while is_first or not self.take("]"):
            if self.at >= len(self.text):
                raise PatternError("it has a [ without a ]")
            if self.text.startswith("[:", self.at):
                ranges += self.posix_class()
            else:
                low = self.class_item()
                is_range = self.text.startswith("-", self.at) and not self.text.startswith(
                    "-]", self.at
                )
                if is_range:
                    self.at += 1
                    high = self.class_item()
                    if len(low) > 1 or len(high) > 1 or low[0][0] > high[0][1]:
                        raise PatternError("it has a bad range of characters")
                    low = ((low[0][0], high[0][1]),)
                ranges += low
            is_first = False
        return Character(_complement(ranges) if negated else _merged(ranges))

    def class_item(self) -> Ranges:
        if self.at >= len(self.text):
            raise PatternError("it has a [ without a ]")
        if self.take("\\"):
            return self.escape()
        self.at += 1
        code = ord(self.text[self.at - 1])
        return ((code, code),)

    def posix_class(self) -> Ranges:
        end = self.text.find(":]", self.at)
        name = self.text[self.at + 2 : end]
        if end < 0 or name.removeprefix("^") not in POSIX:
            raise PatternError(f"it has the class [:{name}:]")
        self.at = end + 2
        ranges = POSIX[name.removeprefix("^")]
        return _complement(ranges) if name.startswith("^") else ranges

    def take(self, text: str) -> bool:
        found = self.text.startswith(text, self.at)
        self.at += len(text) * found
        return found


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an expression: the states in which its matches start and end, and whether it
    matches the empty string.
    """

    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    nullable: bool = False


EMPTY = _Part(nullable=True)


class _Automaton:
    """The Glushkov automaton: a state for each character of the expression."""

    def __init__(self) -> None:
        self.ranges: list[Ranges] = []
        self.following: list[set[int]] = []
        self.starts: frozenset[int] = frozenset()

    def add(self, node: Node) -> _Part:
        part = self._add(node)
        self.starts = part.first
        return part

    def is_ambiguous(self) -> bool:
        """Whether two states with a common character follow the same state."""
        return any(
            _overlap(self.ranges[one], self.ranges[other])
            for states in (self.starts, *self.following)
            for one, other in combinations(states, 2)
        )

    def _add(self, node: Node) -> _Part:
        match node:
            case Character(ranges):
                if len(self.ranges) == MAX_POSITIONS:
                    raise PatternError(f"it has more than {MAX_POSITIONS} characters")
                state = frozenset({len(self.ranges)})
                self.ranges.append(ranges)
                self.following.append(set())
                return _Part(state, state)
            case Boundary():
                return EMPTY
            case Concatenation(items):
                total = EMPTY
                for item in items:
                    total = self._joined(total, self._add(item))
                return total
            case Alternation(items):
                parts = [self._add(item) for item in items]
                if any(part.nullable for part in parts):
                    raise PatternError("it has an alternative that matches the empty string")
                return _Part(
                    frozenset().union(*(part.first for part in parts)),
                    frozenset().union(*(part.last for part in parts)),
                )
            case Repetition(item, least, most):
                return self._repeated(item, least, most)

    def _joined(self, before: _Part, after: _Part) -> _Part:
        for state in before.last:
            self.following[state] |= after.first
        return _Part(
            before.first | after.first if before.nullable else before.first,
            before.last | after.last if after.nullable else after.last,
            nullable=before.nullable and after.nullable,
        )

    def _repeated(self, item: Node, least: int, most: float) -> _Part:
        """Copies of the item. A copy beyond `least` is only reached through the one before it."""
        copies = [self._add(item) for _ in range(int(most if most < inf else max(least, 1)))]
        if any(part.nullable for part in copies):
            raise PatternError("it repeats something that matches the empty string")
        total = EMPTY
        for number, part in reversed([*enumerate(copies)]):
            total = self._joined(part, total)
            if number >= least:
                total = _Part(total.first, total.last, nullable=True)
        if most == inf:
            for state in copies[-1].last:
                self.following[state] |= copies[-1].first
        return total


def _merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The ranges in order, without overlaps."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Iterable[tuple[int, int]]) -> Ranges:
    ends = _merged(ranges)
    starts = (0, *(high + 1 for _, high in ends))
    stops = (*(low - 1 for low, _ in ends), LAST)
    return tuple((low, high) for low, high in zip(starts, stops, strict=True) if low <= high)


def _overlap(one: Ranges, other: Ranges) -> bool:
    return any(low <= last and first <= high for low, high in one for first, last in other)


def _printed(node: Node) -> str:
    match node:
        case Character(ranges):
            return f"[{''.join(_printed_range(*item) for item in ranges)}]"
        case Boundary(negated):
            return r"\B" if negated else r"\b"
        case Concatenation(items):
            return "".join(map(_printed, items))
        case Alternation(items):
            return f"(?:{'|'.join(map(_printed, items))})"
        case Repetition(item, least, most):
            bounds = {(0, inf): "*", (1, inf): "+", (0, 1): "?"}.get((least, most))
            count = f"{{{least},{'' if most == inf else int(most)}}}"
            text = _printed(item)
            return f"{text if isinstance(item, Character) else f'(?:{text})'}{bounds or count}"


def _printed_range(low: int, high: int) -> str:
    return _printed_code(low) if low == high else f"{_printed_code(low)}-{_printed_code(high)}"


def _printed_code(code: int) -> str:
    character = chr(code)
    is_plain = character.isascii() and (character.isalnum() or character in "_ ")
    return character if is_plain else f"\\u{{{code:x}}}"
