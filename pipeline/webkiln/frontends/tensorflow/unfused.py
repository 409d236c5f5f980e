"""The operators that the converter of TensorFlow.js fused, separated for TensorFlow, which does not
know them all.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from webkiln.frontends.tensorflow.fused_steps import OPERANDS, PRODUCTS
from webkiln.frontends.tensorflow.source import control_inputs, data_inputs

WINDOW = ("strides", "padding", "explicit_paddings", "dilations", "data_format")
OPTIONS = {
    "Conv2D": WINDOW,
    "DepthwiseConv2dNative": WINDOW,
    "MatMul": ("transpose_a", "transpose_b"),
    "BiasAdd": ("data_format",),
    "FusedBatchNormV3": ("data_format", "epsilon"),
}
"""The attributes of a fused node that belong to each of its operators, besides the dtype."""
OTHER_NAMES = {"FusedBatchNorm": "FusedBatchNormV3", "Add": "AddV2"}
"""Operators of steps that have another name than the step."""
INSEPARABLE = frozenset({"GeluExact", "GeluApproximate", "_FusedHardSwish"})
"""Steps that are no operators of TensorFlow."""


def unfuse(graph: Any) -> None:
    """Separate the fused nodes of a GraphDef whose steps TensorFlow has, but not those of its
    functions. The last operator has the name of the fused node.
    """
    separated = [
        made
        for node in graph.node
        for made in (_separated(node) if _is_separable(node) else [node])
    ]
    del graph.node[:]
    graph.node.extend(separated)


def _is_separable(node: Any) -> bool:
    if node.op in PRODUCTS:
        steps = {item.decode() for item in node.attr["fused_ops"].list.s}
        return steps <= OPERANDS.keys() - INSEPARABLE
    return node.op in ("Prelu", "_FusedBatchNormEx")


def _separated(node: Any) -> Iterator[Any]:
    def operator(op: str, name: str, inputs: Sequence[str]) -> Any:
        made = type(node)(name=name, op=op, input=[*inputs, *ordered])
        made.attr["T"].CopyFrom(node.attr["T"])
        for option in OPTIONS.get(op, ()):
            if option in node.attr:
                made.attr[option].CopyFrom(node.attr[option])
        if op == "LeakyRelu":
            made.attr["alpha"].CopyFrom(node.attr["leakyrelu_alpha"])
        if op == "FusedBatchNormV3":
            made.attr["U"].CopyFrom(node.attr["U" if "U" in node.attr else "T"])
            made.attr["is_training"].b = False
        return made

    ordered = [f"^{item}" for item in control_inputs(node)]
    operands = list(data_inputs(node))
    steps = [item.decode() for item in node.attr["fused_ops"].list.s]
    # The converter also fuses additions of whole tensors, and calls them BiasAdd.
    channels_last = node.attr["data_format"].s != b"NCHW"
    if node.op == "Prelu":
        value, steps = operands.pop(0), ["Prelu"]
    elif node.op == "_FusedBatchNormEx":
        value, mode = operands.pop(0), node.attr["activation_mode"].s.decode()
        steps = ["FusedBatchNorm", *["Add"] * (len(operands) - 4)]
        steps += [mode] * (mode != "Identity")
    else:
        value = node.name if not steps else f"{node.name}/product"
        yield operator(PRODUCTS[node.op], value, operands[:2])
        del operands[:2]
    for number, step in enumerate(steps):
        name = node.name if number == len(steps) - 1 else f"{node.name}/{number}"
        if step == "Prelu":
            yield operator("Relu", f"{name}/positive", [value])
            yield operator("Neg", f"{name}/opposite", [value])
            yield operator("Relu", f"{name}/negative", [f"{name}/opposite"])
            yield operator("Mul", f"{name}/scaled", [operands.pop(0), f"{name}/negative"])
            yield operator("Sub", name, [f"{name}/positive", f"{name}/scaled"])
        else:
            count = OPERANDS[step]
            is_sum = step == "BiasAdd" and channels_last
            op = "AddV2" if is_sum else OTHER_NAMES.get(step, step)
            yield operator(op, name, [value, *operands[:count]])
            del operands[:count]
        value = name
