"""Topological order of the nodes of an ONNX graph."""

import heapq
from collections.abc import Iterator

import onnx

from webkiln.errors import SourceError


def sorted_nodes(graph: onnx.GraphProto, outer: set[str], where: str) -> list[onnx.NodeProto]:
    """The nodes in a topological order that stays close to the file's. Raise SourceError if a
    tensor is undefined, or if there is a cycle.
    """
    defined = {
        "",
        *outer,
        *(item.name for item in graph.input),
        *(item.name for item in graph.initializer),
    }
    nodes = list(graph.node)
    written = {name for node in nodes for name in node.output}
    missing: list[set[str]] = []
    readers: dict[str, list[int]] = {}
    for number, node in enumerate(nodes):
        missing.append(set(reads(node)) - defined)
        for name in sorted(missing[-1]):
            if name not in written:
                problem = f"{node.name or node.op_type} ({node.op_type}) reads {name}"
                raise SourceError(
                    f"{where}: {problem}, which is no input, initialiser or output of a node"
                )
            readers.setdefault(name, []).append(number)
    ready = [number for number, names in enumerate(missing) if not names]
    result: list[int] = []
    while ready:
        number = heapq.heappop(ready)
        result.append(number)
        for name in nodes[number].output:
            for reader in readers.pop(name, ()):
                missing[reader].discard(name)
                if not missing[reader]:
                    heapq.heappush(ready, reader)
    if len(result) < len(nodes):
        names = ", ".join(
            node.name or node.op_type
            for node in _cycle([node for node, names in zip(nodes, missing, strict=True) if names])[
                :8
            ]
        )
        raise SourceError(f"{where}: the nodes {names} form a cycle")
    return [nodes[number] for number in result]


def _cycle(nodes: list[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """The nodes in cycles: those whose outputs other remaining nodes read."""
    while True:
        read = {name for node in nodes for name in reads(node)}
        remaining = [node for node in nodes if read.intersection(node.output)]
        if len(remaining) == len(nodes):
            return remaining
        nodes = remaining


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the tensors that a node reads, including those read by nested graphs."""
    yield from node.input
    for item in node.attribute:
        if item.type == onnx.AttributeProto.GRAPH:
            own = {name.name for name in (*item.g.input, *item.g.initializer)} | {
                name for inner in item.g.node for name in inner.output
            }
            for inner in item.g.node:
                yield from (name for name in reads(inner) if name not in own)
            yield from (output.name for output in item.g.output if output.name not in own)
