"""Loops (`While` of TensorFlow 2 and reconstructed loops of TensorFlow 1): converted to recurrences
if they count, unrolled, or run as loops.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import (
    DataDependentError,
    GraphValue,
    NodeCall,
    NodeHandler,
    as_tensor,
)
from webkiln.frontends.nodes.control import (
    MAX_UNROLLED,
    carried_states,
    invariant_states,
    while_loop,
)
from webkiln.frontends.nodes.loop_counters import STEP, Counter, comparison_slacks, find_counters
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeSpec
from webkiln.frontends.tensorflow.operators.lists import UnwrittenList, written
from webkiln.ir import symbols
from webkiln.ir.dim import Size, is_at_least
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import iota
from webkiln.ops.table import RULES

PUTTING = {"TensorListSetItem": (0, 1, 2), "TensorArrayWriteV3": (3, 1, 2)}
"""Operators that write an element of a list -> the positions of the list, the index and the element
among their operands.
"""


@dataclass(frozen=True)
class States:
    """The states of a loop by kind: invariants, counters, lists that each step appends to (with the
    appended tensor of the body), and others.
    """

    same: frozenset[int]
    counters: Mapping[int, Counter]
    piles: Mapping[int, str]
    steps: Size


def while_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """A recurrence if the trip count is a size; unrolled if it is small and shapes change;
    otherwise a loop at run time.
    """
    same = invariant_states(call.attr("body"))
    states = _counted_loop(call, same)
    if states is not None:
        try:
            return _recurrence(call, states)
        except (DataDependentError, ShapeError) as error:
            results = _unrolled(call)
            if results is None:
                raise ShapeError(f"{error}; its shapes change from step to step") from error
            return results
    results = _unrolled(call)
    return results if results is not None else _while_loop(call, same)


def _known_inputs(
    graph: GraphSpec, call: NodeCall, invariants: frozenset[int]
) -> dict[str, GraphValue]:
    """The known values of invariants in a body."""
    return {
        graph.inputs[index].tensor: call.operand(index)
        for index in invariants
        if call.operand(index).value is not None
    }


def _counted_loop(call: NodeCall, same: frozenset[int]) -> States | None:
    """The kinds of states, if the trip count is certainly a size; otherwise None.

    The loop continues while all comparisons of the condition hold, so the trip count is that of the
    one that fails first.
    """
    condition, body = call.attr("cond"), call.attr("body")
    operands = [None if index in same else call.operand(index) for index in range(len(call))]
    names, following = [item.tensor for item in body.inputs], [item.tensor for item in body.outputs]
    counters = find_counters(
        call, body, names, operands, following, _known_inputs(body, call, same)
    )
    step_counters = {
        condition.inputs[index].tensor: counter.at(STEP, call.type(index).dtype)
        for index, counter in counters.items()
    }
    slacks = comparison_slacks(
        call.infer_values(condition, {**_known_inputs(condition, call, same), **step_counters}).get(
            condition.outputs[0].tensor
        )
    )
    for gap in slacks or ():
        steps = gap + STEP
        is_size = not symbols.names([STEP]) & symbols.names([steps]) and is_at_least(steps, 0)
        if is_size and all(
            is_at_least(other, 1) or is_at_least(other, steps - STEP) for other in slacks or ()
        ):
            return States(same, counters, _piles(call, body, counters, steps), steps)
    return None


def _piles(
    call: NodeCall, body: GraphSpec, counters: Mapping[int, Counter], steps: Size
) -> dict[int, str]:
    """Lists into which each step writes one element, at the step's index, and which nothing else
    reads: the result is the stacked elements.
    """
    producers = {node.outputs[0]: node for node in body.nodes if node.outputs}
    readers: dict[str, list[NodeSpec]] = {}
    for node in body.nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    numbers = {
        body.inputs[index].tensor for index, counter in counters.items() if counter == Counter(0, 1)
    }
    inside = {
        name
        for node in body.nodes
        for value in node.attrs.values()
        if isinstance(value, GraphSpec)
        for name in _mentioned(value)
    }
    piles = {}
    for index, (item, result) in enumerate(zip(body.inputs, body.outputs, strict=True)):
        producer = producers.get(result.tensor)
        positions = PUTTING.get(producer.op) if producer is not None else None
        if (
            producer is None
            or positions is None
            or producer.inputs[positions[0]] != item.tensor
            or producer.inputs[positions[1]] not in numbers
        ):
            continue
        if (
            readers[item.tensor] == [producer]
            and item.tensor not in inside
            and call.type(index).shape[0] == steps
        ):
            piles[index] = producer.inputs[positions[2]]
    return piles


def _mentioned(graph: GraphSpec) -> set[str]:
    names = {item.tensor for item in graph.outputs}
    for node in graph.nodes:
        names.update(node.inputs)
        for value in node.attrs.values():
            if isinstance(value, GraphSpec):
                names |= _mentioned(value)
    return names


def _recurrence(call: NodeCall, states: States) -> Sequence[Tensor | GraphValue]:
    """The loop as a Scan along its steps 0, 1, ..."""
    body = call.attr("body")
    moving = carried_states(call, states.same | states.counters.keys() | states.piles.keys())
    initial = _initial_values(call, moving)
    piled = list(states.piles)
    lengthened = GraphSpec(
        body.inputs,
        (*body.outputs, *(_declared(states.piles[index]) for index in piled)),
        body.tensors,
        body.nodes,
    )

    def step(
        builder: GraphBuilder, current: list[Tensor], slices: list[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        arguments: list[Tensor | GraphValue] = [call.operand(index) for index in range(len(call))]
        for index, counter in states.counters.items():
            arguments[index] = counter.inside(builder, slices[0], call.type(index).dtype)
        for index, tensor in zip(moving, current, strict=True):
            arguments[index] = tensor
        results = call.convert_subgraph(builder, lengthened, arguments)
        return [as_tensor(builder, results[index]) for index in moving], [
            as_tensor(builder, item) for item in results[len(arguments) :]
        ]

    lasts, stacks = call.builder.scan(
        initial, [iota(call.builder, states.steps, "int32")], step, axis=0
    )
    outputs: list[Tensor | GraphValue] = [call.operand(index) for index in range(len(call))]
    for index, counter in states.counters.items():
        outputs[index] = counter.at(states.steps, call.type(index).dtype)
    for indices, tensors in ((moving, lasts), (piled, stacks)):
        for index, tensor in zip(indices, tensors, strict=True):
            outputs[index] = tensor
    return outputs


def _declared(tensor: str) -> Declared:
    return Declared(tensor, tensor, "", None)


def _initial_values(call: NodeCall, carried: Sequence[int]) -> list[Tensor]:
    """The initial values of states. Lists without an element shape get the shape of the element
    that a step writes.
    """
    if not any(isinstance(call.operand(index), UnwrittenList) for index in carried):
        return [call.tensor(index) for index in carried]
    trial = GraphBuilder(call.spec.name, RULES, outer=call.builder)
    arguments: list[Tensor | GraphValue] = []
    for index in range(len(call)):
        item = call.operand(index)
        arguments.append(
            item
            if item.tensor is None or index not in carried
            else trial.input(f"state{index}", item.type.dtype, item.type.shape)
        )
    results = call.convert_subgraph(trial, call.attr("body"), arguments)
    initial = []
    for index in carried:
        item = call.operand(index)
        if isinstance(item, UnwrittenList):
            if isinstance(results[index], UnwrittenList):
                raise call.unsupported("carries an empty list", "Leave it out")
            initial.append(written(call.builder, item, results[index].type.shape[1:]))
        else:
            initial.append(call.tensor(index))
    return initial


def _unrolled(call: NodeCall) -> Sequence[GraphValue] | None:
    """Unroll, as long as the condition is known. None if it is not."""
    condition, body = call.attr("cond"), call.attr("body")
    state: Sequence[GraphValue] = [call.operand(index) for index in range(len(call))]
    for _ in range(MAX_UNROLLED + 1):
        condition_values = call.infer_values(
            condition,
            {item.tensor: value for item, value in zip(condition.inputs, state, strict=True)},
        )
        continues = condition_values.get(condition.outputs[0].tensor)
        if continues is None or not continues.is_constant or continues.value is None:
            return None
        if not bool(continues.value.any()):
            return state
        state = call.convert_subgraph(call.builder, body, state)
    return None


def _while_loop(call: NodeCall, same: frozenset[int]) -> list[Tensor | GraphValue]:
    initial = _initial_values(call, carried_states(call, same))
    try:
        return while_loop(call, same, initial)
    except DataDependentError as error:
        raise ShapeError(
            f"{error}; a loop with a data-dependent number of"
            " steps needs shapes that do not depend on the step"
        ) from error


LOOPS: Mapping[str, NodeHandler] = {"While": while_}
