"""Validate an ONNX file: operator schemas, the onnx package's checker, and its type and shape
inference.

The checker rejects operators of other vendors, unsorted nodes, and external data that it does not
find. The inference rejects stale shapes. Both receive an equivalent model without these.
"""

import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import onnx
import onnx.checker
import onnx.inliner
import onnx.shape_inference
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from webkiln.errors import SourceError
from webkiln.frontends.onnx.functions import has_other_opsets, inline_functions, version_of
from webkiln.frontends.onnx.graphs import (
    all_graphs,
    graphs_of,
    node_label,
    normalise_domain,
    opsets_of,
)
from webkiln.frontends.onnx.operand_types import operand_types
from webkiln.frontends.onnx.signatures import Signature, find_signature
from webkiln.frontends.onnx.sort import sorted_nodes
from webkiln.frontends.onnx.sparse import dense_model
from webkiln.frontends.onnx.tensors import MODEL, with_data
from webkiln.frontends.onnx.weightless import (
    REJECTIONS,
    UNKNOWN_DOMAIN,
    remove_large_arrays,
)
from webkiln.frontends.protobuf.large_arrays import strip_arrays

STANDARD_DOMAINS = (
    "",
    "ai.onnx.ml",
    "ai.onnx.training",
    "ai.onnx.preview",
    "ai.onnx.preview.training",
)
CRASHING = ("DictVectorizer", "LabelEncoder")
"""Operators whose inference reads the type of an operand without a check (onnx 1.23)."""
NEWEST_OPSET = onnx.defs.onnx_opset_version()
MAX_VERSION = 2**31 - 1
"""The largest version of other domains that the onnx package accepts."""
NEWEST_IR = max(onnx.IR_VERSION, 14)
NODE_MESSAGE = re.compile(r"\(op_type: ?(\w+)(?:, node name: ([^)]*))?\): (?:\[\w+\] )?([^;]*)")
"""The start of messages of the inference."""


class CheckerError(SourceError):
    """The onnx package's checker or inference rejects the prepared model."""


def parse_model(path: Path) -> onnx.ModelProto:
    """Parse the model in a file. Its large arrays stay in the file
    (`frontends/protobuf/large_arrays.py`); `read_array` reads them.
    """
    model = onnx.ModelProto()
    try:
        model.ParseFromString(strip_arrays(path, MODEL))
    except DecodeError:
        raise SourceError(
            f"{path.name}: is no ONNX model: it is no valid protobuf message"
        ) from None
    return model


def check_model(model: onnx.ModelProto, name: str, folder: Path | None = None) -> None:
    """Raise SourceError if a model violates the standard. The model is modified. `folder` contains
    its external data; messages call the model `name`.
    """
    if not model.HasField("graph") or not model.graph.output or not model.opset_import:
        raise SourceError(
            f"{name}: is no ONNX model: it has no graph with outputs, or declares no opset"
        )
    _check_strings(model, name)
    opsets = opsets_of(model)
    _check_opsets(model.opset_import, name)
    for function in model.functions:
        _check_opsets(function.opset_import, f"{name}: function {function.name}")
    if not 3 <= model.ir_version <= NEWEST_IR:
        raise SourceError(
            f"{name}: has IR version {model.ir_version}; versions 3 to {NEWEST_IR} are supported"
        )
    model = dense_model(model, name, folder)
    remove_large_arrays(model)
    for graph in graphs_of(inline_functions(model, name).graph):
        _check_tensors(graph, name)
        for node in graph.node:
            domain, version = normalise_domain(node.domain), version_of(node)
            own = opsets if version is None else {**opsets, domain: version}
            _check_node(node, own, name)
    _prepare(model, opsets, name, folder)
    graph, inputs, outputs = (
        model.graph,
        *(deepcopy(list(items)) for items in (model.graph.input, model.graph.output)),
    )
    try:
        add_missing_types(graph)
        onnx.checker.check_model(model, skip_opset_compatibility_check=True)
        del graph.input[:], graph.output[:]
        graph.input.extend(inputs)
        graph.output.extend(outputs)
        _clear_shapes(model)
        _infer(model if has_other_opsets(model) else inline_functions(model, name))
    except REJECTIONS as error:
        raise CheckerError(
            f"{name}: {_checker_message(error, model)}, says the onnx package's checker"
        ) from None


def _check_opsets(imported: Iterable[onnx.OperatorSetIdProto], name: str) -> None:
    for entry in imported:
        domain = normalise_domain(entry.domain)
        newest = NEWEST_OPSET if domain == "" else MAX_VERSION
        if not 1 <= entry.version <= newest:
            raise SourceError(
                f"{name}: uses opset {entry.version}{domain and f' of {domain}'}; opsets 1 to"
                f" {newest} are supported"
            )


def _check_strings(message: Message, name: str) -> None:
    """Raise SourceError for invalid UTF-8, which the parser returns as bytes."""
    for field, value in message.ListFields():
        items = value if field.is_repeated else [value]
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for item in items:
                _check_strings(item, name)
        elif field.type == FieldDescriptor.TYPE_STRING and (
            invalid := [item for item in items if not isinstance(item, str)]
        ):
            raise SourceError(
                f"{name}: the {field.name} {invalid[0]!r} of a {message.DESCRIPTOR.name} is no"
                " text; the file is damaged"
            )


def _check_tensors(graph: onnx.GraphProto, name: str) -> None:
    for item in (*graph.input, *graph.output, *graph.value_info):
        kind = item.type.WhichOneof("value")
        code = item.type.tensor_type.elem_type if kind == "tensor_type" else None
        absent = code == onnx.TensorProto.UNDEFINED and item not in graph.input
        if (
            code is not None
            and not absent
            and (
                code == onnx.TensorProto.UNDEFINED or code not in onnx.TensorProto.DataType.values()
            )
        ):
            raise SourceError(
                f"{name}: {item.name} has elements of type {code}, which does not exist"
            )


def _check_node(node: onnx.NodeProto, opsets: Mapping[str, int], name: str) -> None:
    """Check the attributes and the numbers of operands and outputs against the operator's schema,
    if there is one.
    """
    where = f"{name}: {node_label(node)}"
    names = [item.name for item in node.attribute]
    if repeated := sorted({item for item in names if names.count(item) > 1}):
        raise SourceError(f"{where}: the attribute {repeated[0]} is set twice")
    domain = normalise_domain(node.domain)
    signature = find_signature(node.op_type, domain, opsets.get(domain, 1))
    if signature is None:
        if domain in STANDARD_DOMAINS and onnx.defs.has(node.op_type, domain):
            raise SourceError(
                f"{where}: the operator was added after opset {opsets.get(domain, 1)}; export"
                " the model again"
            )
        return
    if signature.deprecated:
        raise SourceError(
            f"{where}: the operator was removed before opset {opsets.get(domain, 1)}; export"
            " the model again"
        )
    _check_attributes(node, signature, where)
    if not signature.min_inputs <= len(node.input) <= signature.max_inputs:
        raise SourceError(
            f"{where}: has {len(node.input)} operands, expected"
            f" {_count(signature.min_inputs, signature.max_inputs)}"
        )
    if len(node.output) > signature.max_outputs:
        raise SourceError(
            f"{where}: has {len(node.output)} outputs, expected at most {signature.max_outputs}"
        )


def _check_attributes(node: onnx.NodeProto, signature: Signature, where: str) -> None:
    for item in node.attribute:
        expected = signature.attributes.get(item.name)
        if expected is None:
            names = ", ".join(sorted(signature.attributes))
            raise SourceError(
                f"{where}: does not have an attribute {item.name};"
                f" {f'its attributes are {names}' if names else 'it has none'}"
            )
        kind = (
            onnx.AttributeProto.AttributeType.Name(item.type)
            if item.type in onnx.AttributeProto.AttributeType.values()
            else item.type
        )
        if kind != expected:
            raise SourceError(f"{where}: its attribute {item.name} is {kind}, expected {expected}")
    if missing := sorted(signature.required - {item.name for item in node.attribute}):
        raise SourceError(
            f"{where}: its attribute {missing[0]} is missing, {signature.attributes[missing[0]]}"
        )


def _count(fewest: int, most: int) -> str:
    return (
        str(fewest)
        if fewest == most
        else f"{fewest} or more"
        if most >= 1 << 30
        else f"{fewest} to {most}"
    )


def _checker_message(error: BaseException, model: onnx.ModelProto) -> str:
    """The message of the onnx package, rewritten to start with the node, and its operands."""
    lines = [
        line.strip()
        for line in str(error).replace("==> Context: ", "\n").splitlines()
        if line.strip()
    ]
    text = "; ".join(line for line in lines if line != "Inference error(s):")[:600]
    if (match := NODE_MESSAGE.search(text)) and (message := match[3]):
        op, node, _ = match.groups()
        operands = operand_types(model, op, node or "")
        types = f" (its operands are {operands})" if operands else ""
        return f"{node or op.lower()} ({op}): {message}{types}"
    return text


def _prepare(
    model: onnx.ModelProto, opsets: Mapping[str, int], name: str, folder: Path | None
) -> None:
    """Convert a model to the form that the checker and the inference accept."""
    model.ir_version = min(model.ir_version, onnx.IR_VERSION)
    for graph in graphs_of(model.graph):
        _load_external(graph, name, folder)
        for node in graph.node:
            _move_unknown_operator(node, opsets)
    sort_nodes(model.graph, set(), name)
    _move_crashing_operators(model.graph)
    for item in model.graph.input:
        for size in item.type.tensor_type.shape.dim:
            if size.dim_value < 0:
                size.ClearField("dim_value")
    for function in model.functions:
        own = {normalise_domain(entry.domain): entry.version for entry in function.opset_import}
        for node in function.node:
            _move_unknown_operator(node, own)
        function.opset_import.append(onnx.helper.make_opsetid(UNKNOWN_DOMAIN, 1))
    model.opset_import.append(onnx.helper.make_opsetid(UNKNOWN_DOMAIN, 1))


def _infer(model: onnx.ModelProto) -> None:
    """Run type and shape inference. If it fails in a function operator that it cannot expand, move
    that operator to the unknown domain and retry.
    """
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        match = NODE_MESSAGE.search(str(error))
        nodes = [
            node
            for graph in graphs_of(model.graph)
            for node in graph.node
            if match and node.op_type == match[1]
        ]
        nodes = [
            node
            for node in nodes
            if node.domain != UNKNOWN_DOMAIN and _is_function(node, opsets_of(model))
        ]
        if not nodes:
            raise
        for node in nodes:
            node.domain = UNKNOWN_DOMAIN
        _infer(model)


def _is_function(node: onnx.NodeProto, opsets: Mapping[str, int]) -> bool:
    """Whether the standard defines an operator as a function of other operators."""
    domain, version = normalise_domain(node.domain), opsets.get(normalise_domain(node.domain), 1)
    if not onnx.defs.has(node.op_type, version, domain):
        return False
    schema: Any = onnx.defs.get_schema(node.op_type, version, domain)
    return bool(schema.has_function or schema.has_context_dependent_function)


def add_missing_types(graph: onnx.GraphProto) -> None:
    """Add the types and ranks of inputs and outputs that the checker requires but the file may
    omit.
    """
    for item in (*graph.input, *graph.output):
        if item in graph.output and not item.HasField("type"):
            item.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        if item.type.HasField("tensor_type"):
            item.type.tensor_type.shape.SetInParent()


def _clear_shapes(model: onnx.ModelProto) -> None:
    """Remove declared shapes, except those of inputs: they are often left over from another export,
    and no reader uses them. Initialisers, and weights that became inputs, keep their own.
    """
    for graph in all_graphs(model):
        weights = {item.name for item in (*graph.initializer, *graph.input)}
        kept = [item for item in graph.value_info if item.name not in weights]
        del graph.value_info[:]
        graph.value_info.extend(kept)
        for item in (
            *graph.value_info,
            *graph.output,
            *(graph.input if graph is not model.graph else ()),
        ):
            if item.type.HasField("tensor_type"):
                item.type.tensor_type.ClearField("shape")


def _load_external(graph: onnx.GraphProto, name: str, folder: Path | None) -> None:
    attributes = [item.t for node in graph.node for item in node.attribute if item.HasField("t")]
    for tensor in (*graph.initializer, *attributes):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            tensor.CopyFrom(with_data(tensor, folder, f"{name}: {tensor.name}"))


def _move_unknown_operator(node: onnx.NodeProto, opsets: Mapping[str, int]) -> None:
    """Move an operator that the standard lacks to the unknown domain; a registered handler may
    convert it.
    """
    domain = normalise_domain(node.domain)
    if domain in STANDARD_DOMAINS and not onnx.defs.has(
        node.op_type, opsets.get(domain, 1), domain
    ):
        node.domain = UNKNOWN_DOMAIN


def _move_crashing_operators(graph: onnx.GraphProto) -> None:
    """Move the operators in whose inference onnx ends the process if the type of an operand is
    unknown, because an operator that the standard lacks comes before them.
    """
    untyped: set[str] = set()
    for node in graph.node:
        is_unknown = normalise_domain(node.domain) not in STANDARD_DOMAINS
        if is_unknown or untyped.intersection(node.input):
            untyped |= {*node.output}
            if node.op_type in CRASHING:
                node.domain = UNKNOWN_DOMAIN


def sort_nodes(graph: onnx.GraphProto, outer: set[str], where: str) -> None:
    nodes = sorted_nodes(graph, outer, where)
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)
    names = (*graph.input, *graph.initializer)
    visible = (
        outer
        | {item.name for item in names}
        | {output for node in copies for output in node.output}
    )
    for node in graph.node:
        for item in node.attribute:
            if item.type == onnx.AttributeProto.GRAPH:
                sort_nodes(item.g, visible, where)
