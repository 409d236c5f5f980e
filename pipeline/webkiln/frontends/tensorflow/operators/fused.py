"""Products and convolutions fused with what follows them: a bias or a batch normalization, and an
activation. Written by Grappler's remapper and by the converter of TensorFlow.js.

https://github.com/tensorflow/tfjs/tree/master/tfjs-converter
"""

from collections.abc import Callable, Mapping, Sequence

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tensorflow.fused_steps import OPERANDS, PRODUCTS
from webkiln.frontends.tensorflow.operators.complex import applied
from webkiln.frontends.tensorflow.operators.convolution import CONVOLUTION
from webkiln.frontends.tensorflow.operators.elementwise import ELEMENTWISE, bias_add
from webkiln.frontends.tensorflow.operators.linear import LINEAR
from webkiln.frontends.tensorflow.operators.normalization import batch_norm, normalized
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import activations

Step = Callable[[NodeCall, Tensor, Sequence[Tensor]], Tensor]
"""Computes from the node, the result so far and the operands of the step."""


def prelu(call: NodeCall) -> Tensor:
    """The slopes broadcast to x: one for each channel, or for each element."""
    x, slope = call.tensors()
    return activations.prelu(call.builder, x, slope)


def _biased(call: NodeCall, x: Tensor, operands: Sequence[Tensor]) -> Tensor:
    """The converter also fuses additions of whole tensors, and calls them BiasAdd."""
    (bias,) = operands
    return applied(call, bias_add, x, bias) if bias.type.rank == 1 else x + bias


def _activated(name: str) -> Step:
    return lambda call, x, _: applied(call, ELEMENTWISE[name], x)


STEPS: Mapping[str, Step] = {
    "BiasAdd": _biased,
    "FusedBatchNorm": normalized,
    "Add": lambda call, x, operands: x + operands[0],
    "Prelu": lambda call, x, operands: applied(call, prelu, x, *operands),
    "LeakyRelu": lambda call, x, _: call.op(
        "LeakyRelu", [x], {"alpha": call.attr("leakyrelu_alpha", 0.2)}
    ),
    "GeluExact": lambda call, x, _: activations.gelu(call.builder, x),
    "GeluApproximate": lambda call, x, _: activations.gelu(call.builder, x, approximate=True),
    "_FusedHardSwish": lambda call, x, _: activations.hard_silu(call.builder, x),
    **{name: _activated(name) for name in ("Elu", "Relu", "Relu6", "Sigmoid", "Tanh")},
}


def fused(product: NodeHandler) -> NodeHandler:
    """The product of the first two operands, then the steps in `fused_ops`, which read the others
    in order.
    """

    def handler(call: NodeCall) -> Tensor:
        steps = call.attr("fused_ops", ())
        if call.attr("filter_format", "HWIO") != "HWIO":
            raise call.unsupported("has a filter in another layout than HWIO", "Convert it again")
        if unknown := [name for name in steps if name not in STEPS]:
            raise call.unsupported(
                f"is fused with {', '.join(unknown)}", f"Supported are {', '.join(STEPS)}"
            )
        x, w, *rest = call.tensors()
        expected = sum(OPERANDS[name] for name in steps)
        if len(rest) < expected:
            raise call.error(
                f"has {len(rest) + 2} operands; {', '.join(steps)} need {expected + 2}; the graph"
                " is damaged"
            )
        result = applied(call, product, x, w)
        for name in steps:
            count = OPERANDS[name]
            result = STEPS[name](call, result, rest[:count])
            rest = rest[count:]
        return result

    return handler


def _with_steps(call: NodeCall, x: Tensor, steps: Sequence[str]) -> Tensor:
    """Activations without operands."""
    if unknown := [name for name in steps if name not in STEPS or OPERANDS[name]]:
        raise call.unsupported(f"is fused with {', '.join(unknown)}", "Convert without fusion")
    for name in steps:
        x = STEPS[name](call, x, ())
    return x


def batch_norm_activated(call: NodeCall) -> list[Tensor]:
    """A batch normalization, the addition of an optional sixth operand, and an activation."""
    x, *others = batch_norm(call)
    if call.attr("num_side_inputs", 0):
        x = x + call.tensor(5)
    mode = call.attr("activation_mode", "Identity")
    return [_with_steps(call, x, [] if mode == "Identity" else [mode]), *others]


def instance_norm(call: NodeCall) -> Tensor:
    """Normalize over `reduction_axes`, and scale and shift each channel, then the activation of
    `fused_ops`. Written by Grappler's remapper for oneDNN.
    """
    x, scale, offset = call.tensors()
    axes = tuple(call.axis(axis, x.type.rank) for axis in call.attr("reduction_axes", ()))
    channels = tuple(1 if axis == 0 or axis in axes else size for axis, size in enumerate(x.shape))
    scale, offset = (call.op("Reshape", [item], {"shape": channels}) for item in (scale, offset))
    centred = x - call.op("ReduceMean", [x], {"axes": axes, "keepdims": True})
    variance = call.op(
        "ReduceMean", [call.op("Square", [centred])], {"axes": axes, "keepdims": True}
    )
    deviation = call.op("Sqrt", [variance + call.attr("epsilon", 0.001)])
    return _with_steps(call, centred / deviation * scale + offset, call.attr("fused_ops", ()))


FUSED: Mapping[str, NodeHandler] = {
    **{name: fused({**CONVOLUTION, **LINEAR}[op]) for name, op in PRODUCTS.items()},
    "Prelu": prelu,
    "_FusedBatchNormEx": batch_norm_activated,
    "_MklFusedInstanceNorm": instance_norm,
}
