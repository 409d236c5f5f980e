"""Mutated ONNX files: the checker of the onnx package accepts every accepted file, and nothing ends
in a traceback.
"""

import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import DecodeError, Message
from onnx import TensorProto, helper, numpy_helper

from tests.conformance.cases import cases_in_scope
from tests.frontends.onnx.classical_cases import FAMILIES
from tests.frontends.onnx.control_models import DATA, KNOWN, branches, doubled
from tests.frontends.onnx.models import classifier, dynamic, floats, literal, model, weight
from tests.fuzz import files
from tests.fuzz.files import compile_and_pack, mutate_bytes
from webkiln.frontends.onnx import load
from webkiln.frontends.onnx.check import add_missing_types, parse_model, sort_nodes
from webkiln.frontends.onnx.converter import OnnxConverter

LARGEST = 1 << 16
NUMBERS = (0, 1, -1, 2, 3, 7, 99, -2, 1 << 31, (1 << 31) - 1, 1 << 40, (1 << 63) - 1, -(1 << 63))
node = helper.make_node


def quantised() -> onnx.ModelProto:
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("DequantizeLinear", ["w", "ws", "wz"], ["k"], axis=0),
        node("Conv", ["d", "k"], ["c"], "conv", pads=[1, 1, 1, 1]),
        node("QuantizeLinear", ["c", "s", "z"], ["e"]),
        node("DequantizeLinear", ["e", "s", "z"], ["y"]),
    ]
    weights = [
        numpy_helper.from_array(np.array(0.1, np.float32), "s"),
        numpy_helper.from_array(np.array(3, np.uint8), "z"),
        numpy_helper.from_array(np.arange(36, dtype=np.int8).reshape(2, 2, 3, 3), "w"),
        numpy_helper.from_array(np.array([0.1, 0.2], np.float32), "ws"),
        numpy_helper.from_array(np.array([0, 0], np.int8), "wz"),
    ]
    return model(nodes, [floats("x", 1, 2, 5, 5)], [floats("y", 1, 2, 5, 5)], weights)


def recurrent() -> onnx.ModelProto:
    nodes = [
        node("LSTM", ["x", "w", "r"], ["s", "h", "c"], "lstm", hidden_size=4),
        node("Squeeze", ["h", "axes"], ["f"]),
        node("TopK", ["f", "k"], ["y", "places"], axis=-1),
    ]
    weights = [
        weight("w", 1, 16, 3),
        weight("r", 1, 16, 4),
        literal("axes", [0]),
        literal("k", [2]),
    ]
    return model(
        nodes, [floats("x", "T", 1, 3)], [floats("y", 1, 2), floats("s", "T", 1, 1, 4)], weights
    )


def scanned() -> onnx.ModelProto:
    body = helper.make_graph(
        [node("Add", ["a", "b"], ["c"]), node("Identity", ["c"], ["d"])],
        "body",
        [floats("a", 3), floats("b", 3)],
        [floats("c", 3), floats("d", 3)],
    )
    return model(
        [node("Scan", ["z", "x"], ["y", "all"], "scan", body=body, num_scan_inputs=1)],
        [floats("x", 5, 3)],
        [floats("y", 3), floats("all", 5, 3)],
        [weight("z", 3)],
    )


def shaped() -> onnx.ModelProto:
    nodes = [
        node("Pad", ["x", "pads", "fill"], ["p"], mode="constant"),
        node("Slice", ["p", "starts", "ends", "axes"], ["s"]),
        node("Resize", ["s", "", "scales"], ["r"], mode="linear"),
        node("Concat", ["r", "r"], ["c"], axis=1),
        node("Split", ["c", "split"], ["a", "b"], axis=1),
        node("ReduceMean", ["a", "axes"], ["m"], keepdims=0),
        node("Gather", ["b", "one"], ["g"], axis=1),
        node("LeakyRelu", ["m"], ["y"], alpha=0.3),
    ]
    weights = [
        literal("pads", [0, 0, 1, 1, 0, 0, 1, 1]),
        weight("fill"),
        literal("starts", [1]),
        literal("ends", [1 << 62]),
        literal("axes", [2]),
        numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"),
        literal("split", [3, 1]),
        literal("one", [0]),
    ]
    return model(
        nodes,
        [floats("x", 1, 2, 6, 6)],
        [floats("y", 1, 3, 16), floats("g", 1, 1, 14, 16)],
        weights,
    )


def functional() -> onnx.ModelProto:
    result = model(
        [
            node("Twice", ["x"], ["a"], domain="own"),
            node("FusedMatMul", ["a", "w"], ["b"], domain="com.microsoft", alpha=0.5),
            node("QuickGelu", ["b"], ["y"], domain="com.microsoft", alpha=1.0),
        ],
        [floats("x", "N", 3)],
        [floats("y", "N", 4)],
        [weight("w", 3, 4)],
        microsoft=True,
    )
    result.opset_import.append(helper.make_opsetid("own", 1))
    opsets = [helper.make_opsetid("", 21)]
    result.functions.append(
        helper.make_function("own", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], opsets)
    )
    return result


def with_external_data() -> onnx.ModelProto:
    """A model with a weight in the file `data.bin`, which `make` writes."""
    result = classifier()
    for tensor in result.graph.initializer:
        data = tensor.raw_data
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "data.bin"), ("offset", "0"), ("length", str(len(data)))):
            tensor.external_data.add(key=key, value=value)
    return result


def ml_node(name: str) -> onnx.ModelProto:
    """A node of ai.onnx.ml."""
    return next(
        case.model() for family in FAMILIES.values() for case in family() if case.name == name
    )


OWN: tuple[Callable[[], onnx.ModelProto], ...] = (
    classifier,
    dynamic,
    quantised,
    recurrent,
    scanned,
    shaped,
    functional,
    with_external_data,
    lambda: branches(DATA),
    lambda: branches(KNOWN),
    lambda: doubled(100, 500.0),
    lambda: doubled(3, 500.0),
    lambda: doubled(None, 500.0),
    *(
        lambda name=name: ml_node(name)
        for name in (
            "classifier LOGISTIC [[0]]",
            "regressor mixed missing",
            "sets float32 1 0",
            "svc proba RBF 3 NONE",
            "classifier NONE 3",
        )
    ),
)


@cache
def originals() -> tuple[bytes, ...]:
    """Half of the originals are defined here, half are cases of the onnx package."""
    return tuple(
        sorted(
            data
            for case in cases_in_scope()
            if len(data := case.model.SerializeToString()) < LARGEST
        )
    )


def messages(message: Message) -> Iterator[Message]:
    yield message
    for field, value in message.ListFields():
        if field.type == Field.TYPE_MESSAGE:
            for item in value if field.is_repeated else [value]:
                yield from messages(item)


def fields(message: Message) -> list[tuple[Message, Any]]:
    return [(part, field) for part in messages(message) for field, _ in part.ListFields()]


def changed_value(rng: random.Random, field: Any, value: Any, pool: list[str]) -> Any:
    """Another value of a numeric or string field."""
    if field.type == Field.TYPE_ENUM:
        return rng.choice([item.number for item in field.enum_type.values])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        number = rng.choice([*NUMBERS, value + 1, value - 1, value * 2])
        return (
            max(min(number, (1 << 31) - 1), -(1 << 31))
            if field.type == Field.TYPE_INT32
            else number
            if abs(number) < 1 << 63
            else -1
        )
    if isinstance(value, float):
        return rng.choice([0.0, -1.0, float("nan"), float("inf"), 1e30, value * 2])
    if isinstance(value, str):
        return rng.choice(
            [
                rng.choice(pool),
                rng.choice(pool),
                "",
                f"{value}x",
                value[:-1],
                value[::-1],
                "../x",
                "__proto__",
                "a b",
            ]
        )
    return rng.choice([b"", value[:-1], value + b"\0", value[::-1], b"\xff" + value[1:]])


def mutate_field(rng: random.Random, model: onnx.ModelProto) -> str:
    """Change, remove, duplicate, move or clear one field."""
    candidates = fields(model)
    pool = sorted(
        {
            value
            for part, field in candidates
            for value in [getattr(part, field.name)]
            if isinstance(value, str)
        }
    ) or ["x"]
    message, field = rng.choice(candidates)
    value, name = getattr(message, field.name), f"{message.DESCRIPTOR.name}.{field.name}"
    if rng.random() < 0.1:
        message.ClearField(field.name)
        return f"cleared {name}"
    if field.is_repeated:
        number = rng.randrange(len(value))
        match rng.choice(["double", "remove", "swap", "change", "change"]):
            case "double":
                value.append(
                    value[number]
                ) if field.type != Field.TYPE_MESSAGE else value.add().CopyFrom(value[number])
                return f"doubled {name}[{number}]"
            case "remove":
                del value[number]
                return f"removed {name}[{number}]"
            case "swap":
                items = list(value)
                rng.shuffle(items)
                copies = [
                    type(item).FromString(item.SerializeToString())
                    if isinstance(item, Message)
                    else item
                    for item in items
                ]
                message.ClearField(field.name)
                getattr(message, field.name).extend(copies)
                return f"shuffled {name}"
        if field.type != Field.TYPE_MESSAGE:
            value[number] = changed_value(rng, field, value[number], pool)
            return f"changed {name}[{number}] to {value[number]!r}"
        value = value[number]
    if field.type == Field.TYPE_MESSAGE:
        others = [part for part in messages(model) if part.DESCRIPTOR is value.DESCRIPTOR]
        other = type(value).FromString(rng.choice(others).SerializeToString())
        value.CopyFrom(other)
        return f"put another {value.DESCRIPTOR.name} in {name}"
    setattr(message, field.name, changed_value(rng, field, value, pool))
    return f"changed {name} to {getattr(message, field.name)!r}"


def mutate_attribute(rng: random.Random, model: onnx.ModelProto) -> str:
    """Rename, duplicate, retype or add an attribute; replace an operator."""
    nodes = [part for part in messages(model) if isinstance(part, onnx.NodeProto)]
    if not nodes:
        return "nothing"
    chosen = rng.choice(nodes)
    kinds = ["operator", "add", *(["rename", "double", "retype"] if chosen.attribute else [])]
    match rng.choice(kinds):
        case "operator":
            chosen.op_type = rng.choice(
                [
                    "Relu",
                    "Add",
                    "Reshape",
                    "Identity",
                    "Softmax",
                    "Cast",
                    "Where",
                    "Loop",
                    "Conv",
                    chosen.op_type + "x",
                ]
            )
        case "add":
            chosen.attribute.append(
                helper.make_attribute(
                    rng.choice(["alpha", "axis", "to", "perm", "keepdims"]),
                    rng.choice([1, 0.5, [0, 1], "x"]),
                )
            )
        case "rename":
            rng.choice(chosen.attribute).name += "x"
        case "double":
            chosen.attribute.add().CopyFrom(rng.choice(chosen.attribute))
        case "retype":
            item = rng.choice(chosen.attribute)
            item.CopyFrom(
                helper.make_attribute(
                    item.name, rng.choice([1, -3, 0.5, [0, 1], [0.5], "x", ["a"]])
                )
            )
    return f"another attribute or operator: {chosen.op_type}"


def make(seed: int, folder: Path) -> str:
    rng = random.Random(seed)
    data = rng.choice(OWN)().SerializeToString() if rng.random() < 0.5 else rng.choice(originals())
    mutations = []
    if rng.random() < 0.15:
        data = mutate_bytes(rng, data)
        mutations = ["bytes"]
    else:
        model = onnx.ModelProto.FromString(data)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            mutations.append(
                rng.choice([mutate_field, mutate_field, mutate_field, mutate_attribute])(rng, model)
            )
        data = model.SerializeToString()
    (folder / "net.onnx").write_bytes(data)
    (folder / "data.bin").write_bytes(bytes(4096))
    return ", ".join(mutations)


def attempt(folder: Path, phase: Callable[[str], None]) -> None:
    """Build up to the printed program of js; the probe runs in this process."""
    path = folder / "net.onnx"
    phase("checking")
    load.validate_model(lambda: parse_model(path), path.name, folder)
    phase("loading")
    spec, blobs = load.read_checked(path, folder)
    phase("converting")
    graph = OnnxConverter().convert(spec, blobs)
    compile_and_pack(graph, phase)
    phase("judging")


def judge(folder: Path) -> str | None:
    """The objection of the onnx package's checker, if any. Nodes may be in any order, and computed
    values need no description.
    """
    try:
        model = onnx.load(folder / "net.onnx")
        sort_nodes(model.graph, set(), "")
        add_missing_types(model.graph)
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, DecodeError, ValueError, TypeError) as error:
        return str(error)
    return None


FORMAT = files.Format(make, attempt, judge)
