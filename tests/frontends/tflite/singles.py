# ruff: noqa: PERF401 - the rows of a table, one an append
"""Models of one operator, written as tables: the options, dtypes and scales that the converter does
not write today, or only of large models.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

NUMBERS = {
    "float32": 0,
    "float16": 1,
    "int32": 2,
    "uint8": 3,
    "int64": 4,
    "bool": 6,
    "int16": 7,
    "complex64": 8,
    "int8": 9,
    "uint32": 15,
    "resource": 13,
}
SAME, VALID = 0, 1
NONE, RELU, RELU1, RELU6, TANH = range(5)


@dataclass(frozen=True)
class T:
    """A tensor: an input where it has no value, a variable where it says so. `scale` may be one
    number or one a channel.
    """

    dtype: str
    shape: tuple[int, ...]
    value: Any = None
    scale: Any = None
    zero: int = 0
    axis: int = 0
    variable: bool = False
    spread: float = 2.0


@dataclass(frozen=True)
class Single:
    name: str
    op: str
    inputs: Sequence[T | None]
    outputs: Sequence[T]
    options: dict[str, Any] = field(default_factory=dict)
    custom: bytes = b""
    intermediates: Sequence[T] = ()


def randomly(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed).normal(0, scale, shape)).astype(np.float32)


def whole(seed: int, dtype: str, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape).astype(dtype)


def f(*shape: int, value: Any = None, spread: float = 2.0) -> T:
    return T("float32", shape, value, spread=spread)


def q(
    dtype: str, *shape: int, scale: Any = 0.05, zero: int = 0, value: Any = None, axis: int = 0
) -> T:
    return T(dtype, shape, value, scale, zero, axis)


def ints(*values: Any, dtype: str = "int32") -> T:
    array = np.array(
        values[0]
        if len(values) == 1 and isinstance(values[0], (list, tuple, np.ndarray))
        else values,
        dtype,
    )
    return T(dtype, array.shape, array)


def weights(seed: int, *shape: int) -> T:
    return f(*shape, value=randomly(seed, *shape, scale=0.5))


def tensor(item: T, name: str, buffers: list[Any]) -> Any:
    made = schema.TensorT()
    made.shape, made.type, made.name = list(item.shape), NUMBERS[item.dtype], name
    made.isVariable = item.variable
    made.buffer = 0
    if item.value is not None:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(
            np.ascontiguousarray(
                item.value, np.bool_ if item.dtype == "bool" else item.dtype
            ).tobytes(),
            np.uint8,
        )
        buffers.append(buffer)
        made.buffer = len(buffers) - 1
    if item.scale is not None:
        quantization = schema.QuantizationParametersT()
        scales = np.atleast_1d(np.array(item.scale, np.float32))
        quantization.scale, quantization.zeroPoint = (
            scales,
            np.full(len(scales), item.zero, np.int64),
        )
        quantization.quantizedDimension = item.axis
        made.quantization = quantization
    return made


def written(single: Single) -> bytes:
    model, graph = schema.ModelT(), schema.SubGraphT()
    buffers = [schema.BufferT()]
    graph.tensors, inputs, outputs = [], [], []
    operator = schema.OperatorT()
    for place, item in enumerate(single.inputs):
        if item is None:
            inputs.append(-1)
            continue
        graph.tensors.append(tensor(item, f"x{place}", buffers))
        inputs.append(len(graph.tensors) - 1)
    for place, item in enumerate(single.outputs):
        graph.tensors.append(tensor(item, f"y{place}", buffers))
        outputs.append(len(graph.tensors) - 1)
    for place, item in enumerate(single.intermediates):
        graph.tensors.append(tensor(item, f"between{place}", buffers))
    operator.intermediates = list(
        range(len(graph.tensors) - len(single.intermediates), len(graph.tensors))
    )
    graph.inputs = [
        number
        for number, item in zip(inputs, single.inputs, strict=True)
        if item is not None and item.value is None and not item.variable
    ]
    graph.outputs, graph.name = outputs, "main"
    operator.inputs, operator.outputs, operator.opcodeIndex = inputs, outputs, 0
    code = schema.OperatorCodeT()
    code.version = 2 if single.op == "BROADCAST_TO" else 1
    if single.custom or not hasattr(schema.BuiltinOperator, single.op):
        code.builtinCode = code.deprecatedBuiltinCode = 32
        code.customCode = single.op
        operator.customOptions = np.frombuffer(single.custom, np.uint8)
    else:
        number = getattr(schema.BuiltinOperator, single.op)
        code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
    if "_" in single.options:
        kind = single.options["_"]
        options = getattr(schema, f"{kind}T")()
        for name, value in single.options.items():
            if name != "_":
                assert hasattr(options, name), (kind, name)
                setattr(options, name, value)
        operator.builtinOptions, operator.builtinOptionsType = (
            options,
            getattr(schema.BuiltinOptions, kind),
        )
    graph.operators = [operator]
    model.version, model.subgraphs, model.operatorCodes, model.buffers, model.description = (
        3,
        [graph],
        [code],
        buffers,
        "webkiln",
    )
    builder = flatbuffers.Builder(1 << 12)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def options(kind: str, **values: Any) -> dict[str, Any]:
    return {"_": kind, **values}


def window(kind: str, **values: Any) -> dict[str, Any]:
    return options(kind, **{"padding": SAME, "strideW": 1, "strideH": 1, **values})


def unary_floats() -> list[Single]:
    names = (
        "ABS",
        "CEIL",
        "COS",
        "ELU",
        "EXP",
        "FLOOR",
        "HARD_SWISH",
        "LOGISTIC",
        "LOG_SOFTMAX",
        "NEG",
        "RELU",
        "RELU6",
        "RELU_0_TO_1",
        "RELU_N1_TO_1",
        "ROUND",
        "SIGN",
        "SIN",
        "SQUARE",
        "TANH",
        "ZEROS_LIKE",
    )
    made = [Single(name.lower(), name, [f(3, 5)], [f(3, 5)]) for name in names]
    made += [
        Single(name.lower(), name, [T("float32", (3, 5), spread=-3.0)], [f(3, 5)])
        for name in ("LOG", "SQRT", "RSQRT")
    ]
    made.append(
        Single("gelu_tanh", "GELU", [f(3, 5)], [f(3, 5)], options("GeluOptions", approximate=True))
    )
    made.append(
        Single(
            "leaky_relu", "LEAKY_RELU", [f(3, 5)], [f(3, 5)], options("LeakyReluOptions", alpha=0.3)
        )
    )
    made.append(
        Single("softmax_beta", "SOFTMAX", [f(3, 5)], [f(3, 5)], options("SoftmaxOptions", beta=0.5))
    )
    made.append(Single("neg_int", "NEG", [ints_in("int32", 3, 4)], [T("int32", (3, 4))]))
    made.append(
        Single(
            "l2_normalization",
            "L2_NORMALIZATION",
            [f(2, 3, 4)],
            [f(2, 3, 4)],
            options("L2NormOptions"),
        )
    )
    made.append(
        Single(
            "lrn",
            "LOCAL_RESPONSE_NORMALIZATION",
            [f(1, 3, 3, 8)],
            [f(1, 3, 3, 8)],
            options("LocalResponseNormalizationOptions", radius=2, bias=1.5, alpha=0.3, beta=0.6),
        )
    )
    made.append(
        Single(
            "fake_quant",
            "FAKE_QUANT",
            [f(3, 9)],
            [f(3, 9)],
            options("FakeQuantOptions", min=-1.2, max=2.3, numBits=5, narrowRange=False),
        )
    )
    return made


def ints_in(dtype: str, *shape: int, spread: float = 7.0) -> T:
    return T(dtype, shape, spread=spread)


def binaries() -> list[Single]:
    made = []
    for name in ("MAXIMUM", "MINIMUM", "FLOOR_DIV", "FLOOR_MOD", "SQUARED_DIFFERENCE", "ATAN2"):
        made.append(
            Single(
                name.lower(),
                name,
                [f(2, 3, 4), f(3, 1) if name != "ATAN2" else f(2, 3, 4)],
                [f(2, 3, 4)],
            )
        )
    for name, kind in (
        ("ADD", "AddOptions"),
        ("SUB", "SubOptions"),
        ("MUL", "MulOptions"),
        ("DIV", "DivOptions"),
    ):
        made.append(
            Single(
                f"{name.lower()}_relu6",
                name,
                [f(2, 3, 4), weights(1, 4)],
                [f(2, 3, 4)],
                options(kind, fusedActivationFunction=RELU6),
            )
        )
        made.append(
            Single(
                f"{name.lower()}_relu1",
                name,
                [f(2, 1, 4), f(2, 3, 1)],
                [f(2, 3, 4)],
                options(kind, fusedActivationFunction=RELU1),
            )
        )
    for name in ("ADD", "SUB", "MUL", "FLOOR_DIV", "FLOOR_MOD", "MAXIMUM"):
        kind = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions"}.get(name)
        second = ints([[2], [-3], [5]])
        made.append(
            Single(
                f"{name.lower()}_int32",
                name,
                [ints_in("int32", 3, 4), second],
                [T("int32", (3, 4))],
                options(kind) if kind else {},
            )
        )
    for name in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
        made.append(
            Single(
                f"{name.lower()}_int32",
                name,
                [ints_in("int32", 3, 4), ints_in("int32", 4)],
                [T("bool", (3, 4))],
            )
        )
        for dtype, zero in (("int8", -3), ("uint8", 120)):
            items = [q(dtype, 3, 4, scale=0.05, zero=zero), q(dtype, 4, scale=0.08, zero=zero + 5)]
            made.append(Single(f"{name.lower()}_{dtype}", name, items, [T("bool", (3, 4))]))
    for name in ("LOGICAL_AND", "LOGICAL_OR"):
        made.append(
            Single(name.lower(), name, [T("bool", (3, 4)), T("bool", (4,))], [T("bool", (3, 4))])
        )
    made.append(Single("logical_not", "LOGICAL_NOT", [T("bool", (3, 4))], [T("bool", (3, 4))]))
    made.append(Single("pow", "POW", [T("float32", (3, 4), spread=-2.0), f(4)], [f(3, 4)]))
    made.append(
        Single(
            "bitwise_xor",
            "BITWISE_XOR",
            [ints_in("int32", 3, 4, spread=99), ints_in("int32", 4, spread=99)],
            [T("int32", (3, 4))],
        )
    )
    made.append(
        Single(
            "right_shift",
            "RIGHT_SHIFT",
            [ints_in("int32", 3, 4, spread=9999), ints(1, 2, 3, 4)],
            [T("int32", (3, 4))],
        )
    )
    made.append(Single("bitcast", "BITCAST", [f(3, 4)], [T("int32", (3, 4))]))
    made.append(Single("add_n", "ADD_N", [f(3, 4), f(3, 4), f(3, 4)], [f(3, 4)]))
    made.append(Single("prelu", "PRELU", [f(2, 3, 4), weights(2, 1, 1, 4)], [f(2, 3, 4)]))
    return made


def quantized_elements() -> list[Single]:
    made = []
    zeros = {"int8": (-5, 3, -20), "uint8": (120, 128, 100), "int16": (0, 0, 0)}
    for dtype, (first, second, last) in zeros.items():
        fine = 1e-4 if dtype == "int16" else 0.03
        a, b = (
            q(dtype, 2, 5, 4, scale=fine, zero=first),
            q(dtype, 5, 4, scale=fine * 1.7, zero=second),
        )
        for name, kind, scale in (
            ("ADD", "AddOptions", 2.2),
            ("SUB", "SubOptions", 2.2),
            ("MUL", "MulOptions", 2.0),
        ):
            out = (
                fine * scale
                if name != "MUL"
                else fine * (scale if dtype != "int16" else 1.0) * (1 if dtype != "int16" else 3.0)
            )
            extra = {"potScaleInt16": False} if name != "MUL" and dtype == "int16" else {}
            for act in (NONE, RELU, RELU6):
                made.append(
                    Single(
                        f"{name.lower()}_{dtype}_{act}",
                        name,
                        [a, b],
                        [q(dtype, 2, 5, 4, scale=out, zero=last)],
                        options(kind, fusedActivationFunction=act, **extra),
                    )
                )
        made.append(
            Single(
                f"leaky_relu_{dtype}",
                "LEAKY_RELU",
                [a],
                [q(dtype, 2, 5, 4, scale=fine * 0.9, zero=last)],
                options("LeakyReluOptions", alpha=0.2),
            )
        )
        for name in ("RELU", "RELU6") + (
            ("RELU_N1_TO_1", "RELU_0_TO_1") if dtype != "int16" else ()
        ):
            made.append(
                Single(
                    f"{name.lower()}_{dtype}",
                    name,
                    [a],
                    [q(dtype, 2, 5, 4, scale=fine * 0.8, zero=last)],
                )
            )
        for name in ("MAXIMUM", "MINIMUM"):
            made.append(
                Single(
                    f"{name.lower()}_{dtype}",
                    name,
                    [a, q(dtype, 5, 4, scale=fine, zero=first)],
                    [q(dtype, 2, 5, 4, scale=fine, zero=first)],
                )
            )
        if dtype != "int16":
            made.append(
                Single(
                    f"hard_swish_{dtype}",
                    "HARD_SWISH",
                    [a],
                    [q(dtype, 2, 5, 4, scale=fine * 1.1, zero=last)],
                )
            )
            made.append(
                Single(
                    f"squared_difference_{dtype}",
                    "SQUARED_DIFFERENCE",
                    [a, b],
                    [q(dtype, 2, 5, 4, scale=fine * 4, zero=last)],
                )
            )
            made.append(
                Single(
                    f"prelu_{dtype}",
                    "PRELU",
                    [a, q(dtype, 1, 1, 4, scale=0.01, zero=second, value=whole(3, dtype, 1, 1, 4))],
                    [q(dtype, 2, 5, 4, scale=fine * 1.2, zero=last)],
                )
            )
    for name, kind in (("ADD", "AddOptions"), ("SUB", "SubOptions")):
        items = [q("int16", 3, 40, scale=1 / 4096), q("int16", 3, 40, scale=1 / 8192)]
        made.append(
            Single(
                f"{name.lower()}_powers",
                name,
                items,
                [q("int16", 3, 40, scale=1 / 4096)],
                options(kind, potScaleInt16=True),
            )
        )
    for out in (0.03, 0.05):
        x = q("int8", 3, 40, scale=0.03, zero=5)
        made.append(
            Single(
                f"abs_int8_{out}",
                "ABS",
                [x],
                [q("int8", 3, 40, scale=out, zero=5 if out == 0.03 else -128)],
            )
        )
    return [item for item in made if not item.name.startswith("squared_difference_uint8")]


def curves() -> list[Single]:
    made = []
    for dtype, zero in (("int8", -7), ("uint8", 119)):
        low, unit = (-128, -128) if dtype == "int8" else (0, 0)
        for scale in (0.04, 0.013):
            x = q(dtype, 4, 64, scale=scale, zero=zero)
            made.append(
                Single(
                    f"logistic_{dtype}_{scale}",
                    "LOGISTIC",
                    [x],
                    [q(dtype, 4, 64, scale=1 / 256, zero=low)],
                )
            )
            made.append(
                Single(
                    f"tanh_{dtype}_{scale}",
                    "TANH",
                    [x],
                    [q(dtype, 4, 64, scale=1 / 128, zero=0 if dtype == "int8" else 128)],
                )
            )
            made.append(
                Single(
                    f"softmax_{dtype}_{scale}",
                    "SOFTMAX",
                    [x],
                    [q(dtype, 4, 64, scale=1 / 256, zero=unit)],
                    options("SoftmaxOptions", beta=1.0),
                )
            )
        made.append(
            Single(
                f"l2_normalization_{dtype}",
                "L2_NORMALIZATION",
                [q(dtype, 5, 40, scale=0.04, zero=zero)],
                [q(dtype, 5, 40, scale=1 / 128, zero=0 if dtype == "int8" else 128)],
                options("L2NormOptions"),
            )
        )
        made.append(
            Single(
                f"softmax_wide_{dtype}",
                "SOFTMAX",
                [q(dtype, 3, 700, scale=0.1, zero=zero)],
                [q(dtype, 3, 700, scale=1 / 256, zero=unit)],
                options("SoftmaxOptions", beta=0.7),
            )
        )
    made.append(
        Single(
            "softmax_int8_16",
            "SOFTMAX",
            [q("int8", 4, 33, scale=0.05, zero=3)],
            [q("int16", 4, 33, scale=1 / 65536, zero=-32768)],
            options("SoftmaxOptions", beta=1.0),
        )
    )
    for scale in (0.02, 0.1):
        x, y = q("int8", 4, 33, scale=scale, zero=5), q("int8", 4, 33, scale=16 / 256, zero=127)
        made.append(Single(f"log_softmax_int8_{scale}", "LOG_SOFTMAX", [x], [y]))
    for scale in (1 / 4096, 1 / 2048, 3e-4, 1.7e-4):
        x = q("int16", 4, 128, scale=scale)
        made.append(
            Single(
                f"logistic_int16_{scale:.2g}",
                "LOGISTIC",
                [x],
                [q("int16", 4, 128, scale=1 / 32768)],
            )
        )
        made.append(
            Single(f"tanh_int16_{scale:.2g}", "TANH", [x], [q("int16", 4, 128, scale=1 / 32768)])
        )
        made.append(
            Single(
                f"softmax_int16_{scale:.2g}",
                "SOFTMAX",
                [x],
                [q("int16", 4, 128, scale=1 / 32768)],
                options("SoftmaxOptions", beta=1.0),
            )
        )
    made.append(
        Single(
            "exp_int8",
            "EXP",
            [q("int8", 2, 128, scale=0.02, zero=4)],
            [q("int8", 2, 128, scale=0.05, zero=-128)],
        )
    )
    made.append(
        Single(
            "exp_int16", "EXP", [q("int16", 2, 128, scale=1e-4)], [q("int16", 2, 128, scale=1e-3)]
        )
    )
    made.append(
        Single(
            "log_int8",
            "LOG",
            [q("int8", 2, 128, scale=0.02, zero=-128)],
            [q("int8", 2, 128, scale=0.05, zero=10)],
        )
    )
    made.append(
        Single(
            "gelu_int8",
            "GELU",
            [q("int8", 2, 128, scale=0.03, zero=4)],
            [q("int8", 2, 128, scale=0.03, zero=-120)],
            options("GeluOptions"),
        )
    )
    made.append(
        Single(
            "elu_int8",
            "ELU",
            [q("int8", 2, 128, scale=0.03, zero=4)],
            [q("int8", 2, 128, scale=0.03, zero=-90)],
        )
    )
    return made


def products() -> list[Single]:
    made = []
    for dtype, zeros in (("int8", (-3, 0, 7)), ("uint8", (120, 110, 128)), ("int16", (0, 0, 0))):
        stored = "uint8" if dtype == "uint8" else "int8"
        fine = 1e-4 if dtype == "int16" else 0.03
        many = 0.004 if dtype == "uint8" else list(np.linspace(0.002, 0.01, 6))

        def w(
            *shape: int,
            axis: int = 0,
            seed: int = 5,
            stored: str = stored,
            many: Any = many,
            zero: int = zeros[1],
        ) -> T:
            return q(
                stored, *shape, scale=many, zero=zero, axis=axis, value=whole(seed, stored, *shape)
            )

        bias = T(
            "int64" if dtype == "int16" else "int32",
            (6,),
            np.array([100, -2000, 3000, 0, 7, -50000 if dtype == "int16" else -900]),
            fine * 0.004,
        )
        x = q(dtype, 2, 7, 6, 3, scale=fine, zero=zeros[0])

        def y(*shape: int, dtype: str = dtype, fine: float = fine, zero: int = zeros[2]) -> T:
            return q(dtype, *shape, scale=fine * 2.5, zero=zero)

        for padding, stride, act in ((SAME, 2, RELU), (VALID, 1, RELU6), (SAME, 1, NONE)):
            o = (-(-7 // stride), -(-6 // stride)) if padding == SAME else (5, 4)
            made.append(
                Single(
                    f"conv_2d_{dtype}_{padding}{stride}{act}",
                    "CONV_2D",
                    [x, w(6, 3, 3, 3), bias],
                    [y(2, *o, 6)],
                    window(
                        "Conv2DOptions",
                        padding=padding,
                        strideW=stride,
                        strideH=stride,
                        fusedActivationFunction=act,
                    ),
                )
            )
            made.append(
                Single(
                    f"depthwise_{dtype}_{padding}{stride}{act}",
                    "DEPTHWISE_CONV_2D",
                    [x, w(1, 3, 3, 6, axis=3), bias],
                    [y(2, *o, 6)],
                    window(
                        "DepthwiseConv2DOptions",
                        padding=padding,
                        strideW=stride,
                        strideH=stride,
                        depthMultiplier=2,
                        fusedActivationFunction=act,
                    ),
                )
            )
        made.append(
            Single(
                f"conv_dilated_{dtype}",
                "CONV_2D",
                [x, w(6, 2, 2, 3), bias],
                [y(2, 7, 6, 6)],
                window("Conv2DOptions", dilationWFactor=2, dilationHFactor=3),
            )
        )
        made.append(
            Single(
                f"transpose_conv_{dtype}",
                "TRANSPOSE_CONV",
                [ints(2, 14, 12, 6), w(6, 3, 3, 3), x, bias],
                [y(2, 14, 12, 6)],
                window("TransposeConvOptions", strideW=2, strideH=2),
            )
        )
        made.append(
            Single(
                f"fully_connected_{dtype}",
                "FULLY_CONNECTED",
                [q(dtype, 5, 40, scale=fine, zero=zeros[0]), w(6, 40), bias],
                [y(5, 6)],
                options("FullyConnectedOptions", fusedActivationFunction=RELU),
            )
        )
        made.append(
            Single(
                f"fully_connected_one_{dtype}",
                "FULLY_CONNECTED",
                [q(dtype, 5, 40, scale=fine, zero=zeros[0]), w(6, 40, many=0.004), None],
                [y(5, 6)],
                options("FullyConnectedOptions"),
            )
        )
        made.append(
            Single(
                f"average_pool_{dtype}",
                "AVERAGE_POOL_2D",
                [x],
                [q(dtype, 2, 4, 3, 3, scale=fine, zero=zeros[0])],
                window(
                    "Pool2DOptions",
                    strideW=2,
                    strideH=2,
                    filterWidth=3,
                    filterHeight=2,
                    fusedActivationFunction=RELU6,
                ),
            )
        )
        made.append(
            Single(
                f"max_pool_{dtype}",
                "MAX_POOL_2D",
                [x],
                [q(dtype, 2, 4, 3, 3, scale=fine, zero=zeros[0])],
                window(
                    "Pool2DOptions",
                    strideW=2,
                    strideH=2,
                    filterWidth=3,
                    filterHeight=2,
                    fusedActivationFunction=RELU,
                ),
            )
        )
        made.append(
            Single(
                f"mean_{dtype}",
                "MEAN",
                [x, ints(1, 2)],
                [q(dtype, 2, 3, scale=fine * 0.7, zero=zeros[2])],
                options("ReducerOptions"),
            )
        )
        if dtype == "uint8":
            made.append(
                Single(
                    f"sum_{dtype}",
                    "SUM",
                    [x, ints([1])],
                    [q(dtype, 2, 6, 3, scale=fine * 5, zero=zeros[2])],
                    options("ReducerOptions"),
                )
            )
        made.append(
            Single(
                f"reduce_max_{dtype}",
                "REDUCE_MAX",
                [x, ints([2])],
                [q(dtype, 2, 7, 3, scale=fine, zero=zeros[0])],
                options("ReducerOptions"),
            )
        )
        made.append(
            Single(
                f"pad_{dtype}",
                "PAD",
                [x, ints([[0, 0], [1, 2], [0, 1], [0, 0]])],
                [q(dtype, 2, 10, 7, 3, scale=fine, zero=zeros[0])],
            )
        )
        made.append(
            Single(
                f"nearest_{dtype}",
                "RESIZE_NEAREST_NEIGHBOR",
                [x, ints(11, 5)],
                [q(dtype, 2, 11, 5, 3, scale=fine, zero=zeros[0])],
                options("ResizeNearestNeighborOptions", halfPixelCenters=True),
            )
        )
        made.append(
            Single(
                f"quantize_{dtype}",
                "QUANTIZE",
                [f(3, 50)],
                [q(dtype, 3, 50, scale=fine, zero=zeros[0])],
            )
        )
        made.append(
            Single(
                f"dequantize_{dtype}",
                "DEQUANTIZE",
                [q(dtype, 3, 50, scale=fine, zero=zeros[0])],
                [f(3, 50)],
            )
        )
    for half, aligned in ((False, False), (True, False), (False, True)):
        for dtype in ("int8", "uint8"):
            made.append(
                Single(
                    f"bilinear_{dtype}_{half:d}{aligned:d}",
                    "RESIZE_BILINEAR",
                    [q(dtype, 2, 5, 7, 3), ints(9, 4)],
                    [q(dtype, 2, 9, 4, 3)],
                    options("ResizeBilinearOptions", halfPixelCenters=half, alignCorners=aligned),
                )
            )
        made.append(
            Single(
                f"bilinear_{half:d}{aligned:d}",
                "RESIZE_BILINEAR",
                [f(2, 5, 7, 3), ints(9, 4)],
                [f(2, 9, 4, 3)],
                options("ResizeBilinearOptions", halfPixelCenters=half, alignCorners=aligned),
            )
        )
        made.append(
            Single(
                f"nearest_{half:d}{aligned:d}",
                "RESIZE_NEAREST_NEIGHBOR",
                [f(2, 5, 7, 3), ints(9, 4)],
                [f(2, 9, 4, 3)],
                options(
                    "ResizeNearestNeighborOptions", halfPixelCenters=half, alignCorners=aligned
                ),
            )
        )
    for source, scale, target, out in (
        ("int8", 0.05, "int8", 0.03),
        ("int8", 0.05, "uint8", 0.06),
        ("uint8", 0.05, "int8", 0.04),
        ("int16", 1e-4, "int8", 0.02),
        ("int8", 0.05, "int16", 1e-3),
        ("int16", 1e-4, "int16", 3e-4),
    ):
        zero = {"int8": 4, "uint8": 120, "int16": 0}
        made.append(
            Single(
                f"requantize_{source}_{target}",
                "QUANTIZE",
                [q(source, 3, 50, scale=scale, zero=zero[source])],
                [q(target, 3, 50, scale=out, zero=zero[target])],
            )
        )
    made.append(
        Single(
            "concat_uint8",
            "CONCATENATION",
            [q("uint8", 2, 5, scale=0.03, zero=120), q("uint8", 2, 3, scale=0.05, zero=100)],
            [q("uint8", 2, 8, scale=0.06, zero=128)],
            options("ConcatenationOptions", axis=1),
        )
    )
    made.append(
        Single(
            "batch_matmul_int8",
            "BATCH_MATMUL",
            [q("int8", 2, 4, 9, scale=0.03, zero=5), q("int8", 2, 9, 5, scale=0.02, zero=-3)],
            [q("int8", 2, 4, 5, scale=0.2, zero=7)],
            options("BatchMatMulOptions"),
        )
    )
    made.append(
        Single(
            "grouped_int8",
            "CONV_2D",
            [
                q("int8", 1, 5, 5, 6, zero=3),
                q(
                    "int8",
                    4,
                    3,
                    3,
                    3,
                    scale=[0.01, 0.02, 0.015, 0.03],
                    value=whole(9, "int8", 4, 3, 3, 3),
                ),
                T("int32", (4,), np.zeros(4), 0.0005),
            ],
            [q("int8", 1, 5, 5, 4, scale=0.5)],
            window("Conv2DOptions"),
        )
    )
    return made


def shapes() -> list[Single]:
    x = f(2, 3, 4)
    image = f(1, 4, 6, 8)
    made = [
        Single("transpose", "TRANSPOSE", [x, ints(2, 0, 1)], [f(4, 2, 3)]),
        Single("reshape_open", "RESHAPE", [x, ints(4, -1)], [f(4, 6)]),
        Single(
            "reshape_option", "RESHAPE", [x], [f(6, 4)], options("ReshapeOptions", newShape=[6, 4])
        ),
        Single(
            "squeeze",
            "SQUEEZE",
            [f(1, 3, 1, 4)],
            [f(3, 1, 4)],
            options("SqueezeOptions", squeezeDims=[0]),
        ),
        Single("squeeze_all", "SQUEEZE", [f(1, 3, 1, 4)], [f(3, 4)], options("SqueezeOptions")),
        Single("expand_dims", "EXPAND_DIMS", [x, ints(-2)], [f(2, 3, 1, 4)]),
        Single(
            "pack", "PACK", [x, x], [f(2, 3, 2, 4)], options("PackOptions", valuesCount=2, axis=2)
        ),
        Single("unpack", "UNPACK", [x], [f(2, 4)] * 3, options("UnpackOptions", num=3, axis=1)),
        Single(
            "split", "SPLIT", [ints(2), x], [f(2, 3, 2)] * 2, options("SplitOptions", numSplits=2)
        ),
        Single(
            "split_v",
            "SPLIT_V",
            [x, ints(1, -1), ints(2)],
            [f(2, 3, 1), f(2, 3, 3)],
            options("SplitVOptions", numSplits=2),
        ),
        Single("slice", "SLICE", [x, ints(0, 1, 2), ints(-1, 2, 1)], [f(2, 2, 1)]),
        Single(
            "strided_slice",
            "STRIDED_SLICE",
            [x, ints(0, 2, 3), ints(2, 0, -9), ints(1, -1, -2)],
            [f(2, 2, 2)],
            options("StridedSliceOptions", endMask=0),
        ),
        Single(
            "strided_slice_masks",
            "STRIDED_SLICE",
            [x, ints(0, 1, 0), ints(0, 2, 0), ints(1, 1, 1)],
            [f(2, 4)],
            options("StridedSliceOptions", beginMask=5, endMask=5, shrinkAxisMask=2),
        ),
        Single(
            "strided_slice_new",
            "STRIDED_SLICE",
            [x, ints(0, 0, 1), ints(0, 0, 3), ints(1, 1, 1)],
            [f(2, 3, 1, 2)],
            options("StridedSliceOptions", ellipsisMask=1, newAxisMask=2),
        ),
        Single(
            "pad_value",
            "PADV2",
            [x, ints([[0, 1], [2, 0], [1, 1]]), T("float32", (), np.array(-1.5))],
            [f(3, 5, 6)],
        ),
        Single(
            "mirror_reflect",
            "MIRROR_PAD",
            [x, ints([[0, 0], [2, 1], [3, 2]])],
            [f(2, 6, 9)],
            options("MirrorPadOptions", mode=0),
        ),
        Single(
            "mirror_symmetric",
            "MIRROR_PAD",
            [x, ints([[1, 2], [3, 1], [0, 4]])],
            [f(5, 7, 8)],
            options("MirrorPadOptions", mode=1),
        ),
        Single("reverse", "REVERSE_V2", [x, ints([2])], [x]),
        Single("tile", "TILE", [x, ints(1, 2, 3)], [f(2, 6, 12)]),
        Single("broadcast_to", "BROADCAST_TO", [f(3, 1), ints(2, 3, 4)], [x]),
        Single("fill", "FILL", [ints(2, 3), T("float32", (), spread=2.0)], [f(2, 3)]),
        Single(
            "depth_to_space",
            "DEPTH_TO_SPACE",
            [image],
            [f(1, 8, 12, 2)],
            options("DepthToSpaceOptions", blockSize=2),
        ),
        Single(
            "space_to_depth",
            "SPACE_TO_DEPTH",
            [image],
            [f(1, 2, 3, 32)],
            options("SpaceToDepthOptions", blockSize=2),
        ),
        Single(
            "space_to_batch",
            "SPACE_TO_BATCH_ND",
            [f(1, 4, 5, 3), ints(2, 3), ints([[0, 0], [0, 1]])],
            [f(6, 2, 2, 3)],
        ),
        Single(
            "batch_to_space",
            "BATCH_TO_SPACE_ND",
            [f(6, 2, 2, 3), ints(2, 3), ints([[0, 0], [1, 1]])],
            [f(1, 4, 4, 3)],
        ),
        Single(
            "dilate",
            "DILATE",
            [f(2, 3, 2), ints(2, 3, 1), T("float32", (), np.array(-1.0))],
            [f(3, 7, 2)],
        ),
        Single(
            "cast_int",
            "CAST",
            [f(3, 4)],
            [T("int32", (3, 4))],
            options("CastOptions", inDataType=0, outDataType=2),
        ),
        Single(
            "cast_bool",
            "CAST",
            [T("bool", (3, 4))],
            [f(3, 4)],
            options("CastOptions", inDataType=6, outDataType=0),
        ),
        Single("shape", "SHAPE", [x], [T("int32", (3,))], options("ShapeOptions", outType=2)),
        Single("rank", "RANK", [x], [T("int32", ())]),
        Single(
            "concat_relu",
            "CONCATENATION",
            [x, x],
            [f(2, 6, 4)],
            options("ConcatenationOptions", axis=1, fusedActivationFunction=NONE),
        ),
    ]
    for name in ("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"):
        made.append(
            Single(
                f"{name.lower()}_axes",
                name,
                [x, ints(0, -1)],
                [f(1, 3, 1)],
                options("ReducerOptions", keepDims=True),
            )
        )
        made.append(
            Single(
                f"{name.lower()}_int",
                name,
                [ints_in("int32", 3, 4), ints([1])],
                [T("int32", (3,))],
                options("ReducerOptions"),
            )
        )
    for name in ("REDUCE_ANY", "REDUCE_ALL"):
        made.append(
            Single(
                name.lower(),
                name,
                [T("bool", (4, 3)), ints([1])],
                [T("bool", (4,))],
                options("ReducerOptions"),
            )
        )
    for name, kind in (("ARG_MAX", "ArgMaxOptions"), ("ARG_MIN", "ArgMinOptions")):
        made.append(
            Single(
                name.lower(), name, [x, ints(-1)], [T("int64", (2, 3))], options(kind, outputType=4)
            )
        )
        made.append(
            Single(
                f"{name.lower()}_int8",
                name,
                [q("int8", 3, 9), ints(1)],
                [T("int32", (3,))],
                options(kind, outputType=2),
            )
        )
    for reverse in (False, True):
        made.append(
            Single(
                f"cumsum_{reverse:d}",
                "CUMSUM",
                [x, ints(1)],
                [x],
                options("CumsumOptions", exclusive=not reverse, reverse=reverse),
            )
        )
    return made


def lookups() -> list[Single]:
    x = f(4, 3, 5)
    made = [
        Single(
            "gather",
            "GATHER",
            [x, ints([[2, 0], [1, 1]])],
            [f(4, 2, 2, 5)],
            options("GatherOptions", axis=1),
        ),
        Single(
            "gather_batch",
            "GATHER",
            [x, ints([[2, 0], [1, 1], [0, 0], [2, 1]])],
            [f(4, 2, 5)],
            options("GatherOptions", axis=1, batchDims=1),
        ),
        Single("gather_nd", "GATHER_ND", [x, ints([[2, 0], [3, 1]])], [f(2, 5)]),
        Single("scatter_nd", "SCATTER_ND", [ints([[1], [3], [1]]), f(3, 2), ints(5, 2)], [f(5, 2)]),
        Single(
            "sparse_to_dense",
            "SPARSE_TO_DENSE",
            [ints([[0, 1], [2, 3]]), ints(3, 4), f(2), T("float32", (), np.array(0.5))],
            [f(3, 4)],
            options("SparseToDenseOptions"),
        ),
        Single(
            "update_slice",
            "DYNAMIC_UPDATE_SLICE",
            [f(4, 5), f(2, 3), ints_in("int32", 2, spread=3)],
            [f(4, 5)],
        ),
        Single(
            "one_hot",
            "ONE_HOT",
            [
                ints_in("int32", 2, 3, spread=3),
                ints_of(4),
                T("float32", (), np.array(2.0)),
                T("float32", (), np.array(-1.0)),
            ],
            [f(2, 4, 3)],
            options("OneHotOptions", axis=1),
        ),
        Single("select", "SELECT", [T("bool", (4,)), f(4, 3), f(4, 3)], [f(4, 3)]),
        Single("select_v2", "SELECT_V2", [T("bool", (4, 1)), f(3), f(4, 3)], [f(4, 3)]),
        Single("where", "WHERE", [T("bool", (4, 3))], [T("int64", (0, 2))]),
        Single("top_k", "TOPK_V2", [f(3, 9), ints_of(4)], [f(3, 4), T("int32", (3, 4))]),
        Single(
            "unique",
            "UNIQUE",
            [ints_in("int32", 12, spread=4)],
            [T("int32", (0,)), T("int32", (12,))],
            options("UniqueOptions", idxOutType=2),
        ),
        Single("segment_sum", "SEGMENT_SUM", [f(5, 3), ints(0, 0, 1, 2, 2)], [f(3, 3)]),
        Single(
            "reverse_sequence",
            "REVERSE_SEQUENCE",
            [f(3, 6, 2), ints(2, 6, 0)],
            [f(3, 6, 2)],
            options("ReverseSequenceOptions", seqDim=1, batchDim=0),
        ),
        Single("matrix_diag", "MATRIX_DIAG", [f(3, 4)], [f(3, 4, 4)]),
        Single("matrix_set_diag", "MATRIX_SET_DIAG", [f(2, 4, 3), f(2, 3)], [f(2, 4, 3)]),
        Single(
            "bucketize",
            "BUCKETIZE",
            [f(4, 6)],
            [T("int32", (4, 6))],
            options("BucketizeOptions", boundaries=[-1.0, 0.0, 0.5, 2.0]),
        ),
        Single(
            "embedding_int8",
            "EMBEDDING_LOOKUP",
            [
                ints_in("int32", 5, spread=6),
                q("int8", 7, 4, scale=0.05, value=whole(3, "int8", 7, 4)),
            ],
            [f(5, 4)],
        ),
        Single("range", "RANGE", [ints_of(2), ints_of(11), ints_of(3)], [T("int32", (3,))]),
    ]
    for name, dtype in (
        ("SUM", "float32"),
        ("PROD", "float32"),
        ("MAX", "float32"),
        ("MIN", "float32"),
    ):
        made.append(
            Single(
                f"unsorted_{name.lower()}",
                f"UNSORTED_SEGMENT_{name}",
                [f(5, 3), ints(0, 2, 0, 1, 2), ints_of(3)],
                [T(dtype, (3, 3))],
            )
        )
    boxes = np.array(
        [
            [0, 0, 1, 1],
            [0, 0.1, 1, 1.1],
            [0, -0.1, 1, 0.9],
            [0, 10, 1, 11],
            [0, 10.1, 1, 11.1],
            [0, 100, 1, 101],
        ],
        np.float32,
    )
    nms = [
        f(6, 4, value=boxes),
        f(6),
        ints_of(4),
        T("float32", (), np.array(0.5)),
        T("float32", (), np.array(-9.0)),
    ]
    made.append(Single("nms_4", "NON_MAX_SUPPRESSION_V4", nms, [T("int32", (4,)), T("int32", ())]))
    made.append(
        Single(
            "nms_5",
            "NON_MAX_SUPPRESSION_V5",
            [*nms, T("float32", (), np.array(0.0))],
            [T("int32", (4,)), f(4), T("int32", ())],
        )
    )
    return made


def ints_of(value: int) -> T:
    return T("int32", (), np.array(value))


def recurrent() -> list[Single]:
    made = []
    batch, steps, features, cells = 2, 4, 5, 6
    for kind in ("float32", "int8"):

        def w(seed: int, *shape: int, kind: str = kind) -> T:
            return (
                weights(seed, *shape)
                if kind == "float32"
                else q("int8", *shape, scale=0.01, value=whole(seed, "int8", *shape))
            )

        def state(*shape: int) -> T:
            return T("float32", shape, variable=True)

        def lstm(
            *,
            cifg: bool = False,
            peephole: bool = False,
            projected: bool = False,
            norm: bool = False,
            w: Any = w,
        ) -> list[T | None]:
            out = 3 if projected else cells
            gates: list[T | None] = [
                None if cifg else w(1, cells, features),
                w(2, cells, features),
                w(3, cells, features),
                w(4, cells, features),
            ]
            gates += [
                None if cifg else w(5, cells, out),
                w(6, cells, out),
                w(7, cells, out),
                w(8, cells, out),
            ]
            gates += [
                w(9, cells) if peephole and not cifg else None,
                w(10, cells) if peephole else None,
                w(11, cells) if peephole else None,
            ]
            gates += [
                None if cifg else weights(12, cells),
                weights(13, cells),
                weights(14, cells),
                weights(15, cells),
            ]
            gates += [
                w(16, out, cells) if projected else None,
                weights(17, out) if projected else None,
                state(batch, out),
                state(batch, cells),
            ]
            if norm:
                gates += [
                    None if cifg else weights(18, cells),
                    weights(19, cells),
                    weights(20, cells),
                    weights(21, cells),
                ]
            return gates

        rows = [
            ("plain", {}),
            ("cifg", {"cifg": True}),
            ("peephole", {"peephole": True}),
            ("projected", {"projected": True}),
        ]
        rows += [("norm", {"norm": True, "peephole": True})] if kind == "float32" else []
        for name, choice in rows:
            for major in (False, True) if name == "plain" else (False,):
                x = f(steps, batch, features) if major else f(batch, steps, features)
                out = 3 if choice.get("projected") else cells
                y = f(steps, batch, out) if major else f(batch, steps, out)
                made.append(
                    Single(
                        f"lstm_{name}_{kind}_{major:d}",
                        "UNIDIRECTIONAL_SEQUENCE_LSTM",
                        [x, *lstm(**choice)],
                        [y],
                        options(
                            "UnidirectionalSequenceLSTMOptions",
                            fusedActivationFunction=TANH,
                            timeMajor=major,
                            cellClip=0.8,
                            projClip=0.5 if choice.get("projected") else 0.0,
                            asymmetricQuantizeInputs=name == "plain",
                        ),
                    )
                )
        made.append(
            Single(
                f"lstm_step_{kind}",
                "LSTM",
                [f(batch, features), *lstm(peephole=True)],
                [f(batch, cells)],
                options("LSTMOptions", fusedActivationFunction=TANH),
            )
        )
        both = [item for half in (lstm(peephole=True)[:17], lstm(cifg=True)[:17]) for item in half]
        made.append(
            Single(
                f"bidirectional_lstm_{kind}",
                "BIDIRECTIONAL_SEQUENCE_LSTM",
                [f(steps, batch, features), *both, *[state(batch, cells)] * 4, *[None] * 9],
                [f(steps, batch, cells * 2)],
                options(
                    "BidirectionalSequenceLSTMOptions",
                    fusedActivationFunction=TANH,
                    mergeOutputs=True,
                    timeMajor=True,
                ),
            )
        )
        cell = [w(1, cells, features), w(2, cells, cells), weights(3, cells), state(batch, cells)]
        made.append(
            Single(
                f"rnn_{kind}",
                "RNN",
                [f(batch, features), *cell],
                [f(batch, cells)],
                options("RNNOptions", fusedActivationFunction=TANH),
            )
        )
        made.append(
            Single(
                f"rnn_sequence_{kind}",
                "UNIDIRECTIONAL_SEQUENCE_RNN",
                [f(batch, steps, features), *cell],
                [f(batch, steps, cells)],
                options("SequenceRNNOptions", fusedActivationFunction=RELU),
            )
        )
        made.append(
            Single(
                f"rnn_both_{kind}",
                "BIDIRECTIONAL_SEQUENCE_RNN",
                [f(batch, steps, features), *cell, *cell, None, None, None],
                [f(batch, steps, cells)] * 2,
                options("BidirectionalSequenceRNNOptions", fusedActivationFunction=TANH),
            )
        )
        made.append(
            Single(
                f"svdf_{kind}",
                "SVDF",
                [
                    f(batch, features),
                    w(1, 8, features),
                    w(2, 8, 4),
                    weights(3, 4),
                    state(batch, 32),
                ],
                [f(batch, 4)],
                options("SVDFOptions", rank=2, fusedActivationFunction=RELU),
            )
        )
    return made


def customs() -> list[Single]:
    from flatbuffers import flexbuffers

    made = []
    anchors = np.array(
        [
            [0.5, 0.5, 1, 1],
            [0.5, 0.5, 1, 1],
            [0.5, 0.5, 1, 1],
            [0.5, 10.5, 1, 1],
            [0.5, 10.5, 1, 1],
            [0.5, 100.5, 1, 1],
        ],
        np.float32,
    )
    boxes = np.array(
        [[0, 0, 0, 0], [0, 1, 0, 0], [0, -1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]],
        np.float32,
    )[None]
    for regular in (False, True):
        options_ = {
            "max_detections": 3,
            "max_classes_per_detection": 1,
            "detections_per_class": 2,
            "use_regular_nms": regular,
            "nms_score_threshold": 0.0,
            "nms_iou_threshold": 0.5,
            "num_classes": 2,
            "y_scale": 10.0,
            "x_scale": 10.0,
            "h_scale": 5.0,
            "w_scale": 5.0,
        }
        given = [
            f(1, 6, 4, value=boxes),
            T("float32", (1, 6, 3), spread=-0.5),
            f(6, 4, value=anchors),
        ]
        outputs = [f(1, 3, 4), f(1, 3), f(1, 3), f(1)]
        made.append(
            Single(
                f"detections_{regular:d}",
                "TFLite_Detection_PostProcess",
                given,
                outputs,
                custom=bytes(flexbuffers.Dumps(options_)),
            )
        )
    spectrum = [T("float32", (2, 5, 16)), ints(4, 16)]
    made.append(
        Single("rfft_2d", "RFFT2D", spectrum, [T("complex64", (2, 4, 9))], options("Rfft2dOptions"))
    )
    return made[:2]


SINGLES = [
    *customs(),
    *unary_floats(),
    *binaries(),
    *quantized_elements(),
    *curves(),
    *products(),
    *shapes(),
    *lookups(),
    *recurrent(),
]
