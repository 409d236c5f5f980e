"""TensorFlow functions that tf.keras 2.4 to 2.15 wrote into functional models as layers
(`TFOpLambda`), with TensorFlow's argument names.

https://www.tensorflow.org/api_docs/python/tf
"""

from collections.abc import Callable, Mapping
from typing import Any

from webkiln.frontends.keras.operations import normalization
from webkiln.frontends.keras.operations.numpy_table import ELEMENTARY
from webkiln.frontends.keras.operations.tensorflow_functions import (
    add_n,
    alike,
    backend_hard_sigmoid,
    backend_sqrt,
    batch_flatten,
    bias_add,
    binary,
    blocks,
    called,
    cumulative,
    euclidean,
    extreme_index,
    gather,
    l2_normalize,
    listed,
    matmul,
    mean,
    one_hot,
    padded,
    pool,
    quotient,
    quotient_1,
    real,
    reshaped,
    resize,
    silu,
    split,
    squared_difference,
    where,
)
from webkiln.frontends.keras.spec import FUNCTION
from webkiln.ir.types import is_float
from webkiln.ops.functional import activations, image, integers, linear, patches, segments, shapes
from webkiln.ops.functional.elementwise import (
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
from webkiln.ops.functional.indexing import get_item
from webkiln.ops.functional.matrices import tensordot
from webkiln.ops.functional.operands import Operation
from webkiln.ops.functional.reductions import deviation, reduction, truth

REDUCED = "input_tensor=x axis keepdims"


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "__operators__.add math.add": binary("Add"),
    "math.subtract": binary("Sub"),
    "math.multiply": binary("Mul"),
    "math.truediv math.divide": called(quotient, "x y", least=2),
    "compat.v1.div": called(quotient_1, "x y", least=2),
    "keras.backend.sqrt": called(backend_sqrt, "x"),
    "keras.backend.hard_sigmoid": called(backend_hard_sigmoid, "x"),
    "keras.backend.batch_flatten": called(batch_flatten, "x"),
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
    "math.reduce_logsumexp": called(normalization.logsumexp, REDUCED),
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
        blocks(patches.depth_to_space), "input=x block_size data_format", least=2
    ),
    "nn.space_to_depth": called(
        blocks(patches.space_to_depth), "input=x block_size data_format", least=2
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
