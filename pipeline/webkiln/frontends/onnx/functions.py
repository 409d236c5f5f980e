"""Inlining of functions. If their opsets differ from the model's, which the onnx package's inliner
does not support, each node keeps its own version.
"""

from collections.abc import Mapping

import onnx
import onnx.inliner
from onnx import helper

from webkiln.errors import SourceError
from webkiln.frontends.nodes.inlining import Inlining
from webkiln.frontends.onnx.graphs import (
    nested_graphs,
    node_label,
    nodes_of,
    normalise_domain,
    opsets_of,
)

VERSION = "webkiln.opset"
"""The metadata property with the opset of a node, if it differs from the model's."""
Key = tuple[str, str, str]


def has_other_opsets(model: onnx.ModelProto) -> bool:
    """Whether a function imports a version of a domain other than the model's."""
    opsets = opsets_of(model)
    return any(
        opsets.get(domain, version) != version
        for function in model.functions
        for domain, version in _imports(function).items()
    )


def inline_functions(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The model with its functions inlined."""
    if not model.functions:
        return model
    _check_growth(model, name)
    if has_other_opsets(model):
        return expand_functions(model, name)
    try:
        return onnx.inliner.inline_local_functions(model)
    except Exception as error:
        raise SourceError(f"{name}: its functions cannot be inlined: {error}") from error


def _check_growth(model: onnx.ModelProto, name: str) -> None:
    """Raise SourceError if inlining would produce too many nodes."""
    functions = {(normalise_domain(item.domain), item.name): item for item in model.functions}
    sizes: dict[tuple[str, str], int] = {}

    def size(part: onnx.GraphProto | onnx.FunctionProto) -> int:
        return sum(
            1 + of_function((normalise_domain(node.domain), node.op_type))
            for node in nodes_of(part)
        )

    def of_function(key: tuple[str, str]) -> int:
        if key in functions and key not in sizes:
            sizes[key] = 0  # the inliner rejects recursion
            sizes[key] = size(functions[key])
        return sizes.get(key, 0)

    inlining = Inlining(
        name, sum(1 for part in (model.graph, *model.functions) for _ in nodes_of(part))
    )
    inlining.add(size(model.graph))


def version_of(node: onnx.NodeProto) -> int | None:
    """The opset of a node, if it differs from the model's."""
    return next((int(item.value) for item in node.metadata_props if item.key == VERSION), None)


def expand_functions(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The model with all calls of its functions replaced by their nodes. Raise SourceError for
    functions that call themselves.
    """
    result = onnx.ModelProto()
    result.CopyFrom(model)
    expansion = _Expansion(model, name)
    expansion.expand(result.graph, ())
    del result.functions[:]
    known = opsets_of(model)
    for domain, version in expansion.imported.items():
        if domain not in known:
            result.opset_import.append(helper.make_opsetid(domain, version))
    return result


def _imports(function: onnx.FunctionProto) -> dict[str, int]:
    return {normalise_domain(item.domain): item.version for item in function.opset_import}


class _Expansion:
    def __init__(self, model: onnx.ModelProto, name: str) -> None:
        self.functions: dict[Key, onnx.FunctionProto] = {
            (normalise_domain(item.domain), item.name, item.overload): item
            for item in model.functions
        }
        self.opsets, self.name, self.count = opsets_of(model), name, 0
        self.imported: dict[str, int] = {}

    def expand(self, graph: onnx.GraphProto, stack: tuple[Key, ...]) -> None:
        nodes = [item for node in graph.node for item in self.nodes(node, stack)]
        del graph.node[:]
        graph.node.extend(nodes)

    def nodes(self, node: onnx.NodeProto, stack: tuple[Key, ...]) -> list[onnx.NodeProto]:
        """A node, or the nodes of the function that it calls."""
        key = normalise_domain(node.domain), node.op_type, node.overload
        function = self.functions.get(key)
        if function is None:
            for graph in nested_graphs(node):
                self.expand(graph, stack)
            return [node]
        if key in stack:
            raise SourceError(f"{self.name}: {node_label(node)}: the function calls itself")
        if len(node.input) > len(function.input) or len(node.output) > len(function.output):
            raise SourceError(
                f"{self.name}: {node_label(node)}: has {len(node.input)} operands and"
                f" {len(node.output)} outputs, its function {len(function.input)} and"
                f" {len(function.output)}"
            )
        body = self.body(node, function)
        return [item for inner in body for item in self.nodes(inner, (*stack, key))]

    def body(self, node: onnx.NodeProto, function: onnx.FunctionProto) -> list[onnx.NodeProto]:
        """The nodes of a function for one call, with names that are unique in the model."""
        self.count += 1
        prefix = f"{node.name or node.op_type.lower()}/{self.count}/"
        given = dict.fromkeys(function.input, "") | dict(
            zip(function.input, node.input, strict=False)
        )
        renamed = dict(given) | {
            inner: outer
            for inner, outer in zip(function.output, node.output, strict=False)
            if outer and inner not in given
        }
        attributes = {item.name: item for item in (*function.attribute_proto, *node.attribute)}
        imports = _imports(function)
        self.imported |= {**imports, **self.imported}
        nodes = []
        for item in function.node:
            copy = onnx.NodeProto()
            copy.CopyFrom(item)
            self.rewrite(copy, prefix, renamed, attributes, imports)
            nodes.append(copy)
        nodes += [
            helper.make_node("Identity", [given[inner]], [outer], f"{prefix}{inner}")
            for inner, outer in zip(function.output, node.output, strict=False)
            if outer and inner in given
        ]
        return nodes

    def rewrite(
        self,
        node: onnx.NodeProto,
        prefix: str,
        renamed: Mapping[str, str],
        attributes: Mapping[str, onnx.AttributeProto],
        imports: Mapping[str, int],
    ) -> None:
        """Rename the tensors of a node, set the attributes that refer to the function's, and note
        its opset.
        """

        def rename(name: str) -> str:
            return renamed.get(name, f"{prefix}{name}") if name else ""

        node.name = f"{prefix}{node.name or node.op_type.lower()}"
        for names in (node.input, node.output):
            names[:] = [rename(name) for name in names]
        domain = normalise_domain(node.domain)
        version = imports.get(domain)
        if version is not None and self.opsets.get(domain, version) != version:
            node.metadata_props.add(key=VERSION, value=str(version))
        kept = [
            _bound(item, attributes)
            for item in node.attribute
            if not item.ref_attr_name or item.ref_attr_name in attributes
        ]
        del node.attribute[:]
        node.attribute.extend(kept)
        for graph in nested_graphs(node):
            for item in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
                item.name = rename(item.name)
            for inner in graph.node:
                self.rewrite(inner, prefix, renamed, attributes, imports)


def _bound(
    item: onnx.AttributeProto, attributes: Mapping[str, onnx.AttributeProto]
) -> onnx.AttributeProto:
    """An attribute, or the call's in place of a reference to it."""
    if not item.ref_attr_name:
        return item
    result = onnx.AttributeProto()
    result.CopyFrom(attributes[item.ref_attr_name])
    result.name = item.name
    return result
