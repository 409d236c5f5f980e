"""Shape arithmetic of TensorFlow: what graphs compute with Shape, StridedSlice, Pack and the like."""

from math import prod

import numpy as np

from webkiln.frontends.nodes.call import GraphValue, NodeCall, SizeRelation, known
from webkiln.frontends.nodes.fold import (
    Fold,
    Folds,
    all_constant,
    are_equal,
    array_of_sizes,
    combining,
    dividing,
    element_count,
    extreme,
    is_less,
    moving,
    objects,
    quotient,
    remainder,
)
from webkiln.frontends.tensorflow.operators.shape import key_of
from webkiln.ir.dim import greatest, is_symbolic, least
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array, is_integer


def _shape(call: NodeCall) -> GraphValue:
    return known(array_of_sizes(call.type(0).shape), call.attr("out_type", "int32"))


def _shapes(call: NodeCall) -> list[GraphValue]:
    return [known(array_of_sizes(call.type(position).shape), call.attr("out_type", "int32")) for position in range(len(call))]


def _size(call: NodeCall) -> GraphValue:
    return element_count(call, call.attr("out_type", "int32"))


def _rank(call: NodeCall) -> GraphValue:
    return known(np.array(call.type(0).rank), "int32")


def _strided(call: NodeCall, x: Array) -> Array:
    return np.asarray(x[key_of(call)])  # type: ignore[index]


def _gather(call: NodeCall, x: Array) -> Array:
    axis = int(call.numbers(2).reshape(())) if call.has(2) else 0
    return np.asarray(np.take(x, call.numbers(1).astype(np.int64), axis=axis))


def _pack(call: NodeCall) -> GraphValue:
    arrays = [call.value(position).astype(object) for position in range(len(call))]
    return known(np.stack(arrays, call.attr("axis", 0)), call.type(0).dtype)


def _concat(call: NodeCall) -> GraphValue:
    axis = int(call.numbers(len(call) - 1).reshape(()))
    arrays = [call.value(position).astype(object) for position in range(len(call) - 1)]
    return known(np.concatenate(arrays, axis), call.type(0).dtype)


def _unpack(call: NodeCall) -> list[GraphValue]:
    x, axis = call.value(0), call.attr("axis", 0)
    return [known(np.take(x, number, axis), call.type(0).dtype) for number in range(x.shape[axis])]


def _split(call: NodeCall) -> list[GraphValue]:
    parts = np.split(call.value(1), call.attr("num_split"), int(call.numbers(0).reshape(())))
    return [known(part, call.type(1).dtype) for part in parts]


def _split_v(call: NodeCall) -> list[GraphValue]:
    parts = np.split(call.value(0), np.cumsum(call.sizes(1))[:-1], int(call.numbers(2).reshape(())))
    return [known(part, call.type(0).dtype) for part in parts]


def _slice(call: NodeCall, x: Array) -> Array:
    starts, sizes = call.sizes(1), call.sizes(2)
    return x[tuple(slice(start, None if size == -1 else start + size) for start, size in zip(starts, sizes, strict=True))]


def _reshape(call: NodeCall, x: Array) -> Array:
    return x.reshape(call.sizes(1))


def _squeeze(call: NodeCall, x: Array) -> Array:
    axes = call.attr("squeeze_dims") or None
    return np.squeeze(x, axes)


def _cast(call: NodeCall) -> GraphValue | None:
    return None if call.operand(0).is_constant else known(objects(call, 0), call.attr("DstT"))


def _where(call: NodeCall) -> GraphValue:
    return known(np.where(call.numbers(0), call.value(1).astype(object), call.value(2).astype(object)), call.type(1).dtype)


def _range(call: NodeCall) -> GraphValue | None:
    start, limit, delta = (call.numbers(position).item() for position in range(3))
    if not is_integer(call.type(0).dtype) or max(0, -(-(limit - start) // delta)) > INLINE_ELEMENTS:
        return None
    return known(np.arange(start, limit, delta), call.type(0).dtype)


def _fill(call: NodeCall) -> GraphValue | None:
    sizes = call.sizes(0)
    if any(map(is_symbolic, sizes)) or prod(sizes) > INLINE_ELEMENTS:
        return None
    return known(np.broadcast_to(call.value(1), sizes), call.type(1).dtype)


def _reduced(function: str) -> Fold:
    def compute(call: NodeCall) -> GraphValue | None:
        if all_constant(call):
            return None
        axes = tuple(call.sizes(1))
        made = getattr(np, function)(call.value(0).astype(object), axis=axes, keepdims=call.flag("keep_dims"))
        return known(np.asarray(made, object), call.type(0).dtype)

    return compute


def _broadcast_args(call: NodeCall) -> GraphValue:
    first, second = (list(call.sizes(position)) for position in (0, 1))
    count = max(len(first), len(second))
    first, second = ([1] * (count - len(item)) + item for item in (first, second))
    return known(
        array_of_sizes([b if not is_symbolic(a) and a == 1 else a for a, b in zip(first, second, strict=True)]), call.type(0).dtype
    )


def _negative(call: NodeCall) -> GraphValue | None:
    return None if call.operand(0).is_constant else known(-objects(call, 0), call.type(0).dtype)


def _whole(call: NodeCall) -> GraphValue | None:
    return None if call.operand(0).is_constant else known(objects(call, 0), call.type(0).dtype)


_ADD, _MULTIPLY = combining(lambda a, b: a + b), combining(lambda a, b: a * b)
FOLDS = Folds(
    of_types={"Shape": _shape, "ShapeN": _shapes, "Size": _size, "Rank": _rank},
    of_values={
        "StridedSlice": moving(_strided), "Gather": moving(_gather), "GatherV2": moving(_gather), "Slice": moving(_slice), "Reshape": moving(_reshape),
        "Squeeze": moving(_squeeze), "ExpandDims": moving(lambda call, x: np.expand_dims(x, int(call.numbers(1).reshape(())))), "Pack": _pack,
        "ConcatV2": _concat, "Unpack": _unpack, "Split": _split, "SplitV": _split_v, "Cast": _cast, "Add": _ADD, "AddV2": _ADD,
        "Sub": combining(lambda a, b: a - b), "Mul": _MULTIPLY, "RealDiv": dividing, "Div": dividing, "FloorDiv": combining(quotient),
        "TruncateDiv": combining(quotient), "FloorMod": combining(remainder), "Mod": combining(remainder),
        "Maximum": extreme(lambda a, b: greatest([a, b])), "Minimum": extreme(least), "Equal": combining(are_equal, "bool"),
        "NotEqual": combining(lambda a, b: not are_equal(a, b), "bool"), "Less": combining(is_less, "bool"),
        "Greater": combining(lambda a, b: is_less(b, a), "bool"), "LessEqual": combining(lambda a, b: not is_less(b, a), "bool"),
        "GreaterEqual": combining(lambda a, b: not is_less(a, b), "bool"), "Select": _where, "SelectV2": _where, "Range": _range, "Fill": _fill,
        "Prod": _reduced("prod"), "Sum": _reduced("sum"), "BroadcastArgs": _broadcast_args, "Neg": _negative, "Floor": _whole, "Ceil": _whole,
    },
    comparisons={
        "Equal": lambda a, b: SizeRelation(a, "=", b),
        "Less": lambda a, b: SizeRelation(a, "<", b),
        "Greater": lambda a, b: SizeRelation(b, "<", a),
        "LessEqual": lambda a, b: SizeRelation(a, "<", b + 1),
        "GreaterEqual": lambda a, b: SizeRelation(b, "<", a + 1),
    },
    implied={"LogicalAnd": 2, "Reshape": 1, "Squeeze": 1, "ExpandDims": 1},
)  # fmt: skip
