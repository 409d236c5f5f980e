"""DynamicQuantizeLSTM of com.microsoft: products of 8-bit integers, activations in float32.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from dataclasses import dataclass

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.frontends.onnx.operators.quantize import (
    dynamic_scale,
    integer_product,
    quantize,
)
from webkiln.frontends.onnx.operators.recurrent import operands, options
from webkiln.frontends.onnx.operators.shape import reshaped
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.recurrent import Direction, Recurrence, lstm_cell


@dataclass(frozen=True, slots=True)
class Parameters:
    """The scale and the zero point of weights [inputs, gates * H]: one, or one for each column."""

    scale: Tensor
    zero: Tensor | None


@dataclass(frozen=True, slots=True)
class QuantizedDirection(Direction):
    """The weights have 8 bits. A float operand is quantised by its own range: the entire input at
    once, the state in each step.
    """

    call: NodeCall
    of_kernel: Parameters
    of_recurrent: Parameters

    def input_product(self, builder: GraphBuilder, x: Tensor) -> Tensor:
        return self._product(builder, x, self.kernel, self.of_kernel)

    def state_product(self, builder: GraphBuilder, state: Tensor) -> Tensor:
        return self._product(builder, state, self.recurrent, self.of_recurrent)

    def _product(
        self, builder: GraphBuilder, x: Tensor, weights: Tensor, of_weights: Parameters
    ) -> Tensor:
        inner = self.call.with_operands(builder, self.call.operands)
        weights, weight_scale = map(builder.capture, (weights, of_weights.scale))
        weight_zero = None if of_weights.zero is None else builder.capture(of_weights.zero)
        scale, zero = dynamic_scale(inner, x)
        # A range of zeros, as of the first state, has the scale 1.
        is_empty = inner.op("Equal", [scale, inner.like(0, scale)])
        scale = inner.op("Where", [is_empty, inner.like(1, scale), scale])
        zero = inner.op("Where", [is_empty, inner.like(0, zero), zero])
        codes = quantize(inner, x, scale, zero, "uint8")
        sums = integer_product(inner, codes, zero, weights, weight_zero)
        factors = inner.op("Mul", [weight_scale, scale])
        return inner.op("Mul", [cast(inner, sums, "float32"), factors])


class QuantizedRecurrence(Recurrence):
    """W and R are [directions, I or H, gates * H]. Operands 8 to 11: scale and zero point of W,
    then of R, [directions] or [directions, gates * H].
    """

    def __init__(self, call: NodeCall) -> None:
        names = ("Sigmoid", "Tanh", "Tanh")
        super().__init__(
            call.builder, operands(call, 2), options(call, 4, names, call.type(2).shape[1])
        )
        self.call = call

    def prepared(self, source: Tensor) -> Tensor:
        """Zeros after the longest row, which do not change the range; onnxruntime leaves these
        steps out.
        """
        if self.lengths is None:
            return source
        call, steps = self.call, source.shape[0]
        numbers = call.op("Iota", [], {"size": steps, "dtype": "int32"})
        longest = call.op("ReduceMax", [self.lengths], {"axes": (0,), "keepdims": False})
        inside = reshaped(call, call.op("Less", [numbers, longest]), (steps, 1, 1))
        return call.op("Where", [inside, source, call.like(0, source)])

    def direction(self, number: int) -> Direction:
        call = self.call

        def row(position: int) -> Tensor:
            return self.row(call.tensor(position), number)

        def parameters(first: int) -> Parameters:
            return Parameters(row(first), row(first + 1) if call.has(first + 1) else None)

        return QuantizedDirection(
            number,
            row(1),
            row(2),
            *self.biases(number),
            row(7) if call.has(7) else None,
            self.activations_of(number),
            call,
            parameters(8),
            parameters(10),
        )


def dynamic_quantize_lstm(call: NodeCall) -> list[Tensor]:
    return QuantizedRecurrence(call).run(lstm_cell)


MICROSOFT_RECURRENT: dict[str, NodeHandler] = {"DynamicQuantizeLSTM": dynamic_quantize_lstm}
