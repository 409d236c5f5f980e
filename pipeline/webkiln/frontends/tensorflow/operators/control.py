"""`If` and `Case` of TensorFlow 2, whose branches are functions.

https://www.tensorflow.org/api_docs/python/tf/raw_ops
"""

from collections.abc import Mapping, Sequence

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, as_tensor
from webkiln.frontends.nodes.control import branch, selected_branch
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.control_flow import Block
from webkiln.ops.pieces import cast


def if_(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """The branch that a known condition selects, or both. A number is true if it is not 0."""
    branches = [call.attr("then_branch"), call.attr("else_branch")]
    operands = [call.operand(position) for position in range(1, len(call))]
    known = selected_branch(call, call.operand(0))
    if known is not None:
        return call.convert_subgraph(call.builder, branches[0 if known else 1], operands)
    chosen = call.tensor(0)
    truth = cast(call.builder, chosen, "bool") if chosen.type.rank == 0 else None
    if truth is None:
        raise call.unsupported(
            f"has a condition of shape {list(chosen.shape)}", "Use a scalar condition"
        )
    try:
        return branch(call, truth, branches, operands)
    except ShapeError as error:
        raise ShapeError(
            f"{error}; if its condition depends on a constant input, set this input with --value"
        ) from error


def case(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """The branch at an index; the last one if it is out of range."""
    branches = [call.attr(f"branch_{number}") for number in range(call.attr("count"))]
    operands = [call.operand(position) for position in range(1, len(call))]
    if call.operand(0).is_constant:
        chosen = int(call.numbers(0).reshape(()))
        return call.convert_subgraph(
            call.builder, branches[chosen if 0 <= chosen < len(branches) else -1], operands
        )
    index = call.tensor(0)

    def chain(number: int) -> Block:
        def write(builder: GraphBuilder, _: Sequence[Tensor]) -> Sequence[Tensor]:
            if number == len(branches) - 1:
                return [
                    as_tensor(builder, item)
                    for item in call.convert_subgraph(builder, branches[number], operands)
                ]
            is_it = builder.op(
                "Equal", [builder.capture(index), builder.constant(number, index.dtype)]
            )
            return builder.branch(is_it, chain_one(number), chain(number + 1))

        return write

    def chain_one(number: int) -> Block:
        return lambda builder, _: [
            as_tensor(builder, item)
            for item in call.convert_subgraph(builder, branches[number], operands)
        ]

    return chain(0)(call.builder, [])


def merge(call: NodeCall) -> Tensor | GraphValue:
    """The value of the branch that a known condition selects. Otherwise both branches run, so that
    their shapes must agree. Operands: the condition, the value if it is true, the other value.
    """
    chosen = selected_branch(call, call.operand(0))
    if chosen is not None:
        return call.operand(1 if chosen else 2)
    return call.op("Where", call.tensors())


CONTROL: Mapping[str, NodeHandler] = {"If": if_, "Case": case, "Merge": merge}
