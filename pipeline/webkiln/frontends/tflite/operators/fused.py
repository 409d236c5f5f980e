"""Fused activations."""

from webkiln.frontends.nodes.call import NodeCall
from webkiln.ops.builder import Tensor


def activated(call: NodeCall, y: Tensor) -> Tensor:
    """Apply the node's fused activation to a float result."""
    kind = call.attr("fused_activation_function", "NONE")
    if y.dtype != "float32" and kind in ("RELU6", "RELU_N1_TO_1"):
        low, high = (0, 6) if kind == "RELU6" else (-1, 1)
        return call.op("Clip", [y], {"min": low, "max": high})
    match kind:
        case "NONE":
            return y
        case "RELU" | "RELU6" | "TANH":
            return call.op({"RELU": "Relu", "RELU6": "Relu6", "TANH": "Tanh"}[kind], [y])
        case "RELU_N1_TO_1":
            return call.op("Clip", [y], {"min": -1.0, "max": 1.0})
    raise call.unsupported(f"has the activation {kind}", "Use a separate activation operator")
