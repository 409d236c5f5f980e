"""Branches and loops that are graph attributes of nodes, as in TensorFlow and LiteRT."""

from collections.abc import Collection, Sequence

import numpy as np

from webkiln.frontends.nodes.call import GraphValue, NodeCall, as_tensor
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.ir import symbols
from webkiln.ir.graph import Guard
from webkiln.ir.rational import evaluate, nonzero
from webkiln.ir.types import Array, is_float
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


def selected_branch(call: NodeCall, condition: GraphValue) -> bool | None:
    """The value of a condition that is known when the model is converted.

    A condition over sizes counts as known if it only differs where a size is 1 or 0, as before a
    Squeeze or where nothing was found: a guard then rejects these sizes. Return None for any other
    condition.
    """
    if condition.is_constant and condition.value is not None:
        return bool(condition.value.any())
    if condition.value is None or condition.type.size != 1 or is_float(condition.type.dtype):
        return None
    value = condition.value.reshape(()).item()
    truth = value if condition.type.dtype == "bool" else nonzero(value)
    results = np.unique(evaluate(truth, common_sizes(symbols.names([truth]))))
    if len(results) > 1:
        return None
    call.builder.require([Guard(call.spec.name, truth, int(results[0]))])
    return bool(results[0])


def common_sizes(names: Collection[str]) -> dict[str, Array]:
    """Values from 2 of the symbols of sizes: equal ones, and random ones."""
    equal = np.arange(2, 1 << 13)
    rng = np.random.default_rng(0)
    return {
        name: np.concatenate([equal, (2 ** rng.uniform(1, 20, 1 << 13)).astype(np.int64)])
        for name in sorted(names)
    }


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
