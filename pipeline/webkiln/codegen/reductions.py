"""Reductions at one point of the parallel axes: accumulators, the loops that update them, and folds
of a vectorised reduction loop.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from webkiln.codegen.context import Context, Copy, accumulator
from webkiln.codegen.values import Values
from webkiln.nest.nest import Accumulator, Loop

Name = Callable[[int, Copy], str]
"""The name of a copy of an accumulator."""
Inside = Callable[[Context], None]
"""Prints what a loop contains."""
Innermost = Callable[[Loop, Context, Inside], None]
"""Prints the innermost reduction loop."""


class Reductions:
    """The reductions of a kernel."""

    def __init__(self, values: Values) -> None:
        self.values, self.scopes = values, values.scopes
        self.nest, self.dialect = values.nest, values.dialect

    def accumulators(self, here: Context) -> Iterator[tuple[int, Accumulator, Copy]]:
        """Every copy of every accumulator, with its position."""
        for position, item in enumerate(self.nest.accumulators):
            for copy in here.copies:
                yield position, item, copy

    def print(self, here: Context, innermost: Innermost) -> None:
        """Accumulators, and the loops that update them."""
        self.start(here, accumulator)
        self.loops(self.nest.reduce, here, innermost, lambda at: self.update(at, accumulator))
        self.finish(here, accumulator)

    def start(self, here: Context, name: Name) -> None:
        for position, item, copy in self.accumulators(here):
            text = name(position, copy)
            if here.simd is None:
                self.scopes.add(*self.dialect.start(item, text))
            else:
                literal = self.dialect.literal(item.identity.value, item.identity.type)
                self.scopes.add(*here.simd.start(item, text, literal))

    def finish(self, here: Context, name: Name) -> None:
        if here.simd is not None:
            for position, item, copy in self.accumulators(here):
                self.scopes.add(*here.simd.finish(item, name(position, copy)))

    def loops(
        self, loops: Sequence[Loop], here: Context, innermost: Innermost, inside: Inside
    ) -> None:
        if not loops:
            inside(here)
        elif len(loops) == 1:
            innermost(loops[0], here, inside)
        else:
            self.loop(loops[0], here, lambda at: self.loops(loops[1:], at, innermost, inside))

    def loop(self, loop: Loop, here: Context, inside: Inside) -> None:
        """A loop over all iterations, one by one."""
        header = self.dialect.loop(loop.axis, self.values.extent(loop))
        with self.scopes.loop(loop.axis, header):
            inside(here)

    def update(self, here: Context, name: Name) -> None:
        for position, item, copy in self.accumulators(here):
            self.scopes.add(*self._update(item, name(position, copy), copy))

    def _update(self, item: Accumulator, name: str, at: Copy) -> list[str]:
        simd = at.here.simd
        if item.combiner == "sum" and item.body.op == "mul":
            a, b = (self.values.value(factor, at) for factor in item.body.args)
            return (simd or self.dialect).multiply_add(name, a, b, item.body.type)
        value = self.values.value(item.body, at)
        if simd:
            return simd.combine(item, name, value)
        return self.dialect.combine(item, name, value, self._position())

    def _position(self) -> str:
        """The row-major position on the reduction loops, for argmax and argmin."""
        text = "0"
        for loop in self.nest.reduce:
            text = (
                loop.axis if text == "0" else f"({text} * {self.values.extent(loop)} + {loop.axis})"
            )
        return text

    def print_rows(
        self, here: Context, lanes: int, spans: Callable[[str, str], Sequence[tuple[int, str]]]
    ) -> Context:
        """Vectorise the reduction loop that is the vector axis. Each copy has accumulators for
        `lanes` lanes and a scalar accumulator, into which they are folded. `spans`: the loops into
        which it is divided, for its name and extent: for each the iterations of a step, and the
        header. Returns the context of the scalar accumulators.
        """
        (along,) = (loop for loop in self.nest.reduce if loop.axis == here.vector)
        scalar = replace(here, simd=None, vectors=1)
        wide = replace(here, vectors=lanes // here.width)

        def row(at: Context) -> None:
            for span, header in spans(along.axis, self.values.extent(along)):
                simd = at.simd if span > 1 else None
                part = replace(at, simd=simd, vectors=max(span // at.width, 1))
                with self.scopes.loop(along.axis, header):
                    self.update(part, _lane if span > 1 else accumulator)

        self.start(scalar, accumulator)
        self.start(wide, _lane)
        self.loops([loop for loop in self.nest.reduce if loop is not along], wide, self.loop, row)
        self.finish(wide, _lane)
        if here.simd is not None:
            for position, item, copy in self.accumulators(wide):
                if copy.v:
                    first, other = _lane(position, copy.lane(0)), _lane(position, copy)
                    self.scopes.add(*here.simd.combine(item, first, other))
        self._fold(replace(here, vectors=1 if here.simd else lanes))
        return scalar

    def spans(self, lanes: int, name: str, extent: str) -> list[tuple[int, str]]:
        """The loops over a vectorised reduction loop: over all lanes, then over single vectors,
        then over single elements. For each the iterations of a step, and the header.
        """
        width = self.dialect.simd.width if self.dialect.simd else 1
        self.scopes.add(self.dialect.counter(name))
        sizes = sorted({lanes, width, 1}, reverse=True)
        return [(size, self.dialect.chunks(name, extent, size, rest=False)) for size in sizes]

    def _fold(self, here: Context) -> None:
        """Fold lanes into the scalar accumulators."""
        self.finish(here, _lane)
        for position, item, copy in self.accumulators(here):
            name, total = _lane(position, copy), accumulator(position, copy.lane(0))
            parts = [name]
            if here.simd:
                parts = [here.simd.lane(name, n, item.body.type) for n in range(here.width)]
            for part in parts:
                self.scopes.add(*self.dialect.combine(item, total, part, "0"))


def _lane(position: int, at: Copy) -> str:
    return f"lane{position}_{at.t}_{at.v}"
