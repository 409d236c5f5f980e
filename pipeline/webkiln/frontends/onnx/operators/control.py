"""If, Loop and Scan. What is decided while converting is written out."""

from collections.abc import Sequence

from webkiln.frontends.onnx.call import Call, Handler, Operand, as_tensor, known
from webkiln.frontends.onnx.operators.elementwise import part
from webkiln.frontends.onnx.operators.reduce import reversed_
from webkiln.frontends.onnx.operators.shape import reshaped, transposed
from webkiln.ops.builder import GraphBuilder, Tensor

MOST_STEPS = 1024


def if_(call: Call) -> list[Operand]:
    """The branch that a known condition chooses."""
    chosen = bool(call.numbers(0).reshape(()))
    return call.subgraph(call.builder, call.attr("then_branch" if chosen else "else_branch"), [])


def loop(call: Call) -> list[Operand]:
    """Written out step by step, while the condition is known."""
    body = call.attr("body")
    limit = int(call.numbers(0).reshape(())) if call.has(0) else MOST_STEPS
    going = bool(call.numbers(1).reshape(())) if call.has(1) else True
    state = [call.operand(position) for position in range(2, len(call))]
    piles: list[list[Operand]] = [[] for _ in range(len(body.outputs) - 1 - len(state))]
    step = 0
    while going and step < limit:
        if step == MOST_STEPS:
            raise call.unsupported(f"takes more than {MOST_STEPS} steps", "Write it as a Scan")
        condition, *results = call.subgraph(call.builder, body, [known(step, "int64"), known(True, "bool"), *state])  # noqa: FBT003
        if not condition.is_constant or condition.value is None:
            raise call.open(1 if call.has(1) else 0)
        going = bool(condition.value.reshape(()))
        state = results[: len(state)]
        for pile, result in zip(piles, results[len(state) :], strict=True):
            pile.append(result)
        step += 1
    return [*state, *(stacked(call, pile) for pile in piles)]


def stacked(call: Call, pile: Sequence[Operand]) -> Operand:
    """Equal tensors along a new first axis."""
    if not pile:
        raise call.unsupported("gives results of no step at all", "Remove the loop")
    tensors = [as_tensor(call.builder, item) for item in pile]
    wide = [reshaped(call, item, (1, *item.shape)) for item in tensors]
    whole = call.op("Concat", wide, {"axis": 0})
    return Operand(whole.type, whole)


def scan(call: Call) -> list[Tensor]:
    """States and slices of sequences, step by step. In opset 8 the first axis is a batch, each of which is scanned by itself."""
    if call.version >= 9:
        return _scanned(call, call.tensors(), call.attr("scan_input_axes"), call.attr("scan_input_directions"))
    operands = [call.tensor(position) for position in range(1, len(call))]
    batches = [
        _scanned(call, [reshaped(call, part(call, x, 0, number, 1), x.shape[1:]) for x in operands], None, call.attr("directions"))
        for number in range(operands[0].shape[0])
    ]
    joined = []
    for results in zip(*batches, strict=True):
        wide = [reshaped(call, item, (1, *item.shape)) for item in results]
        joined.append(wide[0] if len(wide) == 1 else call.op("Concat", wide, {"axis": 0}))
    return joined


def _scanned(call: Call, operands: Sequence[Tensor], axes: Sequence[int] | None, directions: Sequence[int] | None) -> list[Tensor]:
    body, count = call.attr("body"), call.attr("num_scan_inputs")
    states, sequences = list(operands[: len(operands) - count]), list(operands[len(operands) - count :])
    for number, x in enumerate(sequences):
        axis = call.axis(axes[number], x.type.rank) if axes else 0
        moved = transposed(call, x, [axis, *(d for d in range(x.type.rank) if d != axis)])
        sequences[number] = reversed_(call, moved, 0) if directions and directions[number] else moved

    def step(builder: GraphBuilder, current: list[Tensor], slices: list[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        results = [as_tensor(builder, item) for item in call.subgraph(builder, body, [*current, *slices])]
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


CONTROL: dict[str, Handler] = {"If": if_, "Loop": loop, "Scan": scan}
