"""What a fused operator begins with, and the operands that its steps read."""

PRODUCTS = {
    "_FusedConv2D": "Conv2D",
    "FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
    "_FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
    "_FusedMatMul": "MatMul",
}
OPERANDS = {
    "BiasAdd": 1,
    "FusedBatchNorm": 4,
    "Add": 1,
    "Prelu": 1,
    **dict.fromkeys(("Elu", "LeakyRelu", "Relu", "Relu6", "Sigmoid", "Tanh"), 0),
    **dict.fromkeys(("GeluExact", "GeluApproximate", "_FusedHardSwish"), 0),
}
"""The number of operands of each step in `fused_ops`."""
