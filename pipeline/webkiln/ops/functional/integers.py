"""Functions of integers and bits."""

from collections.abc import Callable, Sequence
from functools import reduce

from webkiln.errors import ShapeError
from webkiln.ir.types import is_float, itemsize
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import Argument, Operation, like, numbers, operands, tensor
from webkiln.ops.pieces import cast, reshaped

Repetition = Callable[[GraphBuilder, list[Tensor]], list[Tensor]]

EUCLID = {8: 13, 16: 24, 32: 47, 64: 92}
"""The maximum number of steps of Euclid's algorithm, by bit width; the worst case are neighbours in
the Fibonacci sequence.
"""


def bitwise(op: str) -> Operation:
    def apply(b: GraphBuilder, x: Argument, y: Argument) -> Tensor:
        return b.op(op, operands(b, x, y))

    return apply


def invert(b: GraphBuilder, x: Argument) -> Tensor:
    return b.op("BitNot", [tensor(b, x)])


def repeated(
    b: GraphBuilder, states: Sequence[Tensor], steps: int, step: Repetition
) -> list[Tensor]:
    """The states after a number of steps `step(builder, states)`."""
    lasts, _ = b.scan(
        states,
        [numbers(b, steps, "int32")],
        lambda inner, current, _: (step(inner, current), []),
        axis=0,
    )
    return lasts


def _same_shape(b: GraphBuilder, x1: Tensor, x2: Tensor) -> list[Tensor]:
    shape = b.op("Equal", [x1, x2]).shape
    return [b.op("Broadcast", [x], {"shape": shape}) if x.shape != shape else x for x in (x1, x2)]


def greatest_divisor(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    x1, x2 = _same_shape(b, *_magnitudes(b, x1, x2))

    def step(inner: GraphBuilder, current: list[Tensor]) -> list[Tensor]:
        a, c = current
        done = inner.binary("Equal", c, 0)
        rest = inner.op("Mod", [a, inner.op("Where", [done, like(inner, 1, c), c])])
        return [inner.op("Where", [done, a, c]), inner.op("Where", [done, c, rest])]

    return repeated(b, [x1, x2], EUCLID[8 * itemsize(x1.dtype)], step)[0]


def _magnitudes(b: GraphBuilder, x1: Argument, x2: Argument) -> list[Tensor]:
    return [x if x.dtype.startswith("uint") else b.op("Abs", [x]) for x in operands(b, x1, x2)]


def least_multiple(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    x1, x2 = _magnitudes(b, x1, x2)
    divisor = greatest_divisor(b, x1, x2)
    none = b.binary("Equal", divisor, 0)
    whole = b.op(
        "Mul", [x1, b.op("FloorDiv", [x2, b.op("Where", [none, like(b, 1, divisor), divisor])])]
    )
    return b.op("Where", [none, like(b, 0, whole), whole])


def power(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    """An exact integer power, by squaring."""
    base, exponent = operands(b, x1, x2)
    if is_float(base.dtype):
        return b.op("Pow", [base, exponent])
    if isinstance(x2, int):
        if x2 < 0:
            raise ShapeError(
                f"{b.layer}: integers to the power of {x2} are not integers; cast them to floats"
                " first"
            )
        one = b.op("Broadcast", [like(b, 1, base)], {"shape": base.shape})
        return reduce(lambda y, bit: _next_power(b, y, base, bit), f"{x2:b}", one)
    bits = 8 * itemsize(base.dtype) - (not base.dtype.startswith("uint"))
    base, exponent = _same_shape(b, base, exponent)

    def step(inner: GraphBuilder, current: list[Tensor]) -> list[Tensor]:
        total, factor, rest = current
        odd = inner.binary("NotEqual", inner.binary("BitAnd", rest, 1), 0)
        return [
            inner.op("Where", [odd, inner.op("Mul", [total, factor]), total]),
            inner.op("Mul", [factor, factor]),
            inner.binary("ShiftRight", rest, 1),
        ]

    return repeated(
        b,
        [b.op("Broadcast", [like(b, 1, base)], {"shape": base.shape}), base, exponent],
        bits,
        step,
    )[0]


def _next_power(b: GraphBuilder, y: Tensor, base: Tensor, bit: str) -> Tensor:
    square = b.op("Mul", [y, y])
    return b.op("Mul", [square, base]) if bit == "1" else square


def view(b: GraphBuilder, x: Argument, dtype: str | None = None, **_: str) -> Tensor:
    """The same bytes as elements of another dtype, little-endian, by shifts."""
    original = tensor(b, x)
    if dtype is None or dtype == original.dtype:
        return original
    old, new = 8 * itemsize(original.dtype), 8 * itemsize(dtype)
    if old == new:
        return b.op("BitCast", [original], {"dtype": dtype})
    wide, narrow, count = (
        f"uint{max(old, new)}",
        f"uint{min(old, new)}",
        max(old, new) // min(old, new),
    )
    shifts = numbers(b, count, wide) * min(old, new)
    if old > new:
        bits = reshaped(b, b.op("BitCast", [original], {"dtype": wide}), (*original.shape, 1))
        parts = b.op("ShiftRight", [bits, shifts])
        low = b.binary("BitAnd", parts, 2 ** min(old, new) - 1)
        return b.op(
            "BitCast",
            [reshaped(b, cast(b, low, narrow), (*original.shape[:-1], original.shape[-1] * count))],
            {"dtype": dtype},
        )
    bits = cast(b, b.op("BitCast", [original], {"dtype": narrow}), wide)
    parts = b.op(
        "ShiftLeft",
        [reshaped(b, bits, (*original.shape[:-1], original.shape[-1] // count, count)), shifts],
    )
    whole = b.op("ReduceSum", [parts], {"axes": (parts.type.rank - 1,), "keepdims": False})
    return b.op("BitCast", [whole], {"dtype": dtype})
