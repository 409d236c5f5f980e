"""What the stage `convert` does with models that are written as nodes, whichever format they come
from.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from webkiln.frontends.core.conversion import SOURCE, Converted
from webkiln.frontends.core.subgraph import cut_of
from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.spec import from_json
from webkiln.ir.graph import Graph
from webkiln.ops.plugins import defined_by
from webkiln.plugins import import_files


@contextmanager
def converted_nodes(
    kind: type[NodeConverter],
    data: Mapping[str, Any],
    inputs: Mapping[str, Path],
    params: Mapping[str, Any],
) -> Iterator[Converted]:
    """Where a part is built, shapes may be given of the inputs of the whole model, too, which its
    reference is computed with.
    """
    model, shapes = from_json(data), params["input_shapes"]
    if cut_of(params):
        shapes = {
            item.name: shapes[item.name] for item in model.graph.inputs if item.name in shapes
        }
    converter = kind(params.get("dims"), shapes, params.get("values"))
    with kind.handlers.isolated(), defined_by(inputs.get("operators/")):
        import_files(inputs["plugins/"] / name for name in params["plugins"])
        graph = converter.convert(model, name=SOURCE)
        yield Converted(graph, converter.digests)


def fitting(labels: Mapping[str, Sequence[str]], graph: Graph) -> dict[str, list[str]]:
    """Those that are as many as the last axis of their output has places."""
    shapes = {name: graph.type(variable).shape for name, variable in graph.outputs.items()}
    return {
        name: list(lines)
        for name, lines in labels.items()
        if shapes.get(name) and shapes[name][-1] == len(lines)
    }
