"""What the spec of a model of nodes says in short."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from webkiln.frontends.arrays import Weight
from webkiln.frontends.facts import Description, TensorFacts
from webkiln.frontends.nodes.spec import Declared, GraphSpec, from_json


def described_nodes(data: Mapping[str, Any]) -> Description:
    """Nodes inside others are counted with them."""
    model = from_json(data)
    graphs = list(_graphs(model.graph))
    parts = Counter(f"{node.domain}.{node.op}" if node.domain else node.op for graph in graphs for node in graph.nodes)
    weights = {item.slot: (item.dtype, item.shape) for graph in graphs for item in graph.tensors.values() if isinstance(item, Weight)}
    return Description(tuple(map(_tensor, model.graph.inputs)), tuple(map(_tensor, model.graph.outputs)), parts, weights)


def _tensor(item: Declared) -> TensorFacts:
    return TensorFacts(item.name, item.dtype, item.shape)


def _graphs(graph: GraphSpec) -> Iterator[GraphSpec]:
    todo = [graph]
    while todo:
        one = todo.pop()
        yield one
        todo += [value for node in one.nodes for value in node.attrs.values() if isinstance(value, GraphSpec)]
