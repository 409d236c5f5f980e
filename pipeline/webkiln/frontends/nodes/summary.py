"""Summary of the spec of a model of nodes, for `webkiln inspect`."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from webkiln.frontends.core.arrays import Weight
from webkiln.frontends.inspect.facts import Description, TensorFacts
from webkiln.frontends.nodes.reading import all_graphs
from webkiln.frontends.nodes.spec import Declared, from_json


def describe_nodes(data: Mapping[str, Any]) -> Description:
    """Describe a spec; nested nodes are counted, too."""
    model = from_json(data)
    graphs = list(all_graphs(model.graph))
    counts = Counter(
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
        counts,
        weights,
    )


def _tensor(item: Declared) -> TensorFacts:
    return TensorFacts(item.name, item.dtype, item.shape)
