"""Convert the spec of a recorded chain to a Graph. Recordings consist of ONNX operators and a few
others.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webkiln.frontends.chainer.operators.table import FOLDS, OWN, STANDARD
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.handlers import NodeHandlers
from webkiln.frontends.nodes.spec import NodeModel, NodeSpec
from webkiln.ir import dim, symbols
from webkiln.ir.dim import Size
from webkiln.ir.graph import Graph
from webkiln.ir.notation import parse_size
from webkiln.ir.symbols import placeholder, size_name

DOMAIN = "chainer"
OPSETS: Mapping[str, int] = {"": 20, DOMAIN: 1}
HANDLERS = NodeHandlers(
    {"": STANDARD, DOMAIN: OWN},
    FOLDS,
    own_domain="ai.onnx",
    advice="Write that part of the model with other functions",
)


class ChainerConverter(NodeConverter):
    """The converter. `register_handler` replaces the handler of an operator."""

    handlers = HANDLERS
    register_handler = HANDLERS.register

    def convert(
        self, source: NodeModel, blobs: Blobs | None = None, name: str | None = None
    ) -> Graph:
        return super().convert(_resized(source, self.dims), blobs, name)


def _resized(model: NodeModel, dims: Mapping[str, int | str]) -> NodeModel:
    """The model, with the recording's dynamic sizes fixed or renamed by the recipe."""
    named = {
        size_name(size): size
        for item in model.graph.inputs
        for size in item.shape or ()
        if isinstance(size, str)
    }
    values: dict[str, Size] = {}
    for original, renamed in named.items():
        chosen = dims.get(renamed, dims.get(original, original))
        values[original] = chosen if isinstance(chosen, int) else placeholder(chosen)
    nodes = tuple(
        _resized_node(node, values) if node.op == "Sizes" else node for node in model.graph.nodes
    )
    return replace(model, graph=replace(model.graph, nodes=nodes))


def _resized_node(node: NodeSpec, values: Mapping[str, Size]) -> NodeSpec:
    def resized(size: Any) -> Any:
        result = symbols.substitute(parse_size(size), values) if isinstance(size, str) else size
        return str(result) if dim.is_symbolic(result) else result

    return replace(node, attrs={**node.attrs, "sizes": tuple(map(resized, node.attrs["sizes"]))})
