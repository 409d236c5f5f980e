"""Cells of recurrent layers: one step from input and states to output and next states."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.activations import activate
from webkiln.frontends.keras.layers.conv import convolution, convolution_same, convolution_shape
from webkiln.frontends.keras.spec import INITIAL, LayerSpec
from webkiln.ir.dim import Shape, Size
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.recurrent import lstm_update
from webkiln.ops.pieces import cast, part


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell.

    `project` is the computation on the input alone, for all steps at once. `step` maps the
    projection of one step and the states [N, *shape] to the output [N, *output] and the next
    states. `shown` is the index of the state that equals the output, if any. `initial` returns the
    initial states for a tensor with N rows; by default, they are zeros.
    """

    states: tuple[Shape, ...]
    output: Shape
    shown: int | None
    project: Callable[[Tensor], Tensor]
    step: Callable[[Tensor, list[Tensor]], tuple[Tensor, list[Tensor]]]
    initial: Callable[[Tensor], list[Tensor]] | None = None

    def start(self, b: GraphBuilder, batch: Size, dtype: str) -> list[Tensor]:
        """The initial states, [batch, *shape]."""
        zero = b.constant(0.0, dtype)
        if self.initial is None:
            return [b.op("Broadcast", [zero], {"shape": (batch, *shape)}) for shape in self.states]
        return [
            cast(b, state, dtype)
            for state in self.initial(b.op("Broadcast", [zero], {"shape": (batch, 1)}))
        ]


class CellBuilder:
    """A built-in cell with the weights kernel [in, gates * units], recurrent_kernel [units, gates *
    units] and bias.
    """

    def __init__(self, converter: Converter, layer: Layer, gates: int) -> None:
        self.converter, self.layer = converter, layer
        self.units = layer.weight("recurrent_kernel").shape[0]
        kernel, recurrent = layer.weight("kernel"), layer.weight("recurrent_kernel")
        if kernel.shape[1:] != (gates * self.units,) or recurrent.shape[1:] != (
            gates * self.units,
        ):
            shapes = f"kernel {list(kernel.shape)} and recurrent_kernel {list(recurrent.shape)}"
            raise layer.error(f"{shapes} do not fit {gates} gates of {self.units} units")
        layer.check_config(units=self.units)

    def weight(self, name: str) -> Tensor:
        return self.converter.convert_to_constant_variable(self.layer.weight(name))

    def gates(self, tensor: Tensor, count: int) -> list[Tensor]:
        return [
            part(self.converter.builder, tensor, 1, gate * self.units, self.units)
            for gate in range(count)
        ]

    def bias(self, row: int | None = None) -> Tensor | None:
        if not self.layer.config.get("use_bias", True):
            return None
        bias = self.weight("bias")
        if row is None or bias.type.rank == 1:
            return bias if row in (None, 0) else None
        return self.converter.builder.op(
            "Reshape", [part(self.converter.builder, bias, 0, row, 1)], {"shape": bias.shape[1:]}
        )

    def matmul(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        y = self.converter.builder.op("MatMul", [x, weight])
        return y if bias is None else self.converter.builder.op("Add", [y, bias])

    def activation(self, x: Tensor) -> Tensor:
        return activate(self.converter.builder, self.layer, x)

    def gate(self, x: Tensor) -> Tensor:
        return activate(self.converter.builder, self.layer, x, "recurrent_activation")


def simple_rnn_cell(converter: Converter, layer: Layer, _: Shape) -> Cell:
    cell = CellBuilder(converter, layer, 1)
    recurrent = cell.weight("recurrent_kernel")

    def step(x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        h = cell.activation(x + cell.matmul(states[0], recurrent, None))
        return h, [h]

    return Cell(
        ((cell.units,),),
        (cell.units,),
        0,
        lambda x: cell.matmul(x, cell.weight("kernel"), cell.bias()),
        step,
    )


def lstm_cell(converter: Converter, layer: Layer, _: Shape) -> Cell:
    """Gates in the order input, forget, candidate, output."""
    cell = CellBuilder(converter, layer, 4)
    recurrent = cell.weight("recurrent_kernel")

    def step(x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        gates = cell.gates(x + cell.matmul(states[0], recurrent, None), 4)
        h, carry = lstm_update(gates, states[1], cell.gate, cell.activation)
        return h, [h, carry]

    return Cell(
        ((cell.units,), (cell.units,)),
        (cell.units,),
        0,
        lambda x: cell.matmul(x, cell.weight("kernel"), cell.bias()),
        step,
    )


def gru_cell(converter: Converter, layer: Layer, _: Shape) -> Cell:
    """Gates in the order update, reset, candidate (Cho et al. 2014). With `reset_after`, the reset
    gate is applied after the product.
    """
    cell = CellBuilder(converter, layer, 3)
    recurrent = cell.weight("recurrent_kernel")
    after = layer.config.get("reset_after", True)
    behind = cell.bias(1)
    early = recurrent if after else part(converter.builder, recurrent, 1, 0, 2 * cell.units)
    late = None if after else part(converter.builder, recurrent, 1, 2 * cell.units, cell.units)

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

    return Cell(
        ((cell.units,),),
        (cell.units,),
        0,
        lambda x: cell.matmul(x, cell.weight("kernel"), cell.bias(0)),
        step,
    )


def stacked_cells(converter: Converter, layer: Layer, features: Shape) -> Cell:
    """Stacked cells: the output of one is the input of the next."""
    cells: list[Cell] = []
    for member in layer.spec.parts.values():
        cells.append(
            cell_of(converter, member, layer.path, cells[-1].output if cells else features)
        )

    def step(x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        following: list[Tensor] = []
        for position, cell in enumerate(cells):
            own = states[len(following) : len(following) + len(cell.states)]
            x, new = cell.step(x if position == 0 else cell.project(x), own)
            following += new
        return x, following

    def initial(rows: Tensor) -> list[Tensor]:
        return [
            state
            for cell in cells
            for state in cell.start(converter.builder, rows.shape[0], rows.dtype)
        ]

    shapes = tuple(shape for cell in cells for shape in cell.states)
    top = cells[-1]
    shown = None if top.shown is None else len(shapes) - len(top.states) + top.shown
    return Cell(
        shapes,
        top.output,
        shown,
        cells[0].project,
        step,
        initial if any(cell.initial for cell in cells) else None,
    )


def conv_lstm_cell(converter: Converter, layer: Layer, image: Shape) -> Cell:
    """ConvLSTM, whose products are convolutions (Shi et al. 2015). Gates in the order input,
    forget, candidate, output.
    """
    b, axis = (
        converter.builder,
        1 if layer.config.get("data_format") == "channels_first" else len(image),
    )
    filters = layer.weight("recurrent_kernel").shape[-2]
    layer.check_config(filters=filters)
    recurrent = converter.convert_to_constant_variable(layer.weight("recurrent_kernel"))

    def project(x: Tensor) -> Tensor:
        images = b.op("Reshape", [x], {"shape": (prod(x.shape[: -len(image)]), *image)})
        y = convolution(converter, layer, images)
        return b.op("Reshape", [y], {"shape": (*x.shape[: -len(image)], *y.shape[1:])})

    def step(x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        inner, shape = converter.builder, states[0].shape
        total = inner.op("Add", [x, convolution_same(converter, layer, states[0], recurrent)])

        def gate(number: int) -> Tensor:
            starts = tuple(number * filters if d == axis else 0 for d in range(len(shape)))
            return inner.op(
                "Slice", [total], {"starts": starts, "sizes": shape, "steps": (1,) * len(shape)}
            )

        h, carry = lstm_update(
            [gate(number) for number in range(4)],
            states[1],
            lambda y: activate(inner, layer, y, "recurrent_activation"),
            lambda y: activate(inner, layer, y),
        )
        return h, [h, carry]

    shape = convolution_shape(layer, image, filters)
    return Cell((shape, shape), shape, 0, project, step)


CELLS: Mapping[str, Callable[[Converter, Layer, Shape], Cell]] = {
    "ConvLSTMCell": conv_lstm_cell,
    "SimpleRNNCell": simple_rnn_cell,
    "LSTMCell": lstm_cell,
    "GRUCell": gru_cell,
    "StackedRNNCells": stacked_cells,
}


def cell_of(converter: Converter, spec: LayerSpec, scope: str, features: Shape) -> Cell:
    """The cell of a recurrent layer with input [N, T, *features]: a built-in one, or a user-defined
    one, which was traced or has a handler.
    """
    layer = Layer(f"{scope}/{spec.name}", spec, 0)
    if spec.own and spec.class_name in CELLS:
        return CELLS[spec.class_name](converter, layer, features)
    if spec.model is None:
        raise layer.unsupported(
            "a cell with a custom handler",
            "Write its call with keras.ops, so that it can be traced",
        )
    shapes = tuple(map(tuple, spec.config["state_shapes"]))

    def step(x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        output, *following = converter.apply(spec, scope, [x, *states])
        return output, following

    first = spec.parts.get(INITIAL)
    initial = None if first is None else lambda rows: converter.apply(first, layer.path, [rows])
    return Cell(shapes, tuple(spec.config["output_shape"]), None, lambda x: x, step, initial)
