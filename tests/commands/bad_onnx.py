"""Invalid ONNX files, each with a part of the expected error message."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.onnx.models import classifier, floats, model, weight

node = helper.make_node
X, Y = floats("x", 2, 3), floats("y", 2, 3)


def relu(*, opset: int = 17) -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"])], [X], [Y], opset=opset)


def cyclic() -> onnx.ModelProto:
    return model(
        [
            node("Add", ["x", "b"], ["a"], "first"),
            node("Relu", ["a"], ["b"], "second"),
            node("Relu", ["b"], ["y"]),
        ],
        [X],
        [Y],
    )


def twice() -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])], [X], [Y])


def missing() -> onnx.ModelProto:
    return model([node("Add", ["x", "w"], ["y"], "sum")], [X], [Y])


def one_name() -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"])], [X], [Y, Y])


def gigantic() -> onnx.ModelProto:
    return model(
        [node("Relu", ["x"], ["y"], "large")],
        [floats("x", 1 << 30, 1 << 30)],
        [floats("y", None, None)],
    )


def expanded() -> onnx.ModelProto:
    shape = numpy_helper.from_array(np.array([1 << 40, 1 << 40, 2, 3]), "shape")
    return model(
        [node("Expand", ["x", "shape"], ["y"], "large")], [X], [floats("y", None)], [shape]
    )


def no_output() -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["z"])], [X], [Y])


def negative() -> onnx.ModelProto:
    broken = model([node("Add", ["x", "w"], ["y"])], [X], [Y], [weight("w", 2, 3)])
    broken.graph.initializer[0].dims[0] = -2
    return broken


def overflowing() -> onnx.ModelProto:
    broken = model([node("Add", ["x", "w"], ["y"])], [X], [Y], [weight("w", 2, 3)])
    broken.graph.initializer[0].dims[:] = [1 << 40, 1 << 40]
    return broken


def short() -> onnx.ModelProto:
    broken = model([node("Add", ["x", "w"], ["y"])], [X], [Y], [weight("w", 2, 3)])
    broken.graph.initializer[0].raw_data = broken.graph.initializer[0].raw_data[:-4]
    return broken


def huge_input() -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"])], [floats("x", 1 << 40)], [floats("y", None)])


def unknown() -> onnx.ModelProto:
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Sparkle", ["a"], ["b"], "one", domain="my.ops"),
        node("Glitter", ["b"], ["c"], "two"),
        node("Sparkle", ["c"], ["y"], "three", domain="my.ops"),
    ]
    broken = model(nodes, [X], [Y])
    broken.opset_import.append(helper.make_opsetid("my.ops", 1))
    return broken


def unfit() -> onnx.ModelProto:
    return model([node("Add", ["x", "w"], ["y"], "sum")], [X], [Y], [weight("w", 4, 5)])


def strings() -> onnx.ModelProto:
    return model(
        [node("Identity", ["x"], ["y"])],
        [helper.make_tensor_value_info("x", TensorProto.STRING, [2])],
        [helper.make_tensor_value_info("y", TensorProto.STRING, [2])],
    )


def misspelt() -> onnx.ModelProto:
    return model([node("Transpose", ["x"], ["y"], "turn", perm=[0, 5])], [X], [Y])


def from_data() -> onnx.ModelProto:
    return model(
        [
            node("Cast", ["x"], ["integers"], "cast", to=TensorProto.INT64),
            node("Reshape", ["integers", "flat"], ["shape"], "flatten"),
            node("Reshape", ["x", "shape"], ["y"], "reshape"),
        ],
        [X],
        [floats("y", None, None)],
        [numpy_helper.from_array(np.array([-1]), "flat")],
    )


def external(location: str, *, offset: int = 0, length: int = 24) -> Callable[[], onnx.ModelProto]:
    def make() -> onnx.ModelProto:
        broken = model(
            [node("Add", ["x", "w"], ["y"])],
            [X],
            [Y],
            [numpy_helper.from_array(np.zeros((2, 3), np.float32), "w")],
        )
        tensor = broken.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (
            ("location", location),
            ("offset", str(offset)),
            ("length", str(length)),
        ):
            tensor.external_data.add(key=key, value=value)
        return broken

    return make


REFUSED: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "cyclic": (cyclic, "the nodes first, second form a cycle"),
    "twice": (twice, "the tensor y is defined twice"),
    "missing": (missing, "sum (Add) reads w, which is no input, initialiser or output of a node"),
    "one_name": (one_name, "has two outputs called y"),
    "gigantic": (
        gigantic,
        "x is float32[1073741824,1073741824], which has 4611686018427387904 bytes",
    ),
    "expanded": (
        expanded,
        "large (Expand): a result is float32[1099511627776,1099511627776,2,3], which has",
    ),
    "no_output": (no_output, "no node writes its output y"),
    "negative": (negative, "initialiser w: its shape is [-2, 3]"),
    "overflowing": (overflowing, "initialiser w: its shape is [1099511627776, 1099511627776]"),
    "short": (short, "its data has 20 bytes; the file is damaged"),
    "huge_input": (huge_input, "x has shape [1099511627776]; sizes are from 0 to 2147483647"),
    "unknown": (unknown, "unknown.onnx: 3 unsupported parts"),
    "unfit": (unfit, "sum (Add): Incompatible dimensions"),
    "strings": (strings, "x: is an input of string"),
    "misspelt": (misspelt, "turn (Transpose): Invalid attribute perm {0, 5}, input shape = {2, 3}"),
    "from_data": (from_data, "reshape (Reshape): operand 1 depends on data"),
    "newer": (lambda: relu(opset=99), "uses opset 99; opsets 1 to"),
    "above": (external("../secret.bin"), "'../secret.bin', outside the model's folder; refused"),
    "absolute": (external("/etc/passwd"), "'/etc/passwd', outside the model's folder; refused"),
    "absent": (external("weights.bin"), "'weights.bin', which is not in the model's folder"),
    "linked": (
        external("link.bin"),
        "'link.bin', a symbolic link to a file outside the model's folder; refused, copy",
    ),
    "past_end": (external("short.bin", offset=100), "24 bytes at 100 of short.bin, which has 64"),
    "too_long": (
        external("short.bin", length=1 << 40),
        "its data is declared as 1099511627776 bytes",
    ),
}
BYTES = {
    "random": (
        bytes(range(256)) * 8,
        "is no ONNX model: it is no valid protobuf message",
    ),
    "empty": (b"", "is no ONNX model: it has no graph with outputs"),
    "truncated": (classifier().SerializeToString()[:-30], "is no ONNX model"),
}


def write(folder: Path) -> None:
    (folder / "short.bin").write_bytes(bytes(64))
    (folder.parent / "elsewhere.bin").write_bytes(bytes(24))
    (folder / "link.bin").symlink_to(folder.parent / "elsewhere.bin")
    for name, (make, _) in REFUSED.items():
        (folder / f"{name}.onnx").write_bytes(make().SerializeToString())
    for name, (data, _) in BYTES.items():
        (folder / f"{name}.onnx").write_bytes(data)
