"""Second factors of products lie so that rows of neighbouring columns follow one another along what
is
summed over.

Keys of attention are stored (position, head, element) by their projection; scores sum over
elements, and a vector of neighbouring positions is nowhere to be read. Whoever stores the keys may
as well store (head, element, position). Values, of which weights of positions are summed, lie
(head, position, element): of one head nearby, where rows of all heads would be far apart. No sum
changes.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Type
from webkiln.lower.tiled_products import is_plain, unique
from webkiln.nest.affine import depends
from webkiln.nest.expr import Expr, axis, make
from webkiln.nest.nest import load_guard, load_index
from webkiln.nest.steps import NestCall, View

APART = 16
"""Elements between rows whose lengths are multiples of `ALIKE`, or may be: the same few places of a
cache would serve all of them.
"""
ALIKE = 256
FEWEST = 12
"""Products of fewer rows gain less than it takes to store the columns apart."""


def columned(calls: Sequence[NestCall], kept: Collection[str]) -> list[NestCall]:
    """The calls, with the sum and then columns innermost in what one call stores and one product
    reads; Variables in `kept` are read from outside.
    """
    work = list(calls)
    alone = unique(calls, kept)
    readers: dict[str, list[int]] = {}
    for number, call in enumerate(calls):
        for name in {view.name for view in call.inputs}:
            readers.setdefault(name, []).append(number)
    for number, call in enumerate(calls):
        (name, *_) = (view.name for view in call.outputs)
        if not is_plain(call, alone) or len(readers.get(name, ())) != 1:
            continue
        (reader,) = readers[name]
        order = _order(work[reader], name) if call.outputs[0] in work[reader].inputs else None
        if order is not None:
            work[number], work[reader] = (
                _reordered(item, name, order) for item in (work[number], work[reader])
            )
    return work


def _order(call: NestCall, name: str) -> list[int] | None:
    """The dimensions of the second factor of a product with what is summed over and then its
    columns last, where they are not yet.
    """
    nest = call.nest
    loads = [expr for expr in nest.loads if call.inputs[expr.value[0]].name == name]
    if (
        not nest.is_contraction
        or len(loads) != 1
        or load_guard(loads[0]) is not None
        or len(call.outputs) != 1
    ):
        return None
    factors = nest.accumulators[0].body.args
    others = [factor for factor in factors if factor is not loads[0]]
    index, column = load_index(loads[0]), nest.outputs[0].index[-1]
    summed = {loop.axis for loop in nest.reduce}
    if (
        len(others) != 1
        or column.op != "axis"
        or depends(others[0], column.value)
        or column not in index
    ):
        return None
    if any(item.op not in ("axis", "const") for item in index) or not _is_worth_it(
        call, others[0], index
    ):
        return None
    place = index.index(column)
    along = [d for d, item in enumerate(index) if item.value in summed]
    order = [*(d for d in range(len(index)) if d not in (*along, place)), *along, place]
    return order if order != sorted(order) else None


def _is_worth_it(call: NestCall, other: Expr, index: Sequence[Expr]) -> bool:
    """Whether there are rows enough, which are what only the first factor moves along."""
    rows = 1
    for loop in call.nest.axes:
        size = call.args[loop.extent.value]
        if axis(loop.axis) not in index and depends(other, loop.axis):
            rows *= FEWEST if is_symbolic(size) else size
    return rows >= FEWEST


def _reordered(call: NestCall, name: str, order: Sequence[int]) -> NestCall:
    def seen(view: View) -> View:
        if view.name != name:
            return view
        *sizes, columns = (view.shape[d] for d in order)
        return View(
            name,
            Type(
                view.type.dtype,
                (*sizes, columns + (APART if is_symbolic(columns) or columns % ALIKE == 0 else 0)),
            ),
        )

    def change(expr: Expr) -> Expr | None:
        if expr.op != "load" or call.inputs[expr.value[0]].name != name:
            return None
        index = load_index(expr)
        return make("load", expr.type, tuple(index[d] for d in order), expr.value)

    nest = call.nest.map(change)
    if call.outputs[0].name == name:
        (out,) = nest.outputs
        nest = replace(nest, outputs=(replace(out, index=tuple(out.index[d] for d in order)),))
    return replace(
        call,
        nest=nest,
        inputs=tuple(map(seen, call.inputs)),
        outputs=tuple(map(seen, call.outputs)),
    )
