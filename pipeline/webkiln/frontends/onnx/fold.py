"""What the types of operands determine in ONNX, and the comparisons of sizes."""

from webkiln.frontends.nodes import arithmetic
from webkiln.frontends.nodes.call import GraphValue, NodeCall, known
from webkiln.frontends.nodes.fold import Folds, array_of_sizes, element_count


def _shape(call: NodeCall) -> GraphValue:
    shape = call.type(0).shape
    rank = len(shape)
    start, end = call.attr("start", 0), call.attr("end", rank)
    return known(array_of_sizes(shape[slice(start, end)]), "int64")


FOLDS = Folds(
    of_types={"Shape": _shape, "Size": element_count},
    comparisons=arithmetic.size_relations(
        "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"
    ),
    implied={"And": 2, "Identity": 1, "Reshape": 1, "Squeeze": 1, "Unsqueeze": 1, "Cast": 1},
)
