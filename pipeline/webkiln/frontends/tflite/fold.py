"""Shape arithmetic of TensorFlow Lite: SHAPE, STRIDED_SLICE, PACK and similar operators, as
converters write them.
"""

import numpy as np

from webkiln.errors import ShapeError
from webkiln.frontends.nodes import arithmetic
from webkiln.frontends.nodes.call import GraphValue, NodeCall, known
from webkiln.frontends.nodes.fold import (
    Fold,
    Folds,
    divide,
    integer_objects,
    move_elements,
)
from webkiln.frontends.tflite.operators.slices import strided
from webkiln.ir.types import Array, is_integer


def _plain(call: NodeCall) -> None:
    if (
        call.attr("fused_activation_function", "NONE") != "NONE"
        or call.attr("out_zeros") is not None
    ):
        raise ShapeError("only plain integers are folded")


def _dtype(call: NodeCall) -> str:
    return str(call.attr("dtypes")[0])


def _strided(call: NodeCall, x: Array) -> Array:
    (starts, sizes, steps), shape = strided(call, x.shape)
    parts = []
    for start, size, step in zip(starts, sizes, steps, strict=True):
        end = start + size * step
        parts.append(slice(start, end if end >= 0 else None, step))
    return x[tuple(parts)].reshape(shape)


def _concatenation(call: NodeCall) -> GraphValue:
    _plain(call)
    return arithmetic.join(call, np.concatenate, range(len(call)), call.attr("axis", 0))


def _unpack(call: NodeCall) -> list[GraphValue]:
    x = np.moveaxis(call.value(0), call.attr("axis", 0), 0)
    return [known(x[index], call.type(0).dtype) for index in range(call.attr("num"))]


def _split(call: NodeCall) -> list[GraphValue]:
    axis = int(call.numbers(0).reshape(-1)[0])
    return [
        known(part, call.type(1).dtype)
        for part in np.split(call.value(1), call.attr("num_splits"), axis)
    ]


def _slice(call: NodeCall, x: Array) -> Array:
    begins, sizes = call.numbers(1).tolist(), call.numbers(2).tolist()
    return x[
        tuple(
            slice(begin, None if size == -1 else begin + size)
            for begin, size in zip(begins, sizes, strict=True)
        )
    ]


def _gather(call: NodeCall, x: Array) -> Array:
    if call.attr("batch_dims", 0):
        raise ShapeError("batches are not folded")
    return np.asarray(np.take(x, call.numbers(1).astype(np.int64), axis=call.attr("axis", 0)))


def _reshape(call: NodeCall, x: Array) -> Array:
    return x.reshape(
        call.numbers(1).tolist() if len(call) > 1 else list(call.attr("new_shape", ()))
    )


def _squeeze(call: NodeCall, x: Array) -> Array:
    axes = {axis % x.ndim for axis in call.attr("squeeze_dims", ())}
    return x.reshape(
        [size for axis, size in enumerate(x.shape) if (axis not in axes if axes else size != 1)]
    )


def _expand(call: NodeCall, x: Array) -> Array:
    return np.expand_dims(x, int(call.numbers(1).reshape(-1)[0]))


def _cast(call: NodeCall) -> GraphValue | None:
    dtype = _dtype(call)
    if call.operand(0).is_constant or dtype not in ("float32", "int32", "int64", "float64"):
        return None
    return known(integer_objects(call, 0), dtype)


def _combined(fold: Fold) -> Fold:
    def compute(call: NodeCall) -> object:
        _plain(call)
        return fold(call)

    return compute  # type: ignore[return-value]


def _product(call: NodeCall) -> GraphValue | None:
    if call.operand(0).is_constant:
        return None
    axes = tuple(int(axis) for axis in call.numbers(1).reshape(-1)) or None
    return known(
        np.asarray(
            np.prod(call.value(0), axis=axes, keepdims=bool(call.attr("keep_dims", 0))), object
        ),
        call.type(0).dtype,
    )


def _sum(call: NodeCall) -> GraphValue | None:
    if call.operand(0).is_constant or not is_integer(call.type(0).dtype):
        return None
    axes = tuple(int(axis) for axis in call.numbers(1).reshape(-1)) or None
    return known(
        np.asarray(
            np.sum(call.value(0), axis=axes, keepdims=bool(call.attr("keep_dims", 0))), object
        ),
        call.type(0).dtype,
    )


OF_VALUES: dict[str, Fold] = {
    "STRIDED_SLICE": move_elements(_strided),
    "SLICE": move_elements(_slice),
    "GATHER": move_elements(_gather),
    "RESHAPE": move_elements(_reshape),
    "SQUEEZE": move_elements(_squeeze),
    "EXPAND_DIMS": move_elements(_expand),
    "PACK": arithmetic.stack,
    "UNPACK": _unpack,
    "SPLIT": _split,
    "CONCATENATION": _concatenation,
    "CAST": _cast,
    "ADD": _combined(arithmetic.ADD),
    "SUB": _combined(arithmetic.SUBTRACT),
    "MUL": _combined(arithmetic.MULTIPLY),
    "DIV": _combined(divide),
    "FLOOR_DIV": _combined(arithmetic.QUOTIENT),
    "FLOOR_MOD": arithmetic.REMAINDER,
    "MAXIMUM": arithmetic.GREATEST,
    "MINIMUM": arithmetic.LEAST,
    "EQUAL": arithmetic.EQUAL,
    "LESS": arithmetic.LESS,
    "GREATER": arithmetic.GREATER,
    "SELECT": arithmetic.select,
    "SELECT_V2": arithmetic.select,
    "REDUCE_PROD": _product,
    "SUM": _sum,
    "FILL": arithmetic.fill,
    "RANGE": arithmetic.integer_range,
    "BROADCAST_ARGS": arithmetic.broadcast_args,
    "NEG": arithmetic.negate,
}

FOLDS = Folds(
    of_types={"SHAPE": arithmetic.shape_as(_dtype), "RANK": arithmetic.rank},
    of_values=OF_VALUES,
    comparisons=arithmetic.size_relations(
        "EQUAL", "LESS", "GREATER", "LESS_EQUAL", "GREATER_EQUAL"
    ),
    implied={"LOGICAL_AND": 2, "RESHAPE": 1, "SQUEEZE": 1, "EXPAND_DIMS": 1},
)
