"""The origins of a spec's tensors in the file: their declared types there, and their names in
TensorFlow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webkiln.errors import RecipeError
from webkiln.frontends.nodes.spec import Declared, GraphSpec
from webkiln.frontends.tensorflow.dtypes import LISTED
from webkiln.frontends.tensorflow.messages import COMPLEX, DTYPES

UNSUPPORTED = {
    **dict.fromkeys(
        COMPLEX.values(), "complex numbers, which cannot be inputs or outputs of a bundle"
    ),
    LISTED: "a list of tensors, which cannot be an input or output of a bundle",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """The node of a tensor, with the calls that lead to it, and the index of the output.
    `is_conditional`: not every run computes it.
    """

    node: str
    index: int
    dtype: str
    shape: tuple[int | None, ...] | None
    is_conditional: bool = False


def known_tensor(
    graph: GraphSpec, origins: Mapping[str, Origin], name: str, tensor: str
) -> Declared | None:
    """The declared type of a tensor at the boundary of a subgraph. Messages call it `name`. Raises
    RecipeError if it cannot be a boundary.
    """
    for item in graph.inputs:
        if item.tensor == tensor:
            return item
    if any(node.op == "STATE" and tensor in node.outputs for node in graph.nodes):
        raise RecipeError(
            f"{name} is the initial value of a state; name a node that reads it in --from-layer or"
            " --to-layer"
        )
    origin = origins.get(tensor)
    if origin is None or (origin.dtype not in DTYPES.values() and origin.dtype not in UNSUPPORTED):
        return None
    if origin.dtype in UNSUPPORTED:
        raise RecipeError(
            f"{name} outputs {UNSUPPORTED[origin.dtype]}; name a node before or after it in"
            " --from-layer or --to-layer"
        )
    if origin.is_conditional:
        raise RecipeError(
            f"{name} runs conditionally; name a node before or after the condition in --from-layer"
            " or --to-layer"
        )
    return Declared(name, tensor, origin.dtype, origin.shape)


def layers(graph: GraphSpec, origins: Mapping[str, Origin]) -> dict[str, Origin]:
    """The origin of each node's first output, for nodes that run in every run."""
    by_node = {}
    for node in graph.nodes:
        origin = origins.get(next(filter(None, node.outputs), ""))
        if (
            origin is not None
            and node.op != "STATE"
            and not origin.is_conditional
            and {origin.dtype} & {*DTYPES.values(), *COMPLEX.values()}
        ):
            by_node[node.name] = origin
    return by_node


def passed_dtype(dtype: str, passed: Sequence[Origin | None]) -> str:
    """The dtype of a value that a loop or condition passes on. TensorArrays of TensorFlow 1 are
    passed as numbers.
    """
    return LISTED if any(item is not None and item.dtype == LISTED for item in passed) else dtype
