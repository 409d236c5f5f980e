"""The nodes of an ONNX graph in an order in which they can run."""

import heapq
from collections.abc import Iterator

import onnx

from webkiln.errors import SourceError


def sorted_nodes(graph: onnx.GraphProto, outer: set[str], where: str) -> list[onnx.NodeProto]:
    """The nodes as they stand, each behind those that it reads from: exporters sort them, but not
    all
    of them do. SourceError where a tensor is made by nobody, or nodes wait for each other.
    """
    known = {
        "",
        *outer,
        *(item.name for item in graph.input),
        *(item.name for item in graph.initializer),
    }
    nodes = list(graph.node)
    made = {name for node in nodes for name in node.output}
    missing: list[set[str]] = []
    readers: dict[str, list[int]] = {}
    for number, node in enumerate(nodes):
        missing.append(set(reads(node)) - known)
        for name in sorted(missing[-1]):
            if name not in made:
                what = f"{node.name or node.op_type} ({node.op_type}) reads {name}"
                raise SourceError(
                    f"{where}: {what}, which is no input, initialiser or output of a node"
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
            for node in _waiting(
                [node for node, names in zip(nodes, missing, strict=True) if names]
            )[:8]
        )
        raise SourceError(f"{where}: the nodes {names} wait for each other")
    return [nodes[number] for number in result]


def _waiting(nodes: list[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Those of the nodes that others of them read from."""
    while True:
        read = {name for node in nodes for name in reads(node)}
        kept = [node for node in nodes if read.intersection(node.output)]
        if len(kept) == len(nodes):
            return kept
        nodes = kept


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """The tensors that a node takes, graphs inside it too."""
    yield from node.input
    for item in node.attribute:
        if item.type == onnx.AttributeProto.GRAPH:
            own = {name.name for name in (*item.g.input, *item.g.initializer)} | {
                name for inner in item.g.node for name in inner.output
            }
            for inner in item.g.node:
                yield from (name for name in reads(inner) if name not in own)
            yield from (output.name for output in item.g.output if output.name not in own)
