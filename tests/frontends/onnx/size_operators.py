"""Operators of ONNX between Shape and a size: every one that reads and returns integers, and the
floating-point ones that exporters write there.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.onnx.models import floats, model

OPSET = 20
Steps = Sequence[tuple[str, Sequence[object], Mapping[str, object]]]
"""(operator, operands, attributes). Operands are names of earlier results (`a`, `b`, ...), the
sizes `s`, int64 [3], or arrays. The last result is the size.
"""


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def cast(dtype: int) -> Steps:
    return [("Cast", ["s"], {"to": dtype}), ("Cast", ["a"], {"to": TensorProto.INT64})]


def floating(*steps: tuple[str, Sequence[object], Mapping[str, object]]) -> Steps:
    """Steps in float32, between two casts. Their operand is `a`."""
    last = chr(ord("a") + len(steps))
    return [
        ("Cast", ["s"], {"to": TensorProto.FLOAT}),
        *steps,
        ("Cast", [last], {"to": TensorProto.INT64}),
    ]


def selected(*condition: tuple[str, Sequence[object], Mapping[str, object]]) -> Steps:
    """The sizes where a condition holds, else 3."""
    last = chr(ord("a") + len(condition) - 1)
    return [*condition, ("Where", [last, "s", i64(3)], {})]


PRODUCERS: dict[str, Steps] = {
    "Abs": [("Neg", ["s"], {}), ("Abs", ["a"], {})],
    "Add": [("Add", ["s", i64(2)], {})],
    "And": selected(
        ("Less", ["s", i64(9)], {}), ("Greater", ["s", i64(2)], {}), ("And", ["a", "b"], {})
    ),
    "ArgMax": [
        ("Concat", [i64(1), "s"], {"axis": 0}),
        ("ArgMax", ["a"], {"axis": 0, "keepdims": 1}),
        ("Add", ["b", i64(1)], {}),
    ],
    "ArgMin": [
        ("Concat", [i64(4), "s"], {"axis": 0}),
        ("ArgMin", ["a"], {"axis": 0, "keepdims": 1}),
        ("Add", ["b", i64(1)], {}),
    ],
    "BitShift left": [
        ("Cast", ["s"], {"to": TensorProto.UINT64}),
        ("BitShift", ["a", np.array([1], np.uint64)], {"direction": "LEFT"}),
        ("Cast", ["b"], {"to": TensorProto.INT64}),
    ],
    "BitShift right": [
        ("Cast", ["s"], {"to": TensorProto.UINT64}),
        ("BitShift", ["a", np.array([1], np.uint64)], {"direction": "RIGHT"}),
        ("Cast", ["b"], {"to": TensorProto.INT64}),
        ("Add", ["c", i64(1)], {}),
    ],
    "BitwiseAnd": [("BitwiseAnd", ["s", i64(3)], {}), ("Add", ["a", i64(1)], {})],
    "BitwiseAnd high": [("Add", ["s", i64(8)], {}), ("BitwiseAnd", ["a", i64(-8)], {})],
    "BitwiseNot": [("BitwiseNot", ["s"], {}), ("Neg", ["a"], {})],
    "BitwiseOr": [("BitwiseOr", ["s", i64(7)], {})],
    "BitwiseXor": [("BitwiseXor", ["s", i64(15)], {}), ("Add", ["a", i64(1)], {})],
    **{
        f"Cast {TensorProto.DataType.Name(dtype).lower()}": cast(dtype)
        for dtype in (
            TensorProto.FLOAT16,
            TensorProto.FLOAT,
            TensorProto.DOUBLE,
            TensorProto.UINT8,
            TensorProto.INT8,
            TensorProto.INT16,
            TensorProto.UINT16,
            TensorProto.INT32,
            TensorProto.UINT32,
            TensorProto.UINT64,
            TensorProto.BOOL,
        )
    },
    "CastLike": [("CastLike", ["s", np.float32(0)], {}), ("CastLike", ["a", "s"], {})],
    "Clip": [("Clip", ["s", np.int64(3), np.int64(6)], {})],
    "Clip below": [("Clip", ["s", np.int64(3)], {})],
    "Compress": [("Compress", ["s", np.array([0, 1, 1], bool)], {"axis": 0})],
    "Concat": [("Concat", ["s", i64(5)], {"axis": 0})],
    "CumSum": [("CumSum", ["s", np.int64(0)], {"reverse": 1, "exclusive": 1})],
    "Div": [("Add", ["s", i64(5)], {}), ("Div", ["a", i64(3)], {})],
    "Div by a size": [("Mul", ["s", i64(6)], {}), ("Div", ["a", "s"], {})],
    "Einsum": [("Einsum", ["s", i64(1, 1, 1)], {"equation": "i,i->i"})],
    "Equal": selected(("Equal", ["s", i64(5)], {})),
    "Expand": [("Expand", ["s", i64(2, 3)], {})],
    "Flatten": [("Flatten", ["s"], {"axis": 0})],
    "Gather": [("Gather", ["s", i64(1, -1)], {"axis": 0})],
    "GatherElements": [("GatherElements", ["s", i64(1, 1, 2)], {"axis": 0})],
    "GatherND": [("GatherND", ["s", np.array([[1], [2]])], {})],
    "Gemm": floating(
        ("Reshape", ["a", i64(1, 3)], {}),
        ("Gemm", ["b", np.array([[0, 1], [1, 0], [1, 1]], np.float32)], {}),
    ),
    "Greater": selected(("Greater", ["s", i64(4)], {})),
    "GreaterOrEqual": selected(("GreaterOrEqual", ["s", i64(4)], {})),
    "Identity": [("Identity", ["s"], {})],
    "Less": selected(("Less", ["s", i64(5)], {})),
    "LessOrEqual": selected(("LessOrEqual", ["s", i64(5)], {})),
    "MatMul": [("MatMul", ["s", np.array([[0, 1], [1, 0], [0, 1]])], {})],
    "Max": [("Max", ["s", i64(5)], {})],
    "Max of three": [("Max", ["s", i64(5), i64(2)], {})],
    "Min": [("Min", ["s", i64(5)], {})],
    "Mod": [("Mod", ["s", i64(4)], {}), ("Add", ["a", i64(1)], {})],
    "Mod fmod": [("Mod", ["s", i64(4)], {"fmod": 1}), ("Add", ["a", i64(1)], {})],
    "Mul": [("Mul", ["s", i64(2)], {})],
    "Neg": [("Neg", ["s"], {}), ("Sub", [i64(100), "a"], {}), ("Sub", ["b", i64(95)], {})],
    "Not": selected(("Less", ["s", i64(5)], {}), ("Not", ["a"], {})),
    "OneHot": [
        ("OneHot", [i64(1), np.int64(3), i64(0, 1)], {"axis": -1}),
        ("Mul", ["a", "s"], {}),
        ("ReduceSum", ["b", i64(1)], {"keepdims": 0}),
    ],
    "Or": selected(
        ("Less", ["s", i64(4)], {}), ("Greater", ["s", i64(6)], {}), ("Or", ["a", "b"], {})
    ),
    "Pad": [("Pad", ["s", i64(1, 0), np.int64(7)], {}), ("Gather", ["a", i64(2)], {"axis": 0})],
    "Pow": [("Pow", ["s", i64(2)], {})],
    "Range": [
        ("Gather", ["s", np.int64(2)], {"axis": 0}),
        ("Range", [np.int64(1), np.int64(7), np.int64(2)], {}),
        ("Add", ["a", "b"], {}),
    ],
    "ReduceL1": [("ReduceL1", ["s"], {"keepdims": 1})],
    "ReduceMax": [("ReduceMax", ["s"], {"keepdims": 1})],
    "ReduceMin": [
        ("Concat", ["s", i64(5)], {"axis": 0}),
        ("ReduceMin", ["a", i64(0)], {"keepdims": 0}),
    ],
    "ReduceMean": floating(("ReduceMean", ["a", i64(0)], {"keepdims": 1}), ("Floor", ["b"], {})),
    "ReduceMean of integers": [("ReduceMean", ["s"], {"keepdims": 1})],
    "ReduceProd": [("ReduceProd", ["s"], {"keepdims": 1})],
    "ReduceSum": [("ReduceSum", ["s", i64(0)], {"keepdims": 1})],
    "ReduceSumSquare": [("ReduceSumSquare", ["s"], {"keepdims": 1})],
    "Relu": floating(("Sub", ["a", f32(2)], {}), ("Relu", ["b"], {}), ("Add", ["c", f32(1)], {})),
    "Reshape": [("Reshape", ["s", i64(3, 1)], {})],
    "ReverseSequence": [
        ("Reshape", ["s", i64(3, 1)], {}),
        ("ReverseSequence", ["a", i64(3)], {"batch_axis": 1, "time_axis": 0}),
        ("Gather", ["b", i64(1)], {"axis": 0}),
    ],
    "ScatterElements": [("ScatterElements", ["s", i64(0), i64(5)], {"axis": 0})],
    "ScatterElements of a size": [
        ("Gather", ["s", i64(1)], {"axis": 0}),
        ("ScatterElements", [i64(2, 3, 4), i64(0), "a"], {"axis": 0, "reduction": "add"}),
    ],
    "ScatterND": [("ScatterND", ["s", np.array([[0]]), i64(5)], {})],
    "Shape": [("Shape", ["s"], {}), ("Add", ["a", "s"], {})],
    "Sign": [("Sign", ["s"], {}), ("Mul", ["a", "s"], {})],
    "Size": [("Size", ["s"], {}), ("Add", ["a", "s"], {})],
    "Slice": [("Slice", ["s", i64(-1), i64(-4), i64(0), i64(-1)], {})],
    "Split": [("Split", ["s", i64(1, 2)], {"axis": 0, "": 2})],
    "Squeeze": [("Reshape", ["s", i64(1, 3)], {}), ("Squeeze", ["a", i64(0)], {})],
    "Sub": [("Sub", [i64(20), "s"], {})],
    "Sum": floating(("Sum", ["a", f32(1), f32(2)], {})),
    "Tile": [("Tile", ["s", i64(2)], {})],
    "TopK": [("Concat", ["s", i64(1)], {"axis": 0}), ("TopK", ["a", i64(1)], {"axis": 0, "": 2})],
    "Transpose": [("Reshape", ["s", i64(1, 3)], {}), ("Transpose", ["a"], {"perm": [1, 0]})],
    "Trilu": [
        ("Reshape", ["s", i64(1, 3)], {}),
        ("Trilu", ["a"], {"upper": 1}),
    ],
    "Unsqueeze": [("Unsqueeze", ["s", i64(0)], {})],
    "Where": [("Where", [np.array([False, True, True]), "s", i64(3)], {})],
    "Xor": selected(
        ("Less", ["s", i64(4)], {}), ("Greater", ["s", i64(2)], {}), ("Xor", ["a", "b"], {})
    ),
    "float Ceil": floating(("Mul", ["a", f32(0.25)], {}), ("Ceil", ["b"], {})),
    "float Div": floating(("Div", ["a", f32(2)], {}), ("Ceil", ["b"], {})),
    "float Floor": floating(
        ("Mul", ["a", f32(0.7)], {}), ("Floor", ["b"], {}), ("Add", ["c", f32(1)], {})
    ),
    "float Pow": floating(("Pow", ["a", f32(2)], {})),
    "float Round": floating(
        ("Div", ["a", f32(2)], {}), ("Round", ["b"], {}), ("Add", ["c", f32(1)], {})
    ),
    "float Reciprocal": floating(
        ("Reciprocal", ["a"], {}), ("Mul", ["b", "a"], {}), ("Add", ["c", f32(2)], {})
    ),
    "float product": floating(("Mul", ["a", f32(1.5)], {})),
    "float weights": floating(("Mul", ["a", f32(0.5, 2, 1)], {}), ("Add", ["b", f32(1)], {})),
    "double": [
        ("Cast", ["s"], {"to": TensorProto.DOUBLE}),
        ("Mul", ["a", np.array(0.6)], {}),
        ("Cast", ["b"], {"to": TensorProto.INT64}),
        ("Add", ["c", i64(1)], {}),
    ],
}


def producer(steps: Steps) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """The nodes from the sizes `s` to the size `n`, int64 [1]: the element at index 1, or the
    only one.
    """
    nodes, arrays, result = [], [], "s"
    for number, (op, operands, attributes) in enumerate(steps):
        names = []
        for operand in operands:
            if isinstance(operand, str):
                names.append(operand)
                continue
            name = f"c{len(arrays)}"
            arrays.append(numpy_helper.from_array(np.asarray(operand), name))
            names.append(name)
        result = chr(ord("a") + number)
        outputs = [result, *(f"{result}{n}" for n in range(1, int(attributes.get("", 1))))]
        attrs = {key: value for key, value in attributes.items() if key}
        nodes.append(helper.make_node(op, names, outputs, **attrs))
        if len(outputs) > 1 and op == "Split":
            result = outputs[1]
    arrays += [numpy_helper.from_array(i64(-1), "flat"), numpy_helper.from_array(i64(0), "zero")]
    nodes += [
        helper.make_node("Reshape", [result, "flat"], ["all"]),
        helper.make_node("Concat", ["all", "all"], ["twice"], axis=0),
        helper.make_node("Gather", ["twice", "second"], ["n"], axis=0),
    ]
    arrays.append(numpy_helper.from_array(i64(1), "second"))
    return nodes, arrays


CONSUMERS: dict[str, list[onnx.NodeProto]] = {
    "ConstantOfShape": [helper.make_node("ConstantOfShape", ["n"], ["y"])],
    "Expand": [helper.make_node("Expand", ["one", "n"], ["y"])],
    "Range": [
        helper.make_node("Squeeze", ["n"], ["limit"]),
        helper.make_node("Range", ["start", "limit", "step"], ["r"]),
        helper.make_node("Cast", ["r"], ["y"], to=TensorProto.FLOAT),
    ],
    "Reshape": [
        helper.make_node("Expand", ["one", "n"], ["wide"]),
        helper.make_node("Concat", ["n", "flat"], ["rows"], axis=0),
        helper.make_node("Reshape", ["wide", "rows"], ["y"]),
    ],
    "Slice": [
        helper.make_node("Reshape", ["x", "flat"], ["row"]),
        helper.make_node("Slice", ["row", "zero", "n"], ["y"]),
    ],
    "Pad": [
        helper.make_node("Concat", ["zero", "n"], ["pads"], axis=0),
        helper.make_node("Pad", ["three", "pads"], ["y"]),
    ],
    "Resize": [
        helper.make_node("Concat", ["ones", "n"], ["sizes"], axis=0),
        helper.make_node("Resize", ["image", "", "", "sizes"], ["y"], mode="nearest"),
    ],
    "TopK": [
        helper.make_node("Reshape", ["x", "flat"], ["row"]),
        helper.make_node("Shape", ["row"], ["count"]),
        helper.make_node("Min", ["n", "count"], ["k"]),
        helper.make_node("TopK", ["row", "k"], ["y", "order"]),
    ],
    "Tile": [helper.make_node("Tile", ["three", "n"], ["y"])],
}
ARRAYS = {
    "one": f32(1),
    "three": f32(1, 2, 3),
    "image": np.arange(3, dtype=np.float32).reshape(1, 1, 3),
    "ones": i64(1, 1),
    "start": np.int64(0),
    "step": np.int64(1),
}


def size_model(steps: Steps, consumer: str) -> onnx.ModelProto:
    nodes, arrays = producer(steps)
    nodes = [helper.make_node("Shape", ["x"], ["s"]), *nodes, *CONSUMERS[consumer]]
    read = {name for node in nodes for name in node.input}
    arrays += [
        numpy_helper.from_array(np.asarray(value), name)
        for name, value in ARRAYS.items()
        if name in read
    ]
    result = model(nodes, [floats("x", "N", "T", 4)], [floats("y")], arrays)
    del result.graph.output[0].type.tensor_type.shape.dim[:]
    result.graph.output[0].type.tensor_type.ClearField("shape")
    result.opset_import[0].version = OPSET
    result.ir_version = 9
    return result
