"""Nested scopes of printed code. Loop-invariant code is hoisted to the scope of its loop level and
declared there once.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from webkiln.codegen.dialect import Dialect
from webkiln.nest.expr import INT


@dataclass(slots=True)
class OpenScope:
    """An open scope: declarations first, then statements."""

    declarations: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    values: dict[Hashable, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        return [*self.declarations, *self.statements]


class Scopes:
    """The open scopes, outermost first. `levels`: the scope in which the value of each axis is
    defined.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.blocks: list[OpenScope] = []
        self.levels: dict[str, int] = {}
        self.name_count = 0

    @contextmanager
    def block(self, name: str | None = None) -> Iterator[OpenScope]:
        """Open a scope, in which the axis or level `name` is defined."""
        opened = OpenScope()
        self.blocks.append(opened)
        if name is not None:
            self.levels[name] = self.innermost
        yield opened
        if name is not None:
            del self.levels[name]
        self.blocks.pop()

    @property
    def innermost(self) -> int:
        return len(self.blocks) - 1

    def add(self, *statements: str) -> None:
        self.blocks[-1].statements += statements

    @contextmanager
    def loop(self, name: str, header: str) -> Iterator[None]:
        """Open the scope of a loop. Leaving it adds the printed loop to the enclosing scope."""
        with self.block(name) as inner:
            yield
        self.add(header, *("  " + line for line in inner.lines()), "}")

    def declare(self, level: int, type_: str, text: str, name: str | None = None) -> str:
        """Declare a value in the scope of a level, by default under a new name, and return the
        name.
        """
        if name is None:
            self.name_count += 1
            name = f"v{self.name_count}"
        self.blocks[level].declarations.append(self.dialect.declare(type_, name, text))
        return name

    def declare_here(self, type_: str, text: str, name: str | None = None) -> str:
        """Declare a value in the innermost scope."""
        return self.declare(self.innermost, type_, text, name)

    def define(self, level: int, text: str, name: str) -> None:
        """Declare an index in the scope of a level, where values that depend on it are defined."""
        self.levels[name] = level
        self.declare(level, INT, text, name)

    def bind(self, key: Hashable, level: int, type_: str, text: str) -> str:
        """Declare a value that `lookup` finds while the scope of its level is open."""
        name = self.blocks[level].values[key] = self.declare(level, type_, text)
        return name

    def lookup(self, key: Hashable) -> str | None:
        """The name of a value that an open scope declares, if any."""
        for block in reversed(self.blocks):
            if key in block.values:
                return block.values[key]
        return None
