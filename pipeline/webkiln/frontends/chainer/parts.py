"""Subgraphs of recorded chains: the types of intermediate tensors, and the results of calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from webkiln.errors import RecipeError
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import Subgraph
from webkiln.frontends.nodes.reading import DistinctNames
from webkiln.frontends.nodes.spec import Declared, NodeModel, NodeSpec
from webkiln.frontends.nodes.subgraph import extract_subgraph
from webkiln.ir import symbols
from webkiln.ir.notation import parse_size
from webkiln.ir.symbols import size_name

KnownType = tuple[str, tuple[int | str | None, ...]]
"""A dtype and a shape, as in declarations."""


@dataclass(frozen=True, slots=True)
class RecordedModel(NodeModel):
    """A recorded chain: the types of its tensors, and its named tensors."""

    types: Mapping[str, KnownType] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


def call_names(nodes: Sequence[NodeSpec], calls: Mapping[str, str]) -> dict[str, str]:
    """The first tensor that each call returned, by name; also that of every node, by its operator's
    name if a call has its name.
    """
    distinct, inner_names = DistinctNames(), dict[str, str]()
    for name in {**calls, **dict.fromkeys(node.name for node in nodes)}:
        distinct.distinct(name)
    for node in nodes:
        tensor = next(filter(None, node.outputs), "")
        if tensor and node.op != "SET_STATE":
            is_other = calls.get(node.name, tensor) != tensor
            inner_names[distinct.distinct(f"{node.name}/{node.op}") if is_other else node.name] = (
                tensor
            )
    return {**inner_names, **calls}


def recorded_part(model: RecordedModel, blobs: Blobs, cut: Subgraph) -> tuple[NodeModel, Blobs]:
    """The subgraph between calls of links or functions. Raises RecipeError if it computes with
    dynamic sizes that its inputs do not have.
    """

    def known(name: str, tensor: str) -> Declared | None:
        return Declared(name, tensor, *model.types[tensor]) if tensor in model.types else None

    part, weights = extract_subgraph(model, blobs, cut, model.name, known, model.names)
    sizes = {
        size_name(size)
        for item in part.graph.inputs
        for size in item.shape or ()
        if isinstance(size, str)
    }
    for node in part.graph.nodes if cut else ():
        if node.op == "Sizes" and (missing := sorted(_open(node) - sizes)):
            raise RecipeError(
                f"{model.name}: {node.name} computes with the open size"
                f" {', '.join(missing)}, which no input of the part has; set it"
                " in input_shapes, or choose other layers with --from-layer"
            )
    return NodeModel(part.name, part.opsets, part.graph), weights


def _open(node: NodeSpec) -> set[str]:
    return symbols.names(parse_size(size) for size in node.attrs["sizes"] if isinstance(size, str))
