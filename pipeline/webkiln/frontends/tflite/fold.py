"""What the types of operands determine in TensorFlow Lite, and the comparisons of sizes."""

from webkiln.frontends.nodes import arithmetic
from webkiln.frontends.nodes.call import NodeCall
from webkiln.frontends.nodes.fold import Folds


def _dtype(call: NodeCall) -> str:
    return str(call.attr("dtypes")[0])


FOLDS = Folds(
    of_types={"SHAPE": arithmetic.shape_as(_dtype), "RANK": arithmetic.rank},
    of_values={"BROADCAST_ARGS": arithmetic.broadcast_args},
    comparisons=arithmetic.size_relations(
        "EQUAL", "LESS", "GREATER", "LESS_EQUAL", "GREATER_EQUAL"
    ),
    implied={"LOGICAL_AND": 2, "RESHAPE": 1, "SQUEEZE": 1, "EXPAND_DIMS": 1, "CAST": 1},
)
