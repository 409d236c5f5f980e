"""The origins of a spec's tensors in the file: their declared types there, and their names in
TensorFlow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webkiln.errors import RecipeError
from webkiln.frontends.nodes.spec import Declared, GraphSpec
from webkiln.frontends.tensorflow.dtypes import LISTED
from webkiln.frontends.tensorflow.messages import COMPLEX, DTYPES

WHAT = {
    **dict.fromkeys(COMPLEX.values(), "complex numbers, and a bundle neither takes nor gives them"),
    LISTED: "a list of tensors, and a bundle neither takes nor gives them",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """The node of a tensor, with the calls that lead to it, and the output's number. `sometimes`:
    it does not run in every run.
    """

    node: str
    place: int
    dtype: str
    shape: tuple[int | None, ...] | None
    sometimes: bool = False


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
            f"{name} is what a run begins with; name what reads it in --from-layer or --to-layer"
        )
    origin = origins.get(tensor)
    if origin is None or (origin.dtype not in DTYPES.values() and origin.dtype not in WHAT):
        return None
    if origin.dtype in WHAT:
        raise RecipeError(
            f"{name} gives {WHAT[origin.dtype]}; name a node before or behind it in --from-layer or"
            " --to-layer"
        )
    if origin.sometimes:
        raise RecipeError(
            f"{name} runs on a condition; name a node before or behind what it chooses in"
            " --from-layer or --to-layer"
        )
    return Declared(name, tensor, origin.dtype, origin.shape)


def layers(graph: GraphSpec, origins: Mapping[str, Origin]) -> dict[str, Origin]:
    """The origin of each node's first output, for nodes that run in every run."""
    found = {}
    for node in graph.nodes:
        origin = origins.get(next(filter(None, node.outputs), ""))
        if (
            origin is not None
            and node.op != "STATE"
            and not origin.sometimes
            and {origin.dtype} & {*DTYPES.values(), *COMPLEX.values()}
        ):
            found[node.name] = origin
    return found


def handed_on(dtype: str, handed: Sequence[Origin | None]) -> str:
    """The dtype of a value that a loop or condition passes on. TensorArrays of TensorFlow 1 are
    passed as numbers.
    """
    return LISTED if any(item is not None and item.dtype == LISTED for item in handed) else dtype
