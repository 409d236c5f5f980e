"""Common parts of quantized handlers: operands without zero points, factors from scales, and
requantized results.
"""

from collections.abc import Sequence

import numpy as np

from webkiln.errors import UnsupportedError
from webkiln.frontends.nodes.call import NodeCall
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast

INTEGERS = ("int8", "uint8", "int16")
BYTES = ("int8", "uint8")


def operand_count(call: NodeCall) -> int:
    """The number of operands in the file; factors follow them."""
    return len(call) - len(call.attr("extra", ()))


def has(call: NodeCall, index: int) -> bool:
    return index < operand_count(call) and call.has(index)


def operands(call: NodeCall) -> list[Tensor]:
    return [call.tensor(index) for index in range(operand_count(call)) if call.has(index)]


def is_quantized(call: NodeCall, index: int = 0) -> bool:
    marks = call.attr("quantized", ())
    return index < len(marks) and bool(marks[index]) and call.type(index).dtype in INTEGERS


def is_hybrid(call: NodeCall, x: int, weights: int) -> bool:
    """Whether int8 weights meet floats, which are quantized at run time."""
    return call.type(x).dtype == "float32" and call.type(weights).dtype in ("int8", "uint8")


def zero(call: NodeCall, index: int = 0) -> int:
    zeros = call.attr("zeros", ())
    return int(zeros[index]) if index < len(zeros) else 0


def out_zero(call: NodeCall, index: int = 0) -> int:
    zeros = call.attr("out_zeros", ())
    return int(zeros[index]) if index < len(zeros) else 0


def out_dtype(call: NodeCall, index: int = 0) -> str:
    return str(call.attr("dtypes")[index])


def factor(call: NodeCall, name: str) -> Tensor:
    """An array derived from scales."""
    names = call.attr("extra", ())
    if name not in names:
        raise quantization_error(call)
    return call.tensor(operand_count(call) + names.index(name))


def quantization_error(call: NodeCall) -> UnsupportedError:
    """Refuse quantized operands of operators without integer arithmetic."""
    dtypes = ", ".join(
        dict.fromkeys(
            call.type(index).dtype
            for index in range(operand_count(call))
            if is_quantized(call, index)
        )
    )
    return call.unsupported(
        f"computes with quantised {dtypes or 'numbers'}",
        "Keep this operator in float32, or register a handler",
    )


def number(call: NodeCall, value: int) -> Tensor:
    return call.constant(value, "int32")


def centred(call: NodeCall, index: int = 0) -> Tensor:
    """An operand as int32, minus its zero point."""
    return less(call, cast(call.builder, call.tensor(index), "int32"), zero(call, index))


def less(call: NodeCall, x: Tensor, value: int) -> Tensor:
    return x if value == 0 else call.op("Sub", [x, number(call, value)])


def more(call: NodeCall, x: Tensor, value: int) -> Tensor:
    return x if value == 0 else call.op("Add", [x, number(call, value)])


def shifted_left(call: NodeCall, x: Tensor, shift: int) -> Tensor:
    return call.op("ShiftLeft", [x, number(call, shift)]) if shift else x


def shifted_right(call: NodeCall, x: Tensor, shift: int) -> Tensor:
    """Shift right, rounding towards minus infinity."""
    return call.op("ShiftRight", [x, number(call, shift)]) if shift else x


def rounded_right(call: NodeCall, x: Tensor, shift: int) -> Tensor:
    return call.op("RoundingShiftRight", [x, number(call, shift)]) if shift else x


def doubled_high(call: NodeCall, a: Tensor, b: Tensor) -> Tensor:
    return call.op("DoublingHighMul", [a, b])


def scaled(call: NodeCall, x: Tensor, name: str = "multiplier") -> Tensor:
    """Multiply an int32 by the named factor."""
    return by_multiplier(call, x, factor(call, name), factor(call, f"{name}_shift"))


def scaled_down(call: NodeCall, x: Tensor, name: str = "multiplier") -> Tensor:
    """Multiply an int32 by the named factor, which is below 1."""
    right = _power(call, factor(call, f"{name}_shift"), "Min", 31)
    return call.op("ScaleByMultiplier", [x, factor(call, name), number(call, 1), right])


def by_multiplier(call: NodeCall, x: Tensor, multiplier: Tensor, shift: Tensor) -> Tensor:
    """x * multiplier * 2**(shift - 31), rounded."""
    left, right = _power(call, shift, "Max", 0), _power(call, shift, "Min", 31)
    return call.op("ScaleByMultiplier", [x, multiplier, left, right])


def _power(call: NodeCall, shift: Tensor, bound: str, offset: int) -> Tensor:
    """2**(offset + the shift, where it is above or below 0)."""
    places = more(call, call.builder.binary(bound, shift, 0), offset)
    return call.op("ShiftLeft", [number(call, 1), places])


def bounded(call: NodeCall, x: Tensor, low: int, high: int) -> Tensor:
    return call.op("Clip", [x], {"min": low, "max": high})


def limits(dtype: str) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def result(call: NodeCall, x: Tensor, index: int = 0) -> Tensor:
    """Clamp an int32 to the range of the output: that of its fused activation, or of its dtype."""
    dtype = out_dtype(call, index)
    low, high = call.attr("range") or limits(dtype)
    return cast(call.builder, bounded(call, x, low, high), dtype)


def placed(call: NodeCall, x: Tensor) -> Tensor:
    """Add the zero point of the output to a rescaled int32."""
    return result(call, more(call, x, out_zero(call)))


def requantized(call: NodeCall, x: Tensor) -> Tensor:
    """Multiply an int32 by the factor of the result, add its zero point and clamp it."""
    if out_dtype(call) not in BYTES:
        return placed(call, scaled(call, x))
    multiplier, shift = factor(call, "multiplier"), factor(call, "multiplier_shift")
    left, right = _power(call, shift, "Max", 0), _power(call, shift, "Min", 31)
    y = call.op("Requantize", [x, multiplier, left, right], placement(call))
    return cast(call.builder, y, out_dtype(call))


def placement(call: NodeCall) -> dict[str, int]:
    """The zero point of the output, and the range of its fused activation, or of its dtype."""
    low, high = call.attr("range") or limits(out_dtype(call))
    return {"zero": out_zero(call), "min": low, "max": high}


def requantized_sum(call: NodeCall, a: Tensor, b: Tensor) -> Tensor:
    """Rescale operands of 8 bits without their zero points, and requantize their sum."""
    factors = [
        item
        for name in ("left", "right", "multiplier")
        for item in (factor(call, name), _power(call, factor(call, f"{name}_shift"), "Min", 31))
    ]
    attrs = {"spare": call.attr("spare"), **placement(call)}
    y = call.op("RequantizeSum", [a, b, *factors], attrs)
    return cast(call.builder, y, out_dtype(call))


def looked_up(call: NodeCall, x: Tensor, table: Tensor, least: int) -> Tensor:
    """Look up entries of a table. The first entry is for `least`."""
    return call.op(
        "Gather", [table, less(call, cast(call.builder, x, "int32"), least)], {"axis": 0}
    )


def by_table(call: NodeCall) -> Tensor:
    """An elementwise function as a table: for 8 bits, of all values; for int16, of 512 interpolated
    steps.
    """
    x = call.tensor(0)
    if x.dtype != "int16":
        return looked_up(call, x, factor(call, "table"), limits(x.dtype)[0])
    return between(call, x, factor(call, "table"))


def between(call: NodeCall, x: Tensor, table: Tensor) -> Tensor:
    """Interpolate a table of 513 16-bit numbers."""
    b = call.builder
    wide = cast(b, x, "int32")
    index = more(call, shifted_right(call, wide, 7), 256)
    rest = call.op("BitAnd", [wide, number(call, 127)])
    base = cast(b, call.op("Gather", [table, index], {"axis": 0}), "int32")
    slope = cast(b, call.op("Gather", [table, more(call, index, 1)], {"axis": 0}), "int32") - base
    step = shifted_right(call, more(call, call.op("Mul", [slope, rest]), 64), 7)
    return cast(b, base + step, "int16")


def literal(b: GraphBuilder, values: Sequence[int]) -> Tensor:
    return b.constant(list(values), "int32")
