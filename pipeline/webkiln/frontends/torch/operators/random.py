"""Random numbers, which are inputs of the bundle."""

from webkiln.frontends.nodes import noise
from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.ir.types import is_integer
from webkiln.ops.builder import Tensor


def rand(c: AtenCall) -> Tensor:
    return noise.uniform(c.call, c.sizes("size"), c.dtype("float32"))


def randn(c: AtenCall) -> Tensor:
    return noise.normal(c.call, c.sizes("size"), c.dtype("float32"))


def randint(c: AtenCall) -> Tensor:
    low = c.number("low") if c.has("low") else 0
    dtype = c.dtype("int64")
    drawn = dtype if is_integer(dtype) else "int64"
    numbers = noise.drawn(c.call, "randint", low, c.number("high"), c.sizes("size"), drawn)
    return c.cast(numbers, dtype)


RANDOM: dict[str, AtenHandler] = {"rand": rand, "randn": randn, "randint": randint}
