"""Shape arithmetic of ONNX: sizes that exporters compute with Shape, Gather, Concat and similar
nodes.
"""

from math import prod

import numpy as np

from webkiln.frontends.nodes import arithmetic
from webkiln.frontends.nodes.call import GraphValue, NodeCall, known
from webkiln.frontends.nodes.fold import (
    Fold,
    Folds,
    array_of_sizes,
    divide,
    element_count,
    integer_objects,
    move_elements,
)
from webkiln.ir.dim import is_symbolic
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array


def _shape(call: NodeCall) -> GraphValue:
    shape = call.type(0).shape
    rank = len(shape)
    start, end = call.attr("start", 0), call.attr("end", rank)
    return known(array_of_sizes(shape[slice(start, end)]), "int64")


def _axes(call: NodeCall, rank: int) -> tuple[int, ...]:
    axes = call.attr("axes") if call.attr("axes") is not None or not call.has(1) else call.sizes(1)
    return tuple(axis % rank for axis in axes or ())


def _squeeze(call: NodeCall, x: Array) -> Array:
    return x.reshape(
        [
            size
            for axis, size in enumerate(x.shape)
            if axis not in (_axes(call, x.ndim) or range(x.ndim)) or size != 1
        ]
    )


def _unsqueeze(call: NodeCall, x: Array) -> Array:
    return np.expand_dims(
        x, tuple(axis % (x.ndim + len(_axes(call, 1))) for axis in _raw_axes(call))
    )


def _raw_axes(call: NodeCall) -> tuple[int, ...]:
    return call.sizes(1) if call.has(1) else tuple(call.attr("axes", ()))


def _gather(call: NodeCall, x: Array) -> Array:
    indices = call.numbers(1)
    return np.asarray(np.take(x, indices.astype(np.int64), axis=call.attr("axis", 0)))


def _slice(call: NodeCall, x: Array) -> Array:
    if call.version < 10:
        starts, ends = call.attr("starts"), call.attr("ends")
        axes, steps = call.attr("axes") or tuple(range(len(starts))), (1,) * len(starts)
    else:
        starts, ends = call.sizes(1), call.sizes(2)
        axes = call.sizes(3) if call.has(3) else tuple(range(len(starts)))
        steps = call.sizes(4) if call.has(4) else (1,) * len(starts)
    parts = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        parts[axis] = slice(start, end if step > 0 or end >= -x.shape[axis] else None, step)
    return x[tuple(parts)]


def _concat(call: NodeCall) -> GraphValue:
    return arithmetic.join(call, np.concatenate, range(len(call)), call.attr("axis", 1))


def _split(call: NodeCall) -> list[GraphValue] | None:
    x = call.value(0)
    axis = call.attr("axis", 0)
    sizes = call.sizes(1) if call.has(1) else call.attr("split")
    if sizes is None:
        return None
    return [known(part, call.type(0).dtype) for part in np.split(x, np.cumsum(sizes)[:-1], axis)]


def _cast(call: NodeCall) -> GraphValue | None:
    return (
        None
        if call.operand(0).is_constant
        else known(integer_objects(call, 0), CASTS[call.attr("to")])
    )


CASTS = {1: "float32", 6: "int32", 7: "int64", 11: "float64"}


def _constant_of_shape(call: NodeCall) -> GraphValue | None:
    sizes = call.sizes(0)
    value = call.attr_array("value")
    if any(map(is_symbolic, sizes)) or prod(sizes) > INLINE_ELEMENTS:
        return None
    fill = np.zeros(1, np.float32) if value is None else value
    return known(np.full(sizes, fill.reshape(())), str(fill.dtype))


def _expand(call: NodeCall) -> GraphValue | None:
    sizes = call.sizes(1)
    if any(map(is_symbolic, sizes)) or prod(sizes) > INLINE_ELEMENTS:
        return None
    x = call.value(0)
    return known(np.broadcast_to(x, np.broadcast_shapes(x.shape, sizes)), call.type(0).dtype)


def _reshape(call: NodeCall, x: Array) -> Array:
    shape = call.sizes(1) if call.has(1) else call.attr("shape")
    sizes = [
        x.shape[axis] if size == 0 and not call.attr("allowzero", 0) else size
        for axis, size in enumerate(shape)
    ]
    return x.reshape(sizes)


def _product(call: NodeCall) -> GraphValue | None:
    if call.operand(0).is_constant:
        return None
    axes = _axes(call, call.type(0).rank) or None
    return known(
        np.asarray(
            np.prod(call.value(0), axis=axes, keepdims=bool(call.attr("keepdims", 1))), object
        ),
        call.type(0).dtype,
    )


OF_VALUES: dict[str, Fold] = {
    "Identity": move_elements(lambda call, x: x),
    "Squeeze": move_elements(_squeeze),
    "Unsqueeze": move_elements(_unsqueeze),
    "Gather": move_elements(_gather),
    "Slice": move_elements(_slice),
    "Reshape": move_elements(_reshape),
    "Concat": _concat,
    "Split": _split,
    "Cast": _cast,
    "Add": arithmetic.ADD,
    "Sub": arithmetic.SUBTRACT,
    "Mul": arithmetic.MULTIPLY,
    "Div": divide,
    "Mod": arithmetic.REMAINDER,
    "Max": arithmetic.GREATEST,
    "Min": arithmetic.LEAST,
    "Equal": arithmetic.EQUAL,
    "Where": arithmetic.select,
    "Range": arithmetic.integer_range,
    "ConstantOfShape": _constant_of_shape,
    "Expand": _expand,
    "ReduceProd": _product,
    "Floor": arithmetic.round_integers,
    "Ceil": arithmetic.round_integers,
    "Neg": arithmetic.negate,
    "Less": arithmetic.LESS,
    "Greater": arithmetic.GREATER,
}

FOLDS = Folds(
    of_types={"Shape": _shape, "Size": element_count},
    of_values=OF_VALUES,
    comparisons=arithmetic.size_relations(
        "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"
    ),
    implied={"And": 2, "Identity": 1, "Reshape": 1, "Squeeze": 1, "Unsqueeze": 1},
)
