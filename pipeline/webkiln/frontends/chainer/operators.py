"""Operators of recordings that ONNX has not."""

from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, known
from webkiln.frontends.nodes.fold import array_of_sizes
from webkiln.frontends.onnx.operators.elementwise import plain
from webkiln.ir.notation import parse_size
from webkiln.ops.builder import Tensor


def sizes(call: NodeCall) -> GraphValue:
    """A list of sizes, some of which are set when the model runs."""
    return known(array_of_sizes([parse_size(size) if isinstance(size, str) else size for size in call.attr("sizes")]), "int64")


def start(call: NodeCall) -> Tensor:
    """What a state is when a run starts; its first value is the operand."""
    return call.builder.state(call.attr("name"), call.tensor(0))


def following(call: NodeCall) -> list[Tensor]:
    """What the state is when the next run starts."""
    call.builder.set_state(call.attr("name"), call.op("Identity", [call.tensor(0)]))
    return []


OWN: dict[str, NodeHandler] = {
    "Sizes": sizes, "StateStart": start, "StateNext": following,
    **{op: plain(op) for op in ("Expm1", "Log1p", "Rsqrt", "Rem", "FloorDiv", "Erfc", "ErfInv")},
}  # fmt: skip
