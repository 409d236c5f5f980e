"""Raw operators of linear algebra. https://www.tensorflow.org/api_docs/python/tf/raw_ops"""

from collections.abc import Mapping

from webkiln.frontends.keras.operations import linalg, linear, matrices
from webkiln.frontends.keras.operations.arguments import numbers
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ops.builder import Tensor


def matmul(call: NodeCall) -> Tensor:
    """`MatMul` of matrices, `BatchMatMul*` of stacks of them."""
    pair = call.tensors()
    for number, name in enumerate((("transpose_a", "adj_x"), ("transpose_b", "adj_y"))):
        if any(call.flag(option) for option in name):
            rank = pair[number].type.rank
            pair[number] = call.op("Transpose", [pair[number]], {"perm": (*range(rank - 2), rank - 1, rank - 2)})
    return linear.matmul(call.builder, *pair)


def einsum(call: NodeCall) -> Tensor:
    return linear.einsum(call.builder, *call.tensors(), subscripts=call.attr("equation"))


def band_part(call: NodeCall) -> Tensor:
    """The diagonals from `lower` below to `upper` above the main one; all of a side where it is negative."""
    x, (low,), (high,) = call.tensor(0), call.sizes(1), call.sizes(2)
    if low >= 0:
        x = matrices.triangle(upper=True)(call.builder, x, -low)
    return matrices.triangle(upper=False)(call.builder, x, high) if high >= 0 else x


def diagonal_part(call: NodeCall) -> Tensor:
    """One diagonal, the main one where the node says none."""
    return matrices.diagonal(call.builder, call.tensor(0), _diagonal_number(call), -2, -1)


def _diagonal_number(call: NodeCall) -> int:
    numbers = set(call.sizes(1)) if call.has(1) else {0}
    if len(numbers) != 1:
        raise call.unsupported("takes several diagonals at once", "Take one diagonal at a time")
    return numbers.pop()


def diagonal(call: NodeCall) -> Tensor:
    """[..., N] -> [..., N, N] with zeros elsewhere."""
    b, x = call.builder, call.tensor(0)
    if _diagonal_number(call) or any(
        size not in (-1, x.shape[-1]) for position in (2, 3) if call.has(position) for size in call.sizes(position)
    ):
        raise call.unsupported("puts a vector on another diagonal than the main one of a square matrix", "Pad the matrix behind it")
    size = x.shape[-1]
    eye = b.op("Equal", [numbers(b, size, "int32", 0, 2), numbers(b, size, "int32")])
    return b.op("Where", [eye, b.op("Reshape", [x], {"shape": (*x.shape, 1)}), call.like(0, x)])


def cross(call: NodeCall) -> Tensor:
    return matrices.cross(call.builder, call.tensor(0), call.tensor(1))


def triangular_solve(call: NodeCall) -> Tensor:
    a, y = call.tensors()
    lower, adjoint = call.flag("lower", default=True), call.flag("adjoint")
    if adjoint:
        a = call.op("Transpose", [a], {"perm": (*range(a.type.rank - 2), a.type.rank - 1, a.type.rank - 2)})
    return linalg.solve_triangular(call.builder, a, y, lower=lower != adjoint)


LINEAR: Mapping[str, NodeHandler] = {
    "MatMul": matmul, "BatchMatMul": matmul, "BatchMatMulV2": matmul, "BatchMatMulV3": matmul, "Einsum": einsum, "MatrixBandPart": band_part,
    "BatchMatrixBandPart": band_part, "MatrixDiagPart": diagonal_part, "MatrixDiag": diagonal, "MatrixDiagV2": diagonal, "MatrixDiagV3": diagonal, "MatrixDiagPartV2": diagonal_part, "MatrixDiagPartV3": diagonal_part, "Cross": cross, "MatrixTriangularSolve": triangular_solve,
    "Cholesky": lambda call: linalg.cholesky(call.builder, call.tensor(0)), "MatrixInverse": lambda call: linalg.inv(call.builder, call.tensor(0)),
    "MatrixDeterminant": lambda call: linalg.det(call.builder, call.tensor(0)),
    "MatrixSolve": lambda call: linalg.solve(call.builder, call.tensor(0), call.tensor(1)),
    "Trace": lambda call: matrices.trace(call.builder, call.tensor(0)),
}  # fmt: skip
