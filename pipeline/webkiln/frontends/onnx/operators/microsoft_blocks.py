"""Operators of com.microsoft whose weights are quantised by blocks: MatMulNBits and
GatherBlockQuantized.
"""

from math import prod

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast, part
from webkiln.frontends.onnx.operators.shape import reshaped
from webkiln.ir.dim import known
from webkiln.ops.builder import Tensor

BYTE = 8
PACKED_BITS = (2, 4, 8)


def matmul_n_bits(call: NodeCall) -> Tensor:
    """A product with weights of 2, 4 or 8 bits, [columns, blocks, bytes]. Scales and zero points
    are those of a block of rows, or of the group that operand 4 gives for each row.
    """
    a, rows, columns = call.tensor(0), call.attr("K"), call.attr("N")
    bits, block = call.attr("bits", 4), call.attr("block_size")
    if bits not in PACKED_BITS:
        raise call.unsupported(f"has weights of {bits} bits", "Quantise it to 2, 4 or 8 bits")
    if call.attr("weight_prepacked", 0):
        raise call.unsupported(
            "has weights in the layout of a CUDA kernel", "Save the model with weight_prepacked=0"
        )
    blocks = -(-rows // block)
    codes = part(call, unpacked(call, call.tensor(1), (columns, blocks * block), bits), 1, 0, rows)
    weights = cast(call, codes, "float32")
    zero = call.constant(1 << (bits - 1), "float32")
    if call.has(3):
        points = call.tensor(3)
        if points.dtype == "uint8":
            wide = (columns, points.type.size // columns * (BYTE // bits))
            points = part(call, unpacked(call, points, wide, bits), 1, 0, blocks)
        zero = by_row(call, reshaped(call, points, (columns, blocks)), block)
    scale = by_row(call, reshaped(call, call.tensor(2), (columns, blocks)), block)
    kernel = call.op("Mul", [call.op("Sub", [weights, zero]), scale])
    flat = reshaped(call, cast(call, a, "float32"), (prod(a.shape[:-1]), rows))
    y = call.op("MatMul", [flat, kernel], {"transpose_b": True})
    y = reshaped(call, y, (*a.shape[:-1], columns))
    if call.has(5):
        y = call.op("Add", [y, cast(call, call.tensor(5), "float32")])
    return cast(call, y, a.dtype)


def by_row(call: NodeCall, values: Tensor, block: int) -> Tensor:
    """Parameters of blocks, [columns, blocks], for each row: float32 [columns, rows]."""
    rows, wide = call.attr("K"), cast(call, values, "float32")
    if not call.has(4):
        return call.op("Repeat", [wide], {"axis": 1, "times": block, "size": rows})
    groups = part(call, cast(call, call.tensor(4), "int32"), 0, 0, rows)
    return call.op("Gather", [wide, groups], {"axis": 1})


def unpacked(call: NodeCall, packed: Tensor, shape: tuple[int, int], bits: int) -> Tensor:
    """The numbers that the bytes of a matrix contain, those in the low bits first."""
    rows, columns = shape
    return unpack(call, reshaped(call, packed, (rows, columns * bits // BYTE)), bits)


def unpack(call: NodeCall, packed: Tensor, bits: int) -> Tensor:
    return packed if bits == BYTE else call.op("UnpackBits", [packed], {"bits": bits})


def gather_block_quantized(call: NodeCall) -> Tensor:
    """Rows of a table that is quantised by blocks, dequantised after they have been selected.
    Operands: data, indices, scales, zero points.
    """
    data, indices, scales = call.tensor(0), call.tensor(1), call.tensor(2)
    stored = (call.attr("stored") or ("",))[0]
    bits = BYTE if stored else call.attr("bits", 4)
    if bits not in PACKED_BITS:
        raise call.unsupported(f"has weights of {bits} bits", "Quantise it to 2, 4 or 8 bits")
    axis = call.axis(call.attr("gather_axis", 0), data.type.rank)
    along = call.axis(call.attr("quantize_axis", 1), data.type.rank)
    if not stored and (axis, along) != (0, data.type.rank - 1):
        raise call.unsupported(
            f"has bytes that are quantised along axis {along} and selected along axis {axis}",
            "onnxruntime expects the last axis, and axis 0",
        )
    size = known(data.shape[along], "the axis of blocks") * (BYTE // bits)
    block = call.attr("block_size", 128) or size
    codes = unpack(call, call.op("Gather", [data, indices], {"axis": axis}), bits)
    rows = indices if axis != along else block_numbers(call, indices, size, block)
    repeat = {"axis": along + (indices.type.rank - 1) * (along > axis), "times": block}

    def selected(values: Tensor, bits: int = BYTE) -> Tensor:
        """Parameters of the blocks as float32 for each of the selected numbers."""
        if values.shape[axis] == 1 != data.shape[axis]:
            shape = (*values.shape[:axis], *[1] * indices.type.rank, *values.shape[axis + 1 :])
            values = reshaped(call, values, shape)
        else:
            values = call.op("Gather", [values, rows], {"axis": axis})
        values = cast(call, unpack(call, values, bits), "float32")
        if axis == along:
            return values
        if bits < BYTE:
            values = part(call, values, values.type.rank - 1, 0, scales.shape[-1])
        return call.op("Repeat", [values], {**repeat, "size": size})

    y = cast(call, codes, "float32")
    if call.has(3):
        y = call.op("Sub", [y, selected(call.tensor(3), bits)])
    elif not stored:
        y = y - float(1 << (bits - 1))
    return cast(call, call.op("Mul", [y, selected(scales)]), scales.dtype)


def block_numbers(call: NodeCall, indices: Tensor, size: int, block: int) -> Tensor:
    """The block of each index; negative indices count from the end."""
    wide = cast(call, indices, "int32")
    is_negative = call.op("Less", [wide, call.constant(0, "int32")])
    return call.op("Where", [is_negative, wide + size, wide]) / block


MICROSOFT_BLOCKS: dict[str, NodeHandler] = {
    "MatMulNBits": matmul_n_bits,
    "GatherBlockQuantized": gather_block_quantized,
}
