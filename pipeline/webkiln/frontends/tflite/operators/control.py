"""IF, WHILE and CALL, which run other graphs of the file, and states."""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler
from webkiln.frontends.nodes.control import (
    MAX_UNROLLED,
    branch,
    carried_states,
    invariant_states,
    selected_branch,
    while_loop,
)
from webkiln.frontends.nodes.states import STATES
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import reshaped


def if_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """Convert the branch that a known condition selects, or both."""
    branches = [call.attr("then"), call.attr("else")]
    operands = [call.operand(index) for index in range(1, len(call))]
    chosen = selected_branch(call, call.operand(0))
    if chosen is not None:
        return call.convert_subgraph(call.builder, branches[0 if chosen else 1], operands)
    return branch(call, reshaped(call.builder, call.tensor(0), ()), branches, operands)


def while_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """Unroll a loop with a small known trip count; otherwise convert to a loop at run time."""
    condition, body = call.attr("cond"), call.attr("body")
    operands = [call.operand(index) for index in range(len(call))]
    if (
        len(body.inputs) != len(operands)
        or len(condition.inputs) != len(operands)
        or len(body.outputs) != len(operands)
    ):
        raise call.error(
            f"has {len(operands)} operands, its body has {len(body.inputs)} inputs and"
            f" {len(body.outputs)} outputs"
        )
    state = operands
    for _ in range(MAX_UNROLLED):
        (going,) = call.convert_subgraph(call.builder, condition, state)
        if not going.is_constant or going.value is None:
            break
        if not bool(going.value.reshape(())):
            return state
        state = call.convert_subgraph(call.builder, body, state)
    same = invariant_states(body)
    return while_loop(call, same, [call.tensor(index) for index in carried_states(call, same)])


def call_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    return call.convert_subgraph(
        call.builder, call.attr("body"), [call.operand(index) for index in range(len(call))]
    )


CONTROL: dict[str, NodeHandler] = {"IF": if_, "WHILE": while_, "CALL": call_, **STATES}
