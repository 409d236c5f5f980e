"""Reductions: accumulators, the loops that update them, and horizontal folds of a vectorised
reduction loop.
"""

from collections.abc import Callable, Iterable

from webkiln.codegen.dialect import Dialect
from webkiln.codegen.values import Values, accumulator
from webkiln.nest.nest import Accumulator, Loop
from webkiln.plan.kernel import Kernel


class Reductions(Values):
    """Reduces at one point of the parallel axes, or at all its copies together."""

    def __init__(self, kernel: Kernel, dialect: Dialect) -> None:
        super().__init__(kernel, dialect)
        self.rows = kernel.by_rows

    def accumulators(self) -> list[tuple[int, int, int]]:
        """(position, tile offset, vector offset) of every copy of every accumulator."""
        return [
            (position, t, v)
            for position in range(len(self.nest.accumulators))
            for t, v in self.copy_offsets()
        ]

    def finish(self, name: Callable[[int, int, int], str]) -> None:
        for copy in self.accumulators():
            if self.simd is not None:
                self.here.statements += self.simd.finish(
                    self.nest.accumulators[copy[0]], name(*copy)
                )

    def reduce_rows(self) -> None:
        """Vectorise the last reduction loop. Each copy has accumulators for the lanes and a scalar
        accumulator, into which the lanes are folded.
        """
        (along,) = (loop for loop in self.nest.reduce if loop.axis == self.vector)
        _, tiles = self.copies
        for position, t, _ in self.accumulators():
            self.here.statements += self.dialect.start(
                self.nest.accumulators[position], accumulator(position, t, 0)
            )
        self.copies = (self.kernel.schedule.tile.lanes // self.width, tiles)
        for position, t, v in self.accumulators():
            self.here.statements += self.start(
                self.nest.accumulators[position], _lane(position, t, v)
            )
        self.reduction(
            [loop for loop in self.nest.reduce if loop is not along], lambda: self.row(along)
        )
        self.finish(_lane)
        for position, t, v in self.accumulators():
            if v and self.simd is not None:
                self.here.statements += self.simd.combine(
                    self.nest.accumulators[position], _lane(position, t, 0), _lane(position, t, v)
                )
        self.copies = (1 if self.simd else self.kernel.schedule.tile.lanes, tiles)
        self.finish(_lane)
        for position, t, v in self.accumulators():
            item = self.nest.accumulators[position]
            parts = (
                [
                    self.simd.lane(_lane(position, t, v), n, item.body.type)
                    for n in range(self.width)
                ]
                if self.simd
                else [_lane(position, t, v)]
            )
            for part in parts:
                self.here.statements += self.dialect.combine(
                    item, accumulator(position, t, 0), part, "0"
                )
        self.copies = (1, tiles)

    def row(self, along: Loop) -> None:
        """The innermost reduction loop."""
        simd, copies = self.simd, self.copies
        for span, header in self.spans(along.axis, self.scalar(along.extent, 0, 0)):
            self.simd = simd if span > 1 else None
            self.copies = (max(span // self.width, 1), copies[1])
            with self.loop(along.axis, header):
                self.updates(_lane if span > 1 else accumulator)
        self.simd, self.copies = simd, copies

    def spans(self, name: str, extent: str) -> Iterable[tuple[int, str]]:
        """The loops into which a reduction is divided: all lanes, then single vectors, then single
        elements.
        """
        self.here.statements.append(self.dialect.counter(name))
        sizes = sorted({self.kernel.schedule.tile.lanes, self.width, 1}, reverse=True)
        return [(span, self.dialect.chunks(name, extent, span, rest=False)) for span in sizes]

    def start(self, item: Accumulator, name: str) -> list[str]:
        if self.simd is None:
            return self.dialect.start(item, name)
        return self.simd.start(
            item, name, self.dialect.literal(item.identity.value, item.identity.type)
        )

    def reduction(self, loops: list[Loop], inside: Callable[[], None]) -> None:
        if not loops:
            inside()
            return
        extent = self.scalar(loops[0].extent, 0, 0)
        with self.loop(loops[0].axis, self.dialect.loop(loops[0].axis, extent)):
            self.reduction(loops[1:], inside)

    def updates(self, name: Callable[[int, int, int], str]) -> None:
        for position, t, v in self.accumulators():
            self.here.statements += self.update(
                self.nest.accumulators[position], name(position, t, v), t, v
            )

    def update(self, item: Accumulator, name: str, t: int, v: int) -> list[str]:
        product = item.combiner == "sum" and item.body.op == "mul"
        value = self.vector_value if self.simd else self.scalar
        if product:
            a, b = (value(factor, t, v) for factor in item.body.args)
            return (self.simd or self.dialect).multiply_add(name, a, b, item.body.type)
        if self.simd:
            return self.simd.combine(item, name, value(item.body, t, v))
        return self.dialect.combine(item, name, value(item.body, t, v), self.position())

    def position(self) -> str:
        """The row-major position on the reduction loops, for argmax and argmin."""
        text = "0"
        for loop in self.nest.reduce:
            text = (
                loop.axis
                if text == "0"
                else f"({text} * {self.scalar(loop.extent, 0, 0)} + {loop.axis})"
            )
        return text


def _lane(position: int, t: int, v: int) -> str:
    return f"lane{position}_{t}_{v}"
