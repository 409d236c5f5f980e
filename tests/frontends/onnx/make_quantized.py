"""Writes the files that onnxruntime's quantizer of weights makes of a small network:
`python -m tests.frontends.onnx.make_quantized`. It needs `pip install onnx_ir`.
"""

import sys
from copy import deepcopy
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from onnxruntime.quantization import QuantFormat, matmul_nbits_quantizer

from tests.frontends.onnx.models import floats, model, weight

FOLDER = Path(__file__).parent / "quantized"
FORMATS = {
    "operators": (QuantFormat.QOperator, ("MatMul", "Gather")),
    "qdq": (QuantFormat.QDQ, ("MatMul",)),
}


def network() -> onnx.ModelProto:
    """Two products of the rows of a table."""
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "ids"], ["rows"]),
        node("MatMul", ["rows", "w"], ["hidden"]),
        node("Relu", ["hidden"], ["positive"]),
        node("MatMul", ["positive", "v"], ["y"]),
    ]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [5])
    weights = [weight("table", 80, 128), weight("w", 128, 160), weight("v", 160, 96)]
    return model(nodes, [ids], [floats("y", 5, 96)], weights)


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name, (form, operators) in FORMATS.items():
        quantizer = matmul_nbits_quantizer.MatMulNBitsQuantizer(
            deepcopy(network()),
            bits=4,
            block_size=32,
            quant_format=form,
            op_types_to_quantize=operators,
            quant_axes=(("MatMul", 0), ("Gather", 1)),
        )
        quantizer.process()
        onnx.save(quantizer.model.model, FOLDER / f"{name}.onnx")
    return 0


if __name__ == "__main__":
    sys.exit(main())
