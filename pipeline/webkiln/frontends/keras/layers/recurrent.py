"""Recurrent layers: a cell applied step by step along axis 1, under masks, either way, with states that may last between runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.activations import activate
from webkiln.frontends.keras.spec import LayerSpec
from webkiln.ir.dim import is_symbolic
from webkiln.ops.builder import GraphBuilder, Tensor


@dataclass(frozen=True, slots=True)
class Cell:
    """`project` is what a cell does to its input alone, done for all steps at once; `step` takes the projection of one step and the
    states [N, size], and gives the output [N, width] and the next states. `shown` is the state that the output is, if any."""

    sizes: tuple[int, ...]
    width: int
    shown: int | None
    project: Callable[[Tensor], Tensor]
    step: Callable[[Tensor, list[Tensor]], tuple[Tensor, list[Tensor]]]


@dataclass(frozen=True, slots=True)
class Run:
    """What a recurrent layer gave: its output, the last or all of them in the order in which they were made, and the last states."""

    output: Tensor
    states: list[Tensor]


class CellBuilder:
    """The operators of a built-in cell, whose weights are kernel [in, gates * units], recurrent_kernel [units, gates * units] and bias."""

    def __init__(self, converter: Converter, layer: Layer, gates: int) -> None:
        self.converter, self.layer = converter, layer
        self.units = layer.weight("recurrent_kernel").shape[0]
        kernel, recurrent = layer.weight("kernel"), layer.weight("recurrent_kernel")
        if kernel.shape[1:] != (gates * self.units,) or recurrent.shape[1:] != (gates * self.units,):
            shapes = f"kernel {list(kernel.shape)} and recurrent_kernel {list(recurrent.shape)}"
            raise layer.error(f"{shapes} do not fit {gates} gates of {self.units} units")
        layer.check_config(units=self.units)

    def weight(self, name: str) -> Tensor:
        return self.converter.convert_to_constant_variable(self.layer.weight(name))

    def part(self, tensor: Tensor, axis: int, start: int, count: int) -> Tensor:
        starts = tuple(start if d == axis else 0 for d in range(tensor.type.rank))
        sizes = tuple(count if d == axis else size for d, size in enumerate(tensor.shape))
        return self.converter.builder.op("Slice", [tensor], {"starts": starts, "sizes": sizes, "steps": (1,) * tensor.type.rank})

    def gates(self, tensor: Tensor, count: int) -> list[Tensor]:
        return [self.part(tensor, 1, gate * self.units, self.units) for gate in range(count)]

    def bias(self, row: int | None = None) -> Tensor | None:
        if not self.layer.config.get("use_bias", True):
            return None
        bias = self.weight("bias")
        if row is None or bias.type.rank == 1:
            return bias if row in (None, 0) else None
        return self.converter.builder.op("Reshape", [self.part(bias, 0, row, 1)], {"shape": bias.shape[1:]})

    def matmul(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        y = self.converter.builder.op("MatMul", [x, weight])
        return y if bias is None else self.converter.builder.op("Add", [y, bias])

    def activation(self, x: Tensor) -> Tensor:
        return activate(self.converter.builder, self.layer, x)

    def gate(self, x: Tensor) -> Tensor:
        return activate(self.converter.builder, self.layer, x, "recurrent_activation")


def simple_rnn_cell(converter: Converter, layer: Layer) -> Cell:
    cell = CellBuilder(converter, layer, 1)
    recurrent = cell.weight("recurrent_kernel")

    def step(x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        h = cell.activation(x + cell.matmul(states[0], recurrent, None))
        return h, [h]

    return Cell((cell.units,), cell.units, 0, lambda x: cell.matmul(x, cell.weight("kernel"), cell.bias()), step)


def lstm_cell(converter: Converter, layer: Layer) -> Cell:
    """Gates in the order input, forget, candidate, output (Hochreiter & Schmidhuber 1997, Gers et al. 2000)."""
    cell = CellBuilder(converter, layer, 4)
    recurrent = cell.weight("recurrent_kernel")

    def step(x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        enter, forget, candidate, leave = cell.gates(x + cell.matmul(states[0], recurrent, None), 4)
        carry = cell.gate(forget) * states[1] + cell.gate(enter) * cell.activation(candidate)
        h = cell.gate(leave) * cell.activation(carry)
        return h, [h, carry]

    return Cell((cell.units, cell.units), cell.units, 0, lambda x: cell.matmul(x, cell.weight("kernel"), cell.bias()), step)


def gru_cell(converter: Converter, layer: Layer) -> Cell:
    """Gates in the order update, reset, candidate (Cho et al. 2014); with `reset_after` the reset gate acts behind the product."""
    cell = CellBuilder(converter, layer, 3)
    recurrent = cell.weight("recurrent_kernel")
    after = layer.config.get("reset_after", True)
    behind = cell.bias(1)
    early = recurrent if after else cell.part(recurrent, 1, 0, 2 * cell.units)
    late = None if after else cell.part(recurrent, 1, 2 * cell.units, cell.units)

    def step(x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        h = states[0]
        inner = cell.matmul(h, early, behind)
        x_update, x_reset, x_candidate = cell.gates(x, 3)
        h_update, h_reset, *h_candidate = cell.gates(inner, 3 if late is None else 2)
        update, reset = cell.gate(x_update + h_update), cell.gate(x_reset + h_reset)
        rest = reset * h_candidate[0] if late is None else cell.matmul(reset * h, late, None)
        candidate = cell.activation(x_candidate + rest)
        h = candidate + update * (h - candidate)
        return h, [h]

    return Cell((cell.units,), cell.units, 0, lambda x: cell.matmul(x, cell.weight("kernel"), cell.bias(0)), step)


def stacked_cells(converter: Converter, layer: Layer) -> Cell:
    """Cells on top of each other: the output of one is the input of the next."""
    cells = [cell_of(converter, part, layer.path) for part in layer.spec.parts.values()]

    def step(x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        following: list[Tensor] = []
        for position, cell in enumerate(cells):
            own = states[len(following) : len(following) + len(cell.sizes)]
            x, new = cell.step(x if position == 0 else cell.project(x), own)
            following += new
        return x, following

    sizes = tuple(size for cell in cells for size in cell.sizes)
    top = cells[-1]
    shown = None if top.shown is None else len(sizes) - len(top.sizes) + top.shown
    return Cell(sizes, top.width, shown, cells[0].project, step)


CELLS: Mapping[str, Callable[[Converter, Layer], Cell]] = {
    "SimpleRNNCell": simple_rnn_cell,
    "LSTMCell": lstm_cell,
    "GRUCell": gru_cell,
    "StackedRNNCells": stacked_cells,
}


def cell_of(converter: Converter, spec: LayerSpec, scope: str) -> Cell:
    """The cell of a recurrent layer: a built-in one, or the user's, which was traced or has a handler."""
    layer = Layer(f"{scope}/{spec.name}", spec, 0)
    if spec.own and spec.class_name in CELLS:
        return CELLS[spec.class_name](converter, layer)
    if spec.model is None:
        raise layer.unsupported("a cell with a handler of its own", "Write its call with keras.ops, so that it can be traced")
    sizes = tuple(spec.config["state_size"])

    def step(x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        output, *following = converter.apply(spec, scope, [x, *states])
        return output, following

    return Cell(sizes, spec.config["output_size"], None, lambda x: x, step)


def cell(converter: Converter, layer: Layer) -> None:
    """A cell called by itself, on x [N, in] and its states: one step."""
    x, *states = map(converter.get_variable, converter.get_input_tensor(layer))
    made = CELLS[layer.class_name](converter, layer)
    output, following = made.step(made.project(x), states)
    _set_outputs(converter, layer, [output, *following])


def recurrent(converter: Converter, layer: Layer) -> None:
    """SimpleRNN, LSTM, GRU and RNN: x [N, T, in]."""
    run = run_cell(converter, layer, *_arguments(converter, layer))
    _set_outputs(converter, layer, [run.output, *(run.states if layer.config.get("return_state") else [])])


def bidirectional(converter: Converter, layer: Layer) -> None:
    """A recurrent layer and one that goes the other way, their outputs merged step by step."""
    x, initial, mask = _arguments(converter, layer)
    forward, backward = (Layer(f"{layer.path}/{part.name}", part, 0) for part in layer.spec.parts.values())
    half = len(initial) // 2
    ahead = run_cell(converter, forward, x, initial[:half], mask)
    back = run_cell(converter, backward, x, initial[half:], mask)
    turned = _flip(converter, back.output) if forward.config.get("return_sequences") else back.output
    states = [*ahead.states, *back.states] if forward.config.get("return_state") else []
    _set_outputs(converter, layer, [*_merged(converter, layer, [ahead.output, turned]), *states])


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
            raise layer.unsupported(f"merge_mode {other!r}", "There are concat, sum, ave, mul and None")


def time_distributed(converter: Converter, layer: Layer) -> None:
    """The wrapped layer on every step: to it steps and batch are one axis."""
    x = _arguments(converter, layer)[0]
    (part,) = layer.spec.parts.values()
    batch, steps, *rest = x.shape
    (y,) = converter.apply(part, layer.path, [converter.builder.op("Reshape", [x], {"shape": (batch * steps, *rest)})])
    _set_outputs(converter, layer, [converter.builder.op("Reshape", [y], {"shape": (batch, steps, *y.shape[1:])})])


def run_cell(converter: Converter, layer: Layer, x: Tensor, initial: Sequence[Tensor], mask: Tensor | None) -> Run:
    """Run the cell of a recurrent layer over x.

    At a masked step the states stay as they are; the output is zero, or what the step before gave.
    """
    b, config = converter.builder, layer.config
    made = cell_of(converter, layer.spec.parts["cell"], layer.path)
    batch, steps = x.shape[:2]

    def zeros(width: int) -> Tensor:
        return b.op("Broadcast", [b.constant(0.0, x.dtype)], {"shape": (batch, width)})

    states = list(initial) or [zeros(size) for size in made.sizes]
    lasting = [f"{layer.path}/state{n}" for n, _ in enumerate(states)] if config.get("stateful") and not initial else []
    if lasting and is_symbolic(batch):
        raise layer.error(f"keeps its states between runs, which needs a batch of a fixed size; the batch is {batch}")
    states = [converter.state(name, first) for name, first in zip(lasting, states, strict=True)] if lasting else states
    if len(states) != len(made.sizes):
        raise layer.error(f"takes {len(made.sizes)} initial states, got {len(states)}")
    blank = mask if config.get("zero_output_for_mask") else None
    ending = made.shown if mask is None else len(states)
    stacked = bool(config.get("return_sequences")) or blank is not None or ending is None

    def step(inner: GraphBuilder, current: list[Tensor], slices: list[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        output, following = made.step(slices[0], current[: len(states)])
        if mask is None:
            return following, [output] if stacked else []
        shown = inner.op("Reshape", [slices[1]], {"shape": (batch, 1)})
        output, *following = (
            inner.op("Where", [shown, new, old]) for new, old in zip([output, *following], [current[-1], *current], strict=False)
        )
        return [*following, output], [output] if stacked else []

    sequences = [made.project(x)] if mask is None else [made.project(x), mask]
    held = [] if mask is None else [zeros(made.width)]
    last, results = converter.scan([*states, *held], sequences, step, reverse=bool(config.get("go_backwards")))
    final = last[: len(states)]
    for name, value in zip(lasting, final, strict=False):
        converter.set_state(name, value)
    if ending is not None and not stacked:
        return Run(last[ending], final)
    (outputs,) = results
    if blank is not None:
        outputs = b.op("Where", [b.op("Reshape", [blank], {"shape": (batch, steps, 1)}), outputs, b.constant(0.0, x.dtype)])
    if config.get("go_backwards"):
        outputs = _flip(converter, outputs)
    if config.get("return_sequences"):
        return Run(outputs, final)
    row = b.op("Slice", [outputs], {"starts": (0, steps - 1, 0), "sizes": (batch, 1, made.width), "steps": (1, 1, 1)})
    return Run(b.op("Reshape", [row], {"shape": (batch, made.width)}), final)


def _flip(converter: Converter, x: Tensor) -> Tensor:
    """x [N, T, ...] with its steps in reverse."""
    rank = x.type.rank
    starts = tuple(x.shape[1] - 1 if axis == 1 else 0 for axis in range(rank))
    attrs = {"starts": starts, "sizes": x.shape, "steps": tuple(-1 if axis == 1 else 1 for axis in range(rank))}
    return converter.builder.op("Slice", [x], attrs)


def _arguments(converter: Converter, layer: Layer) -> tuple[Tensor, list[Tensor], Tensor | None]:
    """The sequence [N, T, ...], the initial states if any are given, and the mask [N, T]."""
    names = ("sequences", "initial_state", "mask")
    given = {**dict(zip(names, layer.arguments.args, strict=False)), **layer.arguments.kwargs}
    first = given.get("sequences", given.get("inputs"))
    sequence, *states = first if isinstance(first, list) else [first]
    later = given.get("initial_state")
    states += later if isinstance(later, list) else [] if later is None else [later]
    if sequence is None:
        raise layer.error("is called without a sequence")
    x = converter.get_variable(sequence)
    if x.type.rank < 3:
        raise layer.error(f"x is {list(x.shape)}; it needs a batch, an axis of steps and features")
    mask = given.get("mask")
    return x, list(map(converter.get_variable, states)), None if mask is None else converter.get_variable(mask)


def _set_outputs(converter: Converter, layer: Layer, tensors: Sequence[Tensor]) -> None:
    for ref, tensor in zip(converter.get_output_tensor(layer), tensors, strict=False):
        converter.set_variable(ref, tensor)
