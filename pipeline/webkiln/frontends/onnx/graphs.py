"""Traversal of ONNX graphs and functions."""

from collections.abc import Iterator

import onnx


def opsets_of(model: onnx.ModelProto) -> dict[str, int]:
    """Domain -> opset version; the default domain is ''."""
    return {normalise_domain(entry.domain): entry.version for entry in model.opset_import}


def graphs_of(part: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yield a graph and the graphs nested in its nodes."""
    yield part
    for node in part.node:
        for inner in nested_graphs(node):
            yield from graphs_of(inner)


def all_graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """Yield the graphs of a model, and those nested in its functions."""
    yield from graphs_of(model.graph)
    for function in model.functions:
        for node in function.node:
            for graph in nested_graphs(node):
                yield from graphs_of(graph)


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
