"""TensorFlow functions that tf.keras 2.4 to 2.15 wrote into functional models as layers
(`TFOpLambda`), with TensorFlow's argument names.

https://www.tensorflow.org/api_docs/python/tf

TensorFlow does not promote: numbers and lists have the dtype of the other tensor, two tensors have
equal dtypes.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.frontends.keras.layers import activations
from webkiln.frontends.keras.operations import image, integers, linear, nn, segments, shapes
from webkiln.frontends.keras.operations.arguments import (
    FLOAT,
    QUOTIENTS,
    Argument,
    as_dtype,
    axes_of,
    combined,
    floating,
    like,
    tensor,
)
from webkiln.frontends.keras.operations.elementary import ELEMENTARY
from webkiln.frontends.keras.operations.elementwise import (
    Operation,
    absolute,
    activation,
    change_dtype,
    clip,
    divide_no_nan,
    full_like,
    gelu,
    identity,
    logical,
    logical_xor,
    rectifier,
    square,
    unary,
)
from webkiln.frontends.keras.operations.indexing import get_item, take
from webkiln.frontends.keras.operations.matrices import tensordot
from webkiln.frontends.keras.operations.reductions import deviation, index_of, reduction, truth
from webkiln.frontends.keras.spec import FUNCTION
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast, total

IGNORED = frozenset({"name", "validate_indices", "bad_indices_policy"})


def called(operation: Operation, names: str, *, least: int = 1, **fixed: Any) -> Operation:
    """An operation with these argument names in TensorFlow: `tf`, or `tf=ours`. The first `least`
    are required.
    """
    pairs = [name.partition("=") for name in names.split()]
    ours = {name: own or name for name, _, own in pairs}

    def apply(b: GraphBuilder, /, *args: Argument, **options: Argument) -> Any:
        given = dict(zip(ours, args, strict=False)) | {
            name: value for name, value in options.items() if name not in IGNORED
        }
        unknown = [
            name
            for name, value in given.items()
            if name not in ours and value not in (None, False, 0, "")
        ]
        if unknown:
            raise ShapeError(f"{b.layer}: its {unknown[0]}={given[unknown[0]]!r} is not supported")
        missing = [name for name in [*ours][:least] if given.get(name) is None]
        if missing:
            raise ShapeError(
                f"{b.layer}: the file does not say its {missing[0]}, as tf.keras lost it; build the"
                " model with a layer in its place"
            )
        return operation(
            b,
            **{
                ours[name]: value
                for name, value in given.items()
                if name in ours and value is not None
            },
            **fixed,
        )

    return apply


def alike(b: GraphBuilder, x: Argument, y: Argument) -> tuple[Tensor, Tensor]:
    """Two operands in the dtype of the one that is a tensor."""
    dtypes = {value.dtype for value in (x, y) if isinstance(value, Tensor)}
    if len(dtypes) != 1:
        raise ShapeError(
            f"{b.layer}: its operands are of {' and '.join(sorted(dtypes)) or 'no dtype'};"
            " TensorFlow takes two of one dtype"
        )
    (dtype,) = dtypes
    for value in (x, y):
        if (
            not isinstance(value, Tensor)
            and not is_float(dtype)
            and (np.asarray(value) % 1 != 0).any()
        ):
            raise ShapeError(f"{b.layer}: {value} is no number of {dtype}")
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
            f"{b.layer}: the mean of {tensor(b, x).dtype}, which TensorFlow cuts to a whole number,"
            " is not supported"
        )
    found: Tensor = reduction("ReduceMean")(b, x, **options)
    return found


def euclidean(
    b: GraphBuilder, x: Argument, degree: Argument = "euclidean", **options: Any
) -> Tensor:
    if degree not in ("euclidean", 2) or (degree == 2 and not isinstance(options.get("axis"), int)):
        raise ShapeError(
            f"{b.layer}: a norm of ord={degree!r} is not supported; there is the euclidean one"
        )
    found: Tensor = reduction("ReduceSum")(b, square(b, x), **options)
    return b.op("Sqrt", [found])


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
            f"{b.layer}: its shape is computed when the model runs; build the model with a Reshape"
            " layer in its place"
        )
    return shapes.reshape(b, x, shape)


def split(
    b: GraphBuilder, x: Argument, sections: int | Sequence[int], axis: int = 0
) -> list[Tensor]:
    if isinstance(sections, int):
        return shapes.split(b, x, sections, axis)
    known = sum(size for size in sections if size != -1)
    sizes = [tensor(b, x).shape[axis] - known if size == -1 else size for size in sections]
    return shapes.split(b, x, [*accumulate(sizes)][:-1], axis)


def padded(
    b: GraphBuilder, x: Argument, paddings: Argument, mode: str = "constant", value: float = 0
) -> Tensor:
    return shapes.pad(b, x, paddings, mode.lower(), value if mode.lower() == "constant" else None)


def matmul(b: GraphBuilder, x: Argument, y: Argument, **turned: bool) -> Tensor:
    pair = [*alike(b, x, y)]
    for number, name in enumerate(("first", "second")):
        if turned.get(name):
            rank = pair[number].type.rank
            pair[number] = shapes.transpose(b, pair[number], [*range(rank - 2), rank - 1, rank - 2])
    return linear.matmul(b, *pair)


def gather(b: GraphBuilder, x: Argument, indices: Argument, axis: int = 0) -> Tensor:
    return take(b, x, indices, axis)


def channels_last(b: GraphBuilder, data_format: str) -> str:
    if data_format.startswith("NC"):
        raise ShapeError(
            f"{b.layer}: its data_format {data_format!r} is not supported; there is NHWC"
        )
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
    return nn.one_hot(b, indices, depth, axis, dtype)


def real(operation: Operation) -> Operation:
    """A TensorFlow function for floats only."""
    return called(lambda b, x: operation(b, floating(b, x)), "x")


REDUCED = "input_tensor=x axis keepdims"
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "__operators__.add math.add": binary("Add"),
    "math.subtract": binary("Sub"),
    "math.multiply": binary("Mul"),
    "math.truediv math.divide": called(quotient, "x y", least=2),
    "math.divide_no_nan": called(divide_no_nan, "x=x1 y=x2", least=2),
    "math.floordiv compat.v1.floor_div": binary("FloorDiv"),
    "math.floormod math.mod": binary("Mod"),
    "math.maximum": binary("Max"),
    "math.minimum": binary("Min"),
    "math.equal": binary("Equal"),
    "math.not_equal": binary("NotEqual"),
    "__operators__.eq": binary("Equal", "self=x other=y"),
    "__operators__.ne": binary("NotEqual", "self=x other=y"),
    "math.less": binary("Less"),
    "math.less_equal": binary("LessEqual"),
    "math.greater": binary("Greater"),
    "math.greater_equal": binary("GreaterEqual"),
    "math.pow": called(lambda b, x, y: integers.power(b, *alike(b, x, y)), "x y", least=2),
    "math.squared_difference": called(squared_difference, "x y", least=2),
    "math.atan2": called(lambda b, y, x: ELEMENTARY["Arctan2"](b, *alike(b, y, x)), "y x", least=2),
    "math.logical_and": called(logical("And"), "x y", least=2),
    "math.logical_or": called(logical("Or"), "x y", least=2),
    "math.logical_xor": called(logical_xor, "x=x1 y=x2", least=2),
    "math.logical_not": called(logical("Not"), "x"),
    "where": called(where, "condition x y", least=3),
    "math.add_n": called(listed(add_n), "inputs=values"),
    "math.abs": called(absolute, "x"),
    "math.negative": called(unary("Neg"), "x"),
    "math.sign": called(unary("Sign"), "x"),
    "math.square": called(square, "x"),
    "math.round": called(lambda b, x: b.op("Round", [x]) if is_float(x.dtype) else x, "x"),
    **{
        f"math.{name}": real(unary(op))
        for name, op in {
            "floor": "Floor",
            "ceil": "Ceil",
            "sqrt": "Sqrt",
            "rsqrt": "Rsqrt",
            "exp": "Exp",
            "expm1": "Expm1",
            "log": "Log",
            "log1p": "Log1p",
            "sin": "Sin",
            "cos": "Cos",
            "tanh": "Tanh",
            "erf": "Erf",
            "erfc": "Erfc",
            "reciprocal": "Reciprocal",
            "sigmoid": "Sigmoid",
        }.items()
    },
    **{
        f"math.{name}": real(ELEMENTARY[op])
        for name, op in {
            "tan": "Tan",
            "asin": "Arcsin",
            "acos": "Arccos",
            "atan": "Arctan",
            "sinh": "Sinh",
            "cosh": "Cosh",
            "asinh": "Arcsinh",
            "acosh": "Arccosh",
            "atanh": "Arctanh",
            "is_nan": "Isnan",
            "is_inf": "Isinf",
            "is_finite": "Isfinite",
        }.items()
    },
    "math.log_sigmoid": called(activation(activations.log_sigmoid), "x"),
    "math.softplus nn.softplus": called(unary("Softplus"), "features=x"),
    "nn.softsign": called(unary("Softsign"), "features=x"),
    "nn.relu": called(rectifier(activations.relu), "features=x"),
    "nn.relu6": called(rectifier(activations.relu6), "features=x"),
    "nn.elu": called(activation(activations.elu), "features=x"),
    "nn.selu": called(unary("Selu"), "features=x"),
    "nn.gelu": called(
        lambda b, x, approximate=False: gelu(b, x, approximate), "features=x approximate"
    ),
    "nn.silu nn.swish": called(silu, "features=x beta"),
    "nn.leaky_relu": called(activation(activations.leaky_relu), "features=x alpha"),
    "nn.softmax": called(linear.softmax(activations.softmax), "logits=x axis"),
    "nn.log_softmax": called(linear.softmax(activations.log_softmax), "logits=x axis"),
    "nn.bias_add": called(bias_add, "value=x bias data_format", least=2),
    "math.reduce_sum": called(reduction("ReduceSum"), REDUCED),
    "math.reduce_prod": called(reduction("ReduceProd"), REDUCED),
    "math.reduce_max": called(reduction("ReduceMax"), REDUCED),
    "math.reduce_min": called(reduction("ReduceMin"), REDUCED),
    "math.reduce_mean": called(mean, REDUCED),
    "math.reduce_all": called(truth("ReduceMin"), REDUCED),
    "math.reduce_any": called(truth("ReduceMax"), REDUCED),
    "math.reduce_variance": called(linear.variance, REDUCED),
    "math.reduce_std": called(deviation, REDUCED),
    "math.reduce_logsumexp": called(linear.logsumexp, REDUCED),
    "math.reduce_euclidean_norm": called(euclidean, REDUCED),
    "compat.v1.norm": called(euclidean, "tensor=x ord=degree axis keepdims"),
    "math.l2_normalize": called(l2_normalize, "x axis epsilon"),
    "math.argmax": called(extreme_index("ArgMax"), "input=x axis output_type=dtype"),
    "math.argmin": called(extreme_index("ArgMin"), "input=x axis output_type=dtype"),
    "math.cumsum": called(cumulative("CumSum"), "x axis exclusive reverse"),
    "math.cumprod": called(cumulative("CumProd"), "x axis exclusive reverse"),
    "math.top_k": called(lambda b, x, k=1: segments.top_k(b, x, k), "input=x k"),
    "clip_by_value": called(clip, "t=x clip_value_min=x_min clip_value_max=x_max", least=3),
    "linalg.matmul": called(matmul, "a=x b=y transpose_a=first transpose_b=second", least=2),
    "tensordot": called(
        lambda b, x, y, axes: tensordot(b, *alike(b, x, y), axes=axes), "a=x b=y axes", least=3
    ),
    "cast": called(change_dtype, "x dtype", least=2),
    "reshape": called(reshaped, "tensor=x shape", least=2),
    "transpose compat.v1.transpose": called(shapes.transpose, "a=x perm=axes"),
    "concat": called(listed(shapes.concatenate), "values axis", least=2),
    "stack": called(listed(shapes.stack), "values axis"),
    "unstack": called(shapes.unstack, "value=x num axis"),
    "split": called(split, "value=x num_or_size_splits=sections axis", least=2),
    "expand_dims": called(shapes.expand_dims, "input=x axis", least=2),
    "squeeze compat.v1.squeeze": called(shapes.squeeze, "input=x axis"),
    "tile": called(shapes.tile, "input=x multiples=repeats", least=2),
    "repeat": called(shapes.repeat, "input=x repeats axis", least=2),
    "roll": called(shapes.roll, "input=x shift axis", least=3),
    "reverse": called(shapes.flip, "tensor=x axis", least=2),
    "pad compat.v1.pad": called(padded, "tensor=x paddings mode constant_values=value", least=2),
    "gather compat.v1.gather": called(gather, "params=x indices axis", least=2),
    "one_hot": called(one_hot, "indices depth axis dtype", least=2),
    "broadcast_to": called(shapes.broadcast_to, "input=x shape", least=2),
    "zeros_like": called(full_like(0.0), "input=x dtype"),
    "ones_like": called(full_like(1.0), "input=x dtype"),
    "identity stop_gradient": called(identity, "input=x"),
    "__operators__.getitem": called(get_item, "tensor=x slice_spec=key"),
    "nn.depth_to_space": called(
        blocks(nn.depth_to_space), "input=x block_size data_format", least=2
    ),
    "nn.space_to_depth": called(
        blocks(nn.space_to_depth), "input=x block_size data_format", least=2
    ),
    "nn.max_pool nn.max_pool2d compat.v1.nn.max_pool": called(
        pool("MaxPool"), "input=x ksize strides padding data_format", least=3
    ),
    "nn.avg_pool nn.avg_pool2d compat.v1.nn.avg_pool": called(
        pool("AvgPool"), "input=x ksize strides padding data_format", least=3
    ),
    "image.resize": called(resize, "images size method antialias", least=2),
    "image.flip_left_right": called(lambda b, x: shapes.flip(b, x, -2), "image=x"),
    "image.flip_up_down": called(lambda b, x: shapes.flip(b, x, -3), "image=x"),
    "image.rgb_to_grayscale": called(image.rgb_to_grayscale, "images"),
}

TENSORFLOW: dict[str, Operation] = {
    f"{FUNCTION}{name}": function
    for names, function in _FUNCTIONS.items()
    for name in names.split()
}
