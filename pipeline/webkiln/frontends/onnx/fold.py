"""Shape arithmetic: what exporters write with Shape, Gather, Concat and the like is computed while converting, over sizes that are known or
set at run time."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError, WebkilnError
from webkiln.frontends.onnx.call import GraphValue, NodeCall, SizeRelation, known
from webkiln.ir.dim import floordiv, greatest, is_symbolic, least, reaches
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array, is_integer

Fold = Callable[[NodeCall], GraphValue | Sequence[GraphValue] | None]


def fold(call: NodeCall) -> list[GraphValue] | None:
    """The outputs of a node whose value does not depend on data, where it is shape arithmetic; else None."""
    function = FOLDS.get(call.spec.op) if call.spec.domain == "" else None
    if function is None:
        return None
    if function not in (_shape, _size) and any(item is not None and item.value is None for item in call.operands):
        return None
    try:
        result = function(call)
    except (WebkilnError, ValueError, TypeError, OverflowError, IndexError):
        return None
    return None if result is None else [result] if isinstance(result, GraphValue) else list(result)


def conditions(call: NodeCall) -> tuple[SizeRelation, ...] | None:
    """What a node that gives one bool says of sizes, where that depends on the run: all of it holds where the bool is true."""
    if call.spec.domain != "" or any(item is None or item.type.size != 1 for item in call.operands[:1]):
        return None
    if call.spec.op in CONDITIONS_OF_OPERANDS:
        parts = [_said(item) for item in call.operands[: CONDITIONS_OF_OPERANDS[call.spec.op]]]
        return None if None in parts else tuple(condition for part in parts if part is not None for condition in part)
    return _comparison(call) if call.spec.op in COMPARISONS else None


CONDITIONS_OF_OPERANDS = {"And": 2, "Identity": 1, "Reshape": 1, "Squeeze": 1, "Unsqueeze": 1}
"""Operators that are true where so many of their first operands are."""

COMPARISONS: dict[str, Callable[[int, int], SizeRelation]] = {
    "Equal": lambda a, b: SizeRelation(a, "=", b),
    "Less": lambda a, b: SizeRelation(a, "<", b),
    "Greater": lambda a, b: SizeRelation(b, "<", a),
    "LessOrEqual": lambda a, b: SizeRelation(a, "<", b + 1),
    "GreaterOrEqual": lambda a, b: SizeRelation(b, "<", a + 1),
}


def _said(operand: GraphValue | None) -> tuple[SizeRelation, ...] | None:
    if operand is None:
        return None
    if operand.conditions is not None:
        return operand.conditions
    true = operand.is_constant and operand.type.dtype == "bool" and operand.value is not None and bool(np.all(operand.value))
    return () if true else None


def _comparison(call: NodeCall) -> tuple[SizeRelation, ...] | None:
    if any(item is None or item.value is None or item.type.size != 1 for item in call.operands):
        return None
    try:
        a, b = (_objects(call, position).ravel()[0] for position in (0, 1))
    except ShapeError:
        return None
    return (COMPARISONS[call.spec.op](a, b),)


def _shape(call: NodeCall) -> GraphValue:
    shape = call.type(0).shape
    rank = len(shape)
    start, end = call.attr("start", 0), call.attr("end", rank)
    return known(_array(shape[slice(start, end)]), "int64")


def _size(call: NodeCall) -> GraphValue:
    return known(_scalar(prod(call.type(0).shape)), "int64")


def _array(sizes: Sequence[Any]) -> Array:
    """Sizes as an array, one element each."""
    made = np.empty(len(sizes), object)
    made[:] = sizes
    return made


def _scalar(size: Any) -> Array:
    return _array([size]).reshape(())


def _objects(call: NodeCall, position: int) -> Array:
    """A known operand with whole numbers as Python's."""
    value = call.value(position)
    if value.dtype.kind == "f" and not np.all(value == np.rint(value)):
        raise ShapeError("only whole numbers are folded with sizes")
    whole = value.astype(np.int64) if value.dtype.kind == "f" else value
    return whole if whole.dtype == object else whole.astype(object)


def _same(change: Callable[[NodeCall, Array], Array]) -> Fold:
    """A function that moves the elements of the first operand."""
    return lambda call: known(change(call, call.value(0)), call.type(0).dtype)


def _axes(call: NodeCall, rank: int) -> tuple[int, ...]:
    axes = call.attr("axes") if call.attr("axes") is not None or not call.has(1) else call.sizes(1)
    return tuple(axis % rank for axis in axes or ())


def _squeeze(call: NodeCall, x: Array) -> Array:
    return x.reshape([size for axis, size in enumerate(x.shape) if axis not in (_axes(call, x.ndim) or range(x.ndim)) or size != 1])


def _unsqueeze(call: NodeCall, x: Array) -> Array:
    return np.expand_dims(x, tuple(axis % (x.ndim + len(_axes(call, 1))) for axis in _raw_axes(call)))


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
    arrays = [call.value(position) for position in range(len(call))]
    return known(np.concatenate([array.astype(object) for array in arrays], call.attr("axis", 1)), call.type(0).dtype)


def _split(call: NodeCall) -> list[GraphValue] | None:
    x = call.value(0)
    axis = call.attr("axis", 0)
    sizes = call.sizes(1) if call.has(1) else call.attr("split")
    if sizes is None:
        return None
    return [known(part, call.type(0).dtype) for part in np.split(x, np.cumsum(sizes)[:-1], axis)]


def _cast(call: NodeCall) -> GraphValue | None:
    return None if call.operand(0).is_constant else known(_objects(call, 0), CASTS[call.attr("to")])


CASTS = {1: "float32", 6: "int32", 7: "int64", 11: "float64"}


def _binary(function: Callable[[Any, Any], Any], dtype: str | None = None) -> Fold:
    def compute(call: NodeCall) -> GraphValue | None:
        if all(item is not None and item.is_constant for item in call.operands):
            return None
        result = np.frompyfunc(function, 2, 1)(_objects(call, 0), _objects(call, 1))
        return known(np.asarray(result, object), dtype or call.type(0).dtype)

    return compute


def _quotient(a: int, b: int) -> int:
    """Rounded towards zero; both signs have to be known."""
    if not (reaches(a, 0) and reaches(b, 1)):
        raise ShapeError("a quotient of sizes that may be negative")
    return floordiv(a, b)


def _divide(call: NodeCall) -> GraphValue | None:
    if all(item is not None and item.is_constant for item in call.operands):
        return None
    a, b = _objects(call, 0), _objects(call, 1)
    result = np.asarray(np.frompyfunc(_quotient, 2, 1)(a, b), object)
    if not is_integer(call.type(0).dtype) and any(x != 0 for x in np.asarray(a - result * b).ravel()):
        return None
    return known(result, call.type(0).dtype)


def _extreme(function: Callable[[int, int], int]) -> Fold:
    def compute(call: NodeCall) -> GraphValue | None:
        if all(item is not None and item.is_constant for item in call.operands):
            return None
        result = _objects(call, 0)
        for position in range(1, len(call)):
            result = np.asarray(np.frompyfunc(function, 2, 1)(result, _objects(call, position)), object)
        return known(result, call.type(0).dtype)

    return compute


def _equal(a: int, b: int) -> bool:
    if a == b:
        return True
    if reaches(a - b, 1) or reaches(b - a, 1):
        return False
    raise ShapeError("whether two sizes are equal is not known")


def _where(call: NodeCall) -> GraphValue:
    return known(np.where(call.numbers(0), call.value(1).astype(object), call.value(2).astype(object)), call.type(1).dtype)


def _range(call: NodeCall) -> GraphValue | None:
    start, limit, delta = (call.numbers(position).item() for position in range(3))
    if not is_integer(call.type(0).dtype) or max(0, -(-(limit - start) // delta)) > INLINE_ELEMENTS:
        return None
    return known(np.arange(start, limit, delta), call.type(0).dtype)


def _filled(call: NodeCall) -> GraphValue | None:
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
    kept = [x.shape[axis] if size == 0 and not call.attr("allowzero", 0) else size for axis, size in enumerate(shape)]
    return x.reshape(kept)


def _product(call: NodeCall) -> GraphValue | None:
    if call.operand(0).is_constant:
        return None
    axes = _axes(call, call.type(0).rank) or None
    return known(np.asarray(np.prod(call.value(0), axis=axes, keepdims=bool(call.attr("keepdims", 1))), object), call.type(0).dtype)


def _floor(call: NodeCall) -> GraphValue | None:
    return None if call.operand(0).is_constant else known(_objects(call, 0), call.type(0).dtype)


def _negative(call: NodeCall) -> GraphValue | None:
    return None if call.operand(0).is_constant else known(-_objects(call, 0), call.type(0).dtype)


FOLDS: dict[str, Fold] = {
    "Shape": _shape, "Size": _size, "Identity": _same(lambda call, x: x), "Squeeze": _same(_squeeze), "Unsqueeze": _same(_unsqueeze),
    "Gather": _same(_gather), "Slice": _same(_slice), "Reshape": _same(_reshape), "Concat": _concat, "Split": _split, "Cast": _cast,
    "Add": _binary(lambda a, b: a + b), "Sub": _binary(lambda a, b: a - b), "Mul": _binary(lambda a, b: a * b), "Div": _divide,
    "Mod": _binary(lambda a, b: a - _quotient(a, b) * b), "Max": _extreme(lambda a, b: greatest([a, b])), "Min": _extreme(least),
    "Equal": _binary(_equal, "bool"), "Where": _where, "Range": _range, "ConstantOfShape": _filled, "Expand": _expand,
    "ReduceProd": _product, "Floor": _floor, "Ceil": _floor, "Neg": _negative,
    "Less": _binary(lambda a, b: not reaches(a, b) if reaches(a, b) or reaches(b, a + 1) else _unknown(), "bool"),
    "Greater": _binary(lambda a, b: not reaches(b, a) if reaches(b, a) or reaches(a, b + 1) else _unknown(), "bool"),
}  # fmt: skip


def _unknown() -> bool:
    raise ShapeError("which of two sizes is larger is not known")
