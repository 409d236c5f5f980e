"""IF, WHILE and CALL, which run other graphs of the file; and the values that are kept from one run to the next."""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, as_tensor
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.frontends.nodes.states import STATES
from webkiln.ops.builder import Block, GraphBuilder, Tensor
from webkiln.ops.pieces import reshaped

WRITTEN_OUT = 64
"""How many steps of a loop are written out rather than repeated."""


def if_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """The branch that a known condition chooses, or both."""
    branches = [call.attr("then"), call.attr("else")]
    operands = [call.operand(place) for place in range(1, len(call))]
    if call.operand(0).is_constant:
        return call.subgraph(call.builder, branches[0 if bool(call.numbers(0).reshape(())) else 1], operands)

    def block(graph: GraphSpec) -> Block:
        return lambda builder, inputs: [as_tensor(builder, item) for item in call.subgraph(builder, graph, operands)]

    return call.builder.branch(reshaped(call.builder, call.tensor(0), ()), *map(block, branches))


def while_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """Written out where it is known how long it goes on, and that is not long; else repeated when the model runs."""
    condition, body = call.attr("cond"), call.attr("body")
    operands = [call.operand(place) for place in range(len(call))]
    if len(body.inputs) != len(operands) or len(condition.inputs) != len(operands) or len(body.outputs) != len(operands):
        raise call.error(f"has {len(operands)} operands, its body takes {len(body.inputs)} and gives {len(body.outputs)}")
    state = operands
    for _ in range(WRITTEN_OUT):
        (going,) = call.subgraph(call.builder, condition, state)
        if not going.is_constant or going.value is None:
            break
        if not bool(going.value.reshape(())):
            return state
        state = call.subgraph(call.builder, body, state)
    return repeated(call, operands, condition, body)


def repeated(call: NodeCall, operands: Sequence[GraphValue], condition: GraphSpec, body: GraphSpec) -> list[Tensor | GraphValue]:
    """What the body gives as it took it is no state, and may be known."""
    fixed = {place for place, (given, result) in enumerate(zip(body.inputs, body.outputs, strict=True)) if given.tensor == result.tensor}
    moving = [place for place in range(len(operands)) if place not in fixed]

    def whole(builder: GraphBuilder, states: Sequence[Tensor]) -> list[Tensor | GraphValue]:
        found: list[Tensor | GraphValue] = list(operands)
        for place, tensor in zip(moving, states, strict=True):
            found[place] = tensor
        return found

    def goes_on(builder: GraphBuilder, states: Sequence[Tensor]) -> Tensor:
        (result,) = call.subgraph(builder, condition, whole(builder, states))
        if result.type.dtype != "bool" or result.type.size != 1:
            raise call.error(f"its condition gives {result.type}, expected one bool")
        return reshaped(builder, as_tensor(builder, result), ())

    def step(builder: GraphBuilder, given: list[Tensor]) -> Sequence[Tensor]:
        results = call.subgraph(builder, body, whole(builder, given[2:]))
        following = [as_tensor(builder, results[place]) for place in moving]
        return [goes_on(builder, following), *following]

    states = [call.tensor(place) for place in moving]
    lasts, _ = call.builder.loop(goes_on(call.builder, states), states, step)
    after: list[Tensor | GraphValue] = list(operands)
    for place, last in zip(moving, lasts, strict=True):
        after[place] = last
    return after


def call_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    return call.subgraph(call.builder, call.attr("body"), [call.operand(place) for place in range(len(call))])


CONTROL: dict[str, NodeHandler] = {"IF": if_, "WHILE": while_, "CALL": call_, **STATES}
