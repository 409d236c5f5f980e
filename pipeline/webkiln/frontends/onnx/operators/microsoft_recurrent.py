"""DynamicQuantizeLSTM of com.microsoft: products of 8-bit integers, activations in float32.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from dataclasses import dataclass

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.frontends.onnx.operators.quantize import (
    dynamic_scale,
    quantize,
    subtract_zero_point,
)
from webkiln.frontends.onnx.operators.recurrent import operands, options
from webkiln.frontends.onnx.operators.shape import reshaped
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.linear import matrix_product
from webkiln.ops.functional.recurrent import Direction, Recurrence, lstm_cell


@dataclass(frozen=True, slots=True)
class QuantizedDirection(Direction):
    """The weights are int32, without their zero points. A float operand is quantised by its own
    range: the entire input at once, the state in each step.
    """

    call: NodeCall
    kernel_scale: Tensor
    recurrent_scale: Tensor

    def input_product(self, builder: GraphBuilder, x: Tensor) -> Tensor:
        return self._product(builder, x, self.kernel, self.kernel_scale)

    def state_product(self, builder: GraphBuilder, state: Tensor) -> Tensor:
        return self._product(builder, state, self.recurrent, self.recurrent_scale)

    def _product(
        self, builder: GraphBuilder, x: Tensor, weights: Tensor, weight_scale: Tensor
    ) -> Tensor:
        inner = self.call.with_operands(builder, self.call.operands)
        weights, weight_scale = map(builder.capture, (weights, weight_scale))
        scale, zero = dynamic_scale(inner, x)
        # A range of zeros, as of the first state, has the scale 1.
        is_empty = inner.op("Equal", [scale, inner.like(0, scale)])
        scale = inner.op("Where", [is_empty, inner.like(1, scale), scale])
        zero = inner.op("Where", [is_empty, inner.like(0, zero), zero])
        centred = subtract_zero_point(inner, quantize(inner, x, scale, zero, "uint8"), zero, 0)
        product = cast(inner, matrix_product(inner.builder, centred, weights), "float32")
        return inner.op("Mul", [product, inner.op("Mul", [weight_scale, scale])])


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

        def weights(position: int, zero: int) -> Tensor:
            offset = row(zero) if call.has(zero) else None
            return subtract_zero_point(call, row(position), offset, 1)

        biases, peepholes = self.biases(number), row(7) if call.has(7) else None
        return QuantizedDirection(
            number,
            weights(1, 9),
            weights(2, 11),
            *biases,
            peepholes,
            self.activations_of(number),
            call,
            row(8),
            row(10),
        )


def dynamic_quantize_lstm(call: NodeCall) -> list[Tensor]:
    return QuantizedRecurrence(call).run(lstm_cell)


MICROSOFT_RECURRENT: dict[str, NodeHandler] = {"DynamicQuantizeLSTM": dynamic_quantize_lstm}
