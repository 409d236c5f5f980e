"""Reductions, sorting and other raw operators along axes.

https://www.tensorflow.org/api_docs/python/tf/raw_ops
"""

from collections.abc import Mapping
from math import prod

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tensorflow.operators.elementwise import truncated_quotient
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import activations, segments
from webkiln.ops.functional.linear import softmax
from webkiln.ops.functional.reductions import index_of, truth
from webkiln.ops.pieces import cast, sized


def _axes(call: NodeCall, rank: int) -> tuple[int, ...]:
    return tuple(call.axis(axis, rank) for axis in call.integers(1))


def reduced(op: str) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        return call.op(
            op, [x], {"axes": _axes(call, x.type.rank), "keepdims": call.flag("keep_dims")}
        )

    return handler


def mean(call: NodeCall) -> Tensor:
    """For integers, the quotient of their sum and count, rounded towards zero."""
    b, x = call.builder, call.tensor(0)
    axes = _axes(call, x.type.rank)
    attrs = {"axes": axes, "keepdims": call.flag("keep_dims")}
    if is_float(x.dtype):
        return call.op("ReduceMean", [x], attrs)
    count = sized(b, prod(x.shape[axis] for axis in axes), x.dtype)
    return truncated_quotient(b, call.op("ReduceSum", [x], attrs), count)


def euclidean(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    attrs = {"axes": _axes(call, x.type.rank), "keepdims": call.flag("keep_dims")}
    return call.op("Sqrt", [call.op("ReduceSum", [call.op("Square", [x])], attrs)])


def all_or_any(op: str) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        result: Tensor = truth(op)(
            call.builder, x, _axes(call, x.type.rank), call.flag("keep_dims")
        )
        return result

    return handler


def extreme_index(op: str) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        (axis,) = call.integers(1)
        return cast(
            call.builder,
            index_of(op)(call.builder, x, call.axis(axis, x.type.rank)),
            call.attr("output_type", "int64"),
        )

    return handler


def cumulative(op: str) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x, (axis,) = call.tensor(0), call.integers(1)
        options = {name: call.flag(name) for name in ("exclusive", "reverse")}
        return call.op(op, [x], {"axis": call.axis(axis, x.type.rank), **options})

    return handler


def top_k(call: NodeCall) -> list[Tensor]:
    k = call.attr("k") if call.spec.op == "TopK" else call.sizes(1)[0]
    values, indices = segments.top_k(call.builder, call.tensor(0), k)
    return [values, cast(call.builder, indices, call.attr("index_type", "int32"))]


def in_top_k(call: NodeCall) -> Tensor:
    k = call.attr("k") if call.spec.op == "InTopK" else call.integers(2)[0]
    return segments.in_top_k(call.builder, call.tensor(1), call.tensor(0), k)


def segment(reduction: str) -> NodeHandler:
    """`UnsortedSegment*`: the third operand is the number of segments."""
    return lambda call: segments.segment(reduction)(
        call.builder, call.tensor(0), call.tensor(1), call.sizes(2)[0]
    )


REDUCE: Mapping[str, NodeHandler] = {
    "Sum": reduced("ReduceSum"),
    "Prod": reduced("ReduceProd"),
    "Max": reduced("ReduceMax"),
    "Min": reduced("ReduceMin"),
    "Mean": mean,
    "EuclideanNorm": euclidean,
    "All": all_or_any("ReduceMin"),
    "Any": all_or_any("ReduceMax"),
    "ArgMax": extreme_index("ArgMax"),
    "ArgMin": extreme_index("ArgMin"),
    "Cumsum": cumulative("CumSum"),
    "Cumprod": cumulative("CumProd"),
    "TopKV2": top_k,
    "TopK": top_k,
    "InTopK": in_top_k,
    "InTopKV2": in_top_k,
    "UnsortedSegmentSum": segment("add"),
    "UnsortedSegmentMax": segment("max"),
    "UnsortedSegmentMin": segment("min"),
    "UnsortedSegmentProd": segment("mul"),
    "Softmax": lambda call: softmax(activations.softmax)(call.builder, call.tensor(0)),
    "LogSoftmax": lambda call: softmax(activations.log_softmax)(call.builder, call.tensor(0)),
    "L2Loss": lambda call: (
        call.op(
            "ReduceSum",
            [call.op("Square", [call.tensor(0)])],
            {"axes": tuple(range(call.type(0).rank)), "keepdims": False},
        )
        * 0.5
    ),
}
