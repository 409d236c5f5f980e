"""Matrix products and Einstein sums."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Size
from webkiln.ir.size_checks import require_equal
from webkiln.ir.types import Array, Type, broadcast
from webkiln.nest.build import Lowering
from webkiln.nest.expr import Expr
from webkiln.nest.steps import View
from webkiln.ops.budget import elements
from webkiln.ops.operator import Case, Cost, Operator, Traits, define

PRODUCTS = 4
"""The number of multiply-adds of a matrix product that take numpy the time of copying an element.
"""


@dataclass(frozen=True, slots=True)
class MatMul(Attributes):
    transpose_a: bool = False
    transpose_b: bool = False


def matmul_types(attrs: MatMul, types: Sequence[Type]) -> tuple[Type, ...]:
    a, b = types
    if a.rank < 2 or b.rank < 2 or a.dtype != b.dtype:
        raise ShapeError(
            f"operands are {a} and {b}, expected the same dtype and at least two dimensions"
        )
    rows, inner = a.shape[-2:][:: -1 if attrs.transpose_a else 1]
    other, columns = b.shape[-2:][:: -1 if attrs.transpose_b else 1]
    require_equal(inner, other, "the inner sizes differ")
    return (Type(a.dtype, (*broadcast([a.shape[:-2], b.shape[:-2]]), rows, columns)),)


def _matmul_reference(attrs: MatMul, a: Array, b: Array) -> tuple[Array, ...]:
    wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in (a, b)]
    left = np.swapaxes(wide[0], -1, -2) if attrs.transpose_a else wide[0]
    right = np.swapaxes(wide[1], -1, -2) if attrs.transpose_b else wide[1]
    return (np.matmul(left, right),)


def _lower_matmul(low: Lowering, attrs: MatMul) -> None:
    a, b = low.inputs
    nest = low.nest()
    *batch, row, column = nest.axes(low.outputs[0].shape)
    inner = nest.reduce(a[-2] if attrs.transpose_a else a[-1])

    def operand(view: View, first: Expr, second: Expr) -> Expr:
        return nest.element(view, (*batch, first, second))

    left = operand(a, inner, row) if attrs.transpose_a else operand(a, row, inner)
    right = operand(b, column, inner) if attrs.transpose_b else operand(b, inner, column)
    nest.store(low.outputs[0], nest.accumulate("sum", left * right))
    nest.done()


def matmul_work(attrs: MatMul, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    inner = inputs[0].shape[-2 if attrs.transpose_a else -1]
    return PRODUCTS * elements([*inputs, *outputs]) + outputs[0].size * inner // PRODUCTS


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


def matmul_channel_axis(attrs: MatMul, position: int, rank: int) -> int | None:
    return rank - (2 if attrs.transpose_b else 1) if position == 1 else None


MATMUL = define(
    Operator(
        "MatMul",
        matmul_types,
        _matmul_reference,
        _lower_matmul,
        MatMul,
        (2, 2),
        _matmul_cases,
        Traits(weight_channel_axis=matmul_channel_axis),
        Cost(matmul_work),
    )
)
"""Matrix product of a [..., m, k] and b [..., k, n], with broadcast leading axes: [..., m, n]. With
`transpose_a` or `transpose_b`, the last two axes of the operand are swapped.
"""


@dataclass(frozen=True, slots=True)
class Einsum(Attributes):
    equation: str


def _terms(attrs: Einsum, count: int) -> tuple[list[str], str]:
    """The letters of each operand, and those of the result."""
    left, arrow, right = attrs.equation.partition("->")
    terms = left.split(",")
    if (
        not arrow
        or len(terms) != count
        or len(set(right)) != len(right)
        or not set(right) <= set("".join(terms))
    ):
        raise ShapeError(
            f"equation {attrs.equation!r} must have {count} operands, and a result of distinct"
            " letters of the operands"
        )
    return terms, right


def _einsum_sizes(attrs: Einsum, types: Sequence[Type]) -> dict[str, Size]:
    """The size of each letter."""
    terms, _ = _terms(attrs, len(types))
    sizes: dict[str, Size] = {}
    for term, type_ in zip(terms, types, strict=True):
        if len(term) != type_.rank:
            raise ShapeError(
                f"equation {attrs.equation!r}: {term!r} has {len(term)} axes, but its operand is"
                f" {type_}"
            )
        for letter, size in zip(term, type_.shape, strict=True):
            sizes[letter] = require_equal(
                sizes.get(letter, size),
                size,
                f"equation {attrs.equation!r}: the sizes of axis {letter} differ",
            )
    return sizes


def _einsum_types(attrs: Einsum, types: Sequence[Type]) -> tuple[Type, ...]:
    if len({type_.dtype for type_ in types}) != 1:
        raise ShapeError(f"operands are {', '.join(map(str, types))}, expected the same dtype")
    sizes = _einsum_sizes(attrs, types)
    return (Type(types[0].dtype, tuple(sizes[letter] for letter in _terms(attrs, len(types))[1])),)


def _einsum_reference(attrs: Einsum, *arrays: Array) -> tuple[Array, ...]:
    wide = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in arrays]
    return (np.asarray(np.einsum(attrs.equation, *wide)),)


def _lower_einsum(low: Lowering, attrs: Einsum) -> None:
    """One sum of products over all letters that are not in the result."""
    sizes = _einsum_sizes(attrs, [view.type for view in low.inputs])
    terms, result = _terms(attrs, len(low.inputs))
    nest = low.nest()
    index = dict(zip(result, nest.axes(low.outputs[0].shape), strict=True))
    index |= {letter: nest.reduce(size) for letter, size in sizes.items() if letter not in index}
    factors = [
        nest.load(view, [index[letter] for letter in term])
        for view, term in zip(low.inputs, terms, strict=True)
    ]
    nest.store(low.outputs[0], nest.accumulate("sum", reduce(Expr.__mul__, factors)))
    nest.done()


def _einsum_work(attrs: Einsum, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    return elements([*inputs, *outputs]) + prod(_einsum_sizes(attrs, inputs).values())


def _einsum_cases() -> Iterable[Case]:
    rng = np.random.default_rng(6)
    shapes: dict[str, list[tuple[int, ...]]] = {
        "ab,bc->ac": [(3, 5), (5, 18)],
        "abc,cde->abde": [(2, 3, 5), (5, 2, 8)],
        "abcd,cde->abe": [(1, 3, 2, 4), (2, 4, 5)],
        "aecd,abcd->acbe": [(2, 3, 2, 4), (2, 5, 2, 4)],
        "ab,ab->a": [(3, 4), (3, 4)],
        "abc->cab": [(2, 3, 4)],
        "aab->b": [(3, 3, 2)],
        "ab,b,bc->c": [(2, 3), (3,), (3, 4)],
        "ab,cd->": [(2, 3), (2, 2)],
    }
    for equation, operands in shapes.items():
        arrays = tuple(rng.standard_normal(shape).astype(np.float32) for shape in operands)
        yield Case(arrays, {"equation": equation}, name=equation)


def _einsum_channel_axis(attrs: Einsum, position: int, rank: int) -> int | None:
    """The last axis of the result that the second operand has."""
    terms, _, result = attrs.equation.partition("->")
    if position != 1:
        return None
    weight = terms.split(",")[1]
    return next((weight.index(letter) for letter in reversed(result) if letter in weight), None)


EINSUM = define(
    Operator(
        "Einsum",
        _einsum_types,
        _einsum_reference,
        _lower_einsum,
        Einsum,
        (1, 4),
        _einsum_cases,
        Traits(weight_channel_axis=_einsum_channel_axis),
        Cost(_einsum_work),
    )
)
"""Einstein sum of one to four operands by an `equation` such as "abd,cad->abc". The result has
distinct letters; letters that are not in the result are summed over.
"""
