"""TensorFlow operators that tf.keras 2.0 to 2.3 made layers (`TensorFlowOpLayer`), as calls of
TensorFlow functions with the same results.

A layer has a `NodeDef` in the JSON form of protocol buffers, and those of its inputs that are
constants, by their numbers.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.keras.spec import FUNCTION

CLASS = "TensorFlowOpLayer"
UNKNOWN = "raw_ops."
"""Begins the names of operators that are not converted."""
DTYPES = {
    "DT_FLOAT": "float32",
    "DT_DOUBLE": "float64",
    "DT_HALF": "float16",
    "DT_BOOL": "bool",
    "DT_INT32": "int32",
    "DT_INT64": "int64",
    "DT_UINT8": "uint8",
    "DT_INT8": "int8",
}
Inputs = Sequence[Any]
Attributes = Mapping[str, Any]
Call = tuple[str, dict[str, Any]]
"""A function, and its arguments by name."""


class NotConverted(Exception):
    """An operator or one of its attributes has no function."""


def operation(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The layer as Keras 3 writes an operation's calls."""
    config = entry["config"]
    name = str(entry.get("name") or f"tf_op_layer_{config['name']}")
    definition = _definition(name, config.get("node_def"))
    attributes = {key: _attribute(value) for key, value in (definition.get("attr") or {}).items()}
    constants = {int(key): value for key, value in (config.get("constants") or {}).items()}
    op = str(definition.get("op"))
    calls = [
        _call(op, _inputs(name, node, constants), attributes)
        for node in entry.get("inbound_nodes", [])
    ]
    functions = {function for function, _ in calls} or {f"{UNKNOWN}{op}"}
    if len(functions) != 1:
        functions = {f"{UNKNOWN}{op}"}
    return {
        "class_name": f"{FUNCTION}{functions.pop()}",
        "config": {"name": name},
        "name": name,
        "inbound_nodes": [{"args": [], "kwargs": arguments} for _, arguments in calls],
    }


def _definition(name: str, stored: Any) -> Mapping[str, Any]:
    if isinstance(stored, str):
        stored = json.loads(stored)
    if not isinstance(stored, Mapping) or not isinstance(stored.get("op"), str):
        raise SourceError(f"{name} ({CLASS}): its node_def names no operator; save the model again")
    return stored


def _inputs(name: str, node: Any, constants: Mapping[int, Any]) -> list[Any]:
    """The operands in the operator's order: references and constants."""
    if isinstance(node, list) and len(node) >= 3 and isinstance(node[0], str):
        node = [node]
    tensors = [list(item[:3]) for item in node]
    operands = []
    for number in range(len(tensors) + len(constants)):
        if number in constants:
            operands.append(constants[number])
        elif tensors:
            operands.append(tensors.pop(0))
        else:
            raise SourceError(
                f"{name} ({CLASS}): its constants are numbers {', '.join(map(str, constants))} of"
                f" {number + 1} inputs; the file is damaged"
            )
    return operands


def _attribute(value: Mapping[str, Any]) -> Any:
    """The value of an attribute: 64-bit integers are texts in JSON, and texts are in base64."""
    if "list" in value:
        listed = value["list"] or {}
        return [_attribute({key: item}) for key, items in listed.items() for item in items]
    if "i" in value:
        return int(value["i"])
    if "s" in value:
        return base64.b64decode(value["s"]).decode("utf-8", "replace")
    if "type" in value:
        return DTYPES.get(value["type"], value["type"])
    if "f" in value:
        return float(value["f"])
    return value.get("b", False)


def _call(op: str, inputs: Inputs, attributes: Attributes) -> Call:
    try:
        return CALLS[op](inputs, attributes)
    except (KeyError, NotConverted):
        return f"{UNKNOWN}{op}", {"inputs": list(inputs)}


def _named(function: str, names: str, **options: str) -> Callable[[Inputs, Attributes], Call]:
    """A function whose arguments are the inputs, and the attributes `options`: argument ->
    attribute.
    """

    def call(inputs: Inputs, attributes: Attributes) -> Call:
        parameters = names.split()
        if len(inputs) != len(parameters):
            raise NotConverted
        arguments = dict(zip(parameters, inputs, strict=True))
        given = {name: attributes[key] for name, key in options.items() if key in attributes}
        return function, arguments | given

    return call


def _concat(inputs: Inputs, _: Attributes) -> Call:
    *values, axis = inputs
    return "concat", {"values": values, "axis": _constant(axis)}


def _pack(inputs: Inputs, attributes: Attributes) -> Call:
    return "stack", {"values": list(inputs), "axis": attributes.get("axis", 0)}


def _constant(value: Any) -> Any:
    """An operand that must be a constant."""
    if isinstance(value, list) and value and isinstance(value[0], str):
        raise NotConverted
    return value


def _resize(method: str) -> Callable[[Inputs, Attributes], Call]:
    """As TensorFlow 2 resizes; pixels have their centres at halves."""

    def call(inputs: Inputs, attributes: Attributes) -> Call:
        if not attributes.get("half_pixel_centers") or attributes.get("align_corners"):
            raise NotConverted
        return "image.resize", {
            "images": inputs[0],
            "size": _constant(inputs[1]),
            "method": method,
        }

    return call


def _slice(inputs: Inputs, attributes: Attributes) -> Call:
    x, *bounds = inputs
    begin, end, strides = map(_constant, bounds)

    def is_set(mask: str, axis: int) -> bool:
        return bool(attributes.get(f"{mask}_mask", 0) >> axis & 1)

    keys: list[Any] = []
    for axis, (start, stop, step) in enumerate(zip(begin, end, strides, strict=True)):
        if is_set("ellipsis", axis):
            keys.append({"class_name": "__ellipsis__", "config": {}})
        elif is_set("new_axis", axis):
            keys.append(None)
        elif is_set("shrink_axis", axis):
            keys.append(start)
        else:
            bounds_of = {
                "start": None if is_set("begin", axis) else start,
                "stop": None if is_set("end", axis) else stop,
                "step": step,
            }
            keys.append({"class_name": "__slice__", "config": bounds_of})
    return "__operators__.getitem", {"tensor": x, "slice_spec": keys}


def _gather(inputs: Inputs, attributes: Attributes) -> Call:
    if attributes.get("batch_dims"):
        raise NotConverted
    params, indices, axis = inputs
    return "gather", {"params": params, "indices": indices, "axis": _constant(axis)}


def _product(inputs: Inputs, attributes: Attributes) -> Call:
    first = attributes.get("transpose_a", attributes.get("adj_x", False))
    second = attributes.get("transpose_b", attributes.get("adj_y", False))
    a, b = inputs
    return "linalg.matmul", {"a": a, "b": b, "transpose_a": first, "transpose_b": second}


_UNARY = {
    **{
        name: f"math.{name.lower()}"
        for name in (
            *("Abs", "Ceil", "Cos", "Erf", "Exp", "Expm1", "Floor", "Log", "Log1p", "Reciprocal"),
            *("Round", "Rsqrt", "Sigmoid", "Sign", "Sin", "Sqrt", "Square", "Tan", "Tanh"),
        )
    },
    "Neg": "math.negative",
    "LogicalNot": "math.logical_not",
}
_FEATURES = ("Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign")
_BINARY = {
    "Add": "math.add",
    "AddV2": "math.add",
    "Sub": "math.subtract",
    "Mul": "math.multiply",
    "RealDiv": "math.truediv",
    "FloorDiv": "math.floordiv",
    "FloorMod": "math.floormod",
    "Maximum": "math.maximum",
    "Minimum": "math.minimum",
    "Pow": "math.pow",
    "SquaredDifference": "math.squared_difference",
    "Less": "math.less",
    "DivNoNan": "math.divide_no_nan",
    "Equal": "math.equal",
    "NotEqual": "math.not_equal",
    "LessEqual": "math.less_equal",
    "Greater": "math.greater",
    "GreaterEqual": "math.greater_equal",
    "LogicalAnd": "math.logical_and",
    "LogicalOr": "math.logical_or",
}
_BLOCKS = {"block_size": "block_size", "data_format": "data_format"}
_REDUCTIONS = ("Mean", "Sum", "Max", "Min", "Prod", "All", "Any")
CALLS: Mapping[str, Callable[[Inputs, Attributes], Call]] = {
    **{op: _named(function, "x") for op, function in _UNARY.items()},
    **{op: _named(f"nn.{op.lower()}", "features") for op in _FEATURES},
    **{op: _named(function, "x y") for op, function in _BINARY.items()},
    **{
        op: _named(f"math.reduce_{op.lower()}", "input_tensor axis", keepdims="keep_dims")
        for op in _REDUCTIONS
    },
    "AddN": lambda inputs, _: ("math.add_n", {"inputs": list(inputs)}),
    "LeakyRelu": _named("nn.leaky_relu", "features", alpha="alpha"),
    "Softmax": _named("nn.softmax", "logits"),
    "LogSoftmax": _named("nn.log_softmax", "logits"),
    "BiasAdd": _named("nn.bias_add", "value bias", data_format="data_format"),
    "ArgMax": _named("math.argmax", "input axis", output_type="output_type"),
    "ArgMin": _named("math.argmin", "input axis", output_type="output_type"),
    "Cumsum": _named("math.cumsum", "x axis", exclusive="exclusive", reverse="reverse"),
    "ClipByValue": _named("clip_by_value", "t clip_value_min clip_value_max"),
    "Cast": _named("cast", "x", dtype="DstT"),
    "Identity": _named("identity", "input"),
    "StopGradient": _named("identity", "input"),
    "Reshape": _named("reshape", "tensor shape"),
    "Transpose": _named("transpose", "a perm"),
    "ExpandDims": _named("expand_dims", "input axis"),
    "Squeeze": lambda inputs, attributes: (
        "squeeze",
        {"input": inputs[0], "axis": attributes.get("squeeze_dims") or None},
    ),
    "ConcatV2": _concat,
    "Pack": _pack,
    "Tile": _named("tile", "input multiples"),
    "ReverseV2": _named("reverse", "tensor axis"),
    "Pad": _named("pad", "tensor paddings"),
    "PadV2": _named("pad", "tensor paddings constant_values"),
    "MirrorPad": _named("pad", "tensor paddings", mode="mode"),
    "GatherV2": _gather,
    "SelectV2": _named("where", "condition x y"),
    "BatchMatMulV2": _product,
    "BatchMatMul": _product,
    "MatMul": _product,
    "DepthToSpace": _named("nn.depth_to_space", "input", **_BLOCKS),
    "SpaceToDepth": _named("nn.space_to_depth", "input", **_BLOCKS),
    "ResizeBilinear": _resize("bilinear"),
    "ResizeNearestNeighbor": _resize("nearest"),
    "StridedSlice": _slice,
}
"""Operator -> the function that computes it."""
