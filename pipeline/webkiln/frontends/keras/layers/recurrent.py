"""Recurrent layers: a cell is applied to each step along axis 1, with masks, in either direction,
with states that may persist between runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.cells import CELLS, Cell, cell_of
from webkiln.ir.dim import is_symbolic
from webkiln.ops.builder import GraphBuilder, Tensor


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a recurrent layer: its output (the last one, or all in the order of
    computation), and the last states.
    """

    output: Tensor
    states: list[Tensor]


def cell(converter: Converter, layer: Layer) -> None:
    """A cell that is called directly, on x [N, in] and its states: one step."""
    x, *states = map(converter.get_variable, converter.get_input_tensor(layer))
    inner_cell = CELLS[layer.class_name](converter, layer, x.shape[1:])
    output, following = inner_cell.step(inner_cell.project(x), states)
    _set_outputs(converter, layer, [output, *following])


def recurrent(converter: Converter, layer: Layer) -> None:
    """SimpleRNN, LSTM, GRU, ConvLSTM and RNN: x [N, T, ...]."""
    run = run_cell(converter, layer, *_arguments(converter, layer))
    _set_outputs(
        converter, layer, [run.output, *(run.states if layer.config.get("return_state") else [])]
    )


def bidirectional(converter: Converter, layer: Layer) -> None:
    """Two recurrent layers in opposite directions, whose outputs are merged step by step."""
    x, initial, mask = _arguments(converter, layer)
    forward, backward = (
        Layer(f"{layer.path}/{part.name}", part, 0) for part in layer.spec.parts.values()
    )
    half = len(initial) // 2
    ahead = run_cell(converter, forward, x, initial[:half], mask)
    back = run_cell(converter, backward, x, initial[half:], mask)
    reversed_back = (
        _flip(converter, back.output) if forward.config.get("return_sequences") else back.output
    )
    states = [*ahead.states, *back.states] if forward.config.get("return_state") else []
    _set_outputs(
        converter, layer, [*_merged(converter, layer, [ahead.output, reversed_back]), *states]
    )


def _merged(converter: Converter, layer: Layer, pair: list[Tensor]) -> list[Tensor]:
    first, second = pair
    match layer.config.get("merge_mode", "concat"):
        case None:
            return pair
        case "concat":
            return [converter.builder.op("Concat", pair, {"axis": first.type.rank - 1})]
        case "sum":
            return [first + second]
        case "ave":
            return [(first + second) * 0.5]
        case "mul":
            return [first * second]
        case other:
            raise layer.unsupported(
                f"merge_mode {other!r}", "There are concat, sum, ave, mul and None"
            )


def time_distributed(converter: Converter, layer: Layer) -> None:
    """Apply the wrapped layer to every step, with batch and steps as one axis."""
    x = _arguments(converter, layer)[0]
    (part,) = layer.spec.parts.values()
    batch, steps, *rest = x.shape
    (y,) = converter.apply(
        part, layer.path, [converter.builder.op("Reshape", [x], {"shape": (batch * steps, *rest)})]
    )
    _set_outputs(
        converter,
        layer,
        [converter.builder.op("Reshape", [y], {"shape": (batch, steps, *y.shape[1:])})],
    )


def run_cell(
    converter: Converter, layer: Layer, x: Tensor, initial: Sequence[Tensor], mask: Tensor | None
) -> Run:
    """Run the cell of a recurrent layer over x.

    At a masked step, states do not change; the output is zero, or that of the previous step.
    """
    b, config = converter.builder, layer.config
    inner_cell = cell_of(converter, layer.spec.parts["cell"], layer.path, x.shape[2:])
    batch = x.shape[0]
    states, lasting = _initial_states(converter, layer, inner_cell, initial, x)
    blank = mask if config.get("zero_output_for_mask") else None
    ending = inner_cell.shown if mask is None else len(states)
    stacked = bool(config.get("return_sequences")) or blank is not None or ending is None

    def step(
        inner: GraphBuilder, current: list[Tensor], slices: list[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        output, following = inner_cell.step(slices[0], current[: len(states)])
        if mask is None:
            return following, [output] if stacked else []
        output, *following = (
            inner.op("Where", [_aligned(inner, slices[1], new), new, old])
            for new, old in zip([output, *following], [current[-1], *current], strict=False)
        )
        return [*following, output], [output] if stacked else []

    sequences = [inner_cell.project(x)] if mask is None else [inner_cell.project(x), mask]
    blank_output = (
        []
        if mask is None
        else [b.op("Broadcast", [b.constant(0.0, x.dtype)], {"shape": (batch, *inner_cell.output)})]
    )
    last, results = converter.scan(
        [*states, *blank_output], sequences, step, reverse=bool(config.get("go_backwards"))
    )
    final = last[: len(states)]
    for name, value in zip(lasting, final, strict=False):
        converter.set_state(name, value)
    if ending is not None and not stacked:
        return Run(last[ending], final)
    (outputs,) = results
    if blank is not None:
        is_shown = _aligned(b, blank, outputs)
        outputs = b.op("Where", [is_shown, outputs, b.constant(0.0, x.dtype)])
    if config.get("go_backwards"):
        outputs = _flip(converter, outputs)
    return Run(outputs if config.get("return_sequences") else _last_step(b, outputs), final)


def _initial_states(
    converter: Converter, layer: Layer, inner_cell: Cell, initial: Sequence[Tensor], x: Tensor
) -> tuple[list[Tensor], list[str]]:
    """The states before the first step, and the names of those that persist between runs."""
    batch = x.shape[0]
    states = list(initial) or inner_cell.start(converter.builder, batch, x.dtype)
    lasting = (
        [f"{layer.path}/state{n}" for n, _ in enumerate(states)]
        if layer.config.get("stateful") and not initial
        else []
    )
    if lasting and is_symbolic(batch):
        raise layer.error(
            "keeps its states between runs, which needs a fixed batch size; the batch size is"
            f" {batch}"
        )
    if lasting and inner_cell.initial is not None:
        raise layer.error(
            "keeps its states between runs, and its cell overrides get_initial_state, while Keras"
            " resets the states to zeros"
        )
    if lasting:
        states = [converter.state(name, first) for name, first in zip(lasting, states, strict=True)]
    if len(states) != len(inner_cell.states):
        raise layer.error(f"takes {len(inner_cell.states)} initial states, got {len(states)}")
    return states, lasting


def _aligned(b: GraphBuilder, mask: Tensor, x: Tensor) -> Tensor:
    """The mask, whose axes are the first of x, with trailing axes of size 1."""
    ones = (1,) * (x.type.rank - mask.type.rank)
    return b.op("Reshape", [mask], {"shape": (*x.shape[: mask.type.rank], *ones)})


def _last_step(b: GraphBuilder, x: Tensor) -> Tensor:
    """The last step of x [N, T, ...]: [N, ...]."""
    batch, steps, *rest = x.shape
    attrs = {
        "starts": (0, steps - 1, *(0 for _ in rest)),
        "sizes": (batch, 1, *rest),
        "steps": (1, 1, *(1 for _ in rest)),
    }
    return b.op("Reshape", [b.op("Slice", [x], attrs)], {"shape": (batch, *rest)})


def _flip(converter: Converter, x: Tensor) -> Tensor:
    """Reverse the steps of x [N, T, ...]."""
    rank = x.type.rank
    starts = tuple(x.shape[1] - 1 if axis == 1 else 0 for axis in range(rank))
    attrs = {
        "starts": starts,
        "sizes": x.shape,
        "steps": tuple(-1 if axis == 1 else 1 for axis in range(rank)),
    }
    return converter.builder.op("Slice", [x], attrs)


def _arguments(converter: Converter, layer: Layer) -> tuple[Tensor, list[Tensor], Tensor | None]:
    """The sequence [N, T, ...], the initial states if given, and the mask [N, T]."""
    names = ("sequences", "initial_state", "mask")
    arguments = {**dict(zip(names, layer.arguments.args, strict=False)), **layer.arguments.kwargs}
    first = arguments.get("sequences", arguments.get("inputs"))
    sequence, *states = first if isinstance(first, list) else [first]
    later = arguments.get("initial_state")
    states += later if isinstance(later, list) else [] if later is None else [later]
    if sequence is None:
        raise layer.error("is called without a sequence")
    x = converter.get_variable(sequence)
    if x.type.rank < 3:
        raise layer.error(f"x is {list(x.shape)}; it needs a batch, an axis of steps and features")
    mask = arguments.get("mask")
    return (
        x,
        list(map(converter.get_variable, states)),
        None if mask is None else converter.get_variable(mask),
    )


def _set_outputs(converter: Converter, layer: Layer, tensors: Sequence[Tensor]) -> None:
    for ref, tensor in zip(converter.get_output_tensor(layer), tensors, strict=False):
        converter.set_variable(ref, tensor)
