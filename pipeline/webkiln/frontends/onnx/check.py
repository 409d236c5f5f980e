"""Whether an ONNX file is one: the schemas of its operators, the onnx package's checker, and its
inference of types and shapes.

The checker knows no operators of others, wants nodes in the order in which they run, and data
beside the model where it stands; the inference insists on shapes that exporters left behind. They
are given a model that says the same without these.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from math import prod
from pathlib import Path
from typing import Any

import onnx
import onnx.checker
import onnx.inliner
import onnx.shape_inference
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from webkiln.errors import SourceError
from webkiln.frontends.nodes.inlining import Inlining
from webkiln.frontends.onnx.signatures import Signature, find_signature
from webkiln.frontends.onnx.sort import sorted_nodes
from webkiln.frontends.onnx.tensors import MODEL, read_array
from webkiln.frontends.protobuf.large_arrays import strip_arrays

CHECKED = ("", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview", "ai.onnx.preview.training")
NEWEST_OPSET = onnx.defs.onnx_opset_version()
MAX_VERSION = 2**31 - 1
"""The most that the onnx package takes for the version of another domain."""
NEWEST_IR = max(onnx.IR_VERSION, 14)
CARRIED_BYTES = 1 << 16
"""The checker is not given larger weights: only small ones tell sizes."""
LISTED = frozenset({"TreeEnsembleClassifier", "TreeEnsembleRegressor"})
"""Operators with lists of attributes, of one element for each node of a tree, of which it sees the
first.
"""
CARRIED_ELEMENTS = 1 << 10
NODE = re.compile(r"\(op_type: ?(\w+)(?:, node name: ([^)]*))?\): (?:\[\w+\] )?([^;]*)")
"""How the inference begins what it says."""
STRANGE = "webkiln.unknown"
"""The domain that operators get which the standard lacks."""


def parse_model(path: Path) -> onnx.ModelProto:
    """The model in a file; its long arrays stay there (`frontends/protobuf/large_arrays.py`), and
    `read_array` finds them.
    """
    model = onnx.ModelProto()
    try:
        model.ParseFromString(strip_arrays(path, MODEL))
    except DecodeError:
        raise SourceError(
            f"{path.name}: is no ONNX model: its bytes are not those of a protobuf message"
        ) from None
    return model


def check_model(model: onnx.ModelProto, name: str, folder: Path | None = None) -> None:
    """Raise SourceError for a model that does not keep to the standard, and spoil it. `folder` has
    its external data; `name` is for messages.
    """
    if not model.HasField("graph") or not model.graph.output or not model.opset_import:
        raise SourceError(
            f"{name}: is no ONNX model: it has no graph with outputs, or does not say its opset"
        )
    _check_texts(model, name)
    opsets = opsets_of(model)
    _check_opsets(model.opset_import, name)
    for function in model.functions:
        _check_opsets(function.opset_import, f"{name}: function {function.name}")
    if not 3 <= model.ir_version <= NEWEST_IR:
        raise SourceError(
            f"{name}: is of version {model.ir_version} of the format; versions 3 to {NEWEST_IR} are"
            " known"
        )
    _drop_large(model.graph)
    for graph in graphs_of(inlined(model, name).graph):
        _check_tensors(graph, name)
        for node in graph.node:
            _check_node(node, opsets, name)
    _relax(model, opsets, name, folder)
    graph, inputs, outputs = (
        model.graph,
        *(deepcopy(list(items)) for items in (model.graph.input, model.graph.output)),
    )
    try:
        complete(graph)
        onnx.checker.check_model(model, skip_opset_compatibility_check=True)
        del graph.input[:], graph.output[:]
        graph.input.extend(inputs)
        graph.output.extend(outputs)
        _forget_shapes(graph)
        _infer(inlined(model, name))
    except (
        onnx.checker.ValidationError,
        onnx.shape_inference.InferenceError,
        RuntimeError,
        ValueError,
        TypeError,
    ) as error:
        raise SourceError(f"{name}: {_said(error)}, says the onnx package's checker") from None


def _check_opsets(imported: Iterable[onnx.OperatorSetIdProto], name: str) -> None:
    for entry in imported:
        domain = _domain(entry.domain)
        newest = NEWEST_OPSET if domain == "" else MAX_VERSION
        if not 1 <= entry.version <= newest:
            raise SourceError(
                f"{name}: is of opset {entry.version}{domain and f' of {domain}'}; opsets 1 to"
                f" {newest} are known"
            )


def opsets_of(model: onnx.ModelProto) -> dict[str, int]:
    """The version of each domain, the default one as ''."""
    return {_domain(entry.domain): entry.version for entry in model.opset_import}


def inlined(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The model with its functions written out."""
    if not model.functions:
        return model
    _check_growth(model, name)
    try:
        return onnx.inliner.inline_local_functions(model)
    except Exception as error:
        raise SourceError(f"{name}: its functions cannot be written out: {error}") from error


def _check_growth(model: onnx.ModelProto, name: str) -> None:
    """SourceError where inlining makes too many nodes."""
    functions = {(_domain(item.domain), item.name): item for item in model.functions}
    sizes: dict[tuple[str, str], int] = {}

    def size(part: onnx.GraphProto | onnx.FunctionProto) -> int:
        return sum(1 + of_function((_domain(node.domain), node.op_type)) for node in nodes_of(part))

    def of_function(key: tuple[str, str]) -> int:
        if key in functions and key not in sizes:
            sizes[key] = 0  # a function that calls itself is refused by the inliner
            sizes[key] = size(functions[key])
        return sizes.get(key, 0)

    inlining = Inlining(
        name, sum(1 for part in (model.graph, *model.functions) for _ in nodes_of(part))
    )
    inlining.add(size(model.graph))


def graphs_of(part: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph and those inside its nodes."""
    yield part
    for node in part.node:
        for inner in _inside(node):
            yield from graphs_of(inner)


def nodes_of(part: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph or a function, and those of the graphs inside them."""
    for node in part.node:
        yield node
        for inner in _inside(node):
            yield from nodes_of(inner)


def _inside(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for item in node.attribute:
        yield from (*([item.g] if item.HasField("g") else []), *item.graphs)


def called(node: onnx.NodeProto) -> str:
    return f"{node.name or node.op_type.lower()} ({node.op_type})"


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _check_texts(message: Message, name: str) -> None:
    """The parser gives bytes for what is no UTF-8."""
    for field, value in message.ListFields():
        items = value if field.is_repeated else [value]
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for item in items:
                _check_texts(item, name)
        elif field.type == FieldDescriptor.TYPE_STRING and (
            odd := [item for item in items if not isinstance(item, str)]
        ):
            raise SourceError(
                f"{name}: the {field.name} {odd[0]!r} of a {message.DESCRIPTOR.name} is no text;"
                " the file is damaged"
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
    """Attributes and numbers of operands and results, by the schema of the operator, where there is
    one.
    """
    where = f"{name}: {called(node)}"
    given = [item.name for item in node.attribute]
    if twice := sorted({item for item in given if given.count(item) > 1}):
        raise SourceError(f"{where}: has the attribute {twice[0]} twice")
    domain = _domain(node.domain)
    signature = find_signature(node.op_type, domain, opsets.get(domain, 1))
    if signature is None:
        if domain in CHECKED and onnx.defs.has(node.op_type, domain):
            raise SourceError(
                f"{where}: the operator is not yet part of opset {opsets.get(domain, 1)}; export"
                " the model again"
            )
        return
    if signature.deprecated:
        raise SourceError(
            f"{where}: the operator is not part of opset {opsets.get(domain, 1)} any more; export"
            " the model again"
        )
    _check_attributes(node, signature, where)
    if not signature.fewest <= len(node.input) <= signature.most:
        raise SourceError(
            f"{where}: has {len(node.input)} operands, expected"
            f" {_count(signature.fewest, signature.most)}"
        )
    if len(node.output) > signature.results:
        raise SourceError(
            f"{where}: has {len(node.output)} results, expected at most {signature.results}"
        )


def _check_attributes(node: onnx.NodeProto, signature: Signature, where: str) -> None:
    for item in node.attribute:
        expected = signature.attributes.get(item.name)
        if expected is None:
            known = ", ".join(sorted(signature.attributes))
            raise SourceError(
                f"{where}: has no attribute {item.name};"
                f" {f'its attributes are {known}' if known else 'it has none at all'}"
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


def _said(error: BaseException) -> str:
    """What the onnx package says, with the node first."""
    lines = [
        line.strip()
        for line in str(error).replace("==> Context: ", "\n").splitlines()
        if line.strip()
    ]
    text = "; ".join(line for line in lines if line != "Inference error(s):")[:600]
    if (found := NODE.search(text)) and (message := found[3]):
        op, node, _ = found.groups()
        return f"{node or op.lower()} ({op}): {message}"
    return text


def _relax(
    model: onnx.ModelProto, opsets: Mapping[str, int], name: str, folder: Path | None
) -> None:
    """Bring a model into the form that the checker and the inference take."""
    model.ir_version = min(model.ir_version, onnx.IR_VERSION)
    for graph in graphs_of(model.graph):
        _load_external(graph, name, folder)
        for node in graph.node:
            _rename(node, opsets)
    sort_nodes(model.graph, set(), name)
    for item in model.graph.input:
        for size in item.type.tensor_type.shape.dim:
            if size.dim_value < 0:
                size.ClearField("dim_value")
    for function in model.functions:
        own = {_domain(entry.domain): entry.version for entry in function.opset_import}
        for node in function.node:
            _rename(node, own)
        function.opset_import.append(onnx.helper.make_opsetid(STRANGE, 1))
    model.opset_import.append(onnx.helper.make_opsetid(STRANGE, 1))


def _infer(model: onnx.ModelProto) -> None:
    """The inference of types and shapes; without an operator whose definition by others it cannot
    follow, where it stops there.
    """
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        found = NODE.search(str(error))
        nodes = [
            node
            for graph in graphs_of(model.graph)
            for node in graph.node
            if found and node.op_type == found[1]
        ]
        nodes = [
            node
            for node in nodes
            if node.domain != STRANGE and _is_composed(node, opsets_of(model))
        ]
        if not nodes:
            raise
        for node in nodes:
            node.domain = STRANGE
        _infer(model)


def _is_composed(node: onnx.NodeProto, opsets: Mapping[str, int]) -> bool:
    """Whether the standard defines an operator by others."""
    domain, version = _domain(node.domain), opsets.get(_domain(node.domain), 1)
    if not onnx.defs.has(node.op_type, version, domain):
        return False
    schema: Any = onnx.defs.get_schema(node.op_type, version, domain)
    return bool(schema.has_function or schema.has_context_dependent_function)


def complete(graph: onnx.GraphProto) -> None:
    """Give inputs and outputs the types and ranks that the checker wants to see, and that need not
    be known.
    """
    for item in (*graph.input, *graph.output):
        if item in graph.output and not item.HasField("type"):
            item.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        if item.type.HasField("tensor_type"):
            item.type.tensor_type.shape.SetInParent()


def _forget_shapes(main: onnx.GraphProto) -> None:
    """Forget what the file says of shapes, except of inputs: it is often that of another export,
    and nobody reads it.
    """
    for graph in graphs_of(main):
        for item in (*graph.value_info, *graph.output, *(graph.input if graph is not main else ())):
            if item.type.HasField("tensor_type"):
                item.type.tensor_type.ClearField("shape")


def _drop_large(graph: onnx.GraphProto) -> None:
    """Make inputs of large weights, and cut long lists."""
    for node in graph.node:
        for item in node.attribute if node.op_type in LISTED else ():
            for values in (item.ints, item.floats, item.strings):
                del values[CARRIED_ELEMENTS:]
    large = {item.name: item for item in graph.initializer if prod(item.dims) * 8 > CARRIED_BYTES}
    kept = [item for item in graph.initializer if item.name not in large]
    missing = large.keys() - {item.name for item in graph.input}
    graph.input.extend(
        onnx.helper.make_tensor_value_info(key, large[key].data_type, large[key].dims)
        for key in sorted(missing)
    )
    del graph.initializer[:]
    graph.initializer.extend(kept)


def _load_external(graph: onnx.GraphProto, name: str, folder: Path | None) -> None:
    attributes = [item.t for node in graph.node for item in node.attribute if item.HasField("t")]
    for tensor in (*graph.initializer, *attributes):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            tensor.CopyFrom(
                onnx.numpy_helper.from_array(
                    read_array(tensor, folder, f"{name}: {tensor.name}"), tensor.name
                )
            )


def _rename(node: onnx.NodeProto, opsets: Mapping[str, int]) -> None:
    """Put an operator that the standard lacks, and somebody's handler may know, where the checker
    does not look for it.
    """
    domain = _domain(node.domain)
    if domain in CHECKED and not onnx.defs.has(node.op_type, opsets.get(domain, 1), domain):
        node.domain = STRANGE


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
