"""The If and Loop of ONNX, as which PyTorch programs are also read. Conditions and trip counts that
are known during conversion are resolved then.
"""

from collections.abc import Sequence

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import (
    DataDependentError,
    GraphValue,
    NodeCall,
    NodeHandler,
    as_tensor,
    known,
)
from webkiln.frontends.nodes.control import MAX_UNROLLED, selected_branch
from webkiln.frontends.nodes.counted_loops import counted_loop, trip_count, trip_limit
from webkiln.frontends.nodes.sequences import flattened, lengths, regrouped
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import Type
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.control_flow import Block
from webkiln.ops.pieces import reshaped


def if_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """The branch selected by a known condition, or both branches."""
    branches = [call.attr("then_branch"), call.attr("else_branch")]
    chosen = selected_branch(call, call.operand(0))
    if chosen is not None:
        return call.convert_subgraph(call.builder, branches[0 if chosen else 1], [])

    results: list[list[GraphValue]] = []

    def block(graph: GraphSpec) -> Block:
        def convert(builder: GraphBuilder, _: Sequence[Tensor]) -> list[Tensor]:
            results.append(call.convert_subgraph(builder, graph, []))
            return flattened(builder, results[-1])

        return convert

    try:
        tensors = call.builder.branch(
            reshaped(call.builder, call.tensor(0), ()), *map(block, branches)
        )
        structures = [lengths(result) for result in results]
        if any(structure != structures[0] for structure in structures):
            raise call.unsupported(
                "gives sequences of different lengths", "Make them equally long in both branches"
            )
        return regrouped(tensors, structures[0], [item.type.dtype for item in results[0]])
    except ShapeError as error:
        advice = (
            "if its condition depends on a size or on an input that never changes, fix it with"
            " --dim or --value"
        )
        raise ShapeError(f"{error}; {advice}") from error


def loop(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """Convert a Loop: unroll it if the trip count is known and small, or if shapes depend on the
    iteration; else use a recurrence if the trip count is a size; else a loop that checks its
    condition at run time.
    """
    limit = trip_limit(call)
    begins = not call.has(1) or call.operand(1).is_constant
    known_limit = None if limit is None or is_symbolic(limit) or not begins else limit
    results = (
        unroll(call, known_limit)
        if known_limit is not None and known_limit <= MAX_UNROLLED
        else None
    )
    if results is not None:
        return results
    try:
        count = trip_count(call)
        return while_loop(call, limit) if count is None else counted_loop(call, count)
    except DataDependentError:
        results = unroll(call, known_limit) if known_limit is not None else None
        if results is None:
            raise call.data_dependent_error(0 if call.has(0) and limit is None else 1) from None
        return results


def unroll(call: NodeCall, limit: int) -> list[GraphValue] | None:
    """Unroll the iterations while the condition is constant; None if it is not."""
    body, step = call.attr("body"), 0
    is_running = bool(call.numbers(1).reshape(())) if call.has(1) else True
    state = [call.operand(position) for position in range(2, len(call))]
    stacks: list[list[GraphValue]] = [[] for _ in range(len(body.outputs) - 1 - len(state))]
    while is_running and step < limit:
        condition, *results = call.convert_subgraph(
            call.builder, body, [known(step, "int64"), known(1, "bool"), *state]
        )
        _check_condition(call, condition.type)
        if not condition.is_constant or condition.value is None:
            return None
        is_running = bool(condition.value.reshape(()))
        state = results[: len(state)]
        for stack_, result in zip(stacks, results[len(state) :], strict=True):
            stack_.append(result)
        step += 1
    return [*state, *(stack(call, stack_) for stack_ in stacks)]


def while_loop(call: NodeCall, bound: Size | None) -> list[Tensor]:
    """A loop of the program of at most `bound` iterations. If the trip count is data, the condition
    also compares the iteration number.
    """
    body, states = call.attr("body"), [call.tensor(position) for position in range(2, len(call))]
    if len(body.outputs) - 1 > len(states) and bound is None:
        raise call.data_dependent_error(0 if call.has(0) else 1)
    begin = reshaped(call.builder, call.tensor(1), ()) if call.has(1) else call.constant(1, "bool")
    limit = (
        reshaped(call.builder, call.tensor(0), ())
        if call.has(0) and call.operand(0).value is None
        else None
    )
    if limit is not None:
        begin = call.op("And", [begin, call.op("Greater", [limit, call.like(0, limit)])])

    def step(builder: GraphBuilder, arguments: list[Tensor]) -> Sequence[Tensor]:
        proceed, *results = (
            as_tensor(builder, item)
            for item in call.convert_subgraph(builder, body, list(arguments))
        )
        _check_condition(call, proceed.type)
        proceed = builder.op("Reshape", [proceed], {"shape": ()})
        if limit is not None:
            following = builder.op("Add", [arguments[0], builder.constant(1, "int64")])
            proceed = builder.op(
                "And", [proceed, builder.op("Less", [following, builder.capture(limit)])]
            )
        return [proceed, *results]

    final, stacks = call.builder.loop(begin, states, step, bound=bound)
    return [*final, *stacks]


def _check_condition(call: NodeCall, type_: Type) -> None:
    if type_.dtype != "bool" or type_.size != 1:
        raise call.error(f"the condition that its body returns is {type_}, expected one bool")


def stack(call: NodeCall, items: Sequence[GraphValue]) -> GraphValue:
    """Stack equal tensors along a new first axis."""
    if not items:
        raise call.unsupported("runs no iteration and returns its scan outputs", "Remove the loop")
    tensors = [as_tensor(call.builder, item) for item in items]
    wide = [reshaped(call.builder, item, (1, *item.shape)) for item in tensors]
    result = call.op("Concat", wide, {"axis": 0})
    return GraphValue(result.type, result)


IF_AND_LOOP: dict[str, NodeHandler] = {"If": if_, "Loop": loop}
