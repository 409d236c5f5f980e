"""Reductions, cumulative sums, argmin and argmax."""

from collections.abc import Sequence
from math import prod

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.operators.integers import (
    centred,
    factor,
    is_quantized,
    number,
    out_dtype,
    placed,
    requantized,
    shifted_right,
)
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast, part, reshaped


def axes_of(call: NodeCall, rank: int) -> tuple[int, ...]:
    """The axes in the second operand, without duplicates."""
    return tuple(sorted({call.axis(axis, rank) for axis in call.integers(1)}))


def reduction(op: str) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        attrs = {"axes": axes_of(call, x.type.rank), "keepdims": bool(call.attr("keep_dims", 0))}
        if not attrs["axes"]:
            return x
        if x.dtype == "bool":
            return cast(call.builder, call.op(op, [cast(call.builder, x, "uint8")], attrs), "bool")
        return call.op(op, [x], attrs)

    return handler


def mean_or_sum(op: str) -> NodeHandler:
    plain = reduction(op)

    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        attrs = {"axes": axes_of(call, x.type.rank), "keepdims": bool(call.attr("keep_dims", 0))}
        if is_quantized(call):
            if "multiplier" not in call.attr("extra", ()):
                raise call.unsupported(
                    "averages integers over an axis of symbolic size",
                    "Set the size with --dim",
                )
            return requantized(call, call.op("ReduceSum", [centred(call)], attrs))
        if op == "ReduceMean" and not is_float(x.dtype):
            sums = call.op("ReduceSum", [cast(call.builder, x, "int64")], attrs)
            count = x.type.size // sums.type.size
            return cast(
                call.builder, call.op("Div", [sums, call.builder.scalar(count, "int64")]), x.dtype
            )
        result = plain(call)
        assert isinstance(result, Tensor)
        return result

    return handler


def scaled_product(call: NodeCall, a: Tensor, b: Tensor) -> Tensor:
    """Multiply an int32 by a 17-bit integer, and rescale."""
    low = call.op("Mul", [call.op("BitAnd", [a, number(call, 0xFFFF)]), b])
    high = call.op("Mul", [shifted_right(call, a, 16), b]) + shifted_right(call, low, 16)
    low = call.op("BitAnd", [low, number(call, 0xFFFF)])
    return call.op("ScaleWide", [high, low, factor(call, "multiplier"), factor(call, "places")])


def quantized_product(call: NodeCall) -> Tensor:
    """A product of integers, element by element, rescaled at each step."""
    if is_quantized(call):
        if "multiplier" not in call.attr("extra", ()):
            raise call.unsupported(
                "multiplies integers along an axis of symbolic size", "Set the size with --dim"
            )
        x = centred(call)
        axes = axes_of(call, x.type.rank)
        rest = tuple(axis for axis in range(x.type.rank) if axis not in axes)
        shape = tuple(x.shape[axis] for axis in rest)
        count = prod(x.shape[axis] for axis in axes)
        rows = reshaped(
            call.builder, call.op("Transpose", [x], {"perm": (*axes, *rest)}), (count, *shape)
        )
        product = reshaped(call.builder, part(call.builder, rows, 0, 0, 1), shape)

        def body(
            builder: GraphBuilder, states: list[Tensor], slices: list[Tensor]
        ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
            return [
                scaled_product(call.with_operands(builder, call.operands), states[0], slices[0])
            ], []

        if count > 1:
            (product,), _ = call.builder.scan(
                [product], [part(call.builder, rows, 0, 1, count - 1)], body, axis=0
            )
        last = placed(call, scaled_product(call, product, number(call, 1)))
        sizes = (
            tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
            if call.attr("keep_dims", 0)
            else shape
        )
        return reshaped(call.builder, last, sizes)
    result = reduction("ReduceProd")(call)
    assert isinstance(result, Tensor)
    return result


def arg_reduction(op: str) -> NodeHandler:
    """The index of the first extreme element."""

    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        if x.dtype == "bool":
            x = cast(call.builder, x, "uint8")
        axis = call.axis(int(call.numbers(1).reshape(-1)[0]), x.type.rank)
        return cast(
            call.builder, call.op(op, [x], {"axis": axis, "keepdims": False}), out_dtype(call)
        )

    return handler


def cumulative(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axis = call.axis(int(call.numbers(1).reshape(-1)[0]), x.type.rank)
    return call.op(
        "CumSum",
        [x],
        {
            "axis": axis,
            "exclusive": bool(call.attr("exclusive", 0)),
            "reverse": bool(call.attr("reverse", 0)),
        },
    )


REDUCE: dict[str, NodeHandler] = {
    "MEAN": mean_or_sum("ReduceMean"),
    "SUM": mean_or_sum("ReduceSum"),
    "REDUCE_PROD": quantized_product,
    "REDUCE_MAX": reduction("ReduceMax"),
    "REDUCE_MIN": reduction("ReduceMin"),
    "REDUCE_ANY": reduction("ReduceMax"),
    "REDUCE_ALL": reduction("ReduceMin"),
    "ARG_MAX": arg_reduction("ArgMax"),
    "ARG_MIN": arg_reduction("ArgMin"),
    "CUMSUM": cumulative,
}
