"""Singular values of matrices, as a procedure that runs on the CPU (Golub & Van Loan, Matrix
Computations, 8.6).
"""

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from webkiln.ir.graph import Attributes
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
from webkiln.ops.factor import Matrix, copied, square
from webkiln.ops.operator import Case, Operator, define
from webkiln.ops.order import FALSE, TRUE, ZERO, writer


def _svd_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    square(types[0])
    return types[0], Type(types[0].dtype, types[0].shape[:-1]), types[0]


def _lower_svd(low: Lowering, attrs: Attributes) -> None:
    """Rotations from both sides until a sweep finds nothing (Kogbetliantz 1955; Jacobi's method,
    8.5 and 8.6.4).
    """
    x = low.materialize(low.inputs[0])
    n, type_ = x[-1], COMPUTE[x.type.dtype]
    work = low.temporary(x.type.dtype, (n, n))
    operands = (*low.outputs, work)
    w = writer([x], operands)
    size = w.number(n)
    with w.repeat(w.number(prod(x.shape[:-2]))) as batch:
        whole = w.variable(batch * size * size)
        u, v, a = Matrix(w, 1, whole, size), Matrix(w, 3, whole, size), Matrix(w, 4, ZERO, size)
        values = Matrix(w, 2, w.variable(batch * size), ONE)
        copied(w, Matrix(w, 0, whole, size), a, size, size)
        scale = divide_by_largest(w, a, size, lower=False)
        set_identity(w, u, size, type_)
        set_identity(w, v, size, type_)
        most = w.variable(const(0, type_))
        with w.repeat(size) as k:
            w.set(most, apply("max", most, apply("abs", a[k, k])))
        going, left = w.variable(TRUE), w.variable(const(ITERATIONS, INT))
        with w.while_(apply("and", going, apply("gt", left, ZERO))):
            w.set(left, left - 1)
            w.set(going, FALSE)
            with w.repeat(size, ONE) as p, w.repeat(p) as q:
                bound = apply(
                    "max",
                    most * (2 * precision_of(x)),
                    const(float(np.finfo(x.type.dtype).tiny), type_),
                )
                with w.when(
                    apply("gt", apply("max", apply("abs", a[p, q]), apply("abs", a[q, p])), bound)
                ):
                    w.set(going, TRUE)
                    _annihilated(w, a, u, v, p, q, size)
                    w.set(
                        most,
                        apply(
                            "max", most, apply("max", apply("abs", a[p, p]), apply("abs", a[q, q]))
                        ),
                    )
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


def _annihilated(
    w: ProcedureWriter, a: Matrix, u: Matrix, v: Matrix, p: Expr, q: Expr, size: Expr
) -> None:
    """The 2 x 2 matrix at p and q made diagonal: made symmetric by a rotation, then by Jacobi's."""
    pp, pq, qp, qq = a.keep(p, p), a.keep(p, q), a.keep(q, p), a.keep(q, q)
    zero, one = const(0, pp.type), const(1, pp.type)
    across = w.variable(qp - pq)
    plain = w.variable(apply("eq", across, zero))
    slope = w.variable((pp + qq) / select(plain, one, across))
    length = apply("sqrt", slope * slope + one)
    s1, c1 = (
        w.variable(select(plain, zero, one / length)),
        w.variable(select(plain, one, slope / length)),
    )
    x, y, z = (
        w.variable(c1 * pp + s1 * qp),
        w.variable(c1 * pq + s1 * qq),
        w.variable(c1 * qq - s1 * pq),
    )
    done = w.variable(apply("eq", y, zero))
    tau = w.variable((x - z) / (2.0 * select(done, one, apply("abs", y))))
    root = apply("sqrt", tau * tau + one)
    t = w.variable(one / select(apply("gt", tau, zero), tau + root, tau - root))
    c = w.variable(select(done, one, one / apply("sqrt", t * t + one)))
    signed = select(apply("gt", y, zero), -t, t)
    s = w.variable(select(done, zero, signed * c))
    c2, s2 = w.variable(c1 * c + s1 * s), w.variable(s1 * c - c1 * s)
    rotate(w, a, size, p, q, c2, -s2, rows=True)
    rotate(w, u, size, p, q, c2, -s2)
    rotate(w, a, size, p, q, c, s)
    rotate(w, v, size, p, q, c, s)


def _svd_reference(attrs: Attributes, x: Array) -> tuple[Array, ...]:
    """The singular vectors of the right side from the rotations, the others from them."""
    u, values, v = np.zeros(x.shape), np.zeros(x.shape[:-1]), np.zeros(x.shape)
    for place in np.ndindex(*x.shape[:-2]):
        u[place], values[place], v[place] = _svd_of(
            x[place].astype(np.float64), 2 * float(np.finfo(x.dtype).eps)
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
                turn = (
                    np.arctan(2 * m[0, 1] / (m[0, 0] - m[1, 1])) / 2
                    if m[0, 0] != m[1, 1]
                    else np.pi / 4 * -np.sign(m[0, 1])
                )
                right = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
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
    Operator("SVD", _svd_types, _svd_reference, _lower_svd, cases=_svd_cases, work=iteration_work)
)
"""x = U S V^T of square matrices: U, the singular values, descending, and V."""
