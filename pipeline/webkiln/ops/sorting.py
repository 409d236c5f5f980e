"""Sorting operators, as procedures that run on the CPU: Sort and Unique."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from webkiln.ir import symbols
from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import BOOL, INT, REAL, Expr, apply, cast, const
from webkiln.nest.procedure import ProcedureWriter
from webkiln.nest.steps import View
from webkiln.ops.operator import Case, Cost, Operator, define, per_element

ZERO = const(0, INT)
FALSE, TRUE = const(0, BOOL), const(1, BOOL)


def writer(inputs: Sequence[View], outputs: Sequence[View]) -> ProcedureWriter:
    """A writer for a procedure over views."""
    return ProcedureWriter(
        [view.type.dtype for view in inputs], [view.type.dtype for view in outputs]
    )


def merge_sort(
    w: ProcedureWriter, count: Expr, order: int, spare: int, before: Callable[[Expr, Expr], Expr]
) -> None:
    """Append a stable bottom-up merge sort. It stores the sorted indices 0 .. count - 1 in output
    `order`; output `spare` is scratch memory.

    `before(a, b)` returns whether index a must precede index b; it may append statements.
    """
    first = len(w.inputs)
    with w.repeat(count) as i:
        w.store(order, i, i)
    width = w.variable(const(1, INT))
    with w.while_(apply("lt", width, count)):
        start = w.variable(ZERO)
        with w.while_(apply("lt", start, count)):
            middle = w.variable(apply("min", start + width, count))
            end = w.variable(apply("min", middle + width, count))
            left, right = w.variable(start), w.variable(middle)
            with w.repeat(end, start) as target:
                a = w.variable(w.load(first + order, left, apply("lt", left, middle)))
                b = w.variable(w.load(first + order, right, apply("lt", right, end)))
                later = w.variable(FALSE)
                with w.when(apply("and", apply("lt", left, middle), apply("lt", right, end))):
                    w.set(later, before(b, a))
                with w.when(apply("or", apply("eq", left, middle), later)):
                    w.store(spare, target, b)
                    w.set(right, right + 1)
                with w.otherwise():
                    w.store(spare, target, a)
                    w.set(left, left + 1)
            w.set(start, end)
        with w.repeat(count) as i:
            w.store(order, i, w.load(first + spare, i))
        w.set(width, width + width)


def _precedes(a: Expr, b: Expr, *, descending: bool) -> Expr:
    """Whether a must precede b. NaN is larger than any number, true is larger than false."""
    if a.type == BOOL:
        a, b = cast(a, INT), cast(b, INT)
    less = apply("gt" if descending else "lt", a, b)
    if a.type not in REAL:
        return less
    first, second = (a, b) if descending else (b, a)
    return apply(
        "or", less, apply("and", apply("isnan", first), apply("not", apply("isnan", second)))
    )


@dataclass(frozen=True, slots=True)
class Sort(Attributes):
    axis: int
    descending: bool = False


def _sort_types(attrs: Sort, types: Sequence[Type]) -> tuple[Type, ...]:
    return types[0], Type("int64", types[0].shape)


def _sort_reference(attrs: Sort, x: Array) -> tuple[Array, ...]:
    axis, keys = attrs.axis, np.where(np.isnan(x), np.inf, x) if x.dtype.kind == "f" else x
    ranks = np.unique(keys, return_inverse=True)[1].reshape(x.shape)
    ranks = np.where(np.isnan(x), x.size, ranks) if x.dtype.kind == "f" else ranks
    order = np.argsort(-ranks if attrs.descending else ranks, axis=axis, kind="stable")
    return np.take_along_axis(x, order, axis), order


def _lower_sort(low: Lowering, attrs: Sort) -> None:
    x, axis = low.materialize(low.inputs[0]), attrs.axis
    count, inner = x[axis], prod(x.shape[axis + 1 :])
    order, spare = low.temporary("int32", (count,)), low.temporary("int32", (count,))
    operands = (*low.outputs, order, spare)
    w = writer([x], operands)
    size, step = w.number(count), w.number(inner)
    with w.repeat(w.number(prod(x.shape[:axis]))) as outer, w.repeat(step) as lane:
        base = w.variable(outer * size * step + lane)

        def element(number: Expr) -> Expr:
            return w.load(0, base + number * step)

        merge_sort(
            w,
            size,
            2,
            3,
            lambda a, b: _precedes(element(a), element(b), descending=attrs.descending),
        )
        with w.repeat(size) as i:
            source = w.variable(w.load(1 + 2, i))
            w.store(0, base + i * step, element(source))
            w.store(1, base + i * step, source)
    low.host(w, [x], operands)


def _sort_cases() -> Iterable[Case]:
    rng = np.random.default_rng(4)
    x = rng.integers(-4, 5, (3, 11, 2)).astype(np.float32)
    x[1, 3] = np.nan
    x[0, 1] = -np.inf
    for axis in (1, 2, 0):
        for descending in (False, True):
            yield Case((x,), {"axis": axis, "descending": descending})
    for dtype in ("int64", "uint8", "int32", "float16", "bool"):
        yield Case(
            (rng.integers(0, 9, 20).astype(dtype),), {"axis": 0, "descending": True}, name=dtype
        )
    yield Case((np.zeros((2, 0), np.float32),), {"axis": 1}, name="nothing")


SORT = define(
    Operator(
        "Sort",
        _sort_types,
        _sort_reference,
        _lower_sort,
        Sort,
        cases=_sort_cases,
        cost=Cost(per_element(8)),
    )
)
"""Stable sort of x along `axis`, ascending or `descending`. Outputs: the sorted elements, and their
original indices (int64). NaN is larger than any number.
"""


@dataclass(frozen=True, slots=True)
class Unique(Attributes):
    count: str
    axis: int | None = None
    sorted: bool = True
    equal_nan: bool = True


def _unique_types(attrs: Unique, types: Sequence[Type]) -> tuple[Type, ...]:
    count, (x,), axis = symbols.data_dependent(attrs.count), types, attrs.axis
    shape = (count,) if axis is None else (*x.shape[:axis], count, *x.shape[axis + 1 :])
    numbers = x.size if axis is None else x.shape[axis]
    return (
        Type(x.dtype, shape),
        Type("int64", (count,)),
        Type("int64", (numbers,)),
        Type("int64", (count,)),
    )


def _unique_reference(attrs: Unique, x: Array) -> tuple[Array, ...]:
    axis = attrs.axis
    options: dict[str, Any] = {
        "return_index": True,
        "return_inverse": True,
        "return_counts": True,
        "equal_nan": attrs.equal_nan,
    }
    values, first, inverse, counts = np.unique(x, axis=axis, **options)
    inverse = inverse.reshape(-1)
    if not attrs.sorted:
        order = np.argsort(first)
        values, first, counts = np.take(values, order, axis or 0), first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    return values, first, inverse, counts


def _lower_unique(low: Lowering, attrs: Unique) -> None:
    x, axis = low.materialize(low.inputs[0]), attrs.axis
    shape = (
        (1, x.type.size, 1)
        if axis is None
        else (prod(x.shape[:axis]), x[axis], prod(x.shape[axis + 1 :]))
    )
    order, spare, number = (low.temporary("int32", (shape[1],)) for _ in range(3))
    operands = (*low.outputs, order, spare, number)
    w = writer([x], operands)
    outer, size, inner = map(w.number, shape)
    first = len(w.inputs)

    def compare(a: Expr, b: Expr, op: str) -> Expr:
        return _compare_slices(w, (outer, size, inner), (a, b), op, equal_nan=attrs.equal_nan)

    merge_sort(w, size, 4, 5, lambda a, b: compare(a, b, "lt"))
    count, before = w.variable(ZERO), w.variable(ZERO)
    with w.repeat(size) as i:
        here = w.variable(w.load(first + 4, i))
        differs = w.variable(apply("eq", i, ZERO))
        with w.when(apply("not", differs)):
            w.set(differs, compare(before, here, "ne"))
        with w.when(differs):
            w.store(5, count, here)
            w.store(6, count, count)
            w.set(count, count + 1)
        w.store(2, here, count - 1)
        w.set(before, here)
    if not attrs.sorted:
        _number_by_first_occurrence(w, size)
    with w.repeat(count) as group:
        w.store(3, group, ZERO)
    with w.repeat(size) as i:
        group = w.variable(w.load(first + 6, cast(w.load(first + 2, i), INT)))
        w.store(2, i, group)
        w.store(3, group, w.load(first + 3, group) + 1)
    with w.repeat(count) as i:
        here, group = w.variable(w.load(first + 5, i)), w.variable(w.load(first + 6, i))
        w.store(1, group, here)
        with w.repeat(outer) as block, w.repeat(inner) as lane:
            w.store(
                0,
                (block * count + group) * inner + lane,
                w.load(0, (block * size + here) * inner + lane),
            )
    low.host(w, [x], operands, (count, attrs.count, shape[1]))


def _compare_slices(
    w: ProcedureWriter,
    shape: tuple[Expr, Expr, Expr],
    slices: tuple[Expr, Expr],
    op: str,
    *,
    equal_nan: bool,
) -> Expr:
    """Whether the first of two slices is less than (lt) or not equal to (ne) the second, by the
    first element that differs. The slices are along the middle axis of `shape`.
    """
    outer, size, inner = shape
    result, going = w.variable(FALSE), w.variable(TRUE)
    element = w.variable(ZERO)
    with w.while_(apply("and", going, apply("lt", element, outer * inner))):
        block = apply("idiv", element, inner)
        lane = element - block * inner
        one, other = (
            w.variable(w.load(0, (block * size + item) * inner + lane)) for item in slices
        )
        less = w.variable(_precedes(one, other, descending=False))
        differs = apply("or", less, _precedes(other, one, descending=False))
        if op == "ne" and not equal_nan and one.type in REAL:
            differs = apply("or", differs, apply("isnan", one))
        with w.when(differs):
            w.set(result, less if op == "lt" else TRUE)
            w.set(going, FALSE)
        w.set(element, element + 1)
    return result


def _number_by_first_occurrence(w: ProcedureWriter, size: Expr) -> None:
    """Renumber the groups of `_lower_unique` by their first occurrence."""
    first, following = len(w.inputs), w.variable(ZERO)
    with w.repeat(size) as i:
        group = w.variable(cast(w.load(first + 2, i), INT))
        with w.when(apply("eq", w.load(first + 5, group), i)):
            w.store(6, group, following)
            w.set(following, following + 1)


def _unique_cases() -> Iterable[Case]:
    rng = np.random.default_rng(6)
    x = rng.integers(0, 3, (4, 5)).astype(np.float32)
    for axis in (None, 0, 1):
        for in_order in (True, False):
            yield Case(
                (np.concatenate([x, x[1:]]),), {"axis": axis, "sorted": in_order, "count": "u3"}
            )
    yield Case((rng.integers(-9, 9, 30),), {"axis": None, "count": "u0"}, name="int64")
    nans = np.array([np.nan, 1, np.nan, -np.inf, 1], np.float32)
    for equal in (True, False):
        yield Case(
            (nans,), {"axis": None, "equal_nan": equal, "count": "u0"}, name=f"NaN, equal {equal}"
        )


UNIQUE = define(
    Operator(
        "Unique",
        _unique_types,
        _unique_reference,
        _lower_unique,
        Unique,
        cases=_unique_cases,
        cost=Cost(per_element(32), per_element(4)),
    )
)
"""The unique elements of x or, with `axis`, its unique slices.

Outputs: the unique elements, the index of the first occurrence of each, the position of the unique
element of each element of x, and the number of occurrences of each (all but the first int64).

Attributes: with `sorted`, the unique elements are in ascending order, otherwise by first
occurrence. With `equal_nan`, NaNs are equal. `count` is the name of the data-dependent size.
"""
