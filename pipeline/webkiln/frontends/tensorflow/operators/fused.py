"""Products and convolutions fused with what follows them: a bias or a batch normalization, and an
activation. Written by Grappler's remapper and by the converter of TensorFlow.js.

https://github.com/tensorflow/tfjs/tree/master/tfjs-converter
"""

from collections.abc import Callable, Mapping, Sequence

from webkiln.frontends.keras.layers import activations
from webkiln.frontends.keras.windows import dims_of
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tensorflow.operators.complex import applied
from webkiln.frontends.tensorflow.operators.convolution import CONVOLUTION
from webkiln.frontends.tensorflow.operators.elementwise import ELEMENTWISE, bias_add
from webkiln.frontends.tensorflow.operators.linear import LINEAR
from webkiln.frontends.tensorflow.operators.windows import layout
from webkiln.ops.builder import Tensor


def prelu(call: NodeCall) -> Tensor:
    """The slopes broadcast to x: one for each channel, or for each element."""
    x, slope = call.tensors()
    return call.op("Where", [call.builder.binary("Greater", x, 0.0), x, slope * x])


def _biased(call: NodeCall, x: Tensor, operands: Sequence[Tensor]) -> Tensor:
    """The converter also fuses additions of whole tensors, and calls them BiasAdd."""
    (bias,) = operands
    return applied(call, bias_add, x, bias) if bias.type.rank == 1 else x + bias


def _normalized(call: NodeCall, x: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """The parameters are scale, offset, mean and variance."""
    axis = dims_of(layout(call), x.type.rank)[1]
    attrs = {"axis": axis, "epsilon": call.attr("epsilon", 1e-4)}
    return call.op("BatchNorm", [x, *parameters], attrs)


STEPS: Mapping[str, tuple[int, Callable[[NodeCall, Tensor, Sequence[Tensor]], Tensor]]] = {
    "BiasAdd": (1, _biased),
    "FusedBatchNorm": (4, _normalized),
    "Add": (1, lambda call, x, operands: x + operands[0]),
    "Prelu": (1, lambda call, x, operands: applied(call, prelu, x, *operands)),
    "LeakyRelu": (
        0,
        lambda call, x, _: call.op("LeakyRelu", [x], {"alpha": call.attr("leakyrelu_alpha", 0.2)}),
    ),
    "GeluExact": (0, lambda call, x, _: activations.gelu(call.builder, x)),
    "GeluApproximate": (0, lambda call, x, _: activations.gelu(call.builder, x, approximate=True)),
    **{
        name: (0, lambda call, x, _, name=name: applied(call, ELEMENTWISE[name], x))  # type: ignore[misc]
        for name in ("Elu", "Relu", "Relu6", "Sigmoid", "Tanh")
    },
}
"""The number of operands that a step reads, and its computation."""


def fused(product: NodeHandler) -> NodeHandler:
    """The product of the first two operands, then the steps in `fused_ops`, which read the others
    in order.
    """

    def handler(call: NodeCall) -> Tensor:
        steps = call.attr("fused_ops", ())
        if unknown := [name for name in steps if name not in STEPS]:
            raise call.unsupported(
                f"is fused with {', '.join(unknown)}", f"Supported are {', '.join(STEPS)}"
            )
        x, w, *rest = call.tensors()
        expected = sum(STEPS[name][0] for name in steps)
        if len(rest) < expected:
            raise call.error(
                f"has {len(rest) + 2} operands; {', '.join(steps)} need {expected + 2}; the graph"
                " is damaged"
            )
        result = applied(call, product, x, w)
        for name in steps:
            count, compute = STEPS[name]
            result = compute(call, result, rest[:count])
            rest = rest[count:]
        return result

    return handler


FUSED: Mapping[str, NodeHandler] = {
    "_FusedConv2D": fused(CONVOLUTION["Conv2D"]),
    "FusedDepthwiseConv2dNative": fused(CONVOLUTION["DepthwiseConv2dNative"]),
    "_FusedDepthwiseConv2dNative": fused(CONVOLUTION["DepthwiseConv2dNative"]),
    "_FusedMatMul": fused(LINEAR["MatMul"]),
    "Prelu": prelu,
}
