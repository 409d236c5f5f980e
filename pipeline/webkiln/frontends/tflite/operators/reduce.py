"""Reductions over axes, sums along one, and the places of extremes."""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.operators.integers import centred, is_quantized, out_dtype, placed, scaled
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast


def axes_of(call: NodeCall, rank: int) -> tuple[int, ...]:
    """Those that the second operand says, each once."""
    return tuple(sorted({call.axis(int(axis), rank) for axis in call.sizes(1)}))


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
                raise call.unsupported("takes a mean of integers over an open size", "Give the model a fixed size there")
            return placed(call, scaled(call, call.op("ReduceSum", [centred(call)], attrs)))
        if op == "ReduceMean" and not is_float(x.dtype):
            sums = call.op("ReduceSum", [cast(call.builder, x, "int64")], attrs)
            count = x.type.size // sums.type.size
            return cast(call.builder, call.op("Div", [sums, call.constant(count, "int64")]), x.dtype)
        result = plain(call)
        assert isinstance(result, Tensor)
        return result

    return handler


def quantized_product(call: NodeCall) -> Tensor:
    if is_quantized(call):
        raise call.unsupported("multiplies quantised numbers along an axis", "Keep REDUCE_PROD in floats")
    result = reduction("ReduceProd")(call)
    assert isinstance(result, Tensor)
    return result


def found(op: str) -> NodeHandler:
    """The place of the first extreme element."""

    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        if x.dtype == "bool":
            x = cast(call.builder, x, "uint8")
        axis = call.axis(int(call.numbers(1).reshape(-1)[0]), x.type.rank)
        return cast(call.builder, call.op(op, [x], {"axis": axis, "keepdims": False}), out_dtype(call))

    return handler


def cumulative(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axis = call.axis(int(call.numbers(1).reshape(-1)[0]), x.type.rank)
    return call.op("CumSum", [x], {"axis": axis, "exclusive": bool(call.attr("exclusive", 0)), "reverse": bool(call.attr("reverse", 0))})


REDUCE: dict[str, NodeHandler] = {
    "MEAN": mean_or_sum("ReduceMean"), "SUM": mean_or_sum("ReduceSum"), "REDUCE_PROD": quantized_product, "REDUCE_MAX": reduction("ReduceMax"),
    "REDUCE_MIN": reduction("ReduceMin"), "REDUCE_ANY": reduction("ReduceMax"), "REDUCE_ALL": reduction("ReduceMin"),
    "ARG_MAX": found("ArgMax"), "ARG_MIN": found("ArgMin"), "CUMSUM": cumulative,
}  # fmt: skip
