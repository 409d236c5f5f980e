"""The stage `convert` for all node formats."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from webkiln.frontends.core.conversion import SOURCE, Conversion
from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.spec import from_json
from webkiln.ir.graph import Graph
from webkiln.ir.input_names import by_input
from webkiln.ops.plugins import defined_by
from webkiln.plugins import import_files


@contextmanager
def convert_nodes(
    kind: type[NodeConverter],
    data: Mapping[str, Any],
    inputs: Mapping[str, Path],
    params: Mapping[str, Any],
) -> Iterator[Conversion]:
    """Convert a spec. If a subgraph is built, `input_shapes` may also name inputs of the entire
    model, which only the reference uses.
    """
    model = from_json(data)
    shapes = by_input(params["input_shapes"], [item.name for item in model.graph.inputs])
    if subgraph_from_params(params):
        shapes = {
            item.name: shapes[item.name] for item in model.graph.inputs if item.name in shapes
        }
    converter = kind(params.get("dims"), shapes, params.get("values"))
    with kind.handlers.isolated(), defined_by(inputs.get("operators/")):
        import_files(inputs["plugins/"] / name for name in params["plugins"])
        graph = converter.convert(model, name=SOURCE)
        yield Conversion(graph, converter.digests)


def matching_labels(labels: Mapping[str, Sequence[str]], graph: Graph) -> dict[str, list[str]]:
    """The labels whose number equals the last axis of their output."""
    shapes = {name: graph.type(variable).shape for name, variable in graph.outputs.items()}
    return {
        name: list(lines)
        for name, lines in labels.items()
        if shapes.get(name) and shapes[name][-1] == len(lines)
    }
