"""Ranges of numbers, as the Range of ONNX, TensorFlow and LiteRT."""

from math import ceil
from typing import Any

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import NodeCall
from webkiln.frontends.nodes.size_arithmetic import element
from webkiln.ir.dim import Size, floordiv, maximum
from webkiln.ir.rational import Rational, sign_of_divisor
from webkiln.ir.types import is_integer
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast, iota, reshaped
from webkiln.ops.value_bounds import bounds


def arithmetic_sequence(call: NodeCall) -> Tensor:
    """The numbers from operand 0 up to operand 1, operand 2 apart, as [count].

    The count may depend on data if an upper bound follows from the operators that compute the
    operands. Raise DataDependentError otherwise, or if the step depends on data.
    """
    dtype = call.type(0).dtype
    if call.operand(0).value is None or call.operand(1).value is None:
        return _data_dependent_sequence(call, dtype)
    start, limit, step = (call.value(position).reshape(()).item() for position in range(3))
    steps = iota(call.builder, range_length(start, limit, step, dtype), dtype)
    first, distance = (reshaped(call.builder, call.tensor(n), ()) for n in (0, 2))
    scaled = steps if _is_number(step, 1) else call.op("Mul", [steps, distance])
    return scaled if _is_number(start, 0) else call.op("Add", [scaled, first])


def _data_dependent_sequence(call: NodeCall, dtype: str) -> Tensor:
    """The elements of the longest possible range that are before the limit."""
    b, step = call.builder, call.numbers(2).reshape(()).item()
    start, limit, distance = (reshaped(b, call.tensor(n), ()) for n in range(3))
    (first, last), (lowest, highest) = bounds(start), bounds(limit)
    if step == 0:
        raise ShapeError("the step of the range is 0")
    ends = (first, highest) if step > 0 else (last, lowest)
    if not is_integer(dtype) or ends[0] is None or ends[1] is None:
        unknown = 0 if call.operand(0).value is None and ends[0] is None else 1
        raise call.data_dependent_error(unknown)
    steps = iota(b, range_length(*ends, step, dtype), dtype)
    values = b.binary("Add", b.op("Mul", [steps, distance]), start)
    is_before = b.binary("Less" if step > 0 else "Greater", values, limit)
    found = b.nonzero(is_before)
    indices = cast(b, reshaped(b, found, (found.shape[1],)), "int32")
    return b.op("Gather", [values, indices], {"axis": 0})


def _is_number(value: Any, number: int) -> bool:
    return isinstance(value, int | float) and value == number


def range_length(start: Any, limit: Any, step: Any, dtype: str) -> Size:
    """The number of elements of a range of numbers or sizes. Raise ShapeError if the step may be
    0.
    """
    if isinstance(step, int | float) and step == 0:
        raise ShapeError("the step of the range is 0")
    if all(isinstance(item, int) for item in (start, limit, step)):
        return len(range(start, limit, step))
    if all(isinstance(item, int | float) for item in (start, limit, step)):
        length: int = ceil((limit - start) / step)
        return max(length, 0)
    a, b, distance = (element(item, dtype) for item in (start, limit, step))
    if isinstance(distance, Rational):
        count: int = ((b - a) / distance).ceil()
        return maximum([count, 0])
    sign = sign_of_divisor(distance)
    return maximum([-floordiv((a - b) * sign, distance * sign), 0])
