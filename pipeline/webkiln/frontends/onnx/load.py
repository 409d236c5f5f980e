"""An ONNX file -> spec and weight blobs. Nothing in the file is trusted: what does not hold
together is one SourceError.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Blobs, Literal, Weight
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.inspect.header_only import report_unsupported
from webkiln.frontends.nodes.reading import DistinctNames, StoredWeights, is_structural, literal
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.frontends.onnx.attributes import as_text, raw_attributes, texts_of
from webkiln.frontends.onnx.check import check_model, inlined, opsets_of, parse_model
from webkiln.frontends.onnx.classical import DESCRIBED, DOMAIN, REFUSED, described, taken_texts
from webkiln.frontends.onnx.sort import sorted_nodes
from webkiln.frontends.onnx.strings import ADVICE, Texts
from webkiln.frontends.onnx.subgraph import cut_model
from webkiln.frontends.onnx.tensors import dtype_name, read_array
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array

STRUCTURAL = frozenset(
    {("Resize", 1), ("Resize", 2), ("Upsample", 1), ("Clip", 1), ("Clip", 2), ("Pad", 2)}
)
"""Operands that are structure whatever their dtype."""
OPEN = -1
"""How PaddlePaddle writes a size that is not known."""
COUNTER = re.compile(r"__\d+\b")
"""How tf2onnx numbers names, anew in each export."""


def read_checked(
    path: Path, folder: Path | None = None, cut: Subgraph = ENTIRE_MODEL
) -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of a file that was checked, or of what is cut out of it; external
    data lies in `folder`, by default the file's own.
    """
    return _described(part_of(parse_model(path), cut, path.name), path.name, folder or path.parent)


def part_of(model: onnx.ModelProto, cut: Subgraph, name: str) -> onnx.ModelProto:
    """The model, or what is cut out of it."""
    return (
        cut_model(model, cut, name, labels=layer_tensors(inlined(model, name), name))
        if cut
        else model
    )


def layer_tensors(model: onnx.ModelProto, name: str) -> dict[str, str]:
    """The first output of every node, in the file's words, by what the spec calls the node."""
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
    """The spec and weight blobs of a model in memory, which messages call `name`."""
    check_whole(lambda: deepcopy(model), name, folder)
    return _described(model, name, folder)


def check_whole(make: Callable[[], onnx.ModelProto], name: str, folder: Path | None) -> None:
    """Raise SourceError for a model that does not keep to the standard; where it cannot be read
    either, that is what it says.
    """
    try:
        check_model(make(), name, folder)
    except SourceError as refused:
        try:
            _described(make(), name, folder)
        except SourceError:
            raise
        except Exception:  # noqa: BLE001 - the reader is only made for files that keep to the standard
            raise refused from None
        raise


def _described(model: onnx.ModelProto, name: str, folder: Path | None) -> tuple[NodeModel, Blobs]:
    model, opsets = inlined(model, name), opsets_of(model)
    reader = _Reader(name, folder, opsets)
    graph = reader.graph(model.graph, {})
    report_unsupported(name, reader.unsupported)
    return NodeModel(Path(name).stem, opsets, graph, reader.texts.known), reader.weights.blobs


class _Reader:
    """Names tensors, nodes and slots by position while it reads. `scope` maps the file's names of
    tensors to those of the spec.
    """

    def __init__(self, name: str, folder: Path | None, opsets: Mapping[str, int]) -> None:
        self.name, self.folder, self.opsets = name, folder, opsets
        self.weights = StoredWeights()
        self.unsupported: list[tuple[str, str, str]] = []
        self.labels = DistinctNames()
        self.texts = Texts()
        self.count = 0

    def graph(self, graph: onnx.GraphProto, outer: Mapping[str, str]) -> GraphSpec:
        where = f"{self.name}: graph {graph.name}" if outer else self.name
        scope = dict(outer)
        if graph.sparse_initializer:
            self.unsupported.append((where, "has sparse initialisers", "Save it with dense ones"))
        arrays = {item.name: item for item in graph.initializer}
        if repeated := [
            name
            for name, count in Counter(item.name for item in graph.initializer).items()
            if count > 1
        ]:
            raise SourceError(f"{where}: the tensor {repeated[0]} is made twice")
        own: set[str] = set()
        for item in graph.input:
            if item.name not in arrays:
                self.fresh(item.name, scope, own, where)
        inputs = tuple(
            self.declared(item, scope) for item in graph.input if item.name not in arrays
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
            if arrays[name].data_type == onnx.TensorProto.STRING:
                tensors[scope[name]] = self.places(
                    arrays[name], scope[name], f"{self.name}: initialiser {name}"
                )
                continue
            array = read_array(arrays[name], self.folder, f"{self.name}: initialiser {name}")
            tensors[scope[name]] = self.tensor(array, uses.get(name, []), COUNTER.sub("", name))
        made = [
            self.node(node, label, scope, own, where, tensors, uses)
            for node, label in zip(nodes, labels, strict=True)
        ]
        repeated = [
            name for name, count in Counter(item.name for item in graph.output).items() if count > 1
        ]
        if repeated and not outer:
            raise SourceError(
                f"{where}: has two outputs that are called {repeated[0]}; give each a name of"
                " its own"
            )
        for item in graph.output:
            if not item.name:
                raise SourceError(f"{where}: an output has no name; give it one")
            if item.name not in scope:
                raise SourceError(f"{where}: its output {item.name} is made by no node")
        zipped = {name for node in nodes if node.op_type == "ZipMap" for name in node.output}
        outputs = tuple(
            self.declared(item, scope) for item in graph.output if item.name not in zipped
        )
        return GraphSpec(inputs, outputs, tensors, tuple(node for node in made if node is not None))

    def fresh(self, name: str, scope: dict[str, str], own: set[str], where: str) -> None:
        """Name a tensor of this graph, once."""
        if name in own:
            raise SourceError(f"{where}: the tensor {name} is made twice")
        own.add(name)
        scope[name] = f"t{self.count}"
        self.count += 1

    def declared(self, item: onnx.ValueInfoProto, scope: Mapping[str, str]) -> Declared:
        kind = item.type.WhichOneof("value")
        if kind not in (None, "tensor_type"):
            what = f"is a {str(kind).removesuffix('_type').replace('_', ' ')}"
            self.unsupported.append((item.name, what, "Only dense tensors can go in and out"))
        type_ = item.type.tensor_type
        shape: tuple[int | str | None, ...] | None = None
        if type_.HasField("shape"):
            shape = tuple(
                (
                    size.dim_value
                    if size.HasField("dim_value") and size.dim_value != OPEN
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
        """What messages and slots call a node: its name without the counters of exporters, or its
        operator; each once.
        """
        return self.labels.distinct(COUNTER.sub("", node.name) or node.op_type.lower())

    def formal(self, node: onnx.NodeProto, position: int) -> str:
        """What the operator calls an operand."""
        version = self.opsets.get(node.domain, 1)
        if not onnx.defs.has(node.op_type, version, node.domain):
            return str(position)
        formals = onnx.defs.get_schema(node.op_type, version, node.domain).inputs
        return str(formals[position].name) if position < len(formals) else str(position)

    def tensor(
        self, array: Array, uses: Sequence[tuple[str, int, str]], name: str
    ) -> Weight | Literal:
        """A literal of the structure, or a trained weight."""
        if is_structure(array, [(op, position) for op, position, _ in uses]):
            return literal(array)
        return self.weights.store(uses[0][2] if uses else name, array)

    def node(
        self, node: onnx.NodeProto, label: str, scope: dict[str, str], own: set[str], where: str,
        tensors: dict[str, Weight | Literal], uses: Mapping[str, list[tuple[str, int, str]]],
    ) -> NodeSpec | None:  # fmt: skip
        """A node, or None for one that only holds a value."""
        inputs = tuple(scope[name] if name else "" for name in node.input)
        for name in filter(None, node.output):
            self.fresh(name, scope, own, where)
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            if len(node.attribute) != 1 or not node.output:
                raise SourceError(
                    f"{where}: the constant {label} has {len(node.attribute)} values, expected one"
                )
            array = self.constant(node.attribute[0], label)
            if array is not None:
                tensors[scope[node.output[0]]] = self.tensor(
                    array, uses.get(node.output[0], []), label
                )
            return None
        outputs = tuple(scope[name] if name else "" for name in node.output)
        moves = self.texts.moves(node, inputs)
        if moves is None:
            self.unsupported.append((f"{label} ({node.op_type})", "computes with texts", ADVICE))
        if moves:
            self.texts.tensors |= {outputs[0]}
        if moves and node.op_type == "Cast":
            return NodeSpec(label, "Identity", "", inputs, outputs, {})
        if node.domain == DOMAIN and (node.op_type in DESCRIBED or node.op_type in REFUSED):
            return self.classical(node, label, inputs, outputs, tensors)
        attrs = {item.name: self.attribute(item, label, scope) for item in node.attribute}
        return NodeSpec(
            label,
            node.op_type,
            "" if node.domain == "ai.onnx" else node.domain,
            inputs,
            outputs,
            attrs,
        )

    def classical(
        self,
        node: onnx.NodeProto,
        label: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        tensors: dict[str, Weight | Literal],
    ) -> NodeSpec:
        """A node of ai.onnx.ml with its trained numbers as operands."""
        what, where = f"{label} ({node.op_type})", f"{self.name}: {label}"
        raw = raw_attributes(node, self.folder, where)
        if refused := REFUSED.get(node.op_type) or taken_texts(raw):
            self.unsupported.append((what, *refused))
            return NodeSpec(label, node.op_type, DOMAIN, inputs, outputs, {})
        if names := raw.get("classlabels_strings"):
            self.texts.tensors.add(outputs[0])
            if not self.texts.learn(names):
                self.unsupported.append(
                    (
                        what,
                        "has texts as classes, one twice or others than elsewhere in the model",
                        ADVICE,
                    )
                )
        attrs, arrays = described(node.op_type, raw, where)
        operands = []
        for name, array in arrays.items():
            operands.append("" if array is None else f"t{self.count}")
            if array is not None:
                tensors[operands[-1]] = self.weights.store(f"{label}/{name}", array)
                self.count += 1
        return NodeSpec(label, node.op_type, DOMAIN, (*inputs, *operands), outputs, attrs)

    def places(self, tensor: onnx.TensorProto, name: str, where: str) -> Literal:
        """Texts as their places among the names of the classes."""
        names = texts_of(tensor, where)
        if len(names) != prod(tensor.dims):
            raise SourceError(
                f"{where}: its shape is {list(tensor.dims)}, it has {len(names)} texts; the file is"
                " damaged"
            )
        if not self.texts.learn(names):
            self.unsupported.append(
                (where, "holds texts, one twice or others than elsewhere in the model", ADVICE)
            )
        self.texts.tensors.add(name)
        return literal(np.arange(len(names)).reshape(tuple(tensor.dims)))

    def constant(self, item: onnx.AttributeProto, label: str) -> Array | None:
        where = f"{self.name}: constant {label}"
        match item.name:
            case "value":
                return read_array(item.t, self.folder, where)
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
            return tuple(as_text(value, where) for value in item.strings)
        if kind in (types.INT, types.FLOAT):
            return item.i if kind == types.INT else item.f
        if kind == types.STRING:
            return as_text(item.s, where)
        raise SourceError(f"{where}: is an attribute of a kind that cannot be read")


def is_structure(array: Array, uses: Iterable[tuple[str, int]]) -> bool:
    """Whether a value is part of the structure: small, and a single number or integers, or what its
    only reader takes so.

    Parameters of quantisation are trained, single numbers as they may be.
    """
    readers = set(uses)
    if readers & STRUCTURAL or array.size == 0:
        return array.size <= INLINE_ELEMENTS
    return is_structural(array) and not any("Linear" in op or "Integer" in op for op, _ in readers)
