"""What a model of nodes keeps from one run to the next: a node STATE gives what the run begins
with, a
node SET_STATE takes what the next one will. Both call it by their attribute `state`; a SET_STATE
may say the `dtype` that it is kept in.
"""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast


def state(call: NodeCall) -> Tensor:
    """Its first value is the operand."""
    return call.builder.state(call.spec.attrs["state"], call.tensor(0))


def set_state(call: NodeCall) -> list[Tensor]:
    value = call.tensor(0)
    following = cast(call.builder, value, call.attr("dtype", value.dtype))
    call.builder.set_state(call.spec.attrs["state"], call.op("Identity", [following]))
    return []


STATES: dict[str, NodeHandler] = {"STATE": state, "SET_STATE": set_state}
