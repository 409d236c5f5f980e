"""Operators that webkiln defines for quantized weights (`frontends/torch/coded_modules.py`)."""

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.ops.builder import Tensor


def unpack_bits(c: AtenCall) -> Tensor:
    return c.op("UnpackBits", c.tensor("x"), bits=c.number("bits"))


def repeat_blocks(c: AtenCall) -> Tensor:
    x, times = c.tensor("x"), c.number("times")
    return c.op("Repeat", x, axis=x.type.rank - 1, times=times, size=x.shape[-1] * times)


CODES: dict[str, AtenHandler] = {"unpack_bits": unpack_bits, "repeat_blocks": repeat_blocks}
