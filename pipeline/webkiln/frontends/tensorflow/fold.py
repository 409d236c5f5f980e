"""Shape arithmetic of TensorFlow: Shape, StridedSlice, Pack and similar operators."""

import numpy as np

from webkiln.frontends.nodes import arithmetic
from webkiln.frontends.nodes.call import GraphValue, NodeCall, known
from webkiln.frontends.nodes.fold import (
    Fold,
    Folds,
    all_constant,
    array_of_sizes,
    divide,
    element_count,
    integer_objects,
    move_elements,
)
from webkiln.frontends.tensorflow.operators.shape import key_of
from webkiln.ir.types import Array


def _out_type(call: NodeCall) -> str:
    return str(call.attr("out_type", "int32"))


def _shapes(call: NodeCall) -> list[GraphValue]:
    return [
        known(array_of_sizes(call.type(position).shape), _out_type(call))
        for position in range(len(call))
    ]


def _size(call: NodeCall) -> GraphValue:
    return element_count(call, _out_type(call))


def _strided(call: NodeCall, x: Array) -> Array:
    return np.asarray(x[key_of(call)])  # type: ignore[index]


def _gather(call: NodeCall, x: Array) -> Array:
    axis = int(call.numbers(2).reshape(())) if call.has(2) else 0
    return np.asarray(np.take(x, call.numbers(1).astype(np.int64), axis=axis))


def _concat(call: NodeCall) -> GraphValue:
    axis = int(call.numbers(len(call) - 1).reshape(()))
    return arithmetic.join(call, np.concatenate, range(len(call) - 1), axis)


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
    return x[
        tuple(
            slice(start, None if size == -1 else start + size)
            for start, size in zip(starts, sizes, strict=True)
        )
    ]


def _reshape(call: NodeCall, x: Array) -> Array:
    return x.reshape(call.sizes(1))


def _squeeze(call: NodeCall, x: Array) -> Array:
    axes = call.attr("squeeze_dims") or None
    return np.squeeze(x, axes)


def _cast(call: NodeCall) -> GraphValue | None:
    return (
        None if call.operand(0).is_constant else known(integer_objects(call, 0), call.attr("DstT"))
    )


def _reduced(function: str) -> Fold:
    def compute(call: NodeCall) -> GraphValue | None:
        if all_constant(call):
            return None
        axes = tuple(call.sizes(1))
        result = getattr(np, function)(
            call.value(0).astype(object), axis=axes, keepdims=call.flag("keep_dims")
        )
        return known(np.asarray(result, object), call.type(0).dtype)

    return compute


FOLDS = Folds(
    of_types={
        "Shape": arithmetic.shape_as(_out_type),
        "ShapeN": _shapes,
        "Size": _size,
        "Rank": arithmetic.rank,
    },
    of_values={
        "StridedSlice": move_elements(_strided),
        "Gather": move_elements(_gather),
        "GatherV2": move_elements(_gather),
        "Slice": move_elements(_slice),
        "Reshape": move_elements(_reshape),
        "Squeeze": move_elements(_squeeze),
        "ExpandDims": move_elements(
            lambda call, x: np.expand_dims(x, int(call.numbers(1).reshape(())))
        ),
        "Pack": arithmetic.stack,
        "ConcatV2": _concat,
        "Unpack": _unpack,
        "Split": _split,
        "SplitV": _split_v,
        "Cast": _cast,
        "Add": arithmetic.ADD,
        "AddV2": arithmetic.ADD,
        "Sub": arithmetic.SUBTRACT,
        "Mul": arithmetic.MULTIPLY,
        "RealDiv": divide,
        "Div": divide,
        "FloorDiv": arithmetic.QUOTIENT,
        "TruncateDiv": arithmetic.QUOTIENT,
        "FloorMod": arithmetic.REMAINDER,
        "Mod": arithmetic.REMAINDER,
        "Maximum": arithmetic.GREATEST,
        "Minimum": arithmetic.LEAST,
        "Equal": arithmetic.EQUAL,
        "NotEqual": arithmetic.UNEQUAL,
        "Less": arithmetic.LESS,
        "Greater": arithmetic.GREATER,
        "LessEqual": arithmetic.AT_MOST,
        "GreaterEqual": arithmetic.AT_LEAST,
        "Select": arithmetic.select,
        "SelectV2": arithmetic.select,
        "Merge": arithmetic.select,
        "Range": arithmetic.integer_range,
        "Fill": arithmetic.fill,
        "Prod": _reduced("prod"),
        "Sum": _reduced("sum"),
        "BroadcastArgs": arithmetic.broadcast_args,
        "Neg": arithmetic.negate,
        "Floor": arithmetic.round_integers,
        "Ceil": arithmetic.round_integers,
    },
    comparisons=arithmetic.size_relations("Equal", "Less", "Greater", "LessEqual", "GreaterEqual"),
    implied={"LogicalAnd": 2, "Reshape": 1, "Squeeze": 1, "ExpandDims": 1},
)
