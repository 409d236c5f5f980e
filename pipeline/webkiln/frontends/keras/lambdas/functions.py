"""Functions that Lambda layers call, by name: those of `keras.backend` and of TensorFlow."""

from collections.abc import Mapping
from dataclasses import dataclass

from webkiln.frontends.keras.operations.tensorflow import TENSORFLOW
from webkiln.frontends.keras.spec import FUNCTION

BACKENDS = ("K", "backend", "keras.backend", "tf.keras.backend", "tensorflow.keras.backend")
TENSORFLOWS = ("tf", "tensorflow")
ACTIVATIONS = ("keras.activations", "tf.keras.activations", "activations")
OPERATORS: Mapping[str, str] = {
    "+": "math.add",
    "-": "math.subtract",
    "*": "math.multiply",
    "/": "math.truediv",
    "/1": "compat.v1.div",
    "//": "math.floordiv",
    "%": "math.floormod",
    "**": "math.pow",
}
"""Operators on tensors in TensorFlow. `/1` is the division of Python 2."""
CURRENT: Mapping[str, str] = {
    "+": "Add",
    "-": "Subtract",
    "*": "Multiply",
    "/": "TrueDivide",
    "//": "FloorDivide",
    "%": "Mod",
    "**": "Power",
}
"""Operators on tensors in Keras 3, which promotes types."""
DTYPES = frozenset({"float16", "float32", "float64", "int32", "int64", "uint8", "int8", "bool"})


@dataclass(frozen=True, slots=True)
class Function:
    """A TensorFlow function that computes a function of another interface: its own name, and the
    other's parameters in order, `theirs=ours`. `fixed` are arguments that the other leaves out.
    """

    name: str
    parameters: tuple[str, ...]
    fixed: tuple[tuple[str, object], ...] = ()


def _row(name: str, parameters: str, **fixed: object) -> Function:
    return Function(name, tuple(parameters.split()), tuple(fixed.items()))


_REDUCED = "x=input_tensor axis keepdims"
BACKEND: Mapping[str, Function] = {
    **{
        name: _row(f"math.reduce_{name}", _REDUCED)
        for name in ("mean", "sum", "max", "min", "prod", "std", "any", "all", "logsumexp")
    },
    "var": _row("math.reduce_variance", _REDUCED),
    **{
        name: _row(f"math.{name}", "x")
        for name in ("abs", "square", "exp", "log", "sign", "round", "sin", "cos", "tanh")
    },
    "sqrt": _row("keras.backend.sqrt", "x"),
    "sigmoid": _row("math.sigmoid", "x"),
    "hard_sigmoid": _row("keras.backend.hard_sigmoid", "x"),
    **{name: _row(f"nn.{name}", "x=features") for name in ("relu", "elu", "softplus", "softsign")},
    "softmax": _row("nn.softmax", "x=logits axis"),
    "pow": _row("math.pow", "x a=y"),
    **{
        name: _row(f"math.{name}", "x y")
        for name in ("maximum", "minimum", "equal", "not_equal", "greater", "greater_equal", "less")
    },
    "less_equal": _row("math.less_equal", "x y"),
    "clip": _row("clip_by_value", "x=t min_value=clip_value_min max_value=clip_value_max"),
    "l2_normalize": _row("math.l2_normalize", "x axis"),
    "expand_dims": _row("expand_dims", "x=input axis", axis=-1),
    "squeeze": _row("squeeze", "x=input axis"),
    "concatenate": _row("concat", "tensors=values axis", axis=-1),
    "stack": _row("stack", "x=values axis"),
    "reshape": _row("reshape", "x=tensor shape"),
    "permute_dimensions": _row("transpose", "x=a pattern=perm"),
    "transpose": _row("transpose", "x=a"),
    "reverse": _row("reverse", "x=tensor axes=axis"),
    "tile": _row("tile", "x=input n=multiples"),
    "repeat_elements": _row("repeat", "x=input rep=repeats axis"),
    "cast": _row("cast", "x dtype"),
    "cast_to_floatx": _row("cast", "x", dtype="float32"),
    "zeros_like": _row("zeros_like", "x=input dtype"),
    "ones_like": _row("ones_like", "x=input dtype"),
    "argmax": _row("math.argmax", "x=input axis", axis=-1),
    "argmin": _row("math.argmin", "x=input axis", axis=-1),
    "cumsum": _row("math.cumsum", "x axis"),
    "gather": _row("gather", "reference=params indices"),
    "one_hot": _row("one_hot", "indices num_classes=depth"),
    "identity": _row("identity", "x=input"),
    "stop_gradient": _row("identity", "variables=input"),
    "batch_flatten": _row("keras.backend.batch_flatten", "x"),
}
"""keras.backend, as TensorFlow computes it."""

RENAMED: Mapping[str, str] = {
    "depth_to_space": "nn.depth_to_space",
    "space_to_depth": "nn.space_to_depth",
    "norm": "compat.v1.norm",
    "nn.l2_normalize": "math.l2_normalize",
    "linalg.l2_normalize": "math.l2_normalize",
    "nn.sigmoid": "math.sigmoid",
    "nn.tanh": "math.tanh",
    "matmul": "linalg.matmul",
}
LISTS = frozenset({"split", "unstack", "math.top_k"})
"""Functions with several results."""
CHANGED = frozenset({"image.resize"})
"""Functions that TensorFlow 1 computes differently under the same name."""
MORE = frozenset(
    {
        *("clip_by_value", "pad", "transpose", "linalg.matmul", "math.cumsum", "repeat", "roll"),
        *("tensordot", "nn.max_pool2d", "nn.avg_pool2d", "image.resize", "math.l2_normalize"),
        *(
            f"math.reduce_{name}"
            for name in ("mean", "sum", "max", "min", "prod", "std", "variance", "any", "all")
        ),
    }
)
"""Functions whose third positional argument is that of all versions of TensorFlow."""


def tensorflow_name(path: str) -> str | None:
    """The function of TensorFlow with a name such as `reduce_mean` or `math.reduce_mean`."""
    found = next(
        (
            name
            for name in (RENAMED.get(path), path, f"math.{path}")
            if name is not None and f"{FUNCTION}{name}" in TENSORFLOW
        ),
        None,
    )
    return None if found in LISTS else found


def without_prefix(path: str, prefixes: tuple[str, ...]) -> str | None:
    """The rest of a dotted name after one of the prefixes, the longest first."""
    for prefix in sorted(prefixes, key=len, reverse=True):
        if path.startswith(f"{prefix}."):
            return path[len(prefix) + 1 :]
    return None
