"""The layouts of GPTQ and AWQ: codes and zero points in words of 32 bits, and a scale for each
group of inputs and each output.

The weight [out, in] is (code - zero point) * scale. GPTQ packs 32 codes of an output along the
inputs in `bits` words, the lowest bits first, and zero points along the outputs; AWQ ("gemm") packs
both along the outputs, in an order of its own. The sources are the packages auto-gptq
(`qlinear_cuda.py`), gptqmodel (`utils/model_dequant.py`) and autoawq (`utils/packing_utils.py`).
"""

from collections.abc import Mapping

import numpy as np
import torch

from webkiln.frontends.torch.block_weights import BYTE, BlockWeights, Plane, packed
from webkiln.frontends.torch.quantization_config import LayoutError, QuantizationConfig
from webkiln.ir.types import Array

PARTS = ("qweight", "qzeros", "scales", "g_idx")
WORD = 32
WIDTHS = (2, 3, 4, 8)
AWQ_BITS, AWQ_ORDER = 4, (0, 4, 1, 5, 2, 6, 3, 7)
"""The fields of a word that have the codes of neighbouring outputs."""
SCALES = frozenset({torch.float16, torch.float32})
LESS_ONE, AS_IS = "gptq", "gptq_v2"
"""The layouts that store zero points less 1, and as they are."""


def read_words(tensors: Mapping[str, torch.Tensor], config: QuantizationConfig) -> BlockWeights:
    """The weight of a layer that has `tensors` by the names of `PARTS`. Raises LayoutError."""
    if missing := [name for name in PARTS[:3] if name not in tensors]:
        raise LayoutError(f"{' and '.join(missing)} is missing")
    qweight, qzeros, scales = (tensors[name] for name in PARTS[:3])
    if {qweight.dtype, qzeros.dtype} != {torch.int32} or scales.dtype not in SCALES:
        raise LayoutError(
            f"qweight is {_name(qweight)}, qzeros {_name(qzeros)}, scales {_name(scales)}, expected"
            " int32, int32, and float16 or float32"
        )
    if not qweight.ndim == qzeros.ndim == scales.ndim == 2 or not min(
        *qweight.shape, *qzeros.shape, *scales.shape
    ):
        raise LayoutError(_unknown(qweight, qzeros, scales))
    groups, outputs = scales.shape
    bits = WORD * qzeros.shape[1] // outputs
    if qzeros.shape != (groups, -(-outputs * bits // WORD)) or bits not in WIDTHS:
        raise LayoutError(_unknown(qweight, qzeros, scales))
    words, zero_words = qweight.numpy().view(np.uint32), qzeros.numpy().view(np.uint32)
    if qweight.shape[1] == outputs and qweight.shape[0] * WORD % bits == 0:
        codes = _packed_codes(np.ascontiguousarray(words.T), bits)
        zeros = _fields(zero_words, bits)[:, :outputs]
        zeros = _zeros_of_gptq(zeros, bits, config.gptq_layout())
    elif (
        bits == AWQ_BITS
        and qweight.shape[1] == qzeros.shape[1]
        and outputs % BYTE == qweight.shape[0] % 2 == 0
    ):
        config.check_awq()
        codes = (packed(_awq_fields(words).T, AWQ_BITS),)
        zeros = _awq_fields(zero_words)
    else:
        raise LayoutError(_unknown(qweight, qzeros, scales))
    inputs = codes[0].width
    order, length = _groups(tensors.get("g_idx"), inputs, groups, config)
    points, center = _points(np.ascontiguousarray(zeros.T), bits, length)
    scale = Plane(np.ascontiguousarray(scales.numpy().T), WORD, columns=length)
    return BlockWeights(
        codes, center, (scale,), shape=(outputs, inputs), points=points, groups=order
    )


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _unknown(*tensors: torch.Tensor) -> str:
    qweight, qzeros, scales = (list(tensor.shape) for tensor in tensors)
    return (
        f"qweight {qweight}, qzeros {qzeros} and scales {scales} are neither those of GPTQ with 2,"
        ' 3, 4 or 8 bits nor of AWQ ("gemm")'
    )


def _packed_codes(words: Array, bits: int) -> tuple[Plane, ...]:
    """[out, words] of codes along the inputs, as they are; those of 3 bits as 2 bits and 1 bit."""
    if bits == 3:
        codes = _fields(words, bits)
        return packed(codes & 3, 2), packed(codes >> 2, 1)
    return (Plane(words.astype("<u4", copy=False).view(np.uint8), bits),)


def _fields(words: Array, bits: int) -> Array:
    """uint8 [rows, 32 words / bits]: the fields of `bits` bits of a row, which may be parts of two
    words.
    """
    flags = np.unpackbits(
        np.ascontiguousarray(words).astype("<u4", copy=False).view(np.uint8),
        axis=1,
        bitorder="little",
    )
    count = flags.shape[1] // bits
    places = (1 << np.arange(bits)).astype(np.uint8)
    fields = flags[:, : count * bits].reshape(-1, count, bits) * places
    return np.asarray(fields.sum(-1, np.uint8))


def _awq_fields(words: Array) -> Array:
    fields = _fields(words, AWQ_BITS).reshape(len(words), -1, BYTE)
    return np.asarray(fields[..., AWQ_ORDER].reshape(len(words), -1))


def _zeros_of_gptq(zeros: Array, bits: int, layout: str) -> Array:
    """The zero points of what is stored."""
    if layout == AS_IS:
        return zeros
    if (zeros == (1 << bits) - 1).any():
        raise LayoutError(
            f"its zero points, stored less 1, include {(1 << bits) - 1}, which programs read in"
            f" different ways; save it as {AS_IS}"
        )
    return np.asarray(zeros + np.uint8(1))


def _groups(
    order: torch.Tensor | None, inputs: int, groups: int, config: QuantizationConfig
) -> tuple[Array | None, int]:
    """The group of each input, if those of a group are not neighbours, and the length of groups,
    of which the last may be shorter.
    """
    if order is None or not order.numel():
        declared = config.group_size
        length = inputs if declared == -1 else declared or -(-inputs // groups)
        if -(-inputs // length) != groups or (not declared and inputs % groups):
            raise LayoutError(f"{groups} groups of {inputs} inputs, and no g_idx")
        return None, length
    if order.shape != (inputs,) or order.dtype not in (torch.int32, torch.int64):
        raise LayoutError(f"g_idx is {_name(order)} {list(order.shape)}, expected int32 [{inputs}]")
    numbers = order.numpy()
    if numbers.min() < 0 or numbers.max() >= groups:
        raise LayoutError(
            f"g_idx has groups {numbers.min()} to {numbers.max()}, there are {groups}"
        )
    if groups > 1 and not numbers.any():
        raise LayoutError(f"its g_idx is 0 for all inputs, there are {groups} groups")
    length = int((numbers == 0).sum())
    if length and np.array_equal(numbers, np.arange(inputs) // length):
        return None, length
    return numbers.astype(np.int32), 0


def _points(zeros: Array, bits: int, length: int) -> tuple[tuple[Plane, ...], int]:
    """The plane of zero points [out, groups], and what all have in common."""
    if (zeros == zeros.flat[0]).all():
        return (), int(zeros.flat[0])
    width = next(
        (
            size
            for size in (2, 4)
            if size >= bits and zeros.shape[1] % (BYTE // size) == 0 and zeros.max() < 1 << size
        ),
        BYTE,
    )
    plane = packed(zeros, width) if width < BYTE else Plane(zeros, BYTE)
    return (Plane(plane.data, plane.bits, columns=length),), 0
