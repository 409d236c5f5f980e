"""Arithmetic: sums, products, quotients, powers, rounding and bits."""

from collections.abc import Callable

from webkiln.frontends.torch.aten import AtenCall, AtenHandler, floating, result_dtype
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor

Unary = Callable[[AtenCall, Tensor], Tensor]


def same_dtype(op: str, *, booleans: bool = False) -> AtenHandler:
    """For all numbers. Integers do not change if the function only rounds."""

    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        if x.dtype == "bool" and booleans:
            return c.op("Identity", x)
        return c.op(op, x)

    return handler


def rounding(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        return c.op(op, x) if is_float(x.dtype) else c.op("Identity", x)

    return handler


def round_(c: AtenCall) -> Tensor:
    """Round half to even; with `decimals`, to decimal places."""
    x, decimals = c.tensor(), c.get("decimals", 0)
    if not is_float(x.dtype):
        return c.op("Identity", x)
    if not decimals:
        return c.op("Round", x)
    scale = c.like(10.0 ** abs(decimals), x)
    first, last = ("Mul", "Div") if decimals > 0 else ("Div", "Mul")
    return c.op(last, c.op("Round", c.op(first, x, scale)), scale)


def truncated(b: GraphBuilder, x: Tensor) -> Tensor:
    """Round towards zero."""
    return b.op("Where", [b.binary("Less", x, 0.0), b.op("Ceil", [x]), b.op("Floor", [x])])


def trunc(c: AtenCall) -> Tensor:
    x = c.tensor()
    return truncated(c.b, x) if is_float(x.dtype) else c.op("Identity", x)


def frac(c: AtenCall) -> Tensor:
    x = c.tensor()
    return x - truncated(c.b, x)


def binary(op: str) -> AtenHandler:
    return lambda c: c.op(op, *c.promoted("self", "other"))


def scaled(c: AtenCall, x: Tensor, name: str = "alpha") -> Tensor:
    """Multiply an operand by a factor, which is usually 1."""
    factor = c.get(name, 1)
    return (
        x
        if not isinstance(factor, Tensor) and factor == 1
        else c.op("Mul", x, c.scalar(factor, x.dtype))
    )


def add(c: AtenCall) -> Tensor:
    a, b = c.promoted("self", "other")
    if a.dtype == "bool":
        return c.op("Or", a, b)
    return c.op("Add", a, scaled(c, b))


def sub(c: AtenCall) -> Tensor:
    a, b = c.promoted("self", "other")
    return c.op("Sub", a, scaled(c, b))


def rsub(c: AtenCall) -> Tensor:
    a, b = c.promoted("self", "other")
    return c.op("Sub", b, scaled(c, a))


def mul(c: AtenCall) -> Tensor:
    a, b = c.promoted("self", "other")
    return c.op("And" if a.dtype == "bool" else "Mul", a, b)


def div(c: AtenCall) -> Tensor:
    """A quotient. With rounding_mode, integers remain integers."""
    mode = c["rounding_mode"]
    a, b = c.promoted("self", "other")
    if mode == "floor":
        return c.op("FloorDiv", a, b)
    if mode == "trunc":
        return truncated(c.b, c.op("Div", a, b)) if is_float(a.dtype) else c.op("Div", a, b)
    return c.op("Div", floating(c.b, a), floating(c.b, b))


def true_divide(c: AtenCall) -> Tensor:
    a, b = c.promoted("self", "other")
    return c.op("Div", floating(c.b, a), floating(c.b, b))


def remainder(op: str) -> AtenHandler:
    return lambda c: c.op(op, *c.promoted("self", "other"))


SMALL_POWERS: dict[float, Callable[[GraphBuilder, Tensor], Tensor]] = {
    1: lambda b, x: b.op("Identity", [x]),
    2: lambda b, x: b.op("Mul", [x, x]),
    3: lambda b, x: b.op("Mul", [b.op("Mul", [x, x]), x]),
}
OF_FLOATS: dict[float, Callable[[GraphBuilder, Tensor], Tensor]] = {
    0.5: lambda b, x: b.op("Sqrt", [x]),
    -0.5: lambda b, x: b.op("Rsqrt", [x]),
    -1: lambda b, x: b.op("Reciprocal", [x]),
    -2: lambda b, x: b.op("Reciprocal", [b.op("Mul", [x, x])]),
}


def pow_(c: AtenCall) -> Tensor:
    """For integers, computed in float64 and rounded."""
    a, exponent = c["self"], c["exponent"]
    dtype = result_dtype([a, exponent])
    if isinstance(a, Tensor) and not isinstance(exponent, Tensor):
        x = c.cast(a, dtype)
        if exponent in SMALL_POWERS and dtype != "bool":
            return SMALL_POWERS[exponent](c.b, x)
        if exponent in OF_FLOATS and is_float(dtype):
            return OF_FLOATS[exponent](c.b, x)
    x, y = (
        c.cast(item, dtype) if isinstance(item, Tensor) else c.scalar(item, dtype)
        for item in (a, exponent)
    )
    if is_float(dtype):
        return power(c, x, y)
    wide = [c.cast(item, "float64") for item in (x, y)]
    return c.cast(c.op("Round", power(c, *wide)), dtype)


def power(c: AtenCall, x: Tensor, y: Tensor) -> Tensor:
    """For negative bases, the exponent must be an integer."""
    half = c.op("Floor", y * 0.5) * 2.0
    size = c.op("Pow", c.op("Abs", x), y)
    negative, integral = c.b.binary("Less", x, 0.0), c.op("Equal", c.op("Floor", y), y)
    by_parity = c.op("Where", c.op("Equal", half, y), size, -size)
    signed = c.op("Where", integral, by_parity, c.like(float("nan"), x))
    return c.op("Where", negative, signed, size)


def bitwise(op: str, booleans: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        a, b = c.promoted("self", "other")
        return c.op(booleans if a.dtype == "bool" else op, a, b)

    return handler


def bitwise_not(c: AtenCall) -> Tensor:
    x = c.tensor()
    return c.op("Not" if x.dtype == "bool" else "BitNot", x)


def shifted(op: str) -> AtenHandler:
    return lambda c: c.op(op, *c.promoted("self", "other"))


def lerp(c: AtenCall) -> Tensor:
    start, end, weight = c.promoted("self", "end", "weight")
    return start + c.op("Mul", weight, end - start)


def addcmul(c: AtenCall) -> Tensor:
    x, a, b = c.promoted("self", "tensor1", "tensor2")
    return c.op("Add", x, scaled(c, c.op("Mul", a, b), "value"))


def addcdiv(c: AtenCall) -> Tensor:
    x, a, b = c.promoted("self", "tensor1", "tensor2")
    return c.op("Add", x, scaled(c, c.op("Div", a, b), "value"))


ARITHMETIC: dict[str, AtenHandler] = {
    "floor": rounding("Floor"),
    "ceil": rounding("Ceil"),
    "round": round_,
    "trunc": trunc,
    "fix": trunc,
    "frac": frac,
    "neg": same_dtype("Neg"),
    "negative": same_dtype("Neg"),
    "square": lambda c: c.op("Mul", c.tensor(), c.tensor()),
    "add": add,
    "sub": sub,
    "subtract": sub,
    "rsub": rsub,
    "mul": mul,
    "multiply": mul,
    "div": div,
    "divide": div,
    "true_divide": true_divide,
    "floor_divide": binary("FloorDiv"),
    "fmod": remainder("Rem"),
    "remainder": remainder("Mod"),
    "pow": pow_,
    "float_power": pow_,
    "bitwise_and": bitwise("BitAnd", "And"),
    "bitwise_or": bitwise("BitOr", "Or"),
    "bitwise_xor": bitwise("BitXor", "NotEqual"),
    "bitwise_not": bitwise_not,
    "__and__": bitwise("BitAnd", "And"),
    "__or__": bitwise("BitOr", "Or"),
    "__xor__": bitwise("BitXor", "NotEqual"),
    "bitwise_left_shift": shifted("ShiftLeft"),
    "bitwise_right_shift": shifted("ShiftRight"),
    "__lshift__": shifted("ShiftLeft"),
    "__rshift__": shifted("ShiftRight"),
    "lerp": lerp,
    "addcmul": addcmul,
    "addcdiv": addcdiv,
}
