"""Change the layout of the second factor of products to [..., reduction, column].

In attention, the projection stores keys as (position, head, element). Scores are sums over
elements, so no vector of neighbouring positions is contiguous in memory. Stored as (head, element,
position), it is. Values, which are weighted and summed over positions, become (head, position,
element), so that the rows of one head are adjacent. No sum changes.

before:
    program g
    buffer x: float32[2,16,4] input
    buffer h: float32[20,8] input
    buffer w: float32[8,2,4] constant
    buffer k: float32[20,2,4]
    buffer y: float32[2,16,20]
    live y
    k: float32[20,2,4] = nest(h: float32[20,8], w: float32[8,2,4]) @keys
      where p0 = 20; p1 = 2; p2 = 4; p3 = 8
      for a0 < p0, a1 < p1, a2 < p2
      reduce r0 < p3
      acc0 = sum(in0[a0, r0] * in1[r0, a1, a2])
      out0[a0, a1, a2] = acc0
    y: float32[2,16,20] = nest(x: float32[2,16,4], k: float32[20,2,4]) @scores
      where p0 = 2; p1 = 16; p2 = 20; p3 = 4
      for a0 < p0, a1 < p1, a2 < p2
      reduce r0 < p3
      acc0 = sum(in0[a0, a1, r0] * in1[a2, a0, r0])
      out0[a0, a1, a2] = acc0

after:
    program g
    buffer x: float32[2,16,4] input
    buffer h: float32[20,8] input
    buffer w: float32[8,2,4] constant
    buffer k: float32[2,4,20]
    buffer y: float32[2,16,20]
    live y
    k: float32[2,4,20] = nest(h: float32[20,8], w: float32[8,2,4]) @keys
      where p0 = 20; p1 = 2; p2 = 4; p3 = 8
      for a0 < p0, a1 < p1, a2 < p2
      reduce r0 < p3
      acc0 = sum(in0[a0, r0] * in1[r0, a1, a2])
      out0[a1, a2, a0] = acc0
    y: float32[2,16,20] = nest(x: float32[2,16,4], k: float32[2,4,20]) @scores
      where p0 = 2; p1 = 16; p2 = 20; p3 = 4
      for a0 < p0, a1 < p1, a2 < p2
      reduce r0 < p3
      acc0 = sum(in0[a0, a1, r0] * in1[a0, r0, a2])
      out0[a0, a1, a2] = acc0
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Type
from webkiln.lower.chains import is_plain, unique
from webkiln.nest.affine import depends
from webkiln.nest.expr import Expr, axis, make
from webkiln.nest.nest import load_guard, load_index
from webkiln.nest.program import Program, map_runs
from webkiln.nest.steps import NestCall, View

PADDING = 16
"""Elements of padding between rows whose length is, or may be, a multiple of `CONFLICT_MODULUS`.
Without it, such rows map to the same few sets of a cache.
"""
CONFLICT_MODULUS = 256
"""Row lengths that are multiples of this many elements conflict in a cache."""
MIN_ROWS = 12
"""Products of fewer rows gain less than the strided stores cost."""


def run(program: Program) -> Program:
    return map_runs(program, relayout_factors)


def relayout_factors(calls: Sequence[NestCall], live_out: Collection[str]) -> list[NestCall]:
    """Return the calls with the reduction and then the column dimension innermost in each Variable
    that one call stores and one product reads. Variables in `live_out` are read from outside and
    stay.
    """
    result = list(calls)
    private = unique(calls, live_out)
    readers: dict[str, list[int]] = {}
    for number, call in enumerate(calls):
        for name in {view.name for view in call.inputs}:
            readers.setdefault(name, []).append(number)
    for number, call in enumerate(calls):
        (name, *_) = (view.name for view in call.outputs)
        if not is_plain(call, private) or len(readers.get(name, ())) != 1:
            continue
        (reader,) = readers[name]
        order = (
            _column_order(result[reader], name)
            if call.outputs[0] in result[reader].inputs
            else None
        )
        if order is not None:
            result[number], result[reader] = (
                _permute(item, name, order) for item in (result[number], result[reader])
            )
    return result


def _column_order(call: NestCall, name: str) -> list[int] | None:
    """The order of the dimensions of a product's second factor that puts reduction dimensions and
    then the column dimension last. None if they are in that order, or if the call is no such
    product.
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
    if any(item.op not in ("axis", "const") for item in index) or not _has_enough_rows(
        call, others[0], index
    ):
        return None
    column_dim = index.index(column)
    reduced_dims = [d for d, item in enumerate(index) if item.value in summed]
    order = [
        *(d for d in range(len(index)) if d not in (*reduced_dims, column_dim)),
        *reduced_dims,
        column_dim,
    ]
    return order if order != sorted(order) else None


def _has_enough_rows(call: NestCall, other: Expr, index: Sequence[Expr]) -> bool:
    """Whether the product has at least `MIN_ROWS` rows. Only the first factor moves along rows."""
    rows = 1
    for loop in call.nest.axes:
        size = call.args[loop.extent.value]
        if axis(loop.axis) not in index and depends(other, loop.axis):
            rows *= MIN_ROWS if is_symbolic(size) else size
    return rows >= MIN_ROWS


def _permute(call: NestCall, name: str, order: Sequence[int]) -> NestCall:
    def permuted(view: View) -> View:
        if view.name != name:
            return view
        *sizes, columns = (view.shape[d] for d in order)
        return View(
            name,
            Type(
                view.type.dtype,
                (
                    *sizes,
                    columns
                    + (PADDING if is_symbolic(columns) or columns % CONFLICT_MODULUS == 0 else 0),
                ),
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
        inputs=tuple(map(permuted, call.inputs)),
        outputs=tuple(map(permuted, call.outputs)),
    )
