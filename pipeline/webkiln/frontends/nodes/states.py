"""State that a model keeps from one run to the next: a STATE node returns the current value, a
SET_STATE node sets the value for the next run.

Both refer to it by the attribute `state`. SET_STATE may have a `dtype` in which the state is
stored.
"""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast


def state(call: NodeCall) -> Tensor:
    """The operand is the initial value."""
    return call.builder.state(call.spec.attrs["state"], call.tensor(0))


def set_state(call: NodeCall) -> list[Tensor]:
    value = call.tensor(0)
    following = cast(call.builder, value, call.attr("dtype", value.dtype))
    call.builder.set_state(call.spec.attrs["state"], call.op("Identity", [following]))
    return []


STATES: dict[str, NodeHandler] = {"STATE": state, "SET_STATE": set_state}
