"""Nested scopes of printed code. Loop-invariant code is hoisted to the scope of its loop level and
declared there once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from webkiln.codegen.dialect import Dialect
from webkiln.nest.expr import Expr


@dataclass(slots=True)
class OpenScope:
    """An open scope: declarations first, then statements."""

    declarations: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    values: dict[tuple[object, ...], str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        return [*self.declarations, *self.statements]


class Scopes:
    """The open scopes, outermost first. `levels`: the scope in which the value of each axis is
    defined.
    """

    def __init__(self, dialect: Dialect, depends: dict[Expr, frozenset[str]]) -> None:
        self.dialect, self.depends = dialect, depends
        self.blocks: list[OpenScope] = []
        self.levels: dict[str, int] = {}
        self.name_count = 0

    @contextmanager
    def block(self) -> Iterator[OpenScope]:
        opened = OpenScope()
        self.blocks.append(opened)
        yield opened
        self.blocks.pop()

    @property
    def here(self) -> OpenScope:
        return self.blocks[-1]

    @contextmanager
    def loop(self, name: str, header: str) -> Iterator[None]:
        """Open the scope of a loop. Leaving it appends the printed loop to the enclosing scope."""
        with self.block() as inner:
            self.levels[name] = len(self.blocks) - 1
            yield
            del self.levels[name]
        self.here.statements += [header, *("  " + line for line in inner.lines()), "}"]

    def level(self, expr: Expr) -> int:
        """The innermost loop level on which an expression depends."""
        return max(
            (self.levels[name] for name in self.depends[expr] if name in self.levels), default=0
        )

    def declare(self, level: int, type_: str, text: str, name: str | None = None) -> str:
        """Declare a value in the scope of a level, by default under a new name, and return the
        name.
        """
        if name is None:
            self.name_count += 1
            name = f"v{self.name_count}"
        self.blocks[level].declarations.append(self.dialect.declare(type_, name, text))
        return name

    def bind(
        self, expr: Expr, key: tuple[object, ...], type_: str, text: str, level: int | None = None
    ) -> str:
        """Declare `text` under a name at the level of `expr`."""
        where = self.level(expr) if level is None else level
        name = self.declare(where, type_, text)
        self.blocks[where].values[key] = name
        return name

    def lookup(self, key: tuple[object, ...]) -> str | None:
        """The name of a value that an open scope declares, if any."""
        return next(
            (block.values[key] for block in reversed(self.blocks) if key in block.values), None
        )
