"""Functions of TensorFlow that differ from those of keras.ops.

TensorFlow does not promote: numbers and lists have the dtype of the other tensor, two tensors have
equal dtypes.
"""

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.frontends.keras.layers.activations import ACTIVATIONS
from webkiln.frontends.keras.operations import nn
from webkiln.ir.dim import Size
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional import image, indexing, linear, shapes
from webkiln.ops.functional.elementwise import square
from webkiln.ops.functional.indexing import take
from webkiln.ops.functional.operands import (
    FLOAT,
    QUOTIENTS,
    Argument,
    Operation,
    as_dtype,
    axes_of,
    combined,
    floating,
    like,
    tensor,
)
from webkiln.ops.functional.reductions import index_of, reduction
from webkiln.ops.pieces import cast, total

IGNORED = frozenset({"name", "validate_indices", "bad_indices_policy"})


def called(operation: Operation, names: str, *, least: int = 1, **fixed: Any) -> Operation:
    """An operation with TensorFlow's argument names: `tf`, or `tf=ours` where they differ. The
    first `least` are required.
    """
    pairs = [name.partition("=") for name in names.split()]
    parameters = {name: own or name for name, _, own in pairs}

    def apply(b: GraphBuilder, /, *args: Argument, **options: Argument) -> Any:
        arguments = dict(zip(parameters, args, strict=False)) | {
            name: value for name, value in options.items() if name not in IGNORED
        }
        unknown = [
            name
            for name, value in arguments.items()
            if name not in parameters and value not in (None, False, 0, "")
        ]
        if unknown:
            raise ShapeError(
                f"{b.layer}: its {unknown[0]}={arguments[unknown[0]]!r} is not supported"
            )
        missing = [name for name in [*parameters][:least] if arguments.get(name) is None]
        if missing:
            raise ShapeError(
                f"{b.layer}: its {missing[0]} is not in the file, because tf.keras did not save it;"
                " replace the function by a layer"
            )
        return operation(
            b,
            **{
                parameters[name]: value
                for name, value in arguments.items()
                if name in parameters and value is not None
            },
            **fixed,
        )

    return apply


def alike(b: GraphBuilder, x: Argument, y: Argument) -> tuple[Tensor, Tensor]:
    """Two operands in the dtype of the one that is a tensor."""
    dtypes = {value.dtype for value in (x, y) if isinstance(value, Tensor)}
    if len(dtypes) != 1:
        names = " and ".join(sorted(dtypes)) or "unknown"
        raise ShapeError(f"{b.layer}: the dtypes of its operands are {names}; they must be equal")
    (dtype,) = dtypes
    for value in (x, y):
        if (
            not isinstance(value, Tensor)
            and not is_float(dtype)
            and (np.asarray(value) % 1 != 0).any()
        ):
            raise ShapeError(f"{b.layer}: {value} cannot be represented in {dtype}")
    return as_dtype(b, x, dtype), as_dtype(b, y, dtype)


def binary(op: str, names: str = "x y") -> Operation:
    return called(lambda b, x, y: combined(b, op, *alike(b, x, y)), names, least=2)


def quotient(b: GraphBuilder, x: Argument, y: Argument) -> Tensor:
    x, y = alike(b, x, y)
    wide = QUOTIENTS.get(x.dtype, x.dtype)
    return b.op("Div", [cast(b, x, wide), cast(b, y, wide)])


def squared_difference(b: GraphBuilder, x: Argument, y: Argument) -> Tensor:
    return square(b, b.op("Sub", [*alike(b, x, y)]))


def where(b: GraphBuilder, condition: Argument, x: Argument, y: Argument) -> Tensor:
    return b.op("Where", [cast(b, tensor(b, condition), "bool"), *alike(b, x, y)])


def silu(b: GraphBuilder, x: Argument, beta: float = 1.0) -> Tensor:
    x = tensor(b, x)
    return b.op("Mul", [x, b.op("Sigmoid", [b.op("Mul", [x, like(b, beta, x)])])])


def mean(b: GraphBuilder, x: Argument, **options: Any) -> Tensor:
    if not is_float(tensor(b, x).dtype):
        raise ShapeError(
            f"{b.layer}: the mean of {tensor(b, x).dtype} values is not supported, because"
            " TensorFlow truncates it to an integer; cast them to float32"
        )
    result: Tensor = reduction("ReduceMean")(b, x, **options)
    return result


def euclidean(
    b: GraphBuilder, x: Argument, degree: Argument = "euclidean", **options: Any
) -> Tensor:
    if degree not in ("euclidean", 2) or (degree == 2 and not isinstance(options.get("axis"), int)):
        raise ShapeError(
            f"{b.layer}: a norm with ord={degree!r} is not supported; use the Euclidean norm"
        )
    squares: Tensor = reduction("ReduceSum")(b, square(b, x), **options)
    return b.op("Sqrt", [squares])


def l2_normalize(
    b: GraphBuilder, x: Argument, axis: int | Sequence[int] | None = None, epsilon: float = 1e-12
) -> Tensor:
    x = tensor(b, x)
    squares = total(b, square(b, x), *axes_of(axis, x.type.rank), keepdims=True)
    return b.op("Mul", [x, b.op("Rsqrt", [b.op("Max", [squares, like(b, epsilon, x)])])])


def extreme_index(op: str) -> Operation:
    """Along the first axis by default."""

    def apply(b: GraphBuilder, x: Argument, axis: int = 0, dtype: str = "int64") -> Tensor:
        return cast(b, index_of(op)(b, x, axis), dtype)

    return apply


def cumulative(op: str) -> Operation:
    def apply(b: GraphBuilder, x: Argument, axis: int = 0, **options: bool) -> Tensor:
        x = tensor(b, x)
        return b.op(op, [x], {"axis": axis % x.type.rank, **options})

    return apply


def listed(operation: Operation) -> Operation:
    """A list of tensors, or a single one, which files store without the list."""
    return lambda b, values, **options: operation(
        b, values if isinstance(values, list) else [values], **options
    )


def add_n(b: GraphBuilder, values: Sequence[Argument]) -> Tensor:
    first, *others = values
    for other in others:
        first = combined(b, "Add", *alike(b, first, other))
    return tensor(b, first)


def reshaped(b: GraphBuilder, x: Argument, shape: Argument) -> Tensor:
    if isinstance(shape, Tensor) or any(isinstance(size, Tensor) for size in shape):
        raise ShapeError(
            f"{b.layer}: its shape is computed at run time, which is not supported; use a Reshape"
            " layer instead"
        )
    return shapes.reshape(b, x, shape)


def split(
    b: GraphBuilder, x: Argument, sections: int | Sequence[Size], axis: int = 0
) -> list[Tensor]:
    if isinstance(sections, int):
        return shapes.split(b, x, sections, axis)
    rest = tensor(b, x).shape[axis] - sum(size for size in sections if size != -1)
    sizes = [rest if size == -1 else size for size in sections]
    return shapes.split(b, x, [*accumulate(sizes)][:-1], axis)


def padded(
    b: GraphBuilder, x: Argument, paddings: Argument, mode: str = "constant", value: float = 0
) -> Tensor:
    return shapes.pad(b, x, paddings, mode.lower(), value if mode.lower() == "constant" else None)


def matmul(b: GraphBuilder, x: Argument, y: Argument, **transposed: bool) -> Tensor:
    pair = [*alike(b, x, y)]
    for number, name in enumerate(("first", "second")):
        if transposed.get(name):
            rank = pair[number].type.rank
            pair[number] = shapes.transpose(b, pair[number], [*range(rank - 2), rank - 1, rank - 2])
    return linear.matmul(b, *pair)


def gather(b: GraphBuilder, x: Argument, indices: Argument, axis: int = 0) -> Tensor:
    return take(b, x, indices, axis)


def channels_last(b: GraphBuilder, data_format: str) -> str:
    if data_format.startswith("NC"):
        raise ShapeError(f"{b.layer}: its data_format {data_format!r} is not supported; use NHWC")
    return "channels_last"


def blocks(operation: Operation) -> Operation:
    return lambda b, x, block_size, data_format="NHWC": operation(
        b, x, block_size, channels_last(b, data_format)
    )


def pool(op: str) -> Operation:
    def apply(
        b: GraphBuilder,
        x: Argument,
        ksize: Any,
        strides: Any,
        padding: str = "VALID",
        data_format: str = "NHWC",
    ) -> Any:
        rank = tensor(b, x).type.rank

        def spatial(value: Any) -> Any:
            return value[1:-1] if isinstance(value, list) and len(value) == rank else value

        return nn.pool(op)(
            b, x, spatial(ksize), spatial(strides), padding.lower(), channels_last(b, data_format)
        )

    return apply


def bias_add(b: GraphBuilder, x: Argument, bias: Argument, data_format: str = "NHWC") -> Tensor:
    channels_last(b, data_format)
    return combined(b, "Add", *alike(b, x, bias))


def resize(
    b: GraphBuilder,
    images: Argument,
    size: Sequence[int],
    method: str = "bilinear",
    antialias: bool = False,
) -> Tensor:
    """In float32, except for nearest neighbour."""
    x = tensor(b, images)
    return image.resize(
        b,
        x if method == "nearest" else cast(b, x, FLOAT),
        size,
        method,
        "channels_last",
        antialias=antialias,
    )


def one_hot(
    b: GraphBuilder, indices: Argument, depth: int, axis: int = -1, dtype: str = FLOAT
) -> Tensor:
    return indexing.one_hot(b, indices, depth, axis, dtype)


def real(operation: Operation) -> Operation:
    """A TensorFlow function for floats only."""
    return called(lambda b, x: operation(b, floating(b, x)), "x")


def quotient_1(b: GraphBuilder, x: Argument, y: Argument) -> Tensor:
    """The division of Python 2 and of TensorFlow 1: that of integers is rounded down."""
    x, y = alike(b, x, y)
    return b.op("Div" if is_float(x.dtype) else "FloorDiv", [x, y])


def backend_sqrt(b: GraphBuilder, x: Argument) -> Tensor:
    """The square root in keras.backend, which is 0 for negative numbers."""
    return b.op("Sqrt", [b.op("Relu", [tensor(b, x)])])


def backend_hard_sigmoid(b: GraphBuilder, x: Argument) -> Tensor:
    return ACTIVATIONS["hard_sigmoid_2"](b, tensor(b, x))


def batch_flatten(b: GraphBuilder, x: Argument) -> Tensor:
    x = tensor(b, x)
    return b.op("Reshape", [x], {"shape": (x.shape[0], prod(x.shape[1:]))})
