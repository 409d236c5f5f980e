"""Factorisations of matrices [..., m, n] and triangular systems, as procedures that run on the CPU.

Section numbers refer to Golub & Van Loan, Matrix Computations.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Shape, Size
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, Expr, apply, const
from webkiln.nest.nest import COMPUTE
from webkiln.nest.procedure import ProcedureWriter
from webkiln.ops.budget import CALL, elements
from webkiln.ops.linear import PRODUCTS
from webkiln.ops.operator import Case, Cost, Operator, Work, define
from webkiln.ops.sorting import TRUE, ZERO, writer

DTYPES = ("float32", "float64")


class Matrix:
    """A matrix in an operand of a procedure: row-major, starting at the element `base`."""

    def __init__(self, w: ProcedureWriter, operand: int, base: Expr, columns: Expr) -> None:
        self.w, self.operand, self.base, self.columns = w, operand, base, columns

    def offset(self, row: Expr, column: Expr) -> Expr:
        return self.base + row * self.columns + column

    def __getitem__(self, index: tuple[Expr, Expr]) -> Expr:
        return self.w.load(self.operand, self.offset(*index))

    def __setitem__(self, index: tuple[Expr, Expr], value: Expr) -> None:
        self.w.store(self.operand - len(self.w.inputs), self.offset(*index), value)

    def copy(self, row: Expr, column: Expr) -> Expr:
        """Load an element to a new variable, which later stores do not change."""
        return self.w.variable(self[row, column])


@contextmanager
def accumulate(
    w: ProcedureWriter, start: Expr, first: Expr, end: Expr
) -> Iterator[tuple[Expr, Expr]]:
    """Append a loop from `first` to `end`, exclusive. Yields an accumulator, initialised with
    `start`, and the loop variable.
    """
    total = w.variable(start)
    with w.repeat(end, first) as number:
        yield total, number


def work_per_row(times: int) -> Work[Attributes]:
    """The work of a reference that, for each row, makes `times` calls on the entire matrix."""

    def work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
        size = max(*inputs[0].shape[-2:], 1)
        return times * (
            CALL * prod(inputs[0].shape[:-1]) + size * elements([*inputs, *outputs]) // PRODUCTS
        )

    return work


def square(x: Type, what: str = "the matrix") -> Size:
    """The size n of matrices [..., n, n]. Raises ShapeError if they are not square."""
    if x.rank < 2 or x.shape[-1] != x.shape[-2] or x.dtype not in DTYPES:
        raise ShapeError(f"{what} is {x}, expected [..., n, n] of {' or '.join(DTYPES)}")
    return x.shape[-1]


def matrices(x: Type) -> tuple[Shape, Size, Size]:
    """The leading shape, the rows and the columns of matrices [..., m, n]."""
    if x.rank < 2 or x.dtype not in DTYPES:
        raise ShapeError(f"the matrix is {x}, expected [..., m, n] of {' or '.join(DTYPES)}")
    return x.shape[:-2], x.shape[-2], x.shape[-1]


def copy_matrix(
    w: ProcedureWriter, source: Matrix, target: Matrix, rows: Expr, columns: Expr
) -> None:
    with w.repeat(rows) as row, w.repeat(columns) as column:
        target[row, column] = source[row, column]


def _lu_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    lead, rows, _ = matrices(types[0])
    return types[0], Type("int32", (*lead, rows)), Type(types[0].dtype, lead)


def _lu_reference(attrs: Attributes, x: Array) -> tuple[Array, ...]:
    factors, order, sign = x.astype(np.float64), np.zeros(x.shape[:-1], int), np.ones(x.shape[:-2])
    for batch in np.ndindex(*x.shape[:-2]):
        a, rows = factors[batch], list(range(x.shape[-2]))
        for c in range(min(a.shape)):
            best = c + int(np.argmax(np.abs(a[c:, c])))
            if best != c:
                a[[c, best]], rows[c], rows[best] = a[[best, c]], rows[best], rows[c]
                sign[batch] *= -1
            if a[c, c] != 0:
                a[c + 1 :, c] /= a[c, c]
                a[c + 1 :, c + 1 :] -= np.outer(a[c + 1 :, c], a[c, c + 1 :])
        order[batch] = rows
    return factors, order, sign


def _lower_lu(low: Lowering, attrs: Attributes) -> None:
    """Outer products with partial pivoting (3.4.1)."""
    x = low.materialize(low.inputs[0])
    lead, m, n = matrices(x.type)
    w = writer([x], low.outputs)
    rows, columns, steps = w.number(m), w.number(n), w.number(min(m, n))
    with w.repeat(w.number(prod(lead))) as batch:
        base, first = w.variable(batch * rows * columns), w.variable(batch * rows)
        a = Matrix(w, 1, base, columns)
        order = Matrix(w, 2, first, const(1, INT))
        copy_matrix(w, Matrix(w, 0, base, columns), a, rows, columns)
        with w.repeat(rows) as row:
            order[row, ZERO] = row
        sign = w.variable(const(1, COMPUTE[x.type.dtype]))
        with w.repeat(steps) as c:
            best, largest = w.variable(c), w.variable(apply("abs", a[c, c]))
            with w.repeat(rows, c + 1) as row:
                magnitude = w.variable(apply("abs", a[row, c]))
                with w.when(apply("gt", magnitude, largest)):
                    w.set(best, row)
                    w.set(largest, magnitude)
            with w.when(apply("ne", best, c)):
                w.set(sign, -sign)
                for matrix, width in ((a, columns), (order, const(1, INT))):
                    with w.repeat(width) as column:
                        swapped = matrix.copy(c, column)
                        matrix[c, column] = matrix[best, column]
                        matrix[best, column] = swapped
            pivot = a.copy(c, c)
            with w.when(apply("ne", pivot, const(0, pivot.type))), w.repeat(rows, c + 1) as row:
                factor = w.variable(a[row, c] / pivot)
                a[row, c] = factor
                with w.repeat(columns, c + 1) as column:
                    a[row, column] = a[row, column] - factor * a[c, column]
        w.store(2, batch, sign)
    low.host(w, [x], low.outputs)


def sample_matrices() -> Iterable[Array]:
    rng = np.random.default_rng(21)
    yield rng.standard_normal((2, 5, 5)).astype(np.float32)
    yield rng.standard_normal((4, 6)).astype(np.float32)
    yield rng.standard_normal((6, 3))
    yield np.array([[0.0, 2.0], [3.0, 1.0]], np.float32)


def _lu_cases() -> Iterable[Case]:
    yield from (Case((x,), tolerance=3e-5) for x in sample_matrices())
    yield Case((np.array([[1.0, 2.0], [2.0, 4.0]], np.float32),), name="singular")


LU = define(
    Operator(
        "LU",
        _lu_types,
        _lu_reference,
        _lower_lu,
        Attributes,
        cases=_lu_cases,
        cost=Cost(work_per_row(1)),
    )
)
"""LU factorisation with partial pivoting of x [..., m, n].

Outputs: L below the diagonal, with an implicit diagonal of ones, and U above; the permutation, the
row of x that is in each row of L U (int32 [..., m]); and the sign of the permutation [...].
"""


def _cholesky_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    square(types[0])
    return (types[0],)


def _cholesky_reference(attrs: Attributes, x: Array) -> tuple[Array, ...]:
    result = np.full(x.shape, np.nan)
    for batch in np.ndindex(*x.shape[:-2]):
        lower = np.tril(x[batch].astype(np.float64))
        symmetric = lower + np.tril(lower, -1).T
        if np.all(np.linalg.eigvalsh(symmetric) > 0):
            result[batch] = np.linalg.cholesky(symmetric)
    return (result,)


def _lower_cholesky(low: Lowering, attrs: Attributes) -> None:
    """Column by column (4.2.1)."""
    x = low.materialize(low.inputs[0])
    type_ = COMPUTE[x.type.dtype]
    w = writer([x], low.outputs)
    size = w.number(x[-1])
    with w.repeat(w.number(prod(x.shape[:-2]))) as batch:
        base = w.variable(batch * size * size)
        a, factor = Matrix(w, 0, base, size), Matrix(w, 1, base, size)
        is_positive = w.variable(TRUE)
        with w.repeat(size) as column:
            with w.repeat(column) as row:
                factor[row, column] = const(0, type_)
            with accumulate(w, a[column, column], ZERO, column) as (total, k):
                w.set(total, total - factor[column, k] * factor[column, k])
            w.set(is_positive, apply("and", is_positive, apply("gt", total, const(0, type_))))
            pivot = w.variable(apply("sqrt", total))
            factor[column, column] = pivot
            with w.repeat(size, column + 1) as row:
                with accumulate(w, a[row, column], ZERO, column) as (rest, k):
                    w.set(rest, rest - factor[row, k] * factor[column, k])
                factor[row, column] = rest / pivot
        with w.when(apply("not", is_positive)), w.repeat(size) as row, w.repeat(size) as column:
            factor[row, column] = const(float("nan"), type_)
    low.host(w, [x], low.outputs)


def _cholesky_cases() -> Iterable[Case]:
    rng = np.random.default_rng(22)
    for dtype in DTYPES:
        x = rng.standard_normal((3, 4, 4))
        yield Case(((x @ np.swapaxes(x, 1, 2) + np.eye(4)).astype(dtype),), name=dtype)
    yield Case(
        (np.stack([np.eye(2), np.array([[1.0, 0], [2, 1]])]).astype(np.float32),),
        name="not positive",
    )


CHOLESKY = define(
    Operator(
        "Cholesky",
        _cholesky_types,
        _cholesky_reference,
        _lower_cholesky,
        Attributes,
        cases=_cholesky_cases,
        cost=Cost(work_per_row(1)),
    )
)
"""Cholesky factorisation x = L L^T of symmetric matrices [..., n, n], which are read from the lower
triangle. L is lower triangular; all its elements are NaN if x is not positive definite.
"""


@dataclass(frozen=True, slots=True)
class SolveTriangular(Attributes):
    lower: bool
    unit: bool = False


def _triangular_types(attrs: SolveTriangular, types: Sequence[Type]) -> tuple[Type, ...]:
    a, b = types
    n = square(a)
    if b.rank != a.rank or b.dtype != a.dtype or b.shape[:-1] != (*a.shape[:-2], n):
        raise ShapeError(
            f"the right-hand side is {b}, expected {a.dtype} with the shape {[*a.shape[:-1]]} and a"
            " last axis of columns"
        )
    return (b,)


def _triangular_reference(attrs: SolveTriangular, a: Array, b: Array) -> tuple[Array, ...]:
    triangle = np.tril(a.astype(np.float64)) if attrs.lower else np.triu(a.astype(np.float64))
    if attrs.unit:
        diagonal = np.einsum("...ii->...i", triangle)
        diagonal[...] = 1
    return (np.linalg.solve(triangle, b.astype(np.float64)),)


def _lower_triangular(low: Lowering, attrs: SolveTriangular) -> None:
    """Forward or back substitution, row by row (3.1.1, 3.1.2)."""
    inputs = [low.materialize(view) for view in low.inputs]
    n, k = inputs[1].shape[-2:]
    w = writer(inputs, low.outputs)
    size, columns = w.number(n), w.number(k)
    with w.repeat(w.number(prod(inputs[0].shape[:-2]))) as batch:
        base = w.variable(batch * size * columns)
        a = Matrix(w, 0, w.variable(batch * size * size), size)
        right, x = Matrix(w, 1, base, columns), Matrix(w, 2, base, columns)
        with w.repeat(size) as number:
            row = number if attrs.lower else w.variable(size - 1 - number)
            with w.repeat(columns) as column:
                bounds = (ZERO, row) if attrs.lower else (row + 1, size)
                with accumulate(w, right[row, column], *bounds) as (total, j):
                    w.set(total, total - a[row, j] * x[j, column])
                x[row, column] = total if attrs.unit else total / a[row, row]
    low.host(w, inputs, low.outputs)


def _triangular_cases() -> Iterable[Case]:
    rng = np.random.default_rng(23)
    a = rng.standard_normal((2, 4, 4)) + 3 * np.eye(4)
    b = rng.standard_normal((2, 4, 3))
    for lower in (True, False):
        for unit in (True, False):
            yield Case(
                (a.astype(np.float32), b.astype(np.float32)), {"lower": lower, "unit": unit}, 1e-4
            )
    yield Case((a, b), {"lower": True}, name="float64")


TRIANGULAR = define(
    Operator(
        "SolveTriangular",
        _triangular_types,
        _triangular_reference,
        _lower_triangular,
        SolveTriangular,
        (2, 2),
        _triangular_cases,
        cost=Cost(work_per_row(1)),
    )
)
"""Solves a x = b for x. Inputs: a [..., n, n] and b [..., n, k].

Attributes: a is read from its `lower` or upper triangle; with `unit`, its diagonal is assumed to be
1.
"""
