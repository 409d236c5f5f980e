"""Attention by chunks of keys: the launch in which a workgroup computes the maxima, the totals and
the sums of one chunk for some rows, and the launch that merges the chunks of each row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from webkiln.ir import dim, symbols
from webkiln.ir.dim import Size
from webkiln.ir.types import Type
from webkiln.nest.affine import depends
from webkiln.nest.expr import FLOAT, Expr, acc, apply, axis, const, load, rebuild, select
from webkiln.nest.nest import Loop, load_guard, load_index
from webkiln.nest.steps import NestCall, View, Workgroups
from webkiln.nest.target import Target
from webkiln.plan import attention_schedules as schedules
from webkiln.plan.attention_calls import Attention, factors_of
from webkiln.plan.attention_merge import COPIES, Merging, Parts
from webkiln.plan.attention_rows import (
    Arguments,
    Layout,
    Store,
    changed_call,
    column_of,
    product_rows,
    regrouped,
    weight_rows,
)

LOWEST = -3.4028234663852886e38
"""The lowest finite maximum: where all scores of a chunk are -inf, their exponentials are 0."""
Place = tuple[View, tuple[Expr, ...]]
"""Where an element lies instead."""


class Chunks:
    """The launches of attention with `keys` keys to a chunk. `counters` number their workgroups.

    The names of buffers end in `s`, `m`, `w` and `t` for the scores, maxima, weights and totals of
    a workgroup, in `ms`, `ts` and `ys` for the maxima, totals and sums of all chunks, and in `max`
    and `sum` for the maximum and the total of a row.
    """

    def __init__(
        self, found: Attention, layout: Layout, keys: int, counters: tuple[str, str], target: Target
    ) -> None:
        self.target = target
        self.found, self.layout, self.keys, self.counters = found, layout, keys, counters
        self.count = dim.floordiv(found.keys + (keys - 1), keys)
        self.size = schedules.chunk_size(keys)
        self.arguments = Arguments()
        number = symbols.counter(counters[0])
        self.block = dim.floordiv(number, self.count)
        self.number = number - self.block * self.count
        self.loops: list[Loop] = []
        self.rows: list[Expr] = []
        self._place_rows()
        self.local = tuple(axis(loop.axis) for loop in self.loops)
        self.key = axis("k") + self.arguments.value(self.number * keys)
        self.along = Loop("k", self.arguments.extent(keys))
        scores, maximum, weights, total = found.between
        rows = layout.shape
        self.inside: dict[str, Place] = {
            scores: (self._view("s", (*rows, keys)), (*self.local, axis("k"))),
            maximum: (self._view("m", rows), self.local),
            weights: (self._view("w", (*rows, keys)), (*self.local, axis("k"))),
            total: (self._view("t", rows), self.local),
        }
        chunks = (*layout.sizes, self.count)
        columns = column_of(found)
        assert columns is not None
        self.column, width = columns
        self.parts = Parts(
            self._view("ms", (*chunks, COPIES)),
            self._view("ts", (*chunks, COPIES)),
            self._view("ys", (*chunks, width)),
        )

    def _place_rows(self) -> None:
        """The loops over rows, and the index of a row along each dimension."""
        layout = self.layout
        outer, first = layout.first(self.block)
        self.rows += map(self.arguments.value, outer)
        for d, size in enumerate(layout.sizes[layout.outer :], layout.outer):
            row, extent = axis(f"x{d}"), size
            if layout.block and d == len(layout.sizes) - 1:
                row = row + self.arguments.value(first)
                is_whole = not dim.is_symbolic(size) and size % layout.block == 0
                extent = layout.block if is_whole else dim.minimum(layout.block, size - first)
            self.rows.append(row)
            self.loops.append(Loop(f"x{d}", self.arguments.extent(extent)))

    def _view(self, name: str, shape: Sequence[Size]) -> View:
        stem = self.found.scores.outputs[0].name
        return View(f"{stem}~{self.keys}{name}", Type("float32", tuple(shape)))

    def launches(self) -> tuple[Workgroups, Workgroups]:
        """The launch of all chunks, and the one that merges them."""
        members = (
            self._scores(),
            self._maximum(),
            self._weights(),
            self._total(),
            self._statistics(),
            self._sums(),
        )
        shared = tuple(view.name for view, _ in self.inside.values())
        count = self.layout.blocks * self.count
        merge = Merging(self.found, self.parts, self.column, self.counters[1]).launch()
        return Workgroups(self.counters[0], count, members, self.size, shared), merge

    @property
    def _is_partial(self) -> bool:
        """Whether the last chunk may have fewer keys."""
        return dim.is_symbolic(self.found.keys) or self.found.keys % self.keys != 0

    def _scores(self) -> NestCall:
        """The scores, and -inf instead of those of keys that do not exist."""
        call = self.found.scores
        places = dict(zip(self.found.rows, self.rows, strict=True)) | {self.found.key: self.key}
        change = self._moving(call, places)
        value = change(call.nest.outputs[0].value)
        if self._is_partial:
            value = select(self._exists(), value, const(float("-inf")))
        body = change(call.nest.accumulators[0].body)
        view, index = self.inside[call.outputs[0].name]
        made = self._call(
            call,
            [*self.loops, self.along],
            call.nest.reduce,
            [("sum", body)],
            [(view, value, index)],
        )
        return schedules.scores(made, len(self.loops), self.target)

    def _maximum(self) -> NestCall:
        found = self.found
        scores, _, _, _ = found.between
        element = load(0, FLOAT, self.inside[scores][1])
        lowest = apply("max", acc(0, FLOAT), const(LOWEST))
        view, index = self.inside[found.maximum.outputs[0].name]
        made = self._call(
            found.maximum, self.loops, [self.along], [("max", element)], [(view, lowest, index)]
        )
        return schedules.row_reduction(made)

    def _weights(self) -> NestCall:
        call, rows = self.found.weights, weight_rows(self.found)
        names = list(rows)
        places = regrouped(self.layout.sizes, self.rows, rows, self.arguments)
        (key,) = (loop.axis for loop in call.nest.axes if loop.axis not in names)
        _, _, value = factors_of(call)
        value = self._moving(call, places | {key: self.key})(value)
        view, index = self.inside[call.outputs[0].name]
        made = self._call(call, [*self.loops, self.along], [], [], [(view, value, index)])
        return schedules.elements(made)

    def _total(self) -> NestCall:
        call = self.found.total
        places = {loop.axis: axis("k") for loop in call.nest.reduce}
        body = self._moving(call, places)(call.nest.accumulators[0].body)
        view, index = self.inside[call.outputs[0].name]
        made = self._call(
            call, self.loops, [self.along], [("sum", body)], [(view, acc(0, FLOAT), index)]
        )
        return schedules.row_reduction(made)

    def _statistics(self) -> NestCall:
        """The maximum and the total of the chunk, for each row."""
        found = self.found
        _, maximum, _, total = found.between
        places = [self.inside[name] for name in (maximum, total)]
        index = (*self.rows, self.arguments.value(self.number), axis("j"))
        values = [load(position, FLOAT, place[1]) for position, place in enumerate(places)]
        stores = [
            (view, value, index)
            for view, value in zip((self.parts.maxima, self.parts.totals), values, strict=True)
        ]
        copies = Loop("j", self.arguments.extent(COPIES))
        source = replace(found.total, inputs=tuple(view for view, _ in places))
        return schedules.vectors(self._call(source, [*self.loops, copies], [], [], stores))

    def _sums(self) -> NestCall:
        """The sums of the values of a chunk."""
        call = self.found.product
        (loop,) = call.nest.reduce
        places = regrouped(
            self.layout.sizes, self.rows, product_rows(self.found), self.arguments
        ) | {loop.axis: self.key}
        body = self._moving(call, places)(call.nest.accumulators[0].body)
        index = (*self.rows, self.arguments.value(self.number), axis(self.column.axis))
        made = self._call(
            call,
            [*self.loops, self.column],
            [self.along],
            [("sum", body)],
            [(self.parts.sums, acc(0, FLOAT), index)],
        )
        return schedules.products(made, len(self.loops), self.size)

    def _exists(self) -> Expr:
        """Whether there is a key."""
        return apply("lt", self.key, self.arguments.value(self.found.keys))

    def _moving(self, call: NestCall, places: Mapping[str, Expr]) -> Callable[[Expr], Expr]:
        """What rewrites the expressions of a call: loops become `places`, results of other calls
        lie in workgroup memory, and what belongs to keys that do not exist is 0.
        """

        def change(expr: Expr) -> Expr | None:
            if expr.op == "axis":
                return places.get(expr.value)
            if expr.op != "load":
                return None
            position = expr.value[0]
            if (place := self.inside.get(call.inputs[position].name)) is not None:
                return load(position, expr.type, place[1])
            if not self._is_partial or not any(depends(item, "k") for item in load_index(expr)):
                return None
            guard, other = load_guard(expr) or (None, None)
            exists = self._exists()
            exists = exists if guard is None else apply("and", guard, exists)
            return load(position, expr.type, load_index(expr), exists, other)

        return lambda expr: rebuild(expr, change)

    def _call(
        self,
        source: NestCall,
        axes: Sequence[Loop],
        reduce: Sequence[Loop],
        accumulators: Sequence[tuple[str, Expr]],
        stores: Sequence[Store],
    ) -> NestCall:
        places = [self.inside.get(view.name) for view in source.inputs]
        inputs = tuple(
            view if place is None else place[0]
            for view, place in zip(source.inputs, places, strict=True)
        )
        source = replace(source, inputs=inputs)
        return changed_call(source, self.arguments, axes, reduce, accumulators, stores)
