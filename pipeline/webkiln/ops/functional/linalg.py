"""Linear algebra, composed of factorizations, which run on the CPU."""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import is_symbolic
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import FLOAT, Argument, floating, operands, tensor
from webkiln.ops.pieces import cast, iota, largest, part, reshaped, total, transposed, widened

LARGEST = 1024
"""The maximum number of rows or columns: a factorization takes cubic time, in one thread."""


def _matrix(b: GraphBuilder, x: Argument, *, square: bool = False) -> Tensor:
    """[..., m, n] in float32 or float64."""
    original = floating(b, x)
    wide = cast(b, original, FLOAT) if original.dtype == "float16" else original
    m, n = wide.shape[-2:] if wide.type.rank > 1 else (0, 0)
    if wide.type.rank < 2 or (square and m != n):
        raise ShapeError(
            f"{b.layer}: x is {list(wide.shape)}, expected {'square ' if square else ''}matrices"
            " [..., m, n]"
        )
    if any(not is_symbolic(size) and size > LARGEST for size in (m, n)):
        raise ShapeError(
            f"{b.layer}: matrices of {m} x {n} are not supported; at most {LARGEST} rows and"
            " columns are factorised on the CPU"
        )
    return wide


def _adjoint(b: GraphBuilder, x: Tensor) -> Tensor:
    rank = x.type.rank
    return transposed(b, x, (*range(rank - 2), rank - 1, rank - 2))


def _diagonal(b: GraphBuilder, x: Tensor) -> Tensor:
    """The diagonals of matrices."""
    *lead, m, n = x.shape
    k = min(m, n)
    flat = reshaped(b, x, (*lead, m * n))
    return part(b, flat, len(lead), 0, k, n + 1)


def _identity(b: GraphBuilder, size: int, dtype: str) -> Tensor:
    numbers = iota(b, size, "int32")
    return cast(b, b.op("Equal", [reshaped(b, numbers, (size, 1)), numbers]), dtype)


def cholesky(b: GraphBuilder, x: Argument, upper: bool = False) -> Tensor:
    """NaN if x is not positive definite; Keras raises an error."""
    y = b.op("Cholesky", [_matrix(b, x, square=True)])
    return _adjoint(b, y) if upper else y


def cholesky_inverse(b: GraphBuilder, x: Argument, upper: bool = False) -> Tensor:
    """The inverse of the matrix with this factor."""
    x = _matrix(b, x, square=True)
    inverse = solve_triangular(
        b, x, widened(b, _identity(b, x.shape[-1], x.dtype), x.shape), lower=not upper
    )
    return b.op(
        "MatMul", [inverse, inverse], {"transpose_b": True} if upper else {"transpose_a": True}
    )


def det(b: GraphBuilder, x: Argument) -> Tensor:
    factors, _, sign = b.ops("LU", [_matrix(b, x, square=True)])
    diagonal = _diagonal(b, factors)
    return b.op(
        "Mul",
        [
            b.op("ReduceProd", [diagonal], {"axes": (diagonal.type.rank - 1,), "keepdims": False}),
            sign,
        ],
    )


def slogdet(b: GraphBuilder, x: Argument) -> list[Tensor]:
    """The sign and the logarithm of the magnitude of the determinant: 0 and minus infinity for a
    singular matrix.
    """
    factors, _, sign = b.ops("LU", [_matrix(b, x, square=True)])
    diagonal = _diagonal(b, factors)
    signs = b.op(
        "ReduceProd",
        [b.op("Sign", [diagonal])],
        {"axes": (diagonal.type.rank - 1,), "keepdims": False},
    )
    return [b.op("Mul", [signs, sign]), total(b, b.op("Log", [b.op("Abs", [diagonal])]), -1)]


def logdet(b: GraphBuilder, x: Argument) -> Tensor:
    """For positive definite matrices; NaN for others."""
    return total(b, b.op("Log", [_diagonal(b, cholesky(b, x))]), -1) * 2.0


def lu_factor(b: GraphBuilder, x: Argument) -> list[Tensor]:
    """The factors, and the position of each row of x among theirs."""
    factors, order, _ = b.ops("LU", [_matrix(b, x)])
    same = b.op("Equal", [reshaped(b, order, (*order.shape, 1)), iota(b, order.shape[-1], "int32")])
    return [
        factors,
        b.op("ArgMax", [cast(b, same, "int32")], {"axis": order.type.rank - 1, "keepdims": False}),
    ]


def solve(b: GraphBuilder, a: Argument, right: Argument) -> Tensor:
    """Gaussian elimination with pivoting. Infinite or NaN if a is singular, where Keras raises."""
    a, right = operands(b, a, right, floating=True)
    a = _matrix(b, a, square=True)
    if right.type.rank == a.type.rank - 1:
        return reshaped(b, solve(b, a, reshaped(b, right, (*right.shape, 1))), right.shape)
    factors, order, _ = b.ops("LU", [a])
    indices = widened(b, reshaped(b, order, (*order.shape, 1)), right.shape)
    moved = b.op(
        "GatherElements", [cast(b, right, a.dtype), indices], {"axis": right.type.rank - 2}
    )
    below = b.op("SolveTriangular", [factors, moved], {"lower": True, "unit": True})
    return b.op("SolveTriangular", [factors, below], {"lower": False})


def inv(b: GraphBuilder, x: Argument) -> Tensor:
    x = _matrix(b, x, square=True)
    return solve(b, x, widened(b, _identity(b, x.shape[-1], x.dtype), x.shape))


def solve_triangular(b: GraphBuilder, a: Argument, right: Argument, lower: bool = False) -> Tensor:
    a, right = operands(b, a, right, floating=True)
    a = _matrix(b, a, square=True)
    if right.type.rank == a.type.rank - 1:
        return reshaped(
            b, solve_triangular(b, a, reshaped(b, right, (*right.shape, 1)), lower), right.shape
        )
    return b.op("SolveTriangular", [a, cast(b, right, a.dtype)], {"lower": lower})


def qr(b: GraphBuilder, x: Argument, mode: str = "reduced") -> list[Tensor]:
    return list(b.ops("QR", [_matrix(b, x)], {"complete": mode == "complete"}))


def eigh(b: GraphBuilder, x: Argument) -> list[Tensor]:
    return list(b.ops("SymmetricEigen", [_matrix(b, x, square=True)]))


def _svd(b: GraphBuilder, x: Tensor, *, full: bool) -> tuple[Tensor, Tensor, Tensor]:
    """U, the singular values and V. A matrix that is not square is replaced by its triangular
    factor.
    """
    m, n = x.shape[-2:]
    if m < n:
        v, values, u = _svd(b, _adjoint(b, x), full=full)
        return u, values, v
    if m == n:
        u, values, v = b.ops("SVD", [x])
        return u, values, v
    q, r = b.ops("QR", [x], {"complete": full})
    inner, values, v = b.ops("SVD", [part(b, r, r.type.rank - 2, 0, n)])
    first = b.op("MatMul", [part(b, q, q.type.rank - 1, 0, n), inner])
    rest = [part(b, q, q.type.rank - 1, n, m - n)] if full else []
    return b.op("Concat", [first, *rest], {"axis": q.type.rank - 1}) if rest else first, values, v


def svd(
    b: GraphBuilder, x: Argument, full_matrices: bool = True, compute_uv: bool = True
) -> Tensor | list[Tensor]:
    u, values, v = _svd(b, _matrix(b, x), full=full_matrices and compute_uv)
    return [u, values, _adjoint(b, v)] if compute_uv else values


def singular_values(b: GraphBuilder, x: Tensor) -> Tensor:
    return _svd(b, _matrix(b, x), full=False)[1]


def _inverted(b: GraphBuilder, values: Tensor, bound: Tensor, above: str) -> Tensor:
    """The reciprocals of singular values; 0 for those that do not exceed the bound."""
    significant = b.op(above, [values, bound])
    zero, one = (b.constant(value, values.dtype) for value in (0.0, 1.0))
    return b.op(
        "Where",
        [significant, b.op("Reciprocal", [b.op("Where", [significant, values, one])]), zero],
    )


def pinv(b: GraphBuilder, x: Argument, rcond: float | None = None) -> Tensor:
    """The Moore-Penrose inverse. Singular values up to `rcond` times the largest count as 0."""
    x = _matrix(b, x)
    share = 10 * max(x.shape[-2:]) * float(np.finfo(x.dtype).eps) if rcond is None else float(rcond)
    u, values, v = _svd(b, x, full=False)
    inverse = _inverted(b, values, largest(b, values, -1, keepdims=True) * share, "Greater")
    scaled = b.op("Mul", [v, reshaped(b, inverse, (*inverse.shape[:-1], 1, inverse.shape[-1]))])
    return b.op("MatMul", [scaled, u], {"transpose_b": True})


def lstsq(b: GraphBuilder, a: Argument, right: Argument, rcond: float | None = None) -> Tensor:
    """The least-squares solution of minimum norm."""
    a, right = operands(b, a, right, floating=True)
    a = _matrix(b, a)
    epsilon = float(np.finfo(a.dtype).eps)
    share = epsilon * max(a.shape) if rcond is None else epsilon if rcond < 0 else float(rcond)
    wide = cast(
        b, right if right.type.rank == 2 else reshaped(b, right, (*right.shape, 1)), a.dtype
    )
    u, values, v = _svd(b, a, full=False)
    inverse = _inverted(b, values, part(b, values, 0, 0, 1) * share, "GreaterEqual")
    inner = b.op(
        "Mul",
        [
            b.op("MatMul", [u, wide], {"transpose_a": True}),
            reshaped(b, inverse, (*inverse.shape, 1)),
        ],
    )
    y = b.op("MatMul", [v, inner])
    return y if right.type.rank == 2 else reshaped(b, y, y.shape[:1])


def matrix_rank(b: GraphBuilder, x: Argument, tol: float | None = None) -> Tensor:
    """The number of singular values above `tol`, by default above the rounding error of the largest
    one.
    """
    x = _matrix(b, x)
    values = singular_values(b, x)
    if tol is None:
        bound = largest(b, values, -1, keepdims=True) * (
            float(np.finfo(x.dtype).eps) * max(x.shape[-2:])
        )
    else:
        bound = b.constant(tol, x.dtype)
    return total(b, cast(b, b.op("Greater", [values, bound]), "int32"), -1)


def norm(
    b: GraphBuilder,
    x: Argument,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    **options: Any,
) -> Tensor:
    """Norms of vectors (one axis) and matrices (axes of rows and columns), for every `ord`."""
    original = tensor(b, x)
    x = cast(b, original, FLOAT) if original.dtype == "int64" else floating(b, original)
    rank = x.type.rank
    axes = tuple(
        a % rank
        for a in (range(rank) if axis is None else [axis] if isinstance(axis, int) else axis)
    )
    degree = {"inf": inf, "-inf": -inf}.get(str(options.get("ord")), options.get("ord"))
    attrs = {"axes": tuple(sorted(axes)), "keepdims": keepdims}
    if len(axes) > 2 and degree is not None:
        raise ShapeError(
            f"{b.layer}: norm over {len(axes)} axes is not supported; use one axis for vectors, two"
            " for matrices"
        )
    if degree is None or (degree == 2 and len(axes) == 1) or (degree == "fro" and len(axes) == 2):
        return b.op("Sqrt", [b.op("ReduceSum", [b.op("Square", [x])], attrs)])
    if len(axes) == 1:
        return _vector_norm(b, x, degree, attrs)
    if degree in (1, -1, inf, -inf):
        within, across = axes if abs(degree) == 1 else axes[::-1]
        sums = total(b, b.op("Abs", [x]), within, keepdims=True)
        op = "ReduceMax" if degree > 0 else "ReduceMin"
        y = b.op(op, [sums], {"axes": (across,), "keepdims": True})
        return (
            y if keepdims else reshaped(b, y, [n for a, n in enumerate(x.shape) if a not in axes])
        )
    if degree not in ("nuc", 2, -2):
        raise ShapeError(
            f"{b.layer}: norm of order {degree!r} is not supported; use 'fro', 'nuc', 1, -1, 2,"
            " -2, inf or -inf for matrices"
        )
    lead = [a for a in range(rank) if a not in axes]
    values = singular_values(b, transposed(b, x, (*lead, *axes)))
    op = {"nuc": "ReduceSum", 2: "ReduceMax", -2: "ReduceMin"}[degree]
    y = b.op(op, [values], {"axes": (len(lead),), "keepdims": False})
    return cast(
        b,
        reshaped(b, y, [1 if a in axes else n for a, n in enumerate(x.shape)]) if keepdims else y,
        x.dtype,
    )


def _vector_norm(
    b: GraphBuilder, x: Tensor, degree: float | str, attrs: dict[str, object]
) -> Tensor:
    if isinstance(degree, str):
        raise ShapeError(f"{b.layer}: norm of order {degree!r} is not defined for vectors")
    size = b.op("Abs", [x])
    if abs(degree) == inf:
        return b.op("ReduceMax" if degree > 0 else "ReduceMin", [size], attrs)
    if degree == 0:
        return b.op("ReduceSum", [cast(b, b.binary("NotEqual", x, 0.0), x.dtype)], attrs)
    powers = size if degree == 1 else b.op("Pow", [size, b.constant(float(degree), x.dtype)])
    y = b.op("ReduceSum", [powers], attrs)
    return y if degree == 1 else b.op("Pow", [y, b.constant(1 / degree, x.dtype)])
