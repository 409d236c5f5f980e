"""Calls of every supported TensorFlow function."""

SHAPES = {
    "x": (4, 6),
    "y": (4, 6),
    "image": (8, 8, 4),
    "ids": (4,),
    "half": (4, 6),
    "yes": (4, 6),
    "no": (4, 6),
    "positive": (4, 6),
    "small": (4, 6),
    "thin": (4, 1, 6),
    "coloured": (8, 8, 3),
}
DTYPES = {"ids": "int32", "half": "float16", "yes": "bool", "no": "bool"}
FLOAT, INT = "<dtype: 'float32'>", "<dtype: 'int32'>"
REDUCED = [{}, {"axis": 1}, {"axis": [1, -1], "keepdims": True}, {"axis": -1, "keepdims": False}]


def calls():  # noqa: PLR0915 - a table
    """Functions with their first argument, and the others by name. `@name` is an input; other
    values are those of files.
    """
    for name in (
        "truediv",
        "maximum",
        "minimum",
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "floormod",
    ):
        yield from (
            (f"math.{name}", "@x", {"y": y}) for y in ("@y", 0.5, [0.5, -1.0, 2.0, 3.0, 1.0, -0.25])
        )
        yield f"math.{name}", "@ids", {"y": 3}
        yield f"math.{name}", "@half", {"y": 0.1}
    for name in ("add", "subtract", "multiply", "squared_difference"):
        yield from (
            (f"math.{name}", first, {"y": y})
            for first, y in (("@x", "@y"), ("@ids", 2), ("@half", [0.1] * 6), (1.0, "@x"))
        )
    yield from (
        ("__operators__.add", first, {"y": y})
        for first, y in (("@x", 1.0), (1, "@ids"), ("@half", 0.1))
    )
    yield from (
        ("compat.v1.floor_div", first, {"y": y})
        for first, y in (("@x", 0.3), ("@ids", 2), ("@ids", -2))
    )
    yield from (("math.pow", first, {"y": y}) for first, y in (("@x", 2), (2.0, "@x"), ("@ids", 2)))
    yield "math.divide_no_nan", "@x", {"y": "@y"}
    yield "math.atan2", "@x", {"x": "@y"}
    yield from ((f"math.logical_{name}", "@yes", {"y": "@no"}) for name in ("and", "or", "xor"))
    yield "math.logical_not", "@yes", {}
    yield from (("where", "@yes", {"x": "@x", "y": y}) for y in ("@y", 0.0))
    for name in ("abs", "negative", "sign", "square", "round"):
        yield from ((f"math.{name}", first, {}) for first in ("@x", "@ids", "@half"))
    for name in (
        "floor",
        "ceil",
        "exp",
        "expm1",
        "sin",
        "cos",
        "tan",
        "tanh",
        "sinh",
        "cosh",
        "asinh",
        "atan",
        "erf",
        "erfc",
        "reciprocal",
        "sigmoid",
        "softplus",
        "is_nan",
        "is_inf",
        "is_finite",
        "log_sigmoid",
        "l2_normalize",
    ):
        yield f"math.{name}", "@x", {}
    yield from (
        (f"math.{name}", "@positive", {}) for name in ("sqrt", "rsqrt", "log", "log1p", "acosh")
    )
    yield from ((f"math.{name}", "@small", {}) for name in ("asin", "acos", "atanh"))
    yield from (
        (f"nn.{name}", "@x", {})
        for name in (
            "relu",
            "relu6",
            "elu",
            "selu",
            "gelu",
            "silu",
            "softsign",
            "leaky_relu",
            "softmax",
            "log_softmax",
        )
    )
    yield "nn.gelu", "@x", {"approximate": True}
    yield "nn.silu", "@x", {"beta": 1.5}
    yield "nn.leaky_relu", "@x", {"alpha": 0.01}
    yield "nn.softmax", "@x", {"axis": 1}
    yield "nn.relu", "@ids", {}
    yield "nn.bias_add", "@image", {"bias": [1.0, 2.0, 3.0, 4.0]}
    for name in (
        "sum",
        "prod",
        "max",
        "min",
        "mean",
        "variance",
        "std",
        "logsumexp",
        "euclidean_norm",
    ):
        yield from ((f"math.reduce_{name}", "@x", options) for options in REDUCED)
    yield from ((f"math.reduce_{name}", "@ids", {}) for name in ("sum", "prod", "max", "min"))
    yield from (
        (f"math.reduce_{name}", "@yes", options) for name in ("all", "any") for options in REDUCED
    )
    yield "compat.v1.norm", "@x", {"ord": "euclidean", "axis": 1, "keepdims": None}
    yield "math.l2_normalize", "@x", {"axis": [1, 2]}
    yield from (
        (f"math.arg{name}", "@x", options)
        for name in ("max", "min")
        for options in ({}, {"axis": 2}, {"axis": -1, "output_type": INT})
    )
    yield from (
        (f"math.cum{name}", "@x", options)
        for name in ("sum", "prod")
        for options in ({"axis": 1}, {"axis": -1, "exclusive": True, "reverse": True})
    )
    yield "math.top_k", "@x", {"k": 2}
    yield "math.add_n", ["@x", "@y", "@x"], {}
    yield from (
        ("clip_by_value", first, {"clip_value_min": 0, "clip_value_max": 2})
        for first in ("@x", "@ids")
    )
    yield "linalg.matmul", "@x", {"b": "@y", "transpose_b": True}
    yield "linalg.matmul", "@x", {"b": "@y", "transpose_a": True, "transpose_b": False}
    yield "tensordot", "@x", {"b": "@y", "axes": [[2, 0], [2, 0]]}
    yield from (
        ("cast", first, {"dtype": dtype})
        for first in ("@x", "@ids", "@yes")
        for dtype in (FLOAT, INT, "float16")
    )
    yield "reshape", "@x", {"shape": [-1, 24]}
    yield from (
        ("compat.v1.transpose", "@x", {"perm": perm, "conjugate": False})
        for perm in (None, [0, 2, 1])
    )
    yield from (("concat", first, {"axis": -1}) for first in (["@x", "@y"], ["@x", "@y", "@x"]))
    yield from (("stack", ["@x", "@y"], {"axis": axis}) for axis in (0, 1, -1))
    yield "unstack", "@x", {"axis": 1}
    yield from (
        ("split", "@x", {"num_or_size_splits": sections, "axis": -1})
        for sections in (3, [1, 2, 3], [2, -1, 1])
    )
    yield from (("expand_dims", "@x", {"axis": axis}) for axis in (0, -1))
    yield from (("compat.v1.squeeze", "@thin", {"axis": axis}) for axis in (None, [2], 2))
    yield "tile", "@x", {"multiples": [1, 2, 3]}
    yield "repeat", "@x", {"repeats": 2, "axis": 1}
    yield "roll", "@x", {"shift": [1, -2], "axis": [1, 2]}
    yield "reverse", "@x", {"axis": [1, -1]}
    yield (
        "compat.v1.pad",
        "@x",
        {"paddings": [[0, 0], [1, 2], [3, 0]], "mode": "CONSTANT", "constant_values": 0.5},
    )
    yield from (
        ("pad", "@x", {"paddings": [[0, 0], [1, 2], [3, 0]], "mode": mode})
        for mode in ("REFLECT", "SYMMETRIC")
    )
    yield (
        "compat.v1.gather",
        "@x",
        {"indices": [2, 0], "validate_indices": None, "axis": 1, "batch_dims": 0},
    )
    yield "compat.v1.gather", "@x", {"indices": "@ids", "axis": 1, "batch_dims": 0}
    yield from (("one_hot", "@ids", {"depth": 3, "axis": axis}) for axis in (-1, 1))
    yield "broadcast_to", "@x", {"shape": [2, 4, 6]}
    yield from (
        (name, "@x", {}) for name in ("zeros_like", "ones_like", "identity", "stop_gradient")
    )
    yield from (
        (f"nn.{name}", "@image", {"block_size": 2}) for name in ("depth_to_space", "space_to_depth")
    )
    for name in ("max", "avg"):
        yield f"nn.{name}_pool2d", "@image", {"ksize": [3, 2], "strides": 2, "padding": "SAME"}
        yield (
            f"nn.{name}_pool",
            "@image",
            {
                "ksize": [1, 3, 3, 1],
                "strides": [1, 2, 2, 1],
                "padding": "VALID",
                "data_format": "NHWC",
            },
        )
    for method in ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"):
        yield from (
            ("image.resize", "@image", {"size": size, "method": method})
            for size in ([16, 11], [3, 5])
        )
    yield "image.resize", "@image", {"size": [3, 5], "antialias": True}
    yield from ((f"image.flip_{way}", "@image", {}) for way in ("left_right", "up_down"))
    yield "image.rgb_to_grayscale", "@coloured", {}


CALLS = list(calls())
