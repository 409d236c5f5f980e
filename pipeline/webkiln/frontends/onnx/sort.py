"""The nodes of an ONNX graph in an order in which they can run."""

from collections.abc import Iterator

import onnx

from webkiln.errors import SourceError


def sorted_nodes(graph: onnx.GraphProto, outer: set[str], where: str) -> list[onnx.NodeProto]:
    """Exporters sort nodes, but not all of them do. SourceError where a tensor is made by nobody, or nodes wait for each other."""
    known = {"", *outer, *(item.name for item in graph.input), *(item.name for item in graph.initializer)}
    pending = list(graph.node)
    made = {name for node in pending for name in node.output}
    for node in pending:
        for name in reads(node):
            if name not in known and name not in made:
                what = f"{node.name or node.op_type} ({node.op_type}) reads {name}"
                raise SourceError(f"{where}: {what}, which is no input, initialiser or output of a node")
    result: list[onnx.NodeProto] = []
    while pending:
        waiting = []
        for node in pending:
            if known.issuperset(reads(node)):
                result.append(node)
                known.update(node.output)
            else:
                waiting.append(node)
        if len(waiting) == len(pending):
            names = ", ".join(sorted({node.name or node.op_type for node in waiting})[:8])
            raise SourceError(f"{where}: the nodes {names} wait for each other")
        pending = waiting
    return result


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """The tensors that a node takes, graphs inside it too."""
    yield from node.input
    for item in node.attribute:
        if item.type == onnx.AttributeProto.GRAPH:
            own = {name.name for name in (*item.g.input, *item.g.initializer)} | {name for inner in item.g.node for name in inner.output}
            for inner in item.g.node:
                yield from (name for name in reads(inner) if name not in own)
            yield from (output.name for output in item.g.output if output.name not in own)
