"""Shape arithmetic of TensorFlow Lite: what converters write with SHAPE, STRIDED_SLICE, PACK and the like."""

from math import prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import GraphValue, NodeCall, SizeRelation, known
from webkiln.frontends.nodes.fold import (
    Fold,
    Folds,
    all_constant,
    are_equal,
    array_of_sizes,
    combining,
    dividing,
    extreme,
    is_less,
    moving,
    objects,
    quotient,
    remainder,
)
from webkiln.frontends.tflite.operators.shape import strided
from webkiln.ir.dim import greatest, is_symbolic, least
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array, is_integer


def _plain(call: NodeCall) -> None:
    if call.attr("fused_activation_function", "NONE") != "NONE" or call.attr("out_zeros") is not None:
        raise ShapeError("only plain integers are folded")


def _dtype(call: NodeCall) -> str:
    return str(call.attr("dtypes")[0])


def _shape(call: NodeCall) -> GraphValue:
    return known(array_of_sizes(call.type(0).shape), _dtype(call))


def _rank(call: NodeCall) -> GraphValue:
    return known(np.array(call.type(0).rank), "int32")


def _strided(call: NodeCall, x: Array) -> Array:
    (starts, sizes, steps), shape = strided(call, x.shape)
    parts = []
    for start, size, step in zip(starts, sizes, steps, strict=True):
        end = start + size * step
        parts.append(slice(start, end if end >= 0 else None, step))
    return x[tuple(parts)].reshape(shape)


def _pack(call: NodeCall) -> GraphValue:
    arrays = [call.value(place).astype(object) for place in range(len(call))]
    return known(np.stack(arrays, call.attr("axis", 0)), call.type(0).dtype)


def _concatenation(call: NodeCall) -> GraphValue:
    _plain(call)
    arrays = [call.value(place).astype(object) for place in range(len(call))]
    return known(np.concatenate(arrays, call.attr("axis", 0)), call.type(0).dtype)


def _unpack(call: NodeCall) -> list[GraphValue]:
    x = np.moveaxis(call.value(0), call.attr("axis", 0), 0)
    return [known(x[place], call.type(0).dtype) for place in range(call.attr("num"))]


def _split(call: NodeCall) -> list[GraphValue]:
    axis = int(call.numbers(0).reshape(-1)[0])
    return [known(part, call.type(1).dtype) for part in np.split(call.value(1), call.attr("num_splits"), axis)]


def _slice(call: NodeCall, x: Array) -> Array:
    begins, sizes = call.numbers(1).tolist(), call.numbers(2).tolist()
    return x[tuple(slice(begin, None if size == -1 else begin + size) for begin, size in zip(begins, sizes, strict=True))]


def _gather(call: NodeCall, x: Array) -> Array:
    if call.attr("batch_dims", 0):
        raise ShapeError("batches are not folded")
    return np.asarray(np.take(x, call.numbers(1).astype(np.int64), axis=call.attr("axis", 0)))


def _reshape(call: NodeCall, x: Array) -> Array:
    return x.reshape(call.numbers(1).tolist() if len(call) > 1 else list(call.attr("new_shape", ())))


def _squeeze(call: NodeCall, x: Array) -> Array:
    axes = {axis % x.ndim for axis in call.attr("squeeze_dims", ())}
    return x.reshape([size for axis, size in enumerate(x.shape) if (axis not in axes if axes else size != 1)])


def _expand(call: NodeCall, x: Array) -> Array:
    return np.expand_dims(x, int(call.numbers(1).reshape(-1)[0]))


def _cast(call: NodeCall) -> GraphValue | None:
    dtype = _dtype(call)
    if call.operand(0).is_constant or dtype not in ("float32", "int32", "int64", "float64"):
        return None
    return known(objects(call, 0), dtype)


def _combined(fold: Fold) -> Fold:
    def compute(call: NodeCall) -> object:
        _plain(call)
        return fold(call)

    return compute  # type: ignore[return-value]


def _product(call: NodeCall) -> GraphValue | None:
    if call.operand(0).is_constant:
        return None
    axes = tuple(int(axis) for axis in call.numbers(1).reshape(-1)) or None
    return known(np.asarray(np.prod(call.value(0), axis=axes, keepdims=bool(call.attr("keep_dims", 0))), object), call.type(0).dtype)


def _sum(call: NodeCall) -> GraphValue | None:
    if call.operand(0).is_constant or not is_integer(call.type(0).dtype):
        return None
    axes = tuple(int(axis) for axis in call.numbers(1).reshape(-1)) or None
    return known(np.asarray(np.sum(call.value(0), axis=axes, keepdims=bool(call.attr("keep_dims", 0))), object), call.type(0).dtype)


def _filled(call: NodeCall) -> GraphValue | None:
    sizes = call.sizes(0)
    if any(map(is_symbolic, sizes)) or prod(sizes) > INLINE_ELEMENTS:
        return None
    return known(np.full(sizes, call.value(1).reshape(()).item(), object), call.type(1).dtype)


def _range(call: NodeCall) -> GraphValue | None:
    start, limit, step = (call.numbers(place).reshape(()).item() for place in range(3))
    if not is_integer(call.type(0).dtype) or max(0, -(-(limit - start) // step)) > INLINE_ELEMENTS:
        return None
    return known(np.arange(start, limit, step), call.type(0).dtype)


def _broadcast_args(call: NodeCall) -> GraphValue:
    """The shape that two shapes broadcast to."""
    a, b = (list(call.sizes(place)) for place in (0, 1))
    rank = max(len(a), len(b))
    a, b = [1] * (rank - len(a)) + a, [1] * (rank - len(b)) + b
    return known(array_of_sizes([y if not is_symbolic(x) and x == 1 else x for x, y in zip(a, b, strict=True)]), call.type(0).dtype)


def _select(call: NodeCall) -> GraphValue:
    return known(np.where(call.numbers(0), call.value(1).astype(object), call.value(2).astype(object)), call.type(1).dtype)


def _negative(call: NodeCall) -> GraphValue | None:
    return None if all_constant(call) else known(-objects(call, 0), call.type(0).dtype)


OF_VALUES: dict[str, Fold] = {
    "STRIDED_SLICE": moving(_strided), "SLICE": moving(_slice), "GATHER": moving(_gather), "RESHAPE": moving(_reshape),
    "SQUEEZE": moving(_squeeze), "EXPAND_DIMS": moving(_expand), "PACK": _pack, "UNPACK": _unpack, "SPLIT": _split,
    "CONCATENATION": _concatenation, "CAST": _cast,
    "ADD": _combined(combining(lambda a, b: a + b)), "SUB": _combined(combining(lambda a, b: a - b)),
    "MUL": _combined(combining(lambda a, b: a * b)), "DIV": _combined(dividing), "FLOOR_DIV": _combined(combining(quotient)),
    "FLOOR_MOD": combining(remainder), "MAXIMUM": extreme(lambda a, b: greatest([a, b])), "MINIMUM": extreme(least),
    "EQUAL": combining(are_equal, "bool"), "LESS": combining(is_less, "bool"), "GREATER": combining(lambda a, b: is_less(b, a), "bool"),
    "SELECT": _select, "SELECT_V2": _select, "REDUCE_PROD": _product, "SUM": _sum, "FILL": _filled, "RANGE": _range,
    "BROADCAST_ARGS": _broadcast_args, "NEG": _negative,
}  # fmt: skip

FOLDS = Folds(
    of_types={"SHAPE": _shape, "RANK": _rank},
    of_values=OF_VALUES,
    comparisons={
        "EQUAL": lambda a, b: SizeRelation(a, "=", b),
        "LESS": lambda a, b: SizeRelation(a, "<", b),
        "GREATER": lambda a, b: SizeRelation(b, "<", a),
        "LESS_EQUAL": lambda a, b: SizeRelation(a, "<", b + 1),
        "GREATER_EQUAL": lambda a, b: SizeRelation(b, "<", a + 1),
    },
    implied={"LOGICAL_AND": 2, "RESHAPE": 1, "SQUEEZE": 1, "EXPAND_DIMS": 1},
)
