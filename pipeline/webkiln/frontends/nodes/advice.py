"""Advice in messages: the options that make a tensor known when the model is converted."""

from collections.abc import Collection, Iterator

from webkiln.frontends.nodes.reading import all_graphs
from webkiln.frontends.nodes.spec import NodeModel, NodeSpec
from webkiln.ir import symbols
from webkiln.ops.builder import GraphBuilder

MAX_NAMED = 8
"""The maximum number of inputs or sizes that a message names."""
PARTS = "build the part of the model after it with --from-layer, or before it with --to-layer"


def advice_for(
    model: NodeModel, tensor: str, of_types: Collection[str], builder: GraphBuilder
) -> str:
    """Which inputs and open sizes a tensor is computed from, and the options that fix them."""
    values, shapes = _origins(model, tensor, of_types)
    inputs = [item.name for item in model.graph.inputs if item.tensor in values]
    # An input with a value cannot have open sizes.
    shaped = inputs or [item.name for item in model.graph.inputs if item.tensor in shapes]
    sizes = sorted(
        symbols.names(
            size for name in shaped if name in builder.inputs for size in builder.tensor(name).shape
        )
    )
    parts = [
        *([f"the values of {', '.join(inputs[:MAX_NAMED])}"] if inputs else []),
        *([f"the sizes {', '.join(sizes[:MAX_NAMED])}"] if sizes else []),
    ]
    options = [
        *(f"--value {name}=..." for name in inputs[:MAX_NAMED]),
        *(f"--dim {name}=..." for name in sizes[:MAX_NAMED]),
    ]
    if not options:
        return (
            "build the part of the model after it with --from-layer, or before it with --to-layer"
        )
    return (
        f"it is computed from {' and '.join(parts)}: if these never change, set them with"
        f" {', '.join(options)}; otherwise build the part of the model after it with --from-layer,"
        " or before it with --to-layer"
    )


def _origins(model: NodeModel, tensor: str, of_types: Collection[str]) -> tuple[set[str], set[str]]:
    """The tensors that a tensor is computed from by their values, and by their shapes only."""
    writers = {
        name: node
        for graph in all_graphs(model.graph)
        for node in graph.nodes
        for name in node.outputs
        if name
    }
    values, shapes, pending = {tensor}, set[str](), [tensor]
    while pending:
        node = writers.get(pending.pop())
        if node is None:
            continue
        reads = set(_reads(node))
        if node.op in of_types:
            shapes |= reads
            continue
        pending += reads - values
        values |= reads
    return values, shapes


def _reads(node: NodeSpec) -> Iterator[str]:
    yield from filter(None, node.inputs)
    for value in node.attrs.values():
        if hasattr(value, "nodes"):
            for graph in all_graphs(value):
                yield from (item.tensor for item in graph.outputs)
