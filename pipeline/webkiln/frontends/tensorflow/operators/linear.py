"""Raw operators of linear algebra. https://www.tensorflow.org/api_docs/python/tf/raw_ops"""

from collections.abc import Mapping

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import linalg, linear, matrices
from webkiln.ops.functional.operands import numbers


def matmul(call: NodeCall) -> Tensor:
    """`MatMul` of matrices, `BatchMatMul*` of batches."""
    pair = call.tensors()
    for number, name in enumerate((("transpose_a", "adj_x"), ("transpose_b", "adj_y"))):
        if any(call.flag(option) for option in name):
            rank = pair[number].type.rank
            pair[number] = call.op(
                "Transpose", [pair[number]], {"perm": (*range(rank - 2), rank - 1, rank - 2)}
            )
    return linear.matmul(call.builder, *pair)


def einsum(call: NodeCall) -> Tensor:
    return linear.einsum(call.builder, *call.tensors(), subscripts=call.attr("equation"))


def band_part(call: NodeCall) -> Tensor:
    """The diagonals from `lower` below to `upper` above the main one. A negative bound includes
    all.
    """
    x, (low,), (high,) = call.tensor(0), call.integers(1), call.integers(2)
    if low >= 0:
        x = matrices.triangle(upper=True)(call.builder, x, -low)
    return matrices.triangle(upper=False)(call.builder, x, high) if high >= 0 else x


def diagonal_part(call: NodeCall) -> Tensor:
    """One diagonal; by default the main one."""
    return matrices.diagonal(call.builder, call.tensor(0), _diagonal_number(call), -2, -1)


def _diagonal_number(call: NodeCall, position: int = 1) -> int:
    numbers = set(call.integers(position)) if call.has(position) else {0}
    if len(numbers) != 1:
        raise call.unsupported(
            "requests several diagonals at once", "Request one diagonal at a time"
        )
    return numbers.pop()


def diagonal(call: NodeCall) -> Tensor:
    """[..., N] as a diagonal of a square matrix of zeros."""
    x, number = call.tensor(0), _diagonal_number(call)
    size = x.shape[-1] + abs(number)
    if any(
        requested not in (-1, size)
        for position in (2, 3)
        if call.has(position)
        for requested in call.sizes(position)
    ):
        raise call.unsupported(
            "writes a diagonal into a matrix that is not square", "Pad the matrix after it"
        )
    return call.op(
        "Where",
        [
            _diagonal_mask(call, (size, size), number),
            _along(call, x, size, number),
            call.like(0, x),
        ],
    )


def set_diagonal(call: NodeCall) -> Tensor:
    """Replace a diagonal of a matrix; by default the main one."""
    x, y = call.tensor(0), call.tensor(1)
    number = _diagonal_number(call, 2)
    rows, columns = x.shape[-2:]
    return call.op(
        "Where",
        [
            _diagonal_mask(call, (rows, columns), number),
            _along(call, y, rows if number >= 0 else columns, number),
            x,
        ],
    )


def _diagonal_mask(call: NodeCall, shape: tuple[Size, Size], number: Size) -> Tensor:
    """A mask of a diagonal."""
    b, (rows, columns) = call.builder, shape
    return b.op("Equal", [numbers(b, rows, "int32", 0, 2) + number, numbers(b, columns, "int32")])


def _along(call: NodeCall, x: Tensor, size: Size, number: Size) -> Tensor:
    """The elements of a diagonal, indexed by row, or by column below the main diagonal, and padded
    to a length.
    """
    missing = size - x.shape[-1]
    if is_symbolic(missing) or missing:
        none = (0,) * x.type.rank
        x = call.op("Pad", [x], {"low": none, "high": (*none[1:], missing), "value": 0})
    return call.op(
        "Reshape", [x], {"shape": (*x.shape, 1) if number >= 0 else (*x.shape[:-1], 1, x.shape[-1])}
    )


def cross(call: NodeCall) -> Tensor:
    return matrices.cross(call.builder, call.tensor(0), call.tensor(1))


def adjoint_of(call: NodeCall, x: Tensor) -> Tensor:
    """Transposed matrices; numbers are real."""
    rank = x.type.rank
    return call.op("Transpose", [x], {"perm": (*range(rank - 2), rank - 1, rank - 2)})


def inverse(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return linalg.inv(call.builder, adjoint_of(call, x) if call.flag("adjoint") else x)


def solve(call: NodeCall) -> Tensor:
    a, y = call.tensors()
    return linalg.solve(call.builder, adjoint_of(call, a) if call.flag("adjoint") else a, y)


def triangular_solve(call: NodeCall) -> Tensor:
    a, y = call.tensors()
    lower, adjoint = call.flag("lower", default=True), call.flag("adjoint")
    a = adjoint_of(call, a) if adjoint else a
    return linalg.solve_triangular(call.builder, a, y, lower=lower != adjoint)


LINEAR: Mapping[str, NodeHandler] = {
    "MatMul": matmul,
    "BatchMatMul": matmul,
    "BatchMatMulV2": matmul,
    "BatchMatMulV3": matmul,
    "Einsum": einsum,
    "MatrixBandPart": band_part,
    "BatchMatrixBandPart": band_part,
    "MatrixDiagPart": diagonal_part,
    "MatrixDiag": diagonal,
    "MatrixDiagV2": diagonal,
    "MatrixDiagV3": diagonal,
    "MatrixDiagPartV2": diagonal_part,
    "MatrixDiagPartV3": diagonal_part,
    "Cross": cross,
    "MatrixTriangularSolve": triangular_solve,
    "Cholesky": lambda call: linalg.cholesky(call.builder, call.tensor(0)),
    "MatrixInverse": inverse,
    "MatrixSetDiag": set_diagonal,
    "MatrixSetDiagV2": set_diagonal,
    "MatrixSetDiagV3": set_diagonal,
    "LogMatrixDeterminant": lambda call: linalg.slogdet(call.builder, call.tensor(0)),
    "MatrixDeterminant": lambda call: linalg.det(call.builder, call.tensor(0)),
    "MatrixSolve": solve,
    "Trace": lambda call: matrices.trace(call.builder, call.tensor(0)),
}
