"""The determinant by elimination, without a factorization on the CPU."""

from math import prod

from webkiln.ir.dim import known
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.slices import sliced
from webkiln.ops.pieces import cast, iota, reshaped


def determinant(b: GraphBuilder, a: Tensor) -> Tensor:
    """Gaussian elimination with partial pivoting, one column per step."""
    size = known(a.shape[-1], "the size of the matrix")
    lead = a.shape[:-2]
    rest = reshaped(b, a, (prod(lead), size, size))
    total = b.op("Broadcast", [b.constant(1, a.dtype)], {"shape": (prod(lead), 1, 1)})
    for remaining in range(size, 0, -1):
        column = sliced(b, rest, 2, 0, 1)
        pivot_row = b.op("ArgMax", [b.op("Abs", [column])], {"axis": 1, "keepdims": True})
        rows = reshaped(b, iota(b, remaining, "int32"), (1, remaining, 1))
        is_pivot = cast(b, b.op("Equal", [rows, pivot_row]), a.dtype)
        pivot = b.op("ReduceSum", [b.op("Mul", [rest, is_pivot])], {"axes": (1,), "keepdims": True})
        head = sliced(b, pivot, 2, 0, 1)
        sign = cast(b, b.op("Mod", [pivot_row, b.constant(2, "int32")]), a.dtype) * -2.0 + 1.0
        total = total * head * sign
        if remaining == 1:
            break
        swapped = b.op(
            "Where",
            [
                b.op("Less", [sliced(b, rows, 1, 0, remaining - 1), pivot_row]),
                sliced(b, rest, 1, 0, remaining - 1),
                sliced(b, rest, 1, 1, remaining - 1),
            ],
        )
        factor = sliced(b, swapped, 2, 0, 1) / b.op(
            "Where", [b.op("Equal", [head, b.constant(0, a.dtype)]), b.constant(1, a.dtype), head]
        )
        rest = sliced(b, swapped, 2, 1, remaining - 1) - factor * sliced(
            b, pivot, 2, 1, remaining - 1
        )
    return reshaped(b, total, lead)
