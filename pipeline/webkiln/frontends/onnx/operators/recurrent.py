"""RNN, GRU and LSTM. Each direction is a recurrence over the first axis; the products with the
input are computed for all steps at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast, part
from webkiln.frontends.onnx.operators.indexing import reverse_sequence_of
from webkiln.frontends.onnx.operators.shape import reshaped, transposed
from webkiln.ops.builder import GraphBuilder, Tensor

GateFunction = Callable[[GraphBuilder, Tensor], Tensor]
CellFunction = Callable[[GraphBuilder, Tensor, list[Tensor]], list[Tensor]]


def _activation(op: str, **attrs: float) -> Callable[[float | None, float | None], GateFunction]:
    return lambda alpha, beta: lambda builder, x: builder.op(op, [x], attrs)


def _leaky(alpha: float | None, beta: float | None) -> GateFunction:
    return lambda builder, x: builder.op(
        "LeakyRelu", [x], {"alpha": 0.01 if alpha is None else alpha}
    )


def _elu(alpha: float | None, beta: float | None) -> GateFunction:
    return lambda builder, x: builder.op("Elu", [x], {"alpha": 1.0 if alpha is None else alpha})


def _affine(alpha: float | None, beta: float | None) -> GateFunction:
    return lambda builder, x: (
        x * (1.0 if alpha is None else alpha) + (0.0 if beta is None else beta)
    )


def _scaled_tanh(alpha: float | None, beta: float | None) -> GateFunction:
    return lambda builder, x: (
        builder.op("Tanh", [x * (1.0 if beta is None else beta)])
        * (1.0 if alpha is None else alpha)
    )


def _hard_sigmoid(alpha: float | None, beta: float | None) -> GateFunction:
    slope, shift = 0.2 if alpha is None else alpha, 0.5 if beta is None else beta
    return lambda builder, x: builder.op("Clip", [x * slope + shift], {"min": 0, "max": 1})


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

    def input_product(self, builder: GraphBuilder, x: Tensor) -> Tensor:
        return builder.op("MatMul", [x, self.kernel])

    def state_product(self, builder: GraphBuilder, state: Tensor) -> Tensor:
        return builder.op("MatMul", [state, self.recurrent])


class Recurrence:
    """The common part of the three operators. `gates` and `states` are their numbers. Operands: X,
    W, R, B, lengths, initial states.
    """

    def __init__(self, call: NodeCall, gates: int, states: int, standard: Sequence[str]) -> None:
        self.call, self.gates, self.states = call, gates, states
        self.hidden: int = call.attr("hidden_size") or call.type(2).shape[-1]
        self.names = {
            "forward": ("forward",),
            "reverse": ("reverse",),
            "bidirectional": ("forward", "reverse"),
        }[call.attr("direction", "forward")]
        self.batch_first = bool(call.attr("layout", 0))
        names = call.attr("activations") or tuple(standard) * len(self.names)
        alphas, betas = (
            list(call.attr("activation_alpha") or ()),
            list(call.attr("activation_beta") or ()),
        )
        takes_alpha = {"leakyrelu", "elu", "affine", "scaledtanh", "hardsigmoid", "thresholdedrelu"}
        self.activations = []
        for name in names:
            key = name.lower()
            if key not in ACTIVATIONS:
                raise call.unsupported(
                    f"has the activation {name}", f"Supported are {', '.join(ACTIVATIONS)}"
                )
            alpha = alphas.pop(0) if key in takes_alpha and alphas else None
            beta = betas.pop(0) if key in takes_alpha - {"leakyrelu", "elu"} and betas else None
            self.activations.append(ACTIVATIONS[key](alpha, beta))

    def direction(self, number: int) -> Direction:
        call = self.call

        def row(x: Tensor) -> Tensor:
            return reshaped(call, part(call, x, 0, number, 1), x.shape[1:])

        peepholes = row(call.tensor(7)) if call.has(7) else None
        return Direction(
            number,
            transposed(call, row(call.tensor(1)), (1, 0)),
            transposed(call, row(call.tensor(2)), (1, 0)),
            *self.biases(number),
            peepholes,
            self.activations_of(number),
        )

    def prepared(self, source: Tensor, lengths: Tensor | None) -> Tensor:
        """The input [T, N, I] of the products; `lengths` are those of the rows, [N]."""
        return source

    def biases(self, number: int) -> tuple[Tensor | None, Tensor | None]:
        """The input and recurrent biases of a direction, [gates * H]."""
        call, width = self.call, self.gates * self.hidden
        if not call.has(3):
            return None, None
        rows = call.tensor(3)
        both = reshaped(call, part(call, rows, 0, number, 1), rows.shape[1:])
        return part(call, both, 0, 0, width), part(call, both, 0, width, width)

    def activations_of(self, number: int) -> tuple[GateFunction, ...]:
        count = len(self.activations) // len(self.names)
        return tuple(self.activations[number * count : (number + 1) * count])

    def first(self, position: int, number: int, x: Tensor) -> Tensor:
        """The initial value of a state [N, H]; zeros if the operand is absent."""
        shape = (x.shape[1], self.hidden)
        if not self.call.has(position):
            return self.call.op("Broadcast", [self.call.like(0, x)], {"shape": shape})
        initial = self.call.tensor(position)
        return reshaped(
            self.call, part(self.call, initial, 1 if self.batch_first else 0, number, 1), shape
        )

    def run(
        self, make: Callable[[NodeCall, int, Direction], CellFunction], *, summed: bool = True
    ) -> list[Tensor]:
        """All outputs [T, directions, N, H] and the final states [directions, N, H]. With `summed`,
        both biases are added to the input products.
        """
        call = self.call
        x = transposed(call, call.tensor(0), (1, 0, 2)) if self.batch_first else call.tensor(0)
        lengths = cast(call, call.tensor(4), "int32") if call.has(4) else None
        outputs, finals = [], []
        for number, name in enumerate(self.names):
            direction = self.direction(number)
            reverse = name == "reverse"
            source = reverse_sequence_of(call, x, lengths) if reverse and lengths is not None else x
            projected = direction.input_product(call.builder, self.prepared(source, lengths))
            bias = direction.bias
            if bias is not None and direction.recurrent_bias is not None and summed:
                bias = call.op("Add", [bias, direction.recurrent_bias])
            if bias is not None:
                projected = call.op("Add", [projected, bias])
            first = [self.first(5 + state, number, x) for state in range(self.states)]
            cell = make(call, self.hidden, direction)
            final, stacked = self._scan(
                cell, projected, first, lengths, reverse=reverse and lengths is None
            )
            outputs.append(
                reverse_sequence_of(call, stacked, lengths)
                if reverse and lengths is not None
                else stacked
            )
            finals.append(final)
        axis = 2 if self.batch_first else 1
        ordered = [transposed(call, y, (1, 0, 2)) for y in outputs] if self.batch_first else outputs
        sequence = self._stack(ordered, axis)
        return [
            sequence,
            *(
                self._stack([final[state] for final in finals], 1 if self.batch_first else 0)
                for state in range(self.states)
            ),
        ]

    def _stack(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """Stack along a new axis."""
        wide = [reshaped(self.call, x, (*x.shape[:axis], 1, *x.shape[axis:])) for x in tensors]
        return wide[0] if len(wide) == 1 else self.call.op("Concat", wide, {"axis": axis})

    def _scan(
        self,
        cell: CellFunction,
        projected: Tensor,
        first: list[Tensor],
        lengths: Tensor | None,
        *,
        reverse: bool,
    ) -> tuple[list[Tensor], Tensor]:
        """The final states, and all outputs. After its length, a row keeps its states and outputs
        zeros.
        """
        call = self.call
        steps, batch = projected.shape[0], projected.shape[1]
        sequences = [projected]
        if lengths is not None:
            numbers = reshaped(
                call, call.op("Iota", [], {"size": steps, "dtype": "int32"}), (steps, 1)
            )
            inside = call.op("Less", [numbers, reshaped(call, lengths, (1, batch))])
            sequences.append(reshaped(call, inside, (steps, batch, 1)))

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

        states, results = call.builder.scan(first, sequences, step, axis=0, reverse=reverse)
        return states, results[0]


def gate(builder: GraphBuilder, x: Tensor, number: int, hidden: int) -> Tensor:
    attrs = {"starts": (0, number * hidden), "sizes": (x.shape[0], hidden), "steps": (1, 1)}
    return builder.op("Slice", [x], attrs)


def argument_clip(call: NodeCall) -> Callable[[GraphBuilder, Tensor], Tensor]:
    """A function that clips the arguments of activations, if the node says so with `clip`."""
    limit: Any = call.attr("clip")
    return lambda builder, x: (
        x if limit is None else builder.op("Clip", [x], {"min": -limit, "max": limit})
    )


def _rnn_cell(call: NodeCall, hidden: int, direction: Direction) -> CellFunction:
    clip = argument_clip(call)

    def cell(builder: GraphBuilder, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        total = builder.op("Add", [x, builder.op("MatMul", [states[0], direction.recurrent])])
        return [direction.activations[0](builder, clip(builder, total))]

    return cell


def _gru_cell(call: NodeCall, hidden: int, direction: Direction) -> CellFunction:
    """Gates z, r, h. With linear_before_reset, r is applied after the product and its bias."""
    clip, (f, g) = argument_clip(call), direction.activations

    def cell(builder: GraphBuilder, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        (h,) = states
        inputs = [gate(builder, x, number, hidden) for number in range(3)]
        if call.attr("linear_before_reset", 0):
            products = builder.op("MatMul", [h, direction.recurrent])
            if direction.recurrent_bias is not None:
                products = builder.op("Add", [products, direction.recurrent_bias])
            from_z, from_r, from_h = (
                gate(builder, products, number, hidden) for number in range(3)
            )
        else:
            kernels = [gate(builder, direction.recurrent, number, hidden) for number in range(3)]
            from_z, from_r = (builder.op("MatMul", [h, kernel]) for kernel in kernels[:2])
        z = f(builder, clip(builder, builder.op("Add", [inputs[0], from_z])))
        r = f(builder, clip(builder, builder.op("Add", [inputs[1], from_r])))
        from_h = (
            builder.op("Mul", [r, from_h])
            if call.attr("linear_before_reset", 0)
            else builder.op("MatMul", [builder.op("Mul", [r, h]), kernels[2]])
        )
        new = g(builder, clip(builder, builder.op("Add", [inputs[2], from_h])))
        return [(1.0 - z) * new + builder.op("Mul", [z, h])]

    return cell


def lstm_cell(call: NodeCall, hidden: int, direction: Direction) -> CellFunction:
    """Gates i, o, f, c; peepholes of i, o and f."""
    clip, (f, g, h) = argument_clip(call), direction.activations

    def peep(builder: GraphBuilder, x: Tensor, state: Tensor, number: int) -> Tensor:
        if direction.peepholes is None:
            return x
        weights = builder.op(
            "Slice",
            [direction.peepholes],
            {"starts": (number * hidden,), "sizes": (hidden,), "steps": (1,)},
        )
        return builder.op("Add", [x, builder.op("Mul", [weights, state])])

    def cell(builder: GraphBuilder, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        output, memory = states
        total = builder.op("Add", [x, direction.state_product(builder, output)])
        i, o, forget, c = (gate(builder, total, number, hidden) for number in range(4))
        input_gate = f(builder, clip(builder, peep(builder, i, memory, 0)))
        forget_gate = (
            1.0 - input_gate
            if call.attr("input_forget", 0)
            else f(builder, clip(builder, peep(builder, forget, memory, 2)))
        )
        new = g(builder, clip(builder, c))
        following = builder.op("Mul", [forget_gate, memory]) + builder.op("Mul", [input_gate, new])
        output_gate = f(builder, clip(builder, peep(builder, o, following, 1)))
        return [builder.op("Mul", [output_gate, h(builder, following)]), following]

    return cell


def rnn(call: NodeCall) -> list[Tensor]:
    return Recurrence(call, 1, 1, ("Tanh",)).run(_rnn_cell)


def gru(call: NodeCall) -> list[Tensor]:
    return Recurrence(call, 3, 1, ("Sigmoid", "Tanh")).run(
        _gru_cell, summed=not call.attr("linear_before_reset", 0)
    )


def lstm(call: NodeCall) -> list[Tensor]:
    return Recurrence(call, 4, 2, ("Sigmoid", "Tanh", "Tanh")).run(lstm_cell)


RECURRENT: dict[str, NodeHandler] = {"RNN": rnn, "GRU": gru, "LSTM": lstm}
