"""If, Loop and Scan. What is known while converting is decided then."""

from collections.abc import Sequence

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import (
    DataDependentError,
    GraphValue,
    NodeCall,
    NodeHandler,
    SizeRelation,
    as_tensor,
    known,
)
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.frontends.onnx.operators.counted_loops import counted_loop, trip_count, trip_limit
from webkiln.frontends.onnx.operators.elementwise import part
from webkiln.frontends.onnx.operators.reduce import reversed_
from webkiln.frontends.onnx.operators.shape import reshaped, transposed
from webkiln.ir.dim import greatest, is_symbolic, reaches
from webkiln.ir.graph import Guard
from webkiln.ir.types import Type
from webkiln.ops.builder import Block, GraphBuilder, Tensor

MAX_UNROLLED = 64
"""How many steps of a loop are written out rather than repeated."""


def if_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """The branch that a known condition chooses, or both.

    Of a condition that two sizes are equal, as before a Squeeze, the branch where they are not: the
    bundle is for such sizes alone.
    """
    branches = [call.attr("then_branch"), call.attr("else_branch")]
    condition = call.operand(0)
    if condition.is_constant:
        return call.convert_subgraph(
            call.builder, branches[0 if bool(call.numbers(0).reshape(())) else 1], []
        )
    if (
        condition.conditions is not None
        and len(condition.conditions) == 1
        and _require_different(call, condition.conditions[0])
    ):
        return call.convert_subgraph(call.builder, branches[1], [])

    def block(graph: GraphSpec) -> Block:
        return lambda builder, inputs: [
            as_tensor(builder, item) for item in call.convert_subgraph(builder, graph, [])
        ]

    try:
        return call.builder.branch(reshaped(call, call.tensor(0), ()), *map(block, branches))
    except ShapeError as error:
        hint = (
            "where its condition depends on a size or on an input that is always the same, set it"
            " with --dim or --value"
        )
        raise ShapeError(f"{error}; {hint}") from error


def _require_different(call: NodeCall, condition: SizeRelation) -> bool:
    """Make it a guard that two sizes differ, where it is known which of them is never the smaller
    one.
    """
    a, b = condition.a, condition.b
    large, small = (a, b) if reaches(a, b) else (b, a)
    if condition.relation != "=" or not reaches(large, small):
        return False
    call.builder.require([Guard(call.spec.name, greatest([large - small, 1]), large - small)])
    return True


def loop(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """Written out where the number of steps is known and small, or its shapes depend on the step;
    else
    a recurrence, where it is a size; else repeated when the model runs.
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
    """The steps one after another, as long as it is known whether they go on; None where it is not."""
    body, step = call.attr("body"), 0
    going = bool(call.numbers(1).reshape(())) if call.has(1) else True
    state = [call.operand(position) for position in range(2, len(call))]
    piles: list[list[GraphValue]] = [[] for _ in range(len(body.outputs) - 1 - len(state))]
    while going and step < limit:
        condition, *results = call.convert_subgraph(
            call.builder, body, [known(step, "int64"), known(1, "bool"), *state]
        )
        _check_condition(call, condition.type)
        if not condition.is_constant or condition.value is None:
            return None
        going = bool(condition.value.reshape(()))
        state = results[: len(state)]
        for pile, result in zip(piles, results[len(state) :], strict=True):
            pile.append(result)
        step += 1
    return [*state, *(stack(call, pile) for pile in piles)]


def while_loop(call: NodeCall, bound: int | None) -> list[Tensor]:
    """A loop of the program, at most `bound` times; its condition also counts the steps where their
    number is data.
    """
    body, states = call.attr("body"), [call.tensor(position) for position in range(2, len(call))]
    if len(body.outputs) - 1 > len(states) and bound is None:
        raise call.data_dependent_error(0 if call.has(0) else 1)
    begin = reshaped(call, call.tensor(1), ()) if call.has(1) else call.constant(1, "bool")
    limit = (
        reshaped(call, call.tensor(0), ())
        if call.has(0) and call.operand(0).value is None
        else None
    )
    if limit is not None:
        begin = call.op("And", [begin, call.op("Greater", [limit, call.like(0, limit)])])

    def step(builder: GraphBuilder, given: list[Tensor]) -> Sequence[Tensor]:
        more, *results = (
            as_tensor(builder, item) for item in call.convert_subgraph(builder, body, list(given))
        )
        _check_condition(call, more.type)
        more = builder.op("Reshape", [more], {"shape": ()})
        if limit is not None:
            following = builder.op("Add", [given[0], builder.constant(1, "int64")])
            more = builder.op("And", [more, builder.op("Less", [following, builder.inside(limit)])])
        return [more, *results]

    lasts, piles = call.builder.loop(begin, states, step, bound=bound)
    return [*lasts, *piles]


def _check_condition(call: NodeCall, type_: Type) -> None:
    if type_.dtype != "bool" or type_.size != 1:
        raise call.error(f"the condition that its body gives is {type_}, expected one bool")


def stack(call: NodeCall, pile: Sequence[GraphValue]) -> GraphValue:
    """Equal tensors along a new first axis."""
    if not pile:
        raise call.unsupported("gives results of no step at all", "Remove the loop")
    tensors = [as_tensor(call.builder, item) for item in pile]
    wide = [reshaped(call, item, (1, *item.shape)) for item in tensors]
    whole = call.op("Concat", wide, {"axis": 0})
    return GraphValue(whole.type, whole)


def scan(call: NodeCall) -> list[Tensor]:
    """States and slices of sequences, step by step. In opset 8 the first axis is a batch, each of
    which is scanned by itself.
    """
    if call.version >= 9:
        return _scan(
            call, call.tensors(), call.attr("scan_input_axes"), call.attr("scan_input_directions")
        )
    operands = [call.tensor(position) for position in range(1, len(call))]
    batches = [
        _scan(
            call,
            [reshaped(call, part(call, x, 0, number, 1), x.shape[1:]) for x in operands],
            None,
            call.attr("directions"),
        )
        for number in range(operands[0].shape[0])
    ]
    joined = []
    for results in zip(*batches, strict=True):
        wide = [reshaped(call, item, (1, *item.shape)) for item in results]
        joined.append(wide[0] if len(wide) == 1 else call.op("Concat", wide, {"axis": 0}))
    return joined


def _scan(
    call: NodeCall,
    operands: Sequence[Tensor],
    axes: Sequence[int] | None,
    directions: Sequence[int] | None,
) -> list[Tensor]:
    body, count = call.attr("body"), call.attr("num_scan_inputs")
    states, sequences = (
        list(operands[: len(operands) - count]),
        list(operands[len(operands) - count :]),
    )
    for number, x in enumerate(sequences):
        axis = call.axis(axes[number], x.type.rank) if axes else 0
        moved = transposed(call, x, [axis, *(d for d in range(x.type.rank) if d != axis)])
        sequences[number] = (
            reversed_(call, moved, 0) if directions and directions[number] else moved
        )

    def step(
        builder: GraphBuilder, current: list[Tensor], slices: list[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        results = [
            as_tensor(builder, item)
            for item in call.convert_subgraph(builder, body, [*current, *slices])
        ]
        return results[: len(states)], results[len(states) :]

    lasts, piles = call.builder.scan(states, sequences, step, axis=0)
    backwards, places = call.attr("scan_output_directions"), call.attr("scan_output_axes")
    for number, pile in enumerate(piles):
        turned = reversed_(call, pile, 0) if backwards and backwards[number] else pile
        axis = call.axis(places[number], pile.type.rank) if places else 0
        perm = list(range(1, pile.type.rank))
        perm.insert(axis, 0)
        piles[number] = transposed(call, turned, perm)
    return [*lasts, *piles]


CONTROL: dict[str, NodeHandler] = {"If": if_, "Loop": loop, "Scan": scan}
