"""QR factorisation, as a procedure that runs on the CPU (Golub & Van Loan, Matrix Computations)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, Expr, apply, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.nest.procedure import ProcedureWriter
from webkiln.ops.factorization import (
    Matrix,
    accumulate,
    copy_matrix,
    matrices,
    sample_matrices,
    work_per_row,
)
from webkiln.ops.operator import Case, Cost, Operator, define
from webkiln.ops.sorting import ZERO, writer


@dataclass(frozen=True, slots=True)
class QRFactorization(Attributes):
    complete: bool = False


def _qr_types(attrs: QRFactorization, types: Sequence[Type]) -> tuple[Type, ...]:
    x = types[0]
    lead, rows, columns = matrices(x)
    inner = rows if attrs.complete else min(rows, columns)
    return Type(x.dtype, (*lead, rows, inner)), Type(x.dtype, (*lead, inner, columns))


def _qr_reference(attrs: QRFactorization, x: Array) -> tuple[Array, ...]:
    pairs = [
        np.linalg.qr(matrix, "complete" if attrs.complete else "reduced")
        for matrix in x.astype(np.float64).reshape(-1, *x.shape[-2:])
    ]
    return tuple(
        np.stack([pair[number] for pair in pairs]).reshape(*x.shape[:-2], *pairs[0][number].shape)
        for number in (0, 1)
    )


def reflector(w: ProcedureWriter, first: Expr, rest: Expr) -> tuple[Expr, Expr, Expr]:
    """beta, tau and the divisor of the Householder reflection (5.1.3) of a vector, given its first
    element and the sum of squares of the `rest`. Signs are those of LAPACK.
    """
    one = const(1, first.type)
    is_zero = w.variable(apply("eq", rest, const(0, first.type)))
    norm = apply("sqrt", first * first + rest)
    beta = w.variable(
        select(is_zero, first, select(apply("ge", first, const(0, first.type)), -norm, norm))
    )
    tau = w.variable(
        select(is_zero, const(0, first.type), (beta - first) / select(is_zero, one, beta))
    )
    return beta, tau, w.variable(select(is_zero, one, first - beta))


def _lower_qr(low: Lowering, attrs: QRFactorization) -> None:
    """Householder reflections, then their product, accumulated backwards (5.2.1, 5.1.6)."""
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
        with accumulate(w, target[c, column], c + 1, rows) as (total, row):
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
        copy_matrix(w, Matrix(w, 0, w.variable(batch * rows * columns), columns), a, rows, columns)
        with w.repeat(steps) as c:
            with accumulate(w, const(0, type_), c + 1, rows) as (rest, row):
                w.set(rest, rest + a[row, c] * a[row, c])
            beta, tau, divisor = reflector(w, a.copy(c, c), rest)
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
        yield from (Case((x,), {"complete": complete}, 3e-5) for x in sample_matrices())


QR = define(
    Operator(
        "QR",
        _qr_types,
        _qr_reference,
        _lower_qr,
        QRFactorization,
        cases=_qr_cases,
        cost=Cost(work_per_row(1)),
    )
)
"""QR factorisation of x [..., m, n]. Outputs: Q [..., m, k] and R [..., k, n], with k = min(m, n)
or, with the attribute `complete`, k = m. Signs are those of LAPACK.
"""
