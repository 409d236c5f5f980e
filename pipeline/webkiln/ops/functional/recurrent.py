"""RNN, GRU and LSTM in one or two directions. Each direction is a recurrence over the first axis;
the products with the input are computed for all steps at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webkiln.ir.dim import Size
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.activations import hard_sigmoid
from webkiln.ops.functional.indexing import reverse_sequence
from webkiln.ops.functional.slices import sliced
from webkiln.ops.pieces import cast, iota, reshaped, transposed

GateFunction = Callable[[GraphBuilder, Tensor], Tensor]
CellFunction = Callable[[GraphBuilder, Tensor, list[Tensor]], list[Tensor]]
"""(builder, projected input of a step, states) -> next states, the output first."""


def _activation(op: str) -> Callable[[float | None, float | None], GateFunction]:
    return lambda alpha, beta: lambda b, x: b.op(op, [x])


def _leaky(alpha: float | None, beta: float | None) -> GateFunction:
    return lambda b, x: b.op("LeakyRelu", [x], {"alpha": 0.01 if alpha is None else alpha})


def _elu(alpha: float | None, beta: float | None) -> GateFunction:
    return lambda b, x: b.op("Elu", [x], {"alpha": 1.0 if alpha is None else alpha})


def _affine(alpha: float | None, beta: float | None) -> GateFunction:
    return lambda b, x: x * (1.0 if alpha is None else alpha) + (0.0 if beta is None else beta)


def _scaled_tanh(alpha: float | None, beta: float | None) -> GateFunction:
    return lambda b, x: (
        b.op("Tanh", [x * (1.0 if beta is None else beta)]) * (1.0 if alpha is None else alpha)
    )


def _hard_sigmoid(alpha: float | None, beta: float | None) -> GateFunction:
    slope, shift = 0.2 if alpha is None else alpha, 0.5 if beta is None else beta
    return lambda b, x: hard_sigmoid(b, x, slope, shift)


ACTIVATIONS: dict[str, Callable[[float | None, float | None], GateFunction]] = {
    "relu": _activation("Relu"),
    "tanh": _activation("Tanh"),
    "sigmoid": _activation("Sigmoid"),
    "softsign": _activation("Softsign"),
    "softplus": _activation("Softplus"),
    "leakyrelu": _leaky,
    "elu": _elu,
    "affine": _affine,
    "scaledtanh": _scaled_tanh,
    "hardsigmoid": _hard_sigmoid,
}
"""Functions of gates by ONNX's names in lower case, given alpha and beta."""


@dataclass(frozen=True, slots=True)
class Operands:
    """x [T, N, I]; the weights of all directions: kernel [D, gates * H, I], recurrent [D, gates *
    H, H], bias [D, 2 * gates * H], peepholes [D, 3 * H]; the lengths of rows [N]; the initial
    states [D, N, H]. Missing states are zeros.
    """

    x: Tensor
    kernel: Tensor
    recurrent: Tensor
    bias: Tensor | None
    lengths: Tensor | None
    states: Sequence[Tensor | None]
    peepholes: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """`activations` are those of all directions. With `batch_first`, the batch is the first axis of
    x, of the states and of the outputs.
    """

    gates: int
    hidden: Size
    reverse: tuple[bool, ...]
    activations: tuple[GateFunction, ...]
    batch_first: bool = False
    clip: float | None = None
    input_forget: bool = False
    linear_before_reset: bool = False

    def clipped(self, b: GraphBuilder, x: Tensor) -> Tensor:
        """The argument of an activation."""
        if self.clip is None:
            return x
        return b.op("Clip", [x], {"min": -self.clip, "max": self.clip})


@dataclass(frozen=True, slots=True)
class Direction:
    """The weights of one direction: input [I, gates * H], recurrent [H, gates * H], biases [gates *
    H] or None, peepholes [3 * H] or None.
    """

    number: int
    kernel: Tensor
    recurrent: Tensor
    bias: Tensor | None
    recurrent_bias: Tensor | None
    peepholes: Tensor | None
    activations: tuple[GateFunction, ...]

    def input_product(self, b: GraphBuilder, x: Tensor) -> Tensor:
        return b.op("MatMul", [x, self.kernel])

    def state_product(self, b: GraphBuilder, state: Tensor) -> Tensor:
        return b.op("MatMul", [state, self.recurrent])


CellMaker = Callable[[Options, Direction], CellFunction]


class Recurrence:
    """The common part of the three layers."""

    def __init__(self, b: GraphBuilder, operands: Operands, options: Options) -> None:
        self.b, self.operands, self.options = b, operands, options
        self.lengths: Tensor | None = None

    def row(self, x: Tensor, number: int) -> Tensor:
        """The part of weights that belongs to a direction."""
        return reshaped(self.b, sliced(self.b, x, 0, number, 1), x.shape[1:])

    def direction(self, number: int) -> Direction:
        b, operands = self.b, self.operands
        peepholes = None if operands.peepholes is None else self.row(operands.peepholes, number)
        return Direction(
            number,
            transposed(b, self.row(operands.kernel, number), (1, 0)),
            transposed(b, self.row(operands.recurrent, number), (1, 0)),
            *self.biases(number),
            peepholes,
            self.activations_of(number),
        )

    def prepared(self, source: Tensor) -> Tensor:
        """The input [T, N, I] of the products."""
        return source

    def biases(self, number: int) -> tuple[Tensor | None, Tensor | None]:
        """The input and recurrent biases of a direction, [gates * H]."""
        b, width = self.b, self.options.gates * self.options.hidden
        if self.operands.bias is None:
            return None, None
        both = self.row(self.operands.bias, number)
        return sliced(b, both, 0, 0, width), sliced(b, both, 0, width, width)

    def activations_of(self, number: int) -> tuple[GateFunction, ...]:
        count = len(self.options.activations) // len(self.options.reverse)
        return self.options.activations[number * count : (number + 1) * count]

    def first(self, state: int, number: int, x: Tensor) -> Tensor:
        """The initial value of a state, [N, H]."""
        b, shape = self.b, (x.shape[1], self.options.hidden)
        initial = self.operands.states[state]
        if initial is None:
            return b.op("Broadcast", [b.constant(0, x.dtype)], {"shape": shape})
        return reshaped(b, sliced(b, initial, int(self.options.batch_first), number, 1), shape)

    def run(self, make: CellMaker, *, summed: bool = True) -> list[Tensor]:
        """All outputs [T, directions, N, H] and the final states [directions, N, H]. With `summed`,
        both biases are added to the input products.
        """
        b, batch_first = self.b, self.options.batch_first
        x = transposed(b, self.operands.x, (1, 0, 2)) if batch_first else self.operands.x
        if self.operands.lengths is not None:
            self.lengths = cast(b, self.operands.lengths, "int32")
        outputs, finals = [], []
        for number, reverse in enumerate(self.options.reverse):
            direction = self.direction(number)
            by_row = self.lengths if reverse else None
            source = x if by_row is None else reverse_sequence(b, x, by_row)
            projected = direction.input_product(b, self.prepared(source))
            bias = direction.bias
            if bias is not None and direction.recurrent_bias is not None and summed:
                bias = b.op("Add", [bias, direction.recurrent_bias])
            if bias is not None:
                projected = b.op("Add", [projected, bias])
            first = [self.first(state, number, x) for state in range(len(self.operands.states))]
            cell = make(self.options, direction)
            final, stacked = self._scan(cell, projected, first, reverse=reverse and by_row is None)
            outputs.append(stacked if by_row is None else reverse_sequence(b, stacked, by_row))
            finals.append(final)
        ordered = [transposed(b, y, (1, 0, 2)) for y in outputs] if batch_first else outputs
        sequence = self._stack(ordered, 2 if batch_first else 1)
        last = (self._stack(list(states), int(batch_first)) for states in zip(*finals, strict=True))
        return [sequence, *last]

    def _stack(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """Stack along a new axis."""
        wide = [reshaped(self.b, x, (*x.shape[:axis], 1, *x.shape[axis:])) for x in tensors]
        return wide[0] if len(wide) == 1 else self.b.op("Concat", wide, {"axis": axis})

    def _scan(
        self, cell: CellFunction, projected: Tensor, first: list[Tensor], *, reverse: bool
    ) -> tuple[list[Tensor], Tensor]:
        """The final states, and all outputs. After its length, a row keeps its states and outputs
        zeros.
        """
        b, lengths = self.b, self.lengths
        steps, batch = projected.shape[0], projected.shape[1]
        sequences = [projected]
        if lengths is not None:
            numbers = reshaped(b, iota(b, steps, "int32"), (steps, 1))
            inside = b.op("Less", [numbers, reshaped(b, lengths, (1, batch))])
            sequences.append(reshaped(b, inside, (steps, batch, 1)))

        def step(
            builder: GraphBuilder, states: list[Tensor], slices: list[Tensor]
        ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
            following = cell(builder, slices[0], states)
            if lengths is None:
                return following, [following[0]]
            zero = builder.constant(0, projected.dtype)
            selected = [
                builder.op("Where", [slices[1], new, old])
                for new, old in zip(following, states, strict=True)
            ]
            return selected, [builder.op("Where", [slices[1], following[0], zero])]

        states, results = b.scan(first, sequences, step, axis=0, reverse=reverse)
        return states, results[0]


def gate(b: GraphBuilder, x: Tensor, number: int, hidden: Size) -> Tensor:
    attrs = {"starts": (0, number * hidden), "sizes": (x.shape[0], hidden), "steps": (1, 1)}
    return b.op("Slice", [x], attrs)


def lstm_update(
    gates: Sequence[Tensor],
    memory: Tensor,
    gate: Callable[[Tensor], Tensor],
    activation: Callable[[Tensor], Tensor],
) -> tuple[Tensor, Tensor]:
    """The output and the next memory, from the arguments of the gates input, forget, candidate and
    output (Hochreiter & Schmidhuber 1997, Gers et al. 2000).
    """
    enter, forget, candidate, leave = gates
    following = gate(forget) * memory + gate(enter) * activation(candidate)
    return gate(leave) * activation(following), following


def rnn_cell(options: Options, direction: Direction) -> CellFunction:
    def cell(b: GraphBuilder, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        total = b.op("Add", [x, b.op("MatMul", [states[0], direction.recurrent])])
        return [direction.activations[0](b, options.clipped(b, total))]

    return cell


def gru_cell(options: Options, direction: Direction) -> CellFunction:
    """Gates z, r, h. With linear_before_reset, r is applied after the product and its bias."""
    hidden, (f, g) = options.hidden, direction.activations

    def cell(b: GraphBuilder, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        (h,) = states
        inputs = [gate(b, x, number, hidden) for number in range(3)]
        if options.linear_before_reset:
            products = b.op("MatMul", [h, direction.recurrent])
            if direction.recurrent_bias is not None:
                products = b.op("Add", [products, direction.recurrent_bias])
            from_z, from_r, from_h = (gate(b, products, number, hidden) for number in range(3))
        else:
            kernels = [gate(b, direction.recurrent, number, hidden) for number in range(3)]
            from_z, from_r = (b.op("MatMul", [h, kernel]) for kernel in kernels[:2])
        z = f(b, options.clipped(b, b.op("Add", [inputs[0], from_z])))
        r = f(b, options.clipped(b, b.op("Add", [inputs[1], from_r])))
        from_h = (
            b.op("Mul", [r, from_h])
            if options.linear_before_reset
            else b.op("MatMul", [b.op("Mul", [r, h]), kernels[2]])
        )
        new = g(b, options.clipped(b, b.op("Add", [inputs[2], from_h])))
        return [(1.0 - z) * new + b.op("Mul", [z, h])]

    return cell


def lstm_cell(options: Options, direction: Direction) -> CellFunction:
    """Gates i, o, f, c; peepholes of i, o and f."""
    hidden, (f, g, h) = options.hidden, direction.activations

    def peep(b: GraphBuilder, x: Tensor, state: Tensor, number: int) -> Tensor:
        if direction.peepholes is None:
            return x
        weights = b.op(
            "Slice",
            [direction.peepholes],
            {"starts": (number * hidden,), "sizes": (hidden,), "steps": (1,)},
        )
        return b.op("Add", [x, b.op("Mul", [weights, state])])

    def cell(b: GraphBuilder, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        output, memory = states
        total = b.op("Add", [x, direction.state_product(b, output)])
        i, o, forget, c = (gate(b, total, number, hidden) for number in range(4))
        input_gate = f(b, options.clipped(b, peep(b, i, memory, 0)))
        forget_gate = (
            1.0 - input_gate
            if options.input_forget
            else f(b, options.clipped(b, peep(b, forget, memory, 2)))
        )
        new = g(b, options.clipped(b, c))
        following = b.op("Mul", [forget_gate, memory]) + b.op("Mul", [input_gate, new])
        output_gate = f(b, options.clipped(b, peep(b, o, following, 1)))
        return [b.op("Mul", [output_gate, h(b, following)]), following]

    return cell


def rnn(b: GraphBuilder, operands: Operands, options: Options) -> list[Tensor]:
    return Recurrence(b, operands, options).run(rnn_cell)


def gru(b: GraphBuilder, operands: Operands, options: Options) -> list[Tensor]:
    summed = not options.linear_before_reset
    return Recurrence(b, operands, options).run(gru_cell, summed=summed)


def lstm(b: GraphBuilder, operands: Operands, options: Options) -> list[Tensor]:
    return Recurrence(b, operands, options).run(lstm_cell)
