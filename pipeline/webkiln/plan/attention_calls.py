"""The calls of attention: scores of queries and keys, a softmax of each row of scores, and sums of
the values that it weights.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from webkiln.ir.dim import Size
from webkiln.nest.expr import Expr, apply, load, rebuild
from webkiln.nest.nest import Operand, load_guard, load_index
from webkiln.nest.steps import NestCall

Names = tuple[str, ...]
Writers = Mapping[str, NestCall]
"""Local buffers with one writer, and the call that writes them."""


@dataclass(frozen=True, slots=True)
class Attention:
    """Five calls. `weights` computes exp(score - maximum), times other factors, and may divide by
    the total; otherwise `product` reads the total. `rows` are the loops of `scores` over rows, and
    `key` is that along a row. `copies` are calls that transpose what `scores` multiplies, which
    here reads the originals.
    """

    scores: NestCall
    maximum: NestCall
    weights: NestCall
    total: NestCall
    product: NestCall
    rows: Names
    key: str
    copies: tuple[NestCall, ...] = ()

    @property
    def calls(self) -> tuple[NestCall, ...]:
        return (self.scores, self.maximum, self.weights, self.total, self.product)

    @property
    def results(self) -> Names:
        """The buffers that the calls write, and the copies."""
        return tuple(call.outputs[0].name for call in (*self.copies, *self.calls))

    @property
    def between(self) -> Names:
        """The buffers with the results of all calls but the last."""
        return tuple(call.outputs[0].name for call in self.calls[:-1])

    @property
    def keys(self) -> Size:
        """The keys of a row."""
        return sizes_of(self.scores)[self.key]

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes of the loops over rows."""
        return tuple(sizes_of(self.scores)[name] for name in self.rows)


def match_attention(
    product: NestCall, writers: Writers, mentions: Mapping[str, int]
) -> Attention | None:
    """The attention of which `product` is the last call. `mentions`: how often steps name each
    buffer.
    """
    if not _stores_once(product) or not product.nest.is_contraction:
        return None
    for factor in product.nest.accumulators[0].body.args:
        writer = _writer(product, factor, writers)
        if writer is not None and len(product.nest.reduce) == 1:
            found = _match_weights(writer, product, writers)
            if found is not None and _is_consistent(found, factor):
                private = {name: call for name, call in writers.items() if mentions[name] == 2}
                return _without_copies(found, private)
    return None


def _without_copies(found: Attention, writers: Writers) -> Attention:
    """The attention with scores that read the originals of transposed operands."""
    scores, copies = found.scores, list[NestCall]()
    for position, view in enumerate(scores.inputs):
        copy = writers.get(view.name)
        loops = _copied_loops(copy) if copy is not None else None
        if copy is not None and loops is not None and copy.outputs[0] == view:
            scores = _reading_original(scores, position, copy, loops)
            copies.append(copy)
    return replace(found, scores=scores, copies=tuple(copies))


def _reading_original(call: NestCall, position: int, copy: NestCall, loops: Names) -> NestCall:
    """The call with an input instead of its copy, which has `loops` along its dimensions."""
    source = copy.nest.outputs[0].value

    def change(expr: Expr) -> Expr | None:
        if expr.op != "load" or expr.value[0] != position:
            return None
        places = dict(zip(loops, load_index(expr), strict=True))
        moved = [
            rebuild(item, lambda e: places.get(e.value) if e.op == "axis" else None)
            for item in load_index(source)
        ]
        return load(position, expr.type, moved, *(load_guard(expr) or ()))

    original = copy.inputs[source.value[0]]
    inputs = (*call.inputs[:position], original, *call.inputs[position + 1 :])
    operands = tuple(Operand(item.type.dtype, item.type.rank) for item in inputs)
    return replace(call, nest=replace(call.nest.map(change), inputs=operands), inputs=inputs)


def _copied_loops(call: NestCall) -> Names | None:
    """The loops along the dimensions of what a call writes, if it only moves elements."""
    if not _stores_once(call) or call.nest.reduce:
        return None
    (out,) = call.nest.outputs
    value = out.value
    if value.op != "load" or load_guard(value) is not None:
        return None
    if call.inputs[value.value[0]].type.dtype != call.outputs[0].type.dtype:
        return None
    if any(item.op not in ("axis", "const") for item in load_index(value)):
        return None
    names = loops_along(call, out.index, call.outputs[0].shape)
    return names if names is not None and set(names) == set(sizes_of(call)) else None


def _match_weights(weights: NestCall, product: NestCall, writers: Writers) -> Attention | None:
    """The attention with these weights, if they are exponentials of differences."""
    if not _stores_once(weights) or weights.nest.reduce:
        return None
    shifted, divisor, _ = factors_of(weights)
    if shifted is None:
        return None
    scores, maximum = (_writer(weights, item, writers) for item in shifted.args[0].args)
    divisors = (
        [_writer(weights, divisor, writers)]
        if divisor is not None
        else [_writer(product, expr, writers) for expr in product.nest.loads]
    )
    totals = [call for call in divisors if call is not None and _reduces(call, "sum")]
    if scores is None or maximum is None or len(totals) != 1 or not scores.nest.is_contraction:
        return None
    rows = loops_along(scores, scores.nest.outputs[0].index, scores.outputs[0].shape)
    if not rows or not _stores_once(scores) or set(rows) != set(sizes_of(scores, parallel=True)):
        return None
    return Attention(scores, maximum, weights, totals[0], product, rows[:-1], rows[-1])


def factors_of(weights: NestCall) -> tuple[Expr | None, Expr | None, Expr]:
    """The exponential among the factors that a call multiplies, the load that divides them, and the
    product without that division.
    """
    divisors: list[Expr] = []
    leaves: list[Expr] = []

    def visit(expr: Expr) -> Expr:
        if expr.op == "mul":
            return apply("mul", *map(visit, expr.args))
        if expr.op == "div" and expr.args[1].op == "load":
            divisors.append(expr.args[1])
            return visit(expr.args[0])
        leaves.append(expr)
        return expr

    rest = visit(weights.nest.outputs[0].value)
    found = [expr for expr in leaves if _is_shifted(expr)]
    if len(found) != 1 or len(divisors) > 1:
        return None, None, rest
    return found[0], divisors[0] if divisors else None, rest


def _is_shifted(expr: Expr) -> bool:
    """Whether an expression is exp(load - load)."""
    return (
        expr.op == "exp"
        and expr.args[0].op == "sub"
        and all(item.op == "load" for item in expr.args[0].args)
    )


def _is_consistent(found: Attention, factor: Expr) -> bool:
    """Whether all calls read the rows of each other's results, and of nothing else among these."""
    shifted, divisor, _ = factors_of(found.weights)
    assert shifted is not None
    score, largest = shifted.args[0].args
    body = found.total.nest.accumulators[0].body
    names = loops_along(
        found.weights, found.weights.nest.outputs[0].index, found.weights.outputs[0].shape
    )
    last = found.product.nest.reduce[0].axis
    divisors = _loads_between(found, found.product) - {factor}
    rows = _row_loops(found.product, factor)
    if not names or rows is None or last != rows[-1] or set(names) != set(sizes_of(found.weights)):
        return False
    if not _reduces(found.maximum, "max") or any(
        sizes_of(call)[name] != found.keys
        for call, name in (
            (found.maximum, found.maximum.nest.reduce[0].axis),
            (found.weights, names[-1]),
            (found.total, found.total.nest.reduce[0].axis),
            (found.product, last),
        )
    ):
        return False
    return (
        not _loads_between(found, found.scores)
        and _is_row_sum(found, found.maximum, [found.maximum.nest.accumulators[0].body])
        and _loads_between(found, found.weights) == {score, largest, divisor} - {None}
        and _row_loops(found.weights, score) == names
        and all(
            _row_loops(found.weights, item) == names[:-1]
            for item in (largest, divisor)
            if item is not None
        )
        and len(divisors) == (divisor is None)
        and all(_row_loops(found.product, item) == rows[:-1] for item in divisors)
        and (
            _is_row_sum(found, found.total, list(body.args[0].args))
            if _is_shifted(body)
            else found.weights.nest.outputs[0].value is shifted
            and _is_row_sum(found, found.total, [body])
        )
    )


def _is_row_sum(found: Attention, call: NestCall, operands: list[Expr]) -> bool:
    """Whether a call reduces rows of which it reads `operands`: an element, then the maximum."""
    first = found.weights if len(operands) == 1 and call is found.total else found.scores
    expected = [first, found.maximum][: len(operands)]
    names = [call.inputs[item.value[0]].name for item in operands if item.op == "load"]
    rows = loops_along(call, call.nest.outputs[0].index, call.outputs[0].shape)
    return (
        names == [item.outputs[0].name for item in expected]
        and rows is not None
        and _loads_between(found, call) == set(operands)
        and [_row_loops(call, item) for item in operands]
        == [(*rows, call.nest.reduce[0].axis), rows][: len(operands)]
    )


def _reduces(call: NestCall, combiner: str) -> bool:
    """Whether a call stores one reduction of rows, along one loop."""
    nest = call.nest
    return (
        _stores_once(call)
        and [item.combiner for item in nest.accumulators] == [combiner]
        and len(nest.reduce) == 1
        and nest.outputs[0].value.op == "acc"
    )


def _stores_once(call: NestCall) -> bool:
    return len(call.outputs) == 1 and not call.nest.outputs[0].also


def _writer(call: NestCall, expr: Expr, writers: Writers) -> NestCall | None:
    """The call that writes what an expression loads."""
    return writers.get(call.inputs[expr.value[0]].name) if expr.op == "load" else None


def _loads_between(found: Attention, call: NestCall) -> set[Expr]:
    """The loads of results of other calls."""
    names = found.between
    return {expr for expr in call.nest.loads if call.inputs[expr.value[0]].name in names}


def _row_loops(call: NestCall, expr: Expr) -> Names | None:
    """The loops along the dimensions of an unguarded load."""
    if load_guard(expr) is not None:
        return None
    return loops_along(call, load_index(expr), call.inputs[expr.value[0]].shape)


def loops_along(call: NestCall, index: Iterable[Expr], shape: tuple[Size, ...]) -> Names | None:
    """The loops along the dimensions of an operand, if each covers one of them."""
    items, sizes = tuple(index), sizes_of(call)
    names = tuple(str(item.value) for item in items if item.op == "axis")
    if len(names) != len(items) or len(set(names)) != len(names):
        return None
    return names if tuple(sizes[name] for name in names) == shape else None


def sizes_of(call: NestCall, *, parallel: bool = False) -> dict[str, Size]:
    """The extents of the loops of a call, or of its parallel ones."""
    loops = call.nest.axes if parallel else (*call.nest.axes, *call.nest.reduce)
    return {loop.axis: call.args[loop.extent.value] for loop in loops}
