"""Merge the chunks of attention: a workgroup scales the totals and the sums of all chunks of a row
to a common maximum, and adds them in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.types import Type
from webkiln.nest.expr import FLOAT, INT, Expr, acc, apply, axis, const, load, rebuild
from webkiln.nest.nest import Loop
from webkiln.nest.steps import NestCall, View, Workgroups
from webkiln.plan import attention_schedules as schedules
from webkiln.plan.attention_calls import Attention, factors_of
from webkiln.plan.attention_rows import (
    Arguments,
    Store,
    changed_call,
    product_rows,
    unravelled,
)

COPIES = 4
"""Copies of a maximum or a total in memory, which make a vector."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The results of chunks: [rows.., chunks, copies] and [rows.., chunks, columns]."""

    maxima: View
    totals: View
    sums: View


class Merging:
    """The launch that merges chunks. `counter` numbers its workgroups: the rows."""

    def __init__(self, found: Attention, parts: Parts, column: Loop, counter: str) -> None:
        self.found, self.column, self.counter = found, column, counter
        self.arguments = Arguments()
        *sizes, self.count, _ = parts.maxima.shape
        self.rows = prod(sizes)
        self.maxima, self.totals, self.sums = (
            view.reshaped((self.rows, *view.shape[-2:]))
            for view in (parts.maxima, parts.totals, parts.sums)
        )
        stem = parts.maxima.name.removesuffix("ms")
        vector = Type("float32", (COPIES,))
        self.maximum, self.total = (View(f"{stem}{name}", vector) for name in ("max", "sum"))
        self.row = self.arguments.value(symbols.counter(counter))
        self.along = Loop("c", self.arguments.extent(self.count))
        self.copies = Loop("j", self.arguments.extent(COPIES))
        self.size = schedules.merge_size(self.count, parts.sums.shape[-1])

    def launch(self) -> Workgroups:
        members = (self._maximum(), self._total(), self._product())
        shared = (self.maximum.name, self.total.name)
        return Workgroups(self.counter, self.rows, members, self.size, shared)

    def _element(self, position: int, column: Expr) -> Expr:
        """An element of a chunk."""
        return load(position, FLOAT, (self.row, axis("c"), column))

    def _scale(self, maxima: int, maximum: int) -> Expr:
        """The factor of a chunk, given the inputs with all maxima and with that of the row."""
        zero = const(0, INT)
        highest = load(maximum, FLOAT, (zero,))
        return apply("exp", apply("sub", self._element(maxima, zero), highest))

    def _maximum(self) -> NestCall:
        source = replace(self.found.maximum, inputs=(self.maxima,))
        largest = self._element(0, axis("j"))
        return self._reduced(source, self.copies, ("max", largest), self._stored(self.maximum))

    def _total(self) -> NestCall:
        source = replace(self.found.total, inputs=(self.maxima, self.maximum, self.totals))
        scaled = apply("mul", self._scale(0, 1), self._element(2, axis("j")))
        return self._reduced(source, self.copies, ("sum", scaled), self._stored(self.total))

    def _stored(self, view: View) -> Store:
        return view, acc(0, FLOAT), (axis("j"),)

    def _product(self) -> NestCall:
        """The sums of all chunks, and what the last call stores of them."""
        call, column = self.found.product, axis(self.column.axis)
        rows = product_rows(self.found)
        count = len(call.inputs)
        indices = map(self.arguments.value, self._indices(tuple(rows.values())))
        places = dict(zip(rows, indices, strict=True))
        total = self.found.total.outputs[0].name
        divides = factors_of(self.found.weights)[1] is not None
        quotient = apply("div", acc(0, FLOAT), load(count + 2, FLOAT, (const(0, INT),)))

        def change(expr: Expr) -> Expr | None:
            if expr.op == "axis":
                return places.get(expr.value)
            if expr.op == "load" and call.inputs[expr.value[0]].name == total:
                return load(count + 2, FLOAT, (const(0, INT),))
            return quotient if divides and expr.op == "acc" else None

        (out,) = call.nest.outputs
        value, index = rebuild(out.value, change), [rebuild(item, change) for item in out.index]
        scaled = apply("mul", self._scale(count, count + 1), self._element(count + 3, column))
        added = (self.maxima, self.maximum, self.total, self.sums)
        source = replace(call, inputs=(*call.inputs, *added))
        return self._reduced(source, self.column, ("sum", scaled), (call.outputs[0], value, index))

    def _indices(self, sizes: Sequence[Size]) -> list[Size]:
        return unravelled(symbols.counter(self.counter), sizes)

    def _reduced(
        self, source: NestCall, loop: Loop, item: tuple[str, Expr], store: Store
    ) -> NestCall:
        """A reduction of all chunks for each iteration of a loop."""
        made = changed_call(source, self.arguments, [loop], [self.along], [item], [store])
        return schedules.merged(made, self.size)
