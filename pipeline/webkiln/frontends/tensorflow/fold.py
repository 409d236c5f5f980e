"""What the types of operands determine in TensorFlow, and the comparisons of sizes."""

from webkiln.frontends.nodes import arithmetic
from webkiln.frontends.nodes.call import GraphValue, NodeCall, known
from webkiln.frontends.nodes.fold import Folds, array_of_sizes, element_count


def _out_type(call: NodeCall) -> str:
    return str(call.attr("out_type", "int32"))


def _shapes(call: NodeCall) -> list[GraphValue]:
    return [
        known(array_of_sizes(call.type(position).shape), _out_type(call))
        for position in range(len(call))
    ]


def _size(call: NodeCall) -> GraphValue:
    return element_count(call, _out_type(call))


FOLDS = Folds(
    of_types={
        "Shape": arithmetic.shape_as(_out_type),
        "ShapeN": _shapes,
        "Size": _size,
        "Rank": arithmetic.rank,
    },
    of_values={"BroadcastArgs": arithmetic.broadcast_args},
    comparisons=arithmetic.size_relations("Equal", "Less", "Greater", "LessEqual", "GreaterEqual"),
    implied={
        "LogicalAnd": 2,
        "Reshape": 1,
        "Squeeze": 1,
        "ExpandDims": 1,
        "Identity": 1,
        "Cast": 1,
    },
)
