"""Operators of recordings that ONNX does not have."""

from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, known
from webkiln.frontends.nodes.fold import array_of_sizes
from webkiln.frontends.nodes.states import STATES
from webkiln.frontends.onnx.operators.elementwise import direct
from webkiln.ir.notation import parse_size


def sizes(call: NodeCall) -> GraphValue:
    """A list of sizes, some of which are dynamic."""
    return known(
        array_of_sizes(
            [parse_size(size) if isinstance(size, str) else size for size in call.attr("sizes")]
        ),
        "int64",
    )


OWN: dict[str, NodeHandler] = {
    "Sizes": sizes, **STATES,
    **{op: direct(op) for op in ("Expm1", "Log1p", "Rsqrt", "Rem", "FloorDiv", "Erfc", "ErfInv")},
}  # fmt: skip
