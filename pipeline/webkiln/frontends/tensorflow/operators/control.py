"""`If`, `While` and `Case` of TensorFlow 2, whose branches and bodies are functions. https://www.tensorflow.org/api_docs/python/tf/raw_ops"""

from collections.abc import Mapping, Sequence

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, OpenValueError, as_tensor
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.ops.builder import Block, GraphBuilder, Tensor
from webkiln.ops.pieces import cast

WRITTEN_OUT = 64
"""How many steps of a loop are written out rather than repeated."""


def if_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """The branch that a known condition chooses, or both. A number is true where it is not 0."""
    branches = [call.attr("then_branch"), call.attr("else_branch")]
    given = [call.operand(position) for position in range(1, len(call))]
    condition = call.operand(0)
    if condition.is_constant:
        return call.subgraph(call.builder, branches[0 if bool(call.numbers(0).any()) else 1], given)

    def block(graph: GraphSpec) -> Block:
        return lambda builder, _: [as_tensor(builder, item) for item in call.subgraph(builder, graph, given)]

    chosen = call.tensor(0)
    truth = cast(call.builder, chosen, "bool") if chosen.type.rank == 0 else None
    if truth is None:
        raise call.unsupported(f"has a condition of shape {list(chosen.shape)}", "Give it a single truth value")
    try:
        return call.builder.branch(truth, *map(block, branches))
    except ShapeError as error:
        raise ShapeError(f"{error}; where its condition depends on an input that is always the same, set it with --value") from error


def case(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """The branch of a number; the last one for a number that is none."""
    branches = [call.attr(f"branch_{number}") for number in range(call.attr("count"))]
    given = [call.operand(position) for position in range(1, len(call))]
    if call.operand(0).is_constant:
        chosen = int(call.numbers(0).reshape(()))
        return call.subgraph(call.builder, branches[chosen if 0 <= chosen < len(branches) else -1], given)
    index = call.tensor(0)

    def chain(number: int) -> Block:
        def write(builder: GraphBuilder, _: Sequence[Tensor]) -> Sequence[Tensor]:
            if number == len(branches) - 1:
                return [as_tensor(builder, item) for item in call.subgraph(builder, branches[number], given)]
            is_it = builder.op("Equal", [builder.inside(index), builder.constant(number, index.dtype)])
            return builder.branch(is_it, chain_one(number), chain(number + 1))

        return write

    def chain_one(number: int) -> Block:
        return lambda builder, _: [as_tensor(builder, item) for item in call.subgraph(builder, branches[number], given)]

    return chain(0)(call.builder, [])


def while_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """Written out where the number of steps is known and small; else repeated when the model runs."""
    state = [call.operand(position) for position in range(len(call))]
    results = _written_out(call, state)
    return results if results is not None else _repeated(call)


def _written_out(call: NodeCall, state: Sequence[GraphValue]) -> Sequence[GraphValue] | None:
    condition, body = call.attr("cond"), call.attr("body")
    for _ in range(WRITTEN_OUT + 1):
        known = call.foreseen(condition, {item.tensor: value for item, value in zip(condition.inputs, state, strict=True)})
        going = known.get(condition.outputs[0].tensor)
        if going is None or not going.is_constant or going.value is None:
            return None
        if not bool(going.value.any()):
            return state
        state = call.subgraph(call.builder, body, state)
    return None


def _repeated(call: NodeCall) -> list[Tensor]:
    """The condition is computed once before the loop, and at the end of each step."""
    condition, body = call.attr("cond"), call.attr("body")
    states = call.tensors()

    def holds(builder: GraphBuilder, given: Sequence[Tensor | GraphValue]) -> Tensor:
        (more,) = call.subgraph(builder, condition, given)
        return builder.op("Reshape", [as_tensor(builder, more)], {"shape": ()})

    def step(builder: GraphBuilder, given: list[Tensor]) -> Sequence[Tensor]:
        current = [as_tensor(builder, item) for item in call.subgraph(builder, body, given[2:])]
        return [holds(builder, current), *current]

    try:
        lasts, _ = call.builder.loop(holds(call.builder, states), states, step)
    except OpenValueError as error:
        raise ShapeError(f"{error}; a loop that runs as long as the data says has shapes that do not depend on its steps") from error
    return lasts


CONTROL: Mapping[str, NodeHandler] = {"If": if_, "While": while_, "Case": case}
