"""Elementwise functions, comparisons and selections."""

from math import inf, log, pi

from webkiln.frontends.torch.aten import AtenCall, AtenHandler, floating
from webkiln.frontends.torch.operators.arithmetic import Unary, same_dtype
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.inverse_trigonometry import FUNCTIONS


def on_floats(function: Unary) -> AtenHandler:
    """Integers and booleans become float32 first."""
    return lambda c: function(c, c.floating())


def named(op: str) -> AtenHandler:
    return on_floats(lambda c, x: c.op(op, x))


def composed(op: str) -> AtenHandler:
    return on_floats(lambda c, x: FUNCTIONS[op](c.b, x))


def compared(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        a, b = c.promoted("self", "other")
        if a.dtype == "bool" and op not in ("Equal", "NotEqual"):
            a, b = c.cast(a, "uint8"), c.cast(b, "uint8")
        return c.op(op, a, b)

    return handler


def logical(op: str) -> AtenHandler:
    return lambda c: c.op(op, c.cast(c.tensor(), "bool"), c.cast(c.tensor("other"), "bool"))


def extreme(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        a, b = c.promoted("self", "other")
        return c.op("Or" if op == "Max" else "And", a, b) if a.dtype == "bool" else c.op(op, a, b)

    return handler


def without_nan(op: str) -> AtenHandler:
    """The maximum or minimum of two numbers, ignoring NaN."""

    def handler(c: AtenCall) -> Tensor:
        a, b = c.promoted("self", "other")
        if not is_float(a.dtype):
            return c.op(op, a, b)
        return c.op(
            "Where", c.op("IsNaN", a), b, c.op("Where", c.op("IsNaN", b), a, c.op(op, a, b))
        )

    return handler


def clamp(c: AtenCall) -> Tensor:
    """Bounds are numbers or tensors, and are part of the type promotion."""
    names = [name for name in ("min", "max") if c.has(name)]
    x, *bounds = c.promoted("self", *names)
    for name, bound in zip(names, bounds, strict=True):
        x = c.op("Max" if name == "min" else "Min", x, bound)
    return x


def clamp_min(c: AtenCall) -> Tensor:
    return c.op("Max", *c.promoted("self", "min"))


def clamp_max(c: AtenCall) -> Tensor:
    return c.op("Min", *c.promoted("self", "max"))


def sign(c: AtenCall) -> Tensor:
    x = c.tensor()
    return c.op("Identity", x) if x.dtype == "bool" else c.op("Sign", x)


def absolute(c: AtenCall) -> Tensor:
    x = c.tensor()
    return c.op("Identity", x) if x.dtype.startswith("uint") else c.op("Abs", x)


def log_base(base: float) -> AtenHandler:
    return on_floats(lambda c, x: c.op("Log", x) * (1 / log(base)))


def exp2(c: AtenCall) -> Tensor:
    return c.op("Exp", c.floating() * log(2))


def bounded(c: AtenCall, x: Tensor, low: float, high: float) -> Tensor:
    return c.op("Clip", x, min=low, max=high)


def logit(c: AtenCall) -> Tensor:
    x, eps = c.floating(), c["eps"]
    x = x if eps is None else bounded(c, x, float(eps), 1 - float(eps))
    return c.op("Log", x / (1.0 - x))


def floats(c: AtenCall, *names: str) -> list[Tensor]:
    """Arguments in a common floating-point dtype."""
    items = c.promoted(*names)
    return [floating(c.b, item) for item in items]


def atan2(c: AtenCall) -> Tensor:
    y, x = floats(c, "self", "other")
    return angle_of(c.b, y, x)


def angle_of(b: GraphBuilder, y: Tensor, x: Tensor) -> Tensor:
    """The angle of the point (x, y). 0 / 0 counts as 0."""
    zero = b.constant(0, x.dtype)
    none = b.op("And", [b.op("Equal", [x, zero]), b.op("Equal", [y, zero])])
    both = b.op("And", [b.op("IsInf", [x]), b.op("IsInf", [y])])
    ratio = b.op(
        "Where",
        [
            none,
            b.op("Mul", [y, b.constant(0, y.dtype)]),
            y / b.op("Where", [none, b.constant(1, x.dtype), x]),
        ],
    )
    ratio = b.op("Where", [both, b.op("Mul", [b.op("Sign", [x]), b.op("Sign", [y])]), ratio])
    near = b.op("Atan", [ratio])
    offset = b.op(
        "Where", [b.op("Less", [y, zero]), b.constant(-pi, x.dtype), b.constant(pi, x.dtype)]
    )
    return b.op("Where", [b.op("Less", [x, zero]), near + offset, near])


def hypot(c: AtenCall) -> Tensor:
    a, b = (c.op("Abs", item) for item in floats(c, "self", "other"))
    large, small = c.op("Max", a, b), c.op("Min", a, b)
    ratio = small / c.op("Where", c.b.binary("Equal", large, 0.0), c.like(1, large), large)
    return large * c.op("Sqrt", ratio * ratio + 1.0)


def xlogy(c: AtenCall) -> Tensor:
    x, y = floats(c, "self", "other")
    product = x * c.op("Log", y)
    zeros = c.op("Where", c.b.binary("Equal", x, 0.0), c.like(0, x), product)
    return c.op("Where", c.op("IsNaN", y), y, zeros)


def where(c: AtenCall) -> Tensor:
    a, b = c.promoted("self", "other")
    return c.op("Where", c.cast(c.tensor("condition"), "bool"), a, b)


def masked_fill(c: AtenCall) -> Tensor:
    x = c.tensor()
    value = c["value"]
    fill = c.cast(value, x.dtype) if isinstance(value, Tensor) else c.scalar(value, x.dtype)
    return c.op("Where", c.tensor("mask"), fill, x)


def is_finite(c: AtenCall) -> Tensor:
    x = c.floating()
    return c.op("Not", c.op("Or", c.op("IsNaN", x), c.op("IsInf", x)))


def nan_to_num(c: AtenCall) -> Tensor:
    x = c.tensor()
    if not is_float(x.dtype):
        return c.op("Identity", x)
    largest = {
        "float16": 65504.0,
        "float32": 3.4028234663852886e38,
        "float64": 1.7976931348623157e308,
    }[x.dtype]
    x = c.op("Where", c.op("IsNaN", x), c.like(c.get("nan", 0.0), x), x)
    for value, name, default in ((inf, "posinf", largest), (-inf, "neginf", -largest)):
        x = c.op("Where", c.op("Equal", x, c.like(value, x)), c.like(c.get(name, default), x), x)
    return x


def sinc(c: AtenCall) -> Tensor:
    x = c.floating() * pi
    zero = c.b.binary("Equal", x, 0.0)
    safe = c.op("Where", zero, c.like(1, x), x)
    return c.op("Where", zero, c.like(1, x), c.op("Sin", safe) / safe)


ELEMENTWISE: dict[str, AtenHandler] = {
    **{
        name: named(op)
        for name, op in {
            "exp": "Exp",
            "log": "Log",
            "log1p": "Log1p",
            "expm1": "Expm1",
            "sin": "Sin",
            "cos": "Cos",
            "tanh": "Tanh",
            "sigmoid": "Sigmoid",
            "erf": "Erf",
            "erfc": "Erfc",
            "erfinv": "ErfInv",
            "special_erf": "Erf",
            "special_erfinv": "ErfInv",
            "sqrt": "Sqrt",
            "rsqrt": "Rsqrt",
            "reciprocal": "Reciprocal",
            "atan": "Atan",
            "silu": "Silu",
            "isinf": "IsInf",
            "isnan": "IsNaN",
            "special_expit": "Sigmoid",
            "special_log1p": "Log1p",
            "special_expm1": "Expm1",
        }.items()
    },
    **{
        name: composed(op)
        for name, op in {
            "asin": "Asin",
            "acos": "Acos",
            "sinh": "Sinh",
            "cosh": "Cosh",
            "asinh": "Asinh",
            "acosh": "Acosh",
            "atanh": "Atanh",
            "tan": "Tan",
            "arcsin": "Asin",
            "arccos": "Acos",
            "arcsinh": "Asinh",
            "arccosh": "Acosh",
            "arctanh": "Atanh",
        }.items()
    },
    "arctan": named("Atan"),
    "arctan2": atan2,
    "abs": absolute,
    "absolute": absolute,
    "sign": sign,
    "sgn": sign,
    "relu": same_dtype("Relu"),
    "eq": compared("Equal"),
    "ne": compared("NotEqual"),
    "lt": compared("Less"),
    "le": compared("LessEqual"),
    "gt": compared("Greater"),
    "ge": compared("GreaterEqual"),
    "logical_and": logical("And"),
    "logical_or": logical("Or"),
    "logical_xor": logical("NotEqual"),
    "logical_not": lambda c: c.op("Not", c.cast(c.tensor(), "bool")),
    "maximum": extreme("Max"),
    "minimum": extreme("Min"),
    "fmax": without_nan("Max"),
    "fmin": without_nan("Min"),
    "clamp": clamp,
    "clip": clamp,
    "clamp_min": clamp_min,
    "clamp_max": clamp_max,
    "log2": log_base(2),
    "log10": log_base(10),
    "exp2": exp2,
    "special_exp2": exp2,
    "logit": logit,
    "atan2": atan2,
    "hypot": hypot,
    "xlogy": xlogy,
    "special_xlogy": xlogy,
    "where": where,
    "masked_fill": masked_fill,
    "isfinite": is_finite,
    "nan_to_num": nan_to_num,
    "deg2rad": lambda c: c.floating() * (pi / 180),
    "rad2deg": lambda c: c.floating() * (180 / pi),
    "sinc": sinc,
    "special_sinc": sinc,
}
