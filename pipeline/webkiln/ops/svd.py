"""Singular values of matrices, as a procedure that runs on the CPU (Golub & Van Loan, Matrix
Computations, 8.6).
"""

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, Expr, apply, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.nest.procedure import ProcedureWriter
from webkiln.ops.eigen import (
    ITERATIONS,
    ONE,
    divide_by_largest,
    iteration_work,
    precision_of,
    rotate,
    set_identity,
    sort_columns,
)
from webkiln.ops.factorization import Matrix, copy_matrix, square
from webkiln.ops.operator import Case, Cost, Operator, define
from webkiln.ops.sorting import FALSE, TRUE, ZERO, writer


def _svd_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    square(types[0])
    return types[0], Type(types[0].dtype, types[0].shape[:-1]), types[0]


def _lower_svd(low: Lowering, attrs: Attributes) -> None:
    """Two-sided Jacobi sweeps until nothing is rotated (Kogbetliantz 1955; 8.5 and 8.6.4)."""
    x = low.materialize(low.inputs[0])
    n, type_ = x[-1], COMPUTE[x.type.dtype]
    work = low.temporary(x.type.dtype, (n, n))
    operands = (*low.outputs, work)
    w = writer([x], operands)
    size = w.number(n)
    with w.repeat(w.number(prod(x.shape[:-2]))) as batch:
        base = w.variable(batch * size * size)
        u, v, a = Matrix(w, 1, base, size), Matrix(w, 3, base, size), Matrix(w, 4, ZERO, size)
        values = Matrix(w, 2, w.variable(batch * size), ONE)
        copy_matrix(w, Matrix(w, 0, base, size), a, size, size)
        scale = divide_by_largest(w, a, size, lower=False)
        set_identity(w, u, size, type_)
        set_identity(w, v, size, type_)
        largest = w.variable(const(0, type_))
        with w.repeat(size) as k:
            w.set(largest, apply("max", largest, apply("abs", a[k, k])))
        going, left = w.variable(TRUE), w.variable(const(ITERATIONS, INT))
        with w.while_(apply("and", going, apply("gt", left, ZERO))):
            w.set(left, left - 1)
            w.set(going, FALSE)
            with w.repeat(size, ONE) as p, w.repeat(p) as q:
                bound = apply(
                    "max",
                    largest * (2 * precision_of(x)),
                    const(float(np.finfo(x.type.dtype).tiny), type_),
                )
                with w.when(
                    apply("gt", apply("max", apply("abs", a[p, q]), apply("abs", a[q, p])), bound)
                ):
                    w.set(going, TRUE)
                    _diagonalise(w, a, u, v, p, q, size)
                    diagonal = apply("max", apply("abs", a[p, p]), apply("abs", a[q, q]))
                    w.set(largest, apply("max", largest, diagonal))
        with w.repeat(size) as k:
            sign = w.variable(
                select(apply("lt", a[k, k], const(0, type_)), const(-1, type_), const(1, type_))
            )
            values[k, ZERO] = a[k, k] * sign
            with w.repeat(size) as row:
                u[row, k] = u[row, k] * sign
        sort_columns(w, size, values, [u, v], "gt")
        with w.repeat(size) as k:
            values[k, ZERO] = values[k, ZERO] * scale
    low.host(w, [x], operands)


def _diagonalise(
    w: ProcedureWriter, a: Matrix, u: Matrix, v: Matrix, p: Expr, q: Expr, size: Expr
) -> None:
    """Diagonalise the 2 x 2 submatrix at p and q: a rotation makes it symmetric, then a Jacobi
    rotation makes it diagonal.
    """
    pp, pq, qp, qq = a.copy(p, p), a.copy(p, q), a.copy(q, p), a.copy(q, q)
    zero, one = const(0, pp.type), const(1, pp.type)
    difference = w.variable(qp - pq)
    is_symmetric = w.variable(apply("eq", difference, zero))
    slope = w.variable((pp + qq) / select(is_symmetric, one, difference))
    norm = apply("sqrt", slope * slope + one)
    s1, c1 = (
        w.variable(select(is_symmetric, zero, one / norm)),
        w.variable(select(is_symmetric, one, slope / norm)),
    )
    x, y, z = (
        w.variable(c1 * pp + s1 * qp),
        w.variable(c1 * pq + s1 * qq),
        w.variable(c1 * qq - s1 * pq),
    )
    is_diagonal = w.variable(apply("eq", y, zero))
    tau = w.variable((x - z) / (2.0 * select(is_diagonal, one, apply("abs", y))))
    root = apply("sqrt", tau * tau + one)
    t = w.variable(one / select(apply("gt", tau, zero), tau + root, tau - root))
    c = w.variable(select(is_diagonal, one, one / apply("sqrt", t * t + one)))
    signed = select(apply("gt", y, zero), -t, t)
    s = w.variable(select(is_diagonal, zero, signed * c))
    c2, s2 = w.variable(c1 * c + s1 * s), w.variable(s1 * c - c1 * s)
    rotate(w, a, size, p, q, c2, -s2, rows=True)
    rotate(w, u, size, p, q, c2, -s2)
    rotate(w, a, size, p, q, c, s)
    rotate(w, v, size, p, q, c, s)


def _svd_reference(attrs: Attributes, x: Array) -> tuple[Array, ...]:
    """The same rotations, as operations on pairs of rows and columns."""
    u, values, v = np.zeros(x.shape), np.zeros(x.shape[:-1]), np.zeros(x.shape)
    for batch in np.ndindex(*x.shape[:-2]):
        u[batch], values[batch], v[batch] = _svd_of(
            x[batch].astype(np.float64), 2 * float(np.finfo(x.dtype).eps)
        )
    return u, values, v


def _svd_of(a: Array, precision: float) -> tuple[Array, Array, Array]:
    n = len(a)
    a, u, v = a.copy(), np.eye(n), np.eye(n)
    for _ in range(ITERATIONS):
        going = False
        for p in range(1, n):
            for q in range(p):
                bound = precision * np.abs(np.diag(a)).max()
                if max(abs(a[p, q]), abs(a[q, p])) <= bound:
                    continue
                going, pair = True, [p, q]
                m = a[np.ix_(pair, pair)]
                angle = (
                    np.arctan2(m[1, 0] - m[0, 1], m[0, 0] + m[1, 1]) if m[1, 0] != m[0, 1] else 0.0
                )
                angle -= np.pi if m[1, 0] < m[0, 1] else 0
                first = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
                m = first @ m
                jacobi_angle = (
                    np.arctan(2 * m[0, 1] / (m[0, 0] - m[1, 1])) / 2
                    if m[0, 0] != m[1, 1]
                    else np.pi / 4 * -np.sign(m[0, 1])
                )
                cos, sin = np.cos(jacobi_angle), np.sin(jacobi_angle)
                right = np.array([[cos, -sin], [sin, cos]])
                left = right.T @ first
                a[pair] = left @ a[pair]
                u[:, pair] = u[:, pair] @ left.T
                a[:, pair], v[:, pair] = a[:, pair] @ right, v[:, pair] @ right
        if not going:
            break
    signs = np.where(np.diag(a) < 0, -1, 1)
    values = np.diag(a) * signs
    order = np.argsort(-values, kind="stable")
    return (u * signs)[:, order], values[order], v[:, order]


def _svd_cases() -> Iterable[Case]:
    rng = np.random.default_rng(32)
    for shape in ((4, 4), (2, 3, 3), (7, 7)):
        yield Case((rng.standard_normal(shape).astype(np.float32),), tolerance=1e-4)
    yield Case((np.zeros((2, 2), np.float32),), name="zeros")


SVD = define(
    Operator(
        "SVD",
        _svd_types,
        _svd_reference,
        _lower_svd,
        Attributes,
        cases=_svd_cases,
        cost=Cost(iteration_work),
    )
)
"""Singular value decomposition x = U S V^T of square matrices [..., n, n].

Outputs: U [..., n, n], the singular values [..., n], descending, and V [..., n, n].
"""
