"""Matrix products."""

from collections.abc import Iterable, Sequence

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.graph import Attributes
from webkiln.ir.types import Array, Type, broadcast
from webkiln.nest.build import Lowering, View
from webkiln.nest.expr import Expr
from webkiln.ops.operator import Case, Operator, define


def _matmul_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    a, b = types
    if a.rank < 2 or b.rank < 2 or a.dtype != b.dtype:
        raise ShapeError(f"operands are {a} and {b}; both need two or more dimensions and one dtype")
    rows, inner = a.shape[-2:][:: -1 if attrs["transpose_a"] else 1]
    other, columns = b.shape[-2:][:: -1 if attrs["transpose_b"] else 1]
    if inner != other:
        raise ShapeError(f"the inner sizes differ: {inner} of {a} and {other} of {b}")
    return (Type(a.dtype, (*broadcast([a.shape[:-2], b.shape[:-2]]), rows, columns)),)


def _matmul_reference(attrs: Attributes, a: Array, b: Array) -> tuple[Array, ...]:
    wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in (a, b)]
    left = np.swapaxes(wide[0], -1, -2) if attrs["transpose_a"] else wide[0]
    right = np.swapaxes(wide[1], -1, -2) if attrs["transpose_b"] else wide[1]
    return (np.matmul(left, right),)


def _lower_matmul(low: Lowering, attrs: Attributes) -> None:
    a, b = low.inputs
    nest = low.nest()
    *batch, row, column = nest.axes(low.outputs[0].shape)
    inner = nest.reduce(a[-2] if attrs["transpose_a"] else a[-1])

    def operand(view: View, first: Expr, second: Expr) -> Expr:
        return nest.element(view, (*batch, first, second))

    left = operand(a, inner, row) if attrs["transpose_a"] else operand(a, row, inner)
    right = operand(b, column, inner) if attrs["transpose_b"] else operand(b, inner, column)
    nest.store(low.outputs[0], nest.accumulate("sum", left * right))
    nest.done()


def _matmul_cases() -> Iterable[Case]:
    rng = np.random.default_rng(0)

    def make(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(np.float32)

    yield Case((make(1, 7), make(7, 10)))
    yield Case((make(5, 33), make(33, 37)))
    yield Case((make(2, 1, 3, 4), make(5, 4, 6)))
    yield Case((make(4, 3), make(6, 4)), {"transpose_a": True, "transpose_b": True})
    yield Case((make(2, 6, 37), make(2, 7, 37)), {"transpose_b": True}, name="rows_by_rows")
    yield Case((make(3, 0), make(0, 2)))


define(Operator(
    "MatMul", _matmul_types, _matmul_reference, _lower_matmul, {"transpose_a": False, "transpose_b": False}, (2, 2), _matmul_cases,
))  # fmt: skip
