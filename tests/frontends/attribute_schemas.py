"""The handlers of each format, and the attributes that its operators have."""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx

from tests.structure.modules import PACKAGE
from webkiln.frontends.caffe.converter import HANDLERS as CAFFE
from webkiln.frontends.caffe.net import parameter_of
from webkiln.frontends.caffe.schema import messages
from webkiln.frontends.nodes.call import NodeHandler
from webkiln.frontends.nodes.states import STATES
from webkiln.frontends.onnx.operators.table import DOMAINS
from webkiln.frontends.onnx.signatures import MICROSOFT
from webkiln.frontends.tensorflow.converter import HANDLERS as TENSORFLOW
from webkiln.frontends.tflite.converter import HANDLERS as TFLITE
from webkiln.frontends.tflite.option_tables import OPTION_TABLES, OPTIONS
from webkiln.frontends.tflite.quantization import DERIVED
from webkiln.frontends.torch.converter import HANDLERS as TORCH

Names = Mapping[str, set[str]]
NODE_METHODS = ("attr", "flag", "attr_array")
ATEN_METHODS = ("get", "has", "number", "sizes", "optional", "operand")
ATEN_KEYWORDS = frozenset(
    {"device", "layout", "memory_format", "non_blocking", "pin_memory", "generator"}
)
"""Arguments of ATen's factories, and of copies, that say nothing about values."""


@dataclass(frozen=True)
class Attributes:
    """`schema` has the names of the attributes of each operator, `types` those that are the types
    and numbers of operands, which the operands have themselves, `written` those that loading adds.
    Loading also calls the functions in `loading`, by operator.
    """

    handlers: Mapping[str, NodeHandler]
    schema: Names
    methods: tuple[str, ...] = NODE_METHODS
    written: frozenset[str] = frozenset()
    types: Names = field(default_factory=dict)
    loading: Mapping[str, Callable[..., Any]] | None = None


def onnx_attributes() -> Attributes:
    """Of all opsets, and of com.microsoft."""
    schema: dict[str, set[str]] = {}
    for item in onnx.defs.get_all_schemas_with_history():
        if item.domain == "":
            schema.setdefault(item.name, set()).update(item.attributes)
    handlers = {op: handler for op, handler in DOMAINS[""].items() if op in schema}
    for op, handler in DOMAINS["com.microsoft"].items():
        handlers[f"com.microsoft.{op}"] = handler
        schema[f"com.microsoft.{op}"] = set(MICROSOFT[op].attributes)
    return Attributes(handlers, schema, written=frozenset({"stored"}))


def caffe_attributes() -> Attributes:
    """The fields of the parameter that belongs to a layer's type."""
    table = CAFFE.tables[""]
    layer = messages()["LayerParameter"].DESCRIPTOR.fields_by_name
    schema = {
        op: set(fields_of(layer[f"{parameter}_param"].message_type)) if parameter else set()
        for op in table
        for parameter in [parameter_of(op)]
    }
    return Attributes(table, schema, written=strings_of_loading("caffe"))


def fields_of(message: Any, prefix: str = "") -> Iterator[str]:
    """Without initial values, and files that are written."""
    for field_ in message.fields:
        name = f"{prefix}{field_.name}"
        if field_.name.endswith("filler") or field_.name == "save_output_param":
            continue
        if field_.message_type is None or field_.message_type.name == "BlobShape":
            yield name
        else:
            yield from fields_of(field_.message_type, f"{name}.")


def tensorflow_attributes() -> Attributes:
    from tensorflow.python.framework import op_def_registry

    schema, types = {}, {}
    for op in TENSORFLOW.tables[""]:
        definition = op_def_registry.get(op)
        if definition is None:
            continue
        operands = [*definition.input_arg, *definition.output_arg]
        types[op] = {
            name
            for item in operands
            for name in (item.type_attr, item.number_attr, item.type_list_attr)
        }
        schema[op] = {item.name for item in definition.attr} - types[op]
    handlers = {op: TENSORFLOW.tables[""][op] for op in schema}
    return Attributes(handlers, schema, NODE_METHODS, strings_of_loading("tensorflow"), types)


def tflite_attributes() -> Attributes:
    table = TFLITE.tables[""]
    schema = {op: set(OPTION_TABLES[OPTIONS[op]][1]) if op in OPTIONS else set() for op in table}
    return Attributes(table, schema, written=strings_of_loading("tflite"), loading=DERIVED)


def torch_attributes() -> Attributes:
    """Of all overloads on tensors that do not write into an argument."""
    import torch

    schema: dict[str, set[str]] = {}
    for op in TORCH.tables[""]:
        packet = getattr(torch.ops.aten, op, None)
        for name in packet.overloads() if packet is not None else ():
            overload = getattr(packet, name)._schema
            if any("Tensor" in str(item.type) for item in overload.arguments) and not any(
                item.is_out for item in overload.arguments
            ):
                names = {item.name for item in overload.arguments} - ATEN_KEYWORDS
                schema.setdefault(op, set()).update(names)
    handlers = {op: TORCH.tables[""][op] for op in schema}
    return Attributes(handlers, schema, ATEN_METHODS, strings_of_loading("torch"))


def strings_of_loading(name: str) -> frozenset[str]:
    """The strings in the modules of a format that are not handlers."""
    paths = [
        path
        for path in (PACKAGE / "frontends" / name).rglob("*.py")
        if path.parent.name != "operators"
    ]
    return frozenset(string for path in paths for string in _strings(path)) | STATES.keys()


def _strings(path: Path) -> set[str]:
    return {
        word
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for word in ([node.value] if " " not in node.value else [])
    } | {
        node.arg
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.keyword) and node.arg is not None
    }


FORMATS: Mapping[str, Callable[[], Attributes]] = {
    "caffe": caffe_attributes,
    "onnx": onnx_attributes,
    "tensorflow": tensorflow_attributes,
    "tflite": tflite_attributes,
    "torch": torch_attributes,
}
