"""Factorisations of matrices [..., m, n] and triangular systems, as procedures that run on the CPU
(Golub & Van Loan, Matrix Computations).
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.graph import Attributes
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, Expr, apply, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.nest.procedure import ProcedureWriter
from webkiln.ops.budget import CALL, elements
from webkiln.ops.linear import PRODUCTS
from webkiln.ops.operator import REQUIRED, Case, Operator, Work, define
from webkiln.ops.order import TRUE, ZERO, writer

DTYPES = ("float32", "float64")


class Matrix:
    """An operand of a procedure as a matrix, from the element `base` on."""

    def __init__(self, w: ProcedureWriter, operand: int, base: Expr, columns: Expr) -> None:
        self.w, self.operand, self.base, self.columns = w, operand, base, columns

    def at(self, row: Expr, column: Expr) -> Expr:
        return self.base + row * self.columns + column

    def __getitem__(self, place: tuple[Expr, Expr]) -> Expr:
        return self.w.load(self.operand, self.at(*place))

    def __setitem__(self, place: tuple[Expr, Expr], value: Expr) -> None:
        self.w.store(self.operand - len(self.w.inputs), self.at(*place), value)

    def keep(self, row: Expr, column: Expr) -> Expr:
        """The element in a variable of its own."""
        return self.w.variable(self[row, column])


@contextmanager
def summed(w: ProcedureWriter, start: Expr, first: Expr, end: Expr) -> Iterator[tuple[Expr, Expr]]:
    """A variable and the numbers from `first` up to `end`, for a sum."""
    total = w.variable(start)
    with w.repeat(end, first) as number:
        yield total, number


def by_steps(times: int) -> Work:
    """A matrix after another, in Python: so many calls for each of its rows, each of which may
    touch the whole matrix.
    """

    def work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
        size = max(*inputs[0].shape[-2:], 1)
        return times * (
            CALL * prod(inputs[0].shape[:-1]) + size * elements([*inputs, *outputs]) // PRODUCTS
        )

    return work


def square(x: Type, what: str = "the matrix") -> int:
    if x.rank < 2 or x.shape[-1] != x.shape[-2] or x.dtype not in DTYPES:
        raise ShapeError(f"{what} is {x}, expected [..., n, n] of {' or '.join(DTYPES)}")
    return x.shape[-1]


def matrices(x: Type) -> tuple[tuple[int, ...], int, int]:
    """The shape before the matrices, their rows and their columns."""
    if x.rank < 2 or x.dtype not in DTYPES:
        raise ShapeError(f"the matrix is {x}, expected [..., m, n] of {' or '.join(DTYPES)}")
    return x.shape[:-2], x.shape[-2], x.shape[-1]


def copied(w: ProcedureWriter, source: Matrix, target: Matrix, rows: Expr, columns: Expr) -> None:
    with w.repeat(rows) as row, w.repeat(columns) as column:
        target[row, column] = source[row, column]


def _lu_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    lead, rows, _ = matrices(types[0])
    return types[0], Type("int32", (*lead, rows)), Type(types[0].dtype, lead)


def _lu_reference(attrs: Attributes, x: Array) -> tuple[Array, ...]:
    factors, order, sign = x.astype(np.float64), np.zeros(x.shape[:-1], int), np.ones(x.shape[:-2])
    for place in np.ndindex(*x.shape[:-2]):
        a, rows = factors[place], list(range(x.shape[-2]))
        for c in range(min(a.shape)):
            best = c + int(np.argmax(np.abs(a[c:, c])))
            if best != c:
                a[[c, best]], rows[c], rows[best] = a[[best, c]], rows[best], rows[c]
                sign[place] *= -1
            if a[c, c] != 0:
                a[c + 1 :, c] /= a[c, c]
                a[c + 1 :, c + 1 :] -= np.outer(a[c + 1 :, c], a[c, c + 1 :])
        order[place] = rows
    return factors, order, sign


def _lower_lu(low: Lowering, attrs: Attributes) -> None:
    """Outer products, the largest element of a column as its pivot (3.4.1)."""
    x = low.materialize(low.inputs[0])
    lead, m, n = matrices(x.type)
    w = writer([x], low.outputs)
    rows, columns, steps = w.number(m), w.number(n), w.number(min(m, n))
    with w.repeat(w.number(prod(lead))) as batch:
        base, first = w.variable(batch * rows * columns), w.variable(batch * rows)
        a = Matrix(w, 1, base, columns)
        order = Matrix(w, 2, first, const(1, INT))
        copied(w, Matrix(w, 0, base, columns), a, rows, columns)
        with w.repeat(rows) as row:
            order[row, ZERO] = row
        sign = w.variable(const(1, COMPUTE[x.type.dtype]))
        with w.repeat(steps) as c:
            best, most = w.variable(c), w.variable(apply("abs", a[c, c]))
            with w.repeat(rows, c + 1) as row:
                size = w.variable(apply("abs", a[row, c]))
                with w.when(apply("gt", size, most)):
                    w.set(best, row)
                    w.set(most, size)
            with w.when(apply("ne", best, c)):
                w.set(sign, -sign)
                for matrix, width in ((a, columns), (order, const(1, INT))):
                    with w.repeat(width) as column:
                        held = matrix.keep(c, column)
                        matrix[c, column] = matrix[best, column]
                        matrix[best, column] = held
            pivot = a.keep(c, c)
            with w.when(apply("ne", pivot, const(0, pivot.type))), w.repeat(rows, c + 1) as row:
                factor = w.variable(a[row, c] / pivot)
                a[row, c] = factor
                with w.repeat(columns, c + 1) as column:
                    a[row, column] = a[row, column] - factor * a[c, column]
        w.store(2, batch, sign)
    low.host(w, [x], low.outputs)


def _matrices() -> Iterable[Array]:
    rng = np.random.default_rng(21)
    yield rng.standard_normal((2, 5, 5)).astype(np.float32)
    yield rng.standard_normal((4, 6)).astype(np.float32)
    yield rng.standard_normal((6, 3))
    yield np.array([[0.0, 2.0], [3.0, 1.0]], np.float32)


def _lu_cases() -> Iterable[Case]:
    yield from (Case((x,), tolerance=3e-5) for x in _matrices())
    yield Case((np.array([[1.0, 2.0], [2.0, 4.0]], np.float32),), name="singular")


LU = define(Operator("LU", _lu_types, _lu_reference, _lower_lu, cases=_lu_cases, work=by_steps(1)))
"""x = L U in other order: L below the diagonal (1 on it) and U, which row of x stands where
(int32), and the sign of that order.
"""


def _cholesky_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    square(types[0])
    return (types[0],)


def _cholesky_reference(attrs: Attributes, x: Array) -> tuple[Array, ...]:
    result = np.full(x.shape, np.nan)
    for place in np.ndindex(*x.shape[:-2]):
        lower = np.tril(x[place].astype(np.float64))
        whole = lower + np.tril(lower, -1).T
        if np.all(np.linalg.eigvalsh(whole) > 0):
            result[place] = np.linalg.cholesky(whole)
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
        sound = w.variable(TRUE)
        with w.repeat(size) as column:
            with w.repeat(column) as row:
                factor[row, column] = const(0, type_)
            with summed(w, a[column, column], ZERO, column) as (total, k):
                w.set(total, total - factor[column, k] * factor[column, k])
            w.set(sound, apply("and", sound, apply("gt", total, const(0, type_))))
            pivot = w.variable(apply("sqrt", total))
            factor[column, column] = pivot
            with w.repeat(size, column + 1) as row:
                with summed(w, a[row, column], ZERO, column) as (rest, k):
                    w.set(rest, rest - factor[row, k] * factor[column, k])
                factor[row, column] = rest / pivot
        with w.when(apply("not", sound)), w.repeat(size) as row, w.repeat(size) as column:
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
        cases=_cholesky_cases,
        work=by_steps(1),
    )
)
"""The lower factor L of L L^T, read from the lower triangle of x; NaN throughout where x is not
positive definite.
"""


def _triangular_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    a, b = types
    n = square(a)
    if b.rank != a.rank or b.dtype != a.dtype or b.shape[:-1] != (*a.shape[:-2], n):
        raise ShapeError(
            f"the right side is {b}, expected {[*a.shape[:-1]]} and a number of columns, of"
            f" {a.dtype}"
        )
    return (b,)


def _triangular_reference(attrs: Attributes, a: Array, b: Array) -> tuple[Array, ...]:
    given = np.tril(a.astype(np.float64)) if attrs["lower"] else np.triu(a.astype(np.float64))
    if attrs["unit"]:
        diagonal = np.einsum("...ii->...i", given)
        diagonal[...] = 1
    return (np.linalg.solve(given, b.astype(np.float64)),)


def _lower_triangular(low: Lowering, attrs: Attributes) -> None:
    """Substitution, row by row (3.1.1, 3.1.2)."""
    inputs = [low.materialize(view) for view in low.inputs]
    n, k = inputs[1].shape[-2:]
    w = writer(inputs, low.outputs)
    size, columns = w.number(n), w.number(k)
    with w.repeat(w.number(prod(inputs[0].shape[:-2]))) as batch:
        base = w.variable(batch * size * columns)
        a = Matrix(w, 0, w.variable(batch * size * size), size)
        right, x = Matrix(w, 1, base, columns), Matrix(w, 2, base, columns)
        with w.repeat(size) as number:
            row = number if attrs["lower"] else w.variable(size - 1 - number)
            with w.repeat(columns) as column:
                bounds = (ZERO, row) if attrs["lower"] else (row + 1, size)
                with summed(w, right[row, column], *bounds) as (total, j):
                    w.set(total, total - a[row, j] * x[j, column])
                x[row, column] = total if attrs["unit"] else total / a[row, row]
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
        {"lower": REQUIRED, "unit": False},
        (2, 2),
        _triangular_cases,
        work=by_steps(1),
    )
)
"""x of a x = b, [..., n, k], where a is the lower or upper triangle of a matrix, with `unit` 1 on
its diagonal.
"""


def _qr_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    x = types[0]
    lead, rows, columns = matrices(x)
    inner = rows if attrs["complete"] else min(rows, columns)
    return Type(x.dtype, (*lead, rows, inner)), Type(x.dtype, (*lead, inner, columns))


def _qr_reference(attrs: Attributes, x: Array) -> tuple[Array, ...]:
    pairs = [
        np.linalg.qr(matrix, "complete" if attrs["complete"] else "reduced")
        for matrix in x.astype(np.float64).reshape(-1, *x.shape[-2:])
    ]
    return tuple(
        np.stack([pair[number] for pair in pairs]).reshape(*x.shape[:-2], *pairs[0][number].shape)
        for number in (0, 1)
    )


def reflector(w: ProcedureWriter, first: Expr, rest: Expr) -> tuple[Expr, Expr, Expr]:
    """beta, tau and the divisor of Householder's reflection (5.1.3) of an element `first` and
    others whose squares sum to `rest`; LAPACK's signs.
    """
    one = const(1, first.type)
    none = w.variable(apply("eq", rest, const(0, first.type)))
    length = apply("sqrt", first * first + rest)
    beta = w.variable(
        select(none, first, select(apply("ge", first, const(0, first.type)), -length, length))
    )
    tau = w.variable(select(none, const(0, first.type), (beta - first) / select(none, one, beta)))
    return beta, tau, w.variable(select(none, one, first - beta))


def _lower_qr(low: Lowering, attrs: Attributes) -> None:
    """Householder's reflections, then their product, backwards (5.2.1, 5.1.6)."""
    x, type_ = low.materialize(low.inputs[0]), COMPUTE[low.inputs[0].type.dtype]
    lead, m, n = matrices(x.type)
    k = low.outputs[0][-1]
    work, taus = (
        low.temporary(x.type.dtype, (m, n)),
        low.temporary(x.type.dtype, (max(min(m, n), 1),)),
    )
    operands = (*low.outputs, work, taus)
    w = writer([x], operands)
    rows, columns, inner, steps = w.number(m), w.number(n), w.number(k), w.number(min(m, n))
    a, scales = Matrix(w, 3, ZERO, columns), Matrix(w, 4, ZERO, const(1, INT))

    def reflect(target: Matrix, c: Expr, column: Expr) -> None:
        with summed(w, target[c, column], c + 1, rows) as (total, row):
            w.set(total, total + a[row, c] * target[row, column])
        share = w.variable(total * scales[c, ZERO])
        target[c, column] = target[c, column] - share
        with w.repeat(rows, c + 1) as row:
            target[row, column] = target[row, column] - share * a[row, c]

    with w.repeat(w.number(prod(lead))) as batch:
        q, r = (
            Matrix(w, 1, w.variable(batch * rows * inner), inner),
            Matrix(w, 2, w.variable(batch * inner * columns), columns),
        )
        copied(w, Matrix(w, 0, w.variable(batch * rows * columns), columns), a, rows, columns)
        with w.repeat(steps) as c:
            with summed(w, const(0, type_), c + 1, rows) as (rest, row):
                w.set(rest, rest + a[row, c] * a[row, c])
            beta, tau, divisor = reflector(w, a.keep(c, c), rest)
            scales[c, ZERO] = tau
            with w.repeat(rows, c + 1) as row:
                a[row, c] = a[row, c] / divisor
            with w.repeat(columns, c + 1) as column:
                reflect(a, c, column)
            a[c, c] = beta
        with w.repeat(inner) as row, w.repeat(columns) as column:
            r[row, column] = select(apply("le", row, column), a[row, column], const(0, type_))
        with w.repeat(rows) as row, w.repeat(inner) as column:
            q[row, column] = select(apply("eq", row, column), const(1, type_), const(0, type_))
        with w.repeat(steps) as number:
            c = w.variable(steps - 1 - number)
            with w.repeat(inner) as column:
                reflect(q, c, column)
    low.host(w, [x], operands)


def _qr_cases() -> Iterable[Case]:
    for complete in (False, True):
        yield from (Case((x,), {"complete": complete}, 3e-5) for x in _matrices())


QR = define(
    Operator(
        "QR",
        _qr_types,
        _qr_reference,
        _lower_qr,
        {"complete": False},
        cases=_qr_cases,
        work=by_steps(1),
    )
)
"""x = Q R, [..., m, k] and [..., k, n]: k is the smaller of m and n, or with `complete` m. Signs
are LAPACK's.
"""
