"""Matrix products, Gemm and Einsum."""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.frontends.onnx.operators.shape import transposed
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.einsum import einsum
from webkiln.ops.functional.linear import matrix_product


def matmul(call: NodeCall) -> Tensor:
    return matrix_product(call.builder, call.tensor(0), call.tensor(1))


def gemm(call: NodeCall) -> Tensor:
    """alpha a b + beta c; a transposed weight is stored in transposed form."""
    a, b = call.tensor(0), call.tensor(1)
    transpose_b = bool(call.attr("transB", 0))
    if transpose_b and call.builder.is_slot(b):
        b, transpose_b = transposed(call, b, (1, 0)), False
    attrs = {"transpose_a": bool(call.attr("transA", 0)), "transpose_b": transpose_b}
    integer_dtype = a.dtype if not a.dtype.startswith("float") else None
    y = call.op("MatMul", [a, b], attrs)
    y = scale(call, y, call.attr("alpha", 1.0), integer_dtype)
    if not call.has(2):
        return y
    return call.op("Add", [y, scale(call, call.tensor(2), call.attr("beta", 1.0), integer_dtype)])


def scale(call: NodeCall, x: Tensor, factor: float, integer_dtype: str | None = None) -> Tensor:
    """x times a factor. Integers are multiplied as floats, then cast to `integer_dtype`."""
    if factor == 1:
        return x
    return (
        cast(call, cast(call, x, "float32") * factor, integer_dtype)
        if integer_dtype
        else x * factor
    )


def einsum_of(call: NodeCall) -> Tensor:
    return einsum(call.builder, call.tensors(), call.attr("equation"))


LINEAR: dict[str, NodeHandler] = {"MatMul": matmul, "Gemm": gemm, "Einsum": einsum_of}
