"""Eigenvalues of symmetric matrices, as a procedure that runs on the CPU.

Section numbers refer to Golub & Van Loan, Matrix Computations. Eigenvectors and singular vectors
are unique only up to their signs, which depend on the algorithm. The algorithms here and in
`ops/svd.py` are those of Eigen, the library of TensorFlow, so that signs agree for `eigh` of any
size, and for `svd` of square matrices with fewer than 16 rows.
"""

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Size
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, Expr, apply, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.nest.procedure import ProcedureWriter
from webkiln.nest.steps import View
from webkiln.ops.budget import CALL
from webkiln.ops.factorization import Matrix, accumulate, copy_matrix, square
from webkiln.ops.operator import Case, Cost, Operator, define
from webkiln.ops.qr import reflector
from webkiln.ops.sorting import FALSE, TRUE, ZERO, writer

ONE = const(1, INT)
ITERATIONS = 30
"""The maximum number of QR steps per eigenvalue, and of Jacobi sweeps."""


def precision_of(view: View) -> float:
    return float(np.finfo(view.type.dtype).eps)


def rotate(
    w: ProcedureWriter,
    matrix: Matrix,
    count: Expr,
    p: Expr,
    q: Expr,
    c: Expr,
    s: Expr,
    *,
    rows: bool = False,
) -> None:
    """Replace the columns (or `rows`) p and q of a matrix by c p - s q and s p + c q."""
    with w.repeat(count) as k:
        first, second = ((p, k), (q, k)) if rows else ((k, p), (k, q))
        x, y = matrix.copy(*first), matrix.copy(*second)
        matrix[first] = c * x - s * y
        matrix[second] = s * x + c * y


def sort_columns(
    w: ProcedureWriter, count: Expr, values: Matrix, vectors: Sequence[Matrix], before: str
) -> None:
    """Selection sort of `values` by the comparison `before`, with the columns of `vectors`."""
    with w.repeat(count) as i:
        best = w.variable(i)
        with (
            w.repeat(count, i + 1) as k,
            w.when(apply(before, values[k, ZERO], values[best, ZERO])),
        ):
            w.set(best, k)
        with w.when(apply("ne", best, i)):
            swapped = values.copy(i, ZERO)
            values[i, ZERO] = values[best, ZERO]
            values[best, ZERO] = swapped
            for matrix in vectors:
                with w.repeat(count) as row:
                    swapped = matrix.copy(row, i)
                    matrix[row, i] = matrix[row, best]
                    matrix[row, best] = swapped


def divide_by_largest(w: ProcedureWriter, matrix: Matrix, count: Expr, *, lower: bool) -> Expr:
    """Divide a matrix, or its `lower` triangle, by its largest absolute value (1 if all elements
    are 0). Returns the divisor.
    """
    largest = w.variable(const(0, COMPUTE[(*w.inputs, *w.outputs)[matrix.operand]]))
    with w.repeat(count) as row, w.repeat(row + 1 if lower else count) as column:
        w.set(largest, apply("max", largest, apply("abs", matrix[row, column])))
    with w.when(apply("eq", largest, const(0, largest.type))):
        w.set(largest, const(1, largest.type))
    with w.repeat(count) as row, w.repeat(row + 1 if lower else count) as column:
        matrix[row, column] = matrix[row, column] / largest
    return largest


def set_identity(w: ProcedureWriter, matrix: Matrix, count: Expr, type_: str) -> None:
    with w.repeat(count) as row, w.repeat(count) as column:
        matrix[row, column] = select(apply("eq", row, column), const(1, type_), const(0, type_))


def _eigen_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    square(types[0])
    return Type(types[0].dtype, types[0].shape[:-1]), types[0]


def _lower_eigen(low: Lowering, attrs: Attributes) -> None:
    """Tridiagonalisation by reflections (8.3.1), then QR steps with the Wilkinson shift (8.3.3)."""
    x = low.materialize(low.inputs[0])
    n, dtype, type_ = x[-1], x.type.dtype, COMPUTE[x.type.dtype]
    work, off_diagonal, taus = (
        low.temporary(dtype, (n, n)),
        low.temporary(dtype, (n,)),
        low.temporary(dtype, (n,)),
    )
    operands = (*low.outputs, work, off_diagonal, taus)
    w = writer([x], operands)
    size = w.number(n)
    zero = const(0, type_)
    with w.repeat(w.number(prod(x.shape[:-2]))) as batch:
        base = w.variable(batch * size * size)
        d, q = Matrix(w, 1, w.variable(batch * size), ONE), Matrix(w, 2, base, size)
        a, e, p = Matrix(w, 3, ZERO, size), Matrix(w, 4, ZERO, ONE), Matrix(w, 5, ZERO, ONE)
        copy_matrix(w, Matrix(w, 0, base, size), a, size, size)
        scale = divide_by_largest(w, a, size, lower=True)
        set_identity(w, q, size, type_)
        with w.repeat(size - 1) as c:
            _reflect(w, a, e, p, q, c, size, type_)
        with w.repeat(size) as k:
            d[k, ZERO] = a[k, k]
        end, left = w.variable(size - 1), w.variable(size * ITERATIONS)
        with w.while_(apply("and", apply("gt", end, ZERO), apply("gt", left, ZERO))):
            w.set(left, left - 1)
            with w.repeat(size - 1) as k:
                scaled = w.variable(e[k, ZERO] / precision_of(x))
                neighbours = apply("abs", d[k, ZERO]) + apply("abs", d[k + 1, ZERO])
                with w.when(apply("le", scaled * scaled, neighbours)):
                    e[k, ZERO] = zero
            is_coupled = w.variable(FALSE)
            with w.while_(apply("and", apply("gt", end, ZERO), apply("not", is_coupled))):
                w.set(is_coupled, apply("ne", e[end - 1, ZERO], zero))
                with w.when(apply("not", is_coupled)):
                    w.set(end, end - 1)
            with w.when(apply("gt", end, ZERO)):
                _step(w, d, e, q, end, size, zero)
        sort_columns(w, size, d, [q], "lt")
        with w.repeat(size) as k:
            d[k, ZERO] = d[k, ZERO] * scale
    low.host(w, [x], operands)


def _reflect(
    w: ProcedureWriter, a: Matrix, e: Matrix, p: Matrix, q: Matrix, c: Expr, size: Expr, type_: str
) -> None:
    """One step of the tridiagonalisation: reflect column c of the lower triangle of `a`, so that
    its only element below the diagonal is `e`, and multiply q by the reflection. `p` is scratch
    memory.
    """
    first = w.variable(c + 1)
    with accumulate(w, const(0, type_), c + 2, size) as (rest, row):
        w.set(rest, rest + a[row, c] * a[row, c])
    beta, tau, divisor = reflector(w, a.copy(first, c), rest)
    e[c, ZERO] = beta
    with w.when(apply("ne", tau, const(0, type_))):
        a[first, c] = const(1, type_)
        with w.repeat(size, c + 2) as row:
            a[row, c] = a[row, c] / divisor
        with w.repeat(size, first) as row:
            with accumulate(w, const(0, type_), first, size) as (total, k):
                lower = apply("ge", row, k)
                w.set(total, total + a[select(lower, row, k), select(lower, k, row)] * a[k, c])
            p[row, ZERO] = total * tau
        with accumulate(w, const(0, type_), first, size) as (dot, k):
            w.set(dot, dot + p[k, ZERO] * a[k, c])
        share = w.variable(dot * tau * -0.5)
        with w.repeat(size, first) as row:
            p[row, ZERO] = p[row, ZERO] + share * a[row, c]
        with w.repeat(size, first) as row, w.repeat(row + 1, first) as k:
            a[row, k] = a[row, k] - a[row, c] * p[k, ZERO] - p[row, ZERO] * a[k, c]
        with w.repeat(size) as row:
            with accumulate(w, const(0, type_), first, size) as (dot, k):
                w.set(dot, dot + q[row, k] * a[k, c])
            w.set(dot, dot * tau)
            with w.repeat(size, first) as k:
                q[row, k] = q[row, k] - dot * a[k, c]


def _step(
    w: ProcedureWriter, d: Matrix, e: Matrix, q: Matrix, end: Expr, size: Expr, zero: Expr
) -> None:
    """One implicit QR step on the unreduced block that ends at `end`."""
    start = w.variable(end - 1)
    going = w.variable(TRUE)
    with w.while_(apply("and", apply("gt", start, ZERO), going)):
        w.set(going, apply("ne", e[start - 1, ZERO], zero))
        with w.when(going):
            w.set(start, start - 1)
    half, last = w.variable((d[end - 1, ZERO] - d[end, ZERO]) * 0.5), e.copy(end - 1, ZERO)
    norm = apply("sqrt", half * half + last * last)
    denominator = select(apply("gt", half, zero), half + norm, half - norm)
    is_zero = apply("eq", half, zero)
    shift = w.variable(
        d[end, ZERO]
        - select(
            is_zero,
            apply("abs", last),
            last * last / select(is_zero, const(1, zero.type), denominator),
        )
    )
    x, z = w.variable(d[start, ZERO] - shift), e.copy(start, ZERO)
    k = w.variable(start)
    with w.while_(apply("and", apply("lt", k, end), apply("ne", z, zero))):
        c, s = _givens(w, x, z)
        dk, ek, dk1 = d.copy(k, ZERO), e.copy(k, ZERO), d.copy(k + 1, ZERO)
        sdk, dkp = w.variable(s * dk + c * ek), w.variable(s * ek + c * dk1)
        d[k, ZERO] = c * (c * dk - s * ek) - s * (c * ek - s * dk1)
        d[k + 1, ZERO] = s * sdk + c * dkp
        e[k, ZERO] = c * sdk - s * dkp
        with w.when(apply("gt", k, start)):
            e[k - 1, ZERO] = c * e[k - 1, ZERO] - s * z
        w.set(x, e[k, ZERO])
        with w.when(apply("lt", k, end - 1)):
            w.set(z, -s * e[k + 1, ZERO])
            e[k + 1, ZERO] = c * e[k + 1, ZERO]
        rotate(w, q, size, k, k + 1, c, s)
        w.set(k, k + 1)


def _givens(w: ProcedureWriter, x: Expr, z: Expr) -> tuple[Expr, Expr]:
    """c and s of the Givens rotation (5.1.3) that eliminates a nonzero z."""
    one = const(1, x.type)
    x_dominates = apply("gt", apply("abs", x), apply("abs", z))
    numerator, denominator = select(x_dominates, z, x), select(x_dominates, x, z)
    t = w.variable(numerator / denominator)
    norm = apply("sqrt", t * t + one)
    u = w.variable(one / select(apply("lt", denominator, const(0, x.type)), -norm, norm))
    return w.variable(select(x_dominates, u, t * u)), w.variable(select(x_dominates, -t * u, -u))


def _eigen_reference(attrs: Attributes, x: Array) -> tuple[Array, ...]:
    """The same steps, as operations on entire matrices."""
    values, vectors = np.zeros(x.shape[:-1]), np.zeros(x.shape)
    for batch in np.ndindex(*x.shape[:-2]):
        lower = np.tril(x[batch].astype(np.float64))
        scale = np.abs(lower).max(initial=0) or 1
        d, q = _eigen_of((lower + np.tril(lower, -1).T) / scale, float(np.finfo(x.dtype).eps))
        values[batch], vectors[batch] = d * scale, q
    return values, vectors


def _eigen_of(t: Array, precision: float) -> tuple[Array, Array]:
    n, q = len(t), np.eye(len(t))
    for c in range(n - 2):
        v = t[c + 1 :, c].copy()
        if np.any(v[1:]):
            v[0] += np.linalg.norm(v) * (1 if v[0] >= 0 else -1)
            h = np.eye(n)
            h[c + 1 :, c + 1 :] -= 2 * np.outer(v, v) / (v @ v)
            t, q = h @ t @ h, q @ h
    end = n - 1
    for _ in range(ITERATIONS * n):
        d, e = np.diag(t), np.diag(t, -1).copy()
        e[(e / precision) ** 2 <= np.abs(d[:-1]) + np.abs(d[1:])] = 0
        t = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
        while end > 0 and e[end - 1] == 0:
            end -= 1
        if end == 0:
            break
        start = end - 1
        while start > 0 and e[start - 1] != 0:
            start -= 1
        half, last = (d[end - 1] - d[end]) / 2, e[end - 1]
        shift = d[end] - (
            last**2 / (half + np.copysign(np.hypot(half, last), half)) if half else abs(last)
        )
        x, z = d[start] - shift, e[start]
        for k in range(start, end):
            c, s = x / np.hypot(x, z), -z / np.hypot(x, z)
            g = np.array([[c, s], [-s, c]])
            t[[k, k + 1]] = g.T @ t[[k, k + 1]]
            for matrix in (t, q):
                matrix[:, [k, k + 1]] = matrix[:, [k, k + 1]] @ g
            if k == end - 1 or t[k + 2, k] == 0:
                break
            x, z = t[k + 1, k], t[k + 2, k]
    order = np.argsort(np.diag(t), kind="stable")
    return np.diag(t)[order], q[:, order]


def _eigen_cases() -> Iterable[Case]:
    rng = np.random.default_rng(31)
    for shape in ((4, 4), (2, 3, 3), (6, 6)):
        x = rng.standard_normal(shape)
        yield Case(((x + np.swapaxes(x, -1, -2)).astype(np.float32),), tolerance=1e-4)
    yield Case((np.diag([3.0, -1.0, 2.0]),), name="diagonal")
    yield Case((np.zeros((2, 2), np.float32),), name="zeros")
    yield Case((np.array([[2.0]], np.float32),), name="one")


def iteration_work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """At most a third of the iterations. Each rotates pairs of rows and columns, in Python."""
    size = inputs[0].shape[-1]
    return ITERATIONS // 3 * inputs[0].size * (CALL + size)


EIGEN = define(
    Operator(
        "SymmetricEigen",
        _eigen_types,
        _eigen_reference,
        _lower_eigen,
        Attributes,
        cases=_eigen_cases,
        cost=Cost(iteration_work),
    )
)
"""Eigenvalues of symmetric matrices x [..., n, n], which are read from the lower triangle.

Outputs: the eigenvalues [..., n], ascending, and the eigenvectors [..., n, n], as columns.
"""
