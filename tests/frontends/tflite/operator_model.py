"""TFLite files with a single operator, packed from tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

TYPE_CODES = {
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
    """A tensor. Without a value it is an input, unless it is a variable. `scale` is one number, or
    one per channel. Inputs are random numbers up to about `spread`; a negative `spread` makes them
    positive.
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


def floats(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed).normal(0, scale, shape)).astype(np.float32)


def integers(seed: int, dtype: str, *shape: int) -> np.ndarray:
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
    return f(*shape, value=floats(seed, *shape, scale=0.5))


def tensor(item: T, name: str, buffers: list[Any]) -> Any:
    result = schema.TensorT()
    result.shape, result.type, result.name = list(item.shape), TYPE_CODES[item.dtype], name
    result.isVariable = item.variable
    result.buffer = 0
    if item.value is not None:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(
            np.ascontiguousarray(
                item.value, np.bool_ if item.dtype == "bool" else item.dtype
            ).tobytes(),
            np.uint8,
        )
        buffers.append(buffer)
        result.buffer = len(buffers) - 1
    if item.scale is not None:
        quantization = schema.QuantizationParametersT()
        scales = np.atleast_1d(np.array(item.scale, np.float32))
        quantization.scale, quantization.zeroPoint = (
            scales,
            np.full(len(scales), item.zero, np.int64),
        )
        quantization.quantizedDimension = item.axis
        result.quantization = quantization
    return result


def model_bytes(single: Single) -> bytes:
    model, graph = schema.ModelT(), schema.SubGraphT()
    buffers = [schema.BufferT()]
    graph.tensors, inputs, outputs = [], [], []
    operator = schema.OperatorT()
    for index, item in enumerate(single.inputs):
        if item is None:
            inputs.append(-1)
            continue
        graph.tensors.append(tensor(item, f"x{index}", buffers))
        inputs.append(len(graph.tensors) - 1)
    for index, item in enumerate(single.outputs):
        graph.tensors.append(tensor(item, f"y{index}", buffers))
        outputs.append(len(graph.tensors) - 1)
    for index, item in enumerate(single.intermediates):
        graph.tensors.append(tensor(item, f"between{index}", buffers))
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


def int_input(dtype: str, *shape: int, spread: float = 7.0) -> T:
    return T(dtype, shape, spread=spread)


def int_scalar(value: int) -> T:
    return T("int32", (), np.array(value))
