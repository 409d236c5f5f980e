"""Read an ONNX file into a spec and weight blobs. The file is untrusted: inconsistencies raise
SourceError.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Blobs, Literal, Weight
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.inspect.header_only import report_unsupported
from webkiln.frontends.nodes.reading import DistinctNames, StoredWeights, literal
from webkiln.frontends.nodes.size_constants import with_size_constants
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.frontends.onnx.attributes import decode_strings, decode_text, raw_attributes
from webkiln.frontends.onnx.check import CheckerError, check_model, parse_model
from webkiln.frontends.onnx.classical import (
    DESCRIPTIONS,
    DOMAIN,
    UNSUPPORTED,
    describe_node,
    keys_of,
    unsupported_strings,
)
from webkiln.frontends.onnx.complete import is_accepted_unchanged
from webkiln.frontends.onnx.functions import inline_functions, version_of
from webkiln.frontends.onnx.graphs import opsets_of
from webkiln.frontends.onnx.narrow_tensors import ADVICE as NARROW_ADVICE
from webkiln.frontends.onnx.narrow_tensors import NarrowTensors, StoredBytes
from webkiln.frontends.onnx.sort import sorted_nodes
from webkiln.frontends.onnx.sparse import dense_model
from webkiln.frontends.onnx.strings import ADVICE, StringTable
from webkiln.frontends.onnx.structure import SIZE_OPERATORS, is_structure
from webkiln.frontends.onnx.subgraph import extract_subgraph
from webkiln.frontends.onnx.tensors import dtype_name, read_array
from webkiln.frontends.onnx.text_inputs import with_indices
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array

UNKNOWN_SIZE = -1
"""PaddlePaddle writes unknown sizes as this value."""
NAME_COUNTER = re.compile(r"__\d+\b")
"""The counter in names written by tf2onnx, which differs in each export."""


def read_checked(
    path: Path, folder: Path | None = None, cut: Subgraph = ENTIRE_MODEL
) -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of a validated file, or of a subgraph of it. External data is in
    `folder`, by default the file's own.
    """
    folder = folder or path.parent
    return _read_spec(extract_part(parse_model(path), cut, path.name, folder), path.name, folder)


def extract_part(
    model: onnx.ModelProto, cut: Subgraph, name: str, folder: Path | None = None
) -> onnx.ModelProto:
    """The model, or a subgraph of it."""
    if cut:
        model = dense_model(model, name, folder)
    return (
        extract_subgraph(
            model, cut, name, labels=layer_tensors(inline_functions(model, name), name)
        )
        if cut
        else model
    )


def layer_tensors(model: onnx.ModelProto, name: str) -> dict[str, str]:
    """Name of a node in the spec -> its first output in the file."""
    reader = _Reader(name, None, {"": 1})
    nodes = sorted_nodes(model.graph, set(), name)
    return {
        reader.label(node): output
        for node in nodes
        for output in node.output[:1]
        if output and node.op_type != "Constant"
    }


def describe_model(
    model: onnx.ModelProto, name: str, folder: Path | None = None
) -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of a model in memory. Messages call it `name`."""
    validate_model(lambda: deepcopy(model), name, folder)
    return _read_spec(model, name, folder)


def validate_model(make: Callable[[], onnx.ModelProto], name: str, folder: Path | None) -> None:
    """Raise SourceError if a model violates the standard. If reading it fails with a SourceError as
    well, that more specific error is raised. What the onnx package rejects without large arrays and
    declared shapes is valid if it accepts the complete model.
    """
    try:
        check_model(make(), name, folder)
    except SourceError as refused:
        try:
            _read_spec(make(), name, folder)
        except SourceError:
            raise
        except Exception:  # noqa: BLE001 - the reader expects files that conform to the standard
            raise refused from None
        if not isinstance(refused, CheckerError) or not is_accepted_unchanged(make(), folder):
            raise


def _read_spec(model: onnx.ModelProto, name: str, folder: Path | None) -> tuple[NodeModel, Blobs]:
    model = dense_model(model, name, folder)
    texts = with_indices(inline_functions(model, name), name)
    opsets = opsets_of(model)
    reader = _Reader(name, folder, opsets)
    graph, sizes = with_size_constants(
        reader.graph(texts.model.graph, {}), reader.weights, SIZE_OPERATORS
    )
    report_unsupported(name, [*texts.unsupported, *reader.unsupported])
    names, labels = reader.texts.names, reader.texts.labels
    strings = tuple(texts.entries)
    spec = NodeModel(Path(name).stem, opsets, graph, names, labels, sizes, strings=strings)
    return spec, reader.weights.blobs


class _Reader:
    """Names tensors, nodes and slots by position while reading. `scope` maps tensor names of the
    file to those of the spec.
    """

    def __init__(self, name: str, folder: Path | None, opsets: Mapping[str, int]) -> None:
        self.name, self.folder, self.opsets = name, folder, opsets
        self.weights = StoredWeights()
        self.unsupported: list[tuple[str, str, str]] = []
        self.labels = DistinctNames()
        self.texts = StringTable()
        self.narrow = NarrowTensors()
        self.count = 0

    def graph(self, graph: onnx.GraphProto, outer: Mapping[str, str]) -> GraphSpec:
        where = f"{self.name}: graph {graph.name}" if outer else self.name
        scope = dict(outer)
        arrays = {item.name: item for item in graph.initializer}
        if repeated := [
            name
            for name, count in Counter(item.name for item in graph.initializer).items()
            if count > 1
        ]:
            raise SourceError(f"{where}: the tensor {repeated[0]} is defined twice")
        own: set[str] = set()
        for item in graph.input:
            if item.name not in arrays:
                self.fresh(item.name, scope, own, where)
        inputs = tuple(
            self.declared(item, scope, sequences=bool(outer))
            for item in graph.input
            if item.name not in arrays
        )
        nodes = sorted_nodes(graph, set(outer), where)
        uses: dict[str, list[tuple[str, int, str]]] = {}
        labels = [self.label(node) for node in nodes]
        for node, label in zip(nodes, labels, strict=True):
            for position, name in enumerate(node.input):
                uses.setdefault(name, []).append(
                    (node.op_type, position, f"{label}/{self.formal(node, position)}")
                )
        tensors: dict[str, Weight | Literal] = {}
        for name in sorted(arrays, key=lambda name: (uses.get(name, [("", 0, "~")])[0][2], name)):
            self.fresh(name, scope, own, where)
            tensors[scope[name]] = self.initialiser(arrays[name], scope[name], uses.get(name, []))
        specs = [
            self.node(node, label, scope, own, where, tensors, uses)
            for node, label in zip(nodes, labels, strict=True)
        ]
        repeated = [
            name for name, count in Counter(item.name for item in graph.output).items() if count > 1
        ]
        if repeated and not outer:
            raise SourceError(
                f"{where}: has two outputs called {repeated[0]}; their names must be unique"
            )
        for item in graph.output:
            if not item.name:
                raise SourceError(f"{where}: an output has no name; name it")
            if item.name not in scope:
                raise SourceError(f"{where}: no node writes its output {item.name}")
        outputs = tuple(self.declared(item, scope) for item in graph.output)
        return GraphSpec(
            inputs, outputs, tensors, tuple(node for node in specs if node is not None)
        )

    def fresh(self, name: str, scope: dict[str, str], own: set[str], where: str) -> None:
        """Name a tensor of this graph. Raise SourceError if it is defined twice."""
        if name in own:
            raise SourceError(f"{where}: the tensor {name} is defined twice")
        own.add(name)
        scope[name] = f"t{self.count}"
        self.count += 1

    def declared(
        self, item: onnx.ValueInfoProto, scope: Mapping[str, str], *, sequences: bool = True
    ) -> Declared:
        if keys := self.texts.keys.get(scope[item.name]):
            self.texts.labels[item.name] = keys
            return Declared(item.name, scope[item.name], "float32", (None, len(keys)))
        kind = item.type.WhichOneof("value")
        elements = item.type.sequence_type.elem_type
        if sequences and kind == "sequence_type" and elements.HasField("tensor_type"):
            dtype = dtype_name(elements.tensor_type.elem_type)
            return Declared(item.name, scope[item.name], dtype, None)
        if kind not in (None, "tensor_type"):
            problem = f"is a {str(kind).removesuffix('_type').replace('_', ' ')}"
            self.unsupported.append(
                (item.name, problem, "Only dense tensors are supported as inputs and outputs")
            )
        type_ = item.type.tensor_type
        shape: tuple[int | str | None, ...] | None = None
        if type_.HasField("shape"):
            shape = tuple(
                (
                    size.dim_value
                    if size.HasField("dim_value") and size.dim_value != UNKNOWN_SIZE
                    else size.dim_param or None
                )
                for size in type_.shape.dim
            )
            if any(isinstance(size, int) and not 0 <= size < 1 << 31 for size in shape):
                raise SourceError(
                    f"{self.name}: {item.name} has shape {list(shape)}; sizes are from 0 to"
                    f" {(1 << 31) - 1}"
                )
        dtype = "int64" if scope[item.name] in self.texts.tensors else dtype_name(type_.elem_type)
        return Declared(item.name, scope[item.name], dtype, shape)

    def label(self, node: onnx.NodeProto) -> str:
        """The name of a node in messages and slots: its name without counters of exporters, or its
        operator; made unique.
        """
        return self.labels.distinct(NAME_COUNTER.sub("", node.name) or node.op_type.lower())

    def formal(self, node: onnx.NodeProto, position: int) -> str:
        """The formal name of an operand."""
        version = version_of(node) or self.opsets.get(node.domain, 1)
        if not onnx.defs.has(node.op_type, version, node.domain):
            return str(position)
        formals = onnx.defs.get_schema(node.op_type, version, node.domain).inputs
        return str(formals[position].name) if position < len(formals) else str(position)

    def initialiser(
        self, tensor: onnx.TensorProto, name: str, uses: Sequence[tuple[str, int, str]]
    ) -> Weight | Literal:
        where = f"{self.name}: initialiser {tensor.name}"
        if tensor.data_type == onnx.TensorProto.STRING:
            names, shape = decode_strings(tensor, where), tuple(tensor.dims)
            indices, problem = self.texts.indices(names, shape, name, where)
            self.unsupported += [(where, problem, ADVICE)] if problem else []
            return indices
        array = self.narrow.read(tensor, name, self.folder, where)
        return self.tensor(array, uses, NAME_COUNTER.sub("", tensor.name))

    def tensor(
        self, array: Array | StoredBytes, uses: Sequence[tuple[str, int, str]], name: str
    ) -> Weight | Literal:
        """A structural literal, or a trained weight."""
        if isinstance(array, StoredBytes):
            slot = uses[0][2] if uses else name
            return self.weights.store_bytes(slot, array.bytes, array.dtype, array.shape)
        if is_structure(array, [(op, position) for op, position, _ in uses]):
            return literal(array)
        return self.weights.store(uses[0][2] if uses else name, array)

    def node(
        self, node: onnx.NodeProto, label: str, scope: dict[str, str], own: set[str], where: str,
        tensors: dict[str, Weight | Literal], uses: Mapping[str, list[tuple[str, int, str]]],
    ) -> NodeSpec | None:  # fmt: skip
        """A node; None for a Constant."""
        inputs = tuple(scope[name] if name else "" for name in node.input)
        for name in filter(None, node.output):
            self.fresh(name, scope, own, where)
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            if len(node.attribute) != 1 or not node.output:
                raise SourceError(
                    f"{where}: the constant {label} has {len(node.attribute)} values, expected one"
                )
            array = self.constant(node.attribute[0], label, scope[node.output[0]])
            if array is not None:
                tensors[scope[node.output[0]]] = self.tensor(
                    array, uses.get(node.output[0], []), label
                )
            return None
        outputs = tuple(scope[name] if name else "" for name in node.output)
        is_string = self.texts.propagates(node, inputs)
        if is_string is None:
            self.unsupported.append((f"{label} ({node.op_type})", "computes with strings", ADVICE))
        if is_string:
            self.texts.tensors |= {outputs[0]}
        if is_string and node.op_type == "Cast":
            return NodeSpec(label, "Identity", "", inputs, outputs, {})
        if node.domain == DOMAIN and (node.op_type in DESCRIPTIONS or node.op_type in UNSUPPORTED):
            return self.classical(node, label, inputs, outputs, tensors)
        attrs = {item.name: self.attribute(item, label, scope) for item in node.attribute}
        if problem := self.narrow.objection(node, inputs, outputs, attrs):
            self.unsupported.append((f"{label} ({node.op_type})", problem, NARROW_ADVICE))
        attrs |= self.narrow.of_operands(inputs)
        return NodeSpec(
            label,
            node.op_type,
            "" if node.domain == "ai.onnx" else node.domain,
            inputs,
            outputs,
            attrs,
            version_of(node),
        )

    def classical(
        self,
        node: onnx.NodeProto,
        label: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        tensors: dict[str, Weight | Literal],
    ) -> NodeSpec:
        """A node of ai.onnx.ml, with its trained numbers as operands."""
        what, where = f"{label} ({node.op_type})", f"{self.name}: {label}"
        raw = raw_attributes(node, self.folder, where)
        if refused := UNSUPPORTED.get(node.op_type) or unsupported_strings(raw):
            self.unsupported.append((what, *refused))
            return NodeSpec(label, node.op_type, DOMAIN, inputs, outputs, {})
        if node.op_type == "ZipMap":
            self.texts.keys[outputs[0]] = keys_of(raw, where)
        elif names := raw.get("classlabels_strings"):
            self.texts.tensors.add(outputs[0])
            if not self.texts.add(names):
                self.unsupported.append(
                    (
                        what,
                        "has class names that repeat, or differ from those elsewhere in the model",
                        ADVICE,
                    )
                )
        attrs, arrays = describe_node(node.op_type, raw, where)
        operands = []
        for name, array in arrays.items():
            operands.append("" if array is None else f"t{self.count}")
            if array is not None:
                tensors[operands[-1]] = self.weights.store(f"{label}/{name}", array)
                self.count += 1
        return NodeSpec(label, node.op_type, DOMAIN, (*inputs, *operands), outputs, attrs)

    def constant(
        self, item: onnx.AttributeProto, label: str, name: str
    ) -> Array | StoredBytes | None:
        where = f"{self.name}: constant {label}"
        match item.name:
            case "value":
                return self.narrow.read(item.t, name, self.folder, where)
            case "value_float":
                return np.array(item.f, np.float32)
            case "value_floats":
                return np.array(item.floats, np.float32)
            case "value_int":
                return np.array(item.i, np.int64)
            case "value_ints":
                return np.array(item.ints, np.int64)
        self.unsupported.append(
            (label, f"is a constant of {item.name}", "Only dense numbers are supported")
        )
        return None

    def attribute(self, item: onnx.AttributeProto, label: str, scope: Mapping[str, str]) -> Any:
        kind, types = item.type, onnx.AttributeProto
        where = f"{self.name}: {item.name} of {label}"
        if kind == types.TENSOR:
            array = read_array(item.t, self.folder, where)
            return (
                literal(array)
                if array.size <= INLINE_ELEMENTS
                else self.tensor(array, [], f"{label}/{item.name}")
            )
        if kind == types.GRAPH:
            return self.graph(item.g, scope)
        if kind in (types.INTS, types.FLOATS):
            return tuple(item.ints if kind == types.INTS else item.floats)
        if kind == types.STRINGS:
            return tuple(decode_text(value, where) for value in item.strings)
        if kind in (types.INT, types.FLOAT):
            return item.i if kind == types.INT else item.f
        if kind == types.STRING:
            return decode_text(item.s, where)
        raise SourceError(f"{where}: has an attribute type that cannot be read")
