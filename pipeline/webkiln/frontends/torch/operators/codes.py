"""Operators that webkiln defines for quantized weights (`frontends/torch/coded_modules.py`)."""

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.ops.builder import Tensor


def unpack_bits(c: AtenCall) -> Tensor:
    return c.op("UnpackBits", c.tensor("x"), bits=c.number("bits"))


def repeat_blocks(c: AtenCall) -> Tensor:
    x = c.tensor("x")
    return c.op("Repeat", x, axis=x.type.rank - 1, times=c.number("times"), size=c.number("size"))


def take(c: AtenCall) -> Tensor:
    x = c.tensor("x")
    return c.op("Gather", x, c.tensor("numbers"), axis=x.type.rank - 1)


CODES: dict[str, AtenHandler] = {
    "unpack_bits": unpack_bits,
    "repeat_blocks": repeat_blocks,
    "take": take,
}
