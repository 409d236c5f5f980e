"""Traversal of ONNX graphs and functions, and inlining of functions."""

from collections.abc import Iterator

import onnx
import onnx.inliner

from webkiln.errors import SourceError
from webkiln.frontends.nodes.inlining import Inlining


def opsets_of(model: onnx.ModelProto) -> dict[str, int]:
    """Domain -> opset version; the default domain is ''."""
    return {normalise_domain(entry.domain): entry.version for entry in model.opset_import}


def inline_functions(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The model with its functions inlined."""
    if not model.functions:
        return model
    _check_growth(model, name)
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


def graphs_of(part: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yield a graph and the graphs nested in its nodes."""
    yield part
    for node in part.node:
        for inner in nested_graphs(node):
            yield from graphs_of(inner)


def nodes_of(part: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of a graph or function, and those of nested graphs."""
    for node in part.node:
        yield node
        for inner in nested_graphs(node):
            yield from nodes_of(inner)


def nested_graphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Yield the graphs in a node's attributes."""
    for item in node.attribute:
        yield from (*([item.g] if item.HasField("g") else []), *item.graphs)


def node_label(node: onnx.NodeProto) -> str:
    return f"{node.name or node.op_type.lower()} ({node.op_type})"


def normalise_domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain
