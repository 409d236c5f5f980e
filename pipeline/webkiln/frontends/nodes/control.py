"""Branches and loops that are graph attributes of nodes, as in TensorFlow and LiteRT."""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import GraphValue, NodeCall, as_tensor
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.control_flow import Block
from webkiln.ops.pieces import reshaped

MAX_UNROLLED = 64
"""Loops of at most this number of iterations are unrolled."""


def branch(
    call: NodeCall, condition: Tensor, branches: Sequence[GraphSpec], operands: Sequence[GraphValue]
) -> tuple[Tensor, ...]:
    """The outputs of one of two graphs, selected by a bool scalar."""

    def block(graph: GraphSpec) -> Block:
        return lambda builder, _: [
            as_tensor(builder, item) for item in call.convert_subgraph(builder, graph, operands)
        ]

    then, otherwise = map(block, branches)
    return call.builder.branch(condition, then, otherwise)


def invariant_states(body: GraphSpec) -> frozenset[int]:
    """The positions of the states that the body of a loop returns unchanged. They are not carried,
    so their values may stay known.
    """
    return frozenset(
        position
        for position, (input_, output) in enumerate(zip(body.inputs, body.outputs, strict=True))
        if input_.tensor == output.tensor
    )


def carried_states(call: NodeCall, invariant: frozenset[int]) -> list[int]:
    """The positions of the states of a loop that change."""
    return [position for position in range(len(call)) if position not in invariant]


def while_loop(
    call: NodeCall, invariant: frozenset[int], initial: Sequence[Tensor]
) -> list[Tensor | GraphValue]:
    """Convert a loop with the graphs `cond` and `body`. `begins` are the initial states, without
    the `invariant` ones. The condition is computed once before the loop, and at the end of each
    iteration.
    """
    condition, body, positions = (
        call.attr("cond"),
        call.attr("body"),
        carried_states(call, invariant),
    )

    def all_states(current: Sequence[Tensor]) -> list[Tensor | GraphValue]:
        states: list[Tensor | GraphValue] = [
            call.operand(position) for position in range(len(call))
        ]
        for position, tensor in zip(positions, current, strict=True):
            states[position] = tensor
        return states

    def evaluate_condition(builder: GraphBuilder, current: Sequence[Tensor]) -> Tensor:
        (result,) = call.convert_subgraph(builder, condition, all_states(current))
        if result.type.dtype != "bool" or result.type.size != 1:
            raise call.error(f"its condition returns {result.type}, expected one bool")
        return reshaped(builder, as_tensor(builder, result), ())

    def step(builder: GraphBuilder, arguments: list[Tensor]) -> Sequence[Tensor]:
        results = call.convert_subgraph(builder, body, all_states(arguments[2:]))
        following = [as_tensor(builder, results[position]) for position in positions]
        return [evaluate_condition(builder, following), *following]

    final, _ = call.builder.loop(evaluate_condition(call.builder, initial), initial, step)
    return all_states(final)
