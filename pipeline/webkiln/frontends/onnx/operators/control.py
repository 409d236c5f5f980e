"""If, Loop and Scan."""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import NodeCall, NodeHandler, as_tensor
from webkiln.frontends.nodes.if_and_loop import IF_AND_LOOP
from webkiln.ir.dim import known
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.slices import reversed_along, sliced
from webkiln.ops.pieces import reshaped, transposed


def scan(call: NodeCall) -> list[Tensor]:
    """States and slices of sequences, step by step. In opset 8 the first axis is the batch, and
    each element is scanned separately.
    """
    if call.version >= 9:
        return _scan(
            call, call.tensors(), call.attr("scan_input_axes"), call.attr("scan_input_directions")
        )
    operands = [call.tensor(position) for position in range(1, len(call))]
    batches = [
        _scan(
            call,
            [
                reshaped(call.builder, sliced(call.builder, x, 0, number, 1), x.shape[1:])
                for x in operands
            ],
            None,
            call.attr("directions"),
        )
        for number in range(known(operands[0].shape[0], "the size of the batch"))
    ]
    joined = []
    for results in zip(*batches, strict=True):
        wide = [reshaped(call.builder, item, (1, *item.shape)) for item in results]
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
        moved = transposed(call.builder, x, [axis, *(d for d in range(x.type.rank) if d != axis)])
        sequences[number] = (
            reversed_along(call.builder, moved, 0) if directions and directions[number] else moved
        )

    def step(
        builder: GraphBuilder, current: list[Tensor], slices: list[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        results = [
            as_tensor(builder, item)
            for item in call.convert_subgraph(builder, body, [*current, *slices])
        ]
        return results[: len(states)], results[len(states) :]

    final, stacks = call.builder.scan(states, sequences, step, axis=0)
    directions_out, axes_out = call.attr("scan_output_directions"), call.attr("scan_output_axes")
    for number, stack_ in enumerate(stacks):
        ordered = (
            reversed_along(call.builder, stack_, 0)
            if directions_out and directions_out[number]
            else stack_
        )
        axis = call.axis(axes_out[number], stack_.type.rank) if axes_out else 0
        perm = list(range(1, stack_.type.rank))
        perm.insert(axis, 0)
        stacks[number] = transposed(call.builder, ordered, perm)
    return [*final, *stacks]


CONTROL: dict[str, NodeHandler] = {**IF_AND_LOOP, "Scan": scan}
