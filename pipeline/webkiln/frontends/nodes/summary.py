"""What the spec of a model of nodes says in short."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from webkiln.frontends.core.arrays import Weight
from webkiln.frontends.inspect.facts import Description, TensorFacts
from webkiln.frontends.nodes.reading import all_graphs
from webkiln.frontends.nodes.spec import Declared, from_json


def described_nodes(data: Mapping[str, Any]) -> Description:
    """Nodes inside others are counted with them."""
    model = from_json(data)
    graphs = list(all_graphs(model.graph))
    parts = Counter(
        f"{node.domain}.{node.op}" if node.domain else node.op
        for graph in graphs
        for node in graph.nodes
    )
    weights = {
        item.slot: (item.dtype, item.shape)
        for graph in graphs
        for item in graph.tensors.values()
        if isinstance(item, Weight)
    }
    return Description(
        tuple(map(_tensor, model.graph.inputs)),
        tuple(map(_tensor, model.graph.outputs)),
        parts,
        weights,
    )


def _tensor(item: Declared) -> TensorFacts:
    return TensorFacts(item.name, item.dtype, item.shape)
