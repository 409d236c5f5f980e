"""The operators of recordings. Most have the names and the attributes of ONNX's."""

from webkiln.frontends.chainer.operators.arrays import ARRAYS
from webkiln.frontends.chainer.operators.elementwise import ELEMENTWISE, direct
from webkiln.frontends.chainer.operators.layers import LAYERS
from webkiln.frontends.nodes import arithmetic
from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, known
from webkiln.frontends.nodes.fold import Folds, array_of_sizes
from webkiln.frontends.nodes.states import STATES
from webkiln.ir.notation import parse_size


def sizes(call: NodeCall) -> GraphValue:
    """A list of sizes, some of which are dynamic."""
    return known(
        array_of_sizes(
            [parse_size(size) if isinstance(size, str) else size for size in call.attr("sizes")]
        ),
        "int64",
    )


STANDARD: dict[str, NodeHandler] = {**ELEMENTWISE, **ARRAYS, **LAYERS}
OWN: dict[str, NodeHandler] = {
    "Sizes": sizes,
    **STATES,
    **{op: direct(op) for op in ("Expm1", "Log1p", "Rsqrt", "Rem", "FloorDiv", "Erfc", "ErfInv")},
}
"""Operators that ONNX does not have."""

FOLDS = Folds(
    of_types={"Shape": arithmetic.shape_as(lambda _: "int64")},
    comparisons=arithmetic.size_relations(
        "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"
    ),
    implied={"And": 2, "Reshape": 1, "Squeeze": 1, "Unsqueeze": 1, "Cast": 1},
)
