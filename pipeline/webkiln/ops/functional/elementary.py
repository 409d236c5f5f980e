"""Real functions, elementwise."""

from collections.abc import Callable
from math import log, pi

from webkiln.ir.types import is_float, itemsize
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.inverse_trigonometry import FUNCTIONS
from webkiln.ops.functional.operands import (
    FLOAT,
    Argument,
    Operation,
    doubled,
    floating,
    like,
    operands,
    result_of,
    tensor,
    wide,
)
from webkiln.ops.pieces import cast, filled

RealFunction = Callable[..., Tensor]


def real(formula: RealFunction, *, arity: int = 1, double: bool = False) -> Operation:
    """A floating-point formula on operands that are promoted with a float, or, with `double`, with
    float64 for int64. float16 is rounded at the end.
    """

    def apply(b: GraphBuilder, *xs: Argument, **named: Argument) -> Tensor:
        given = [*xs, *named.values()]
        if len(given) != arity:
            raise TypeError(f"{len(given)} operands, expected {arity}")
        dtype = doubled(result_of(*given)) if double else result_of(*given, floating=True)
        return cast(b, formula(b, *(wide(b, cast(b, tensor(b, x), dtype)) for x in given)), dtype)

    return apply


def composed(name: str) -> Operation:
    return real(FUNCTIONS[name])


def truth_of_floats(formula: RealFunction, *, otherwise: bool) -> Operation:
    """Predicates on floats, which are constant for integers and bools."""

    def apply(b: GraphBuilder, x: Argument) -> Tensor:
        x = tensor(b, x)
        return formula(b, x) if is_float(x.dtype) else filled(b, otherwise, "bool", x.shape)

    return apply


def infinite(*, positive: bool = True, negative: bool = True) -> Operation:
    return truth_of_floats(
        lambda b, x: b.op("IsInf", [x], {"positive": positive, "negative": negative}),
        otherwise=False,
    )


def _is_finite(b: GraphBuilder, x: Tensor) -> Tensor:
    return b.op("Not", [b.op("Or", [b.op("IsNaN", [x]), b.op("IsInf", [x], {})])])


def _choose(b: GraphBuilder, condition: Tensor, yes: Tensor | float, no: Tensor) -> Tensor:
    return b.op("Where", [condition, yes if isinstance(yes, Tensor) else like(b, yes, no), no])


def _angle(b: GraphBuilder, x: Tensor) -> Tensor:
    return _choose(
        b, b.binary("Less", x, 0.0), pi, b.op("Broadcast", [like(b, 0.0, x)], {"shape": x.shape})
    )


def _cube_root(b: GraphBuilder, x: Tensor) -> Tensor:
    return b.op("Sign", [x]) * b.binary("Pow", b.op("Abs", [x]), 1 / 3)


def _sinc(b: GraphBuilder, x: Tensor) -> Tensor:
    angle = x * pi
    return _choose(b, b.binary("Equal", x, 0.0), 1.0, b.op("Sin", [angle]) / angle)


NEAR = (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813)
FAR = (
    0.39894228,
    0.01328592,
    0.00225319,
    -0.00157565,
    0.00916281,
    -0.02057706,
    0.02635537,
    -0.01647633,
    0.00392377,
)
"""Abramowitz & Stegun 9.8.1 and 9.8.2: the modified Bessel function of order 0, with relative error
2e-7.
"""


def _bessel(b: GraphBuilder, x: Tensor) -> Tensor:
    size = b.op("Abs", [x])
    small, large = b.binary("Min", size, 3.75) / 3.75, b.binary("Max", size, 3.75)
    near, far = _polynomial(b, small * small, NEAR), _polynomial(b, 3.75 / large, FAR)
    half = b.op("Exp", [large * 0.5])
    return _choose(
        b, b.binary("LessEqual", size, 3.75), near, half * (far / b.op("Sqrt", [large])) * half
    )


def _polynomial(b: GraphBuilder, x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    value = b.op("Broadcast", [like(b, coefficients[-1], x)], {"shape": x.shape})
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return value


def _arctangent_2(b: GraphBuilder, y: Tensor, x: Tensor) -> Tensor:
    """The angle of (x, y), from the quotient of the smaller magnitude by the larger one, which is
    finite. Zeros are signed.
    """
    up, across = b.op("Abs", [y]), b.op("Abs", [x])
    low, high = b.op("Min", [up, across]), b.op("Max", [up, across])
    quotient = b.op(
        "Where",
        [
            b.op("Equal", [low, high]),
            _choose(b, b.binary("Equal", high, 0.0), 0.0, _one(b, high)),
            b.op("Div", [low, high]),
        ],
    )
    first = b.op("Atan", [quotient])
    steep = _choose(b, b.op("Greater", [up, across]), pi / 2 - first, first)
    whole = _choose(b, _negative(b, x), pi - steep, steep)
    angle = _choose(b, _negative(b, y), -whole, whole)
    return _choose(
        b, b.op("Or", [b.op("IsNaN", [x]), b.op("IsNaN", [y])]), b.op("Add", [x, y]), angle
    )


def _one(b: GraphBuilder, x: Tensor) -> Tensor:
    return b.op("Broadcast", [like(b, 1.0, x)], {"shape": x.shape})


def _negative(b: GraphBuilder, x: Tensor) -> Tensor:
    """Whether the sign bit is set."""
    return b.binary("Less", b.op("BitCast", [cast(b, x, FLOAT)], {"dtype": "int32"}), 0)


def sign_bit(b: GraphBuilder, x: Argument) -> Tensor:
    x = tensor(b, x)
    if is_float(x.dtype):
        return _negative(b, x)
    return (
        filled(b, 0, "bool", x.shape)
        if x.dtype == "bool" or x.dtype.startswith("uint")
        else b.binary("Less", x, 0)
    )


def _heaviside(b: GraphBuilder, x: Tensor, middle: Tensor) -> Tensor:
    beside = _choose(b, b.binary("Greater", x, 0.0), 1.0, middle)
    return _choose(b, b.binary("Less", x, 0.0), 0.0, beside)


def _hypotenuse(b: GraphBuilder, x: Tensor, y: Tensor) -> Tensor:
    """The larger magnitude times sqrt(1 + ratio^2), which does not overflow."""
    x, y = b.op("Abs", [x]), b.op("Abs", [y])
    large, small = b.op("Max", [x, y]), b.op("Min", [x, y])
    ratio = _choose(b, b.binary("Equal", large, 0.0), 0.0, b.op("Div", [small, large]))
    return large * b.op("Sqrt", [b.op("Square", [ratio]) + 1.0])


def log_add_exp(base: float) -> RealFunction:
    """log(base ** x + base ** y) without overflow."""

    def formula(b: GraphBuilder, x: Tensor, y: Tensor) -> Tensor:
        apart = b.op("Sub", [x, y])
        less = b.op("Log1p", [b.op("Exp", [b.op("Abs", [apart]) * -log(base)])]) / log(base)
        return _choose(
            b, b.op("IsNaN", [apart]), b.op("Add", [x, y]), b.op("Add", [b.op("Max", [x, y]), less])
        )

    return formula


def _scaled_by_power(b: GraphBuilder, x: Tensor, exponent: Tensor) -> Tensor:
    y = b.op("Mul", [x, b.binary("Pow", 2.0, exponent)])
    return _choose(b, b.op("Or", [b.op("IsInf", [x], {}), b.binary("Equal", x, 0.0)]), x, y)


def _neighbour(b: GraphBuilder, x: Tensor, towards: Tensor) -> Tensor:
    """The next number of its dtype: add or subtract one from the bits as an integer."""
    integer = f"int{8 * itemsize(x.dtype)}"
    bits = b.op("BitCast", [x], {"dtype": integer})
    away = b.op("Equal", [b.op("Greater", [towards, x]), b.binary("Greater", x, 0.0)])
    step = b.op("Where", [away, like(b, 1, bits), like(b, -1, bits)])
    moved = b.op("BitCast", [b.op("Add", [bits, step])], {"dtype": x.dtype})
    least = b.op("BitCast", [like(b, 1, bits)], {"dtype": x.dtype})
    from_zero = b.op("Mul", [b.op("Sign", [towards]), least])
    moved = _choose(b, b.binary("Equal", x, 0.0), from_zero, moved)
    still = b.op(
        "Or",
        [b.op("Equal", [x, towards]), b.op("Or", [b.op("IsNaN", [x]), b.op("IsNaN", [towards])])],
    )
    both = b.op("Where", [b.op("Equal", [x, towards]), towards, b.op("Add", [x, towards])])
    return b.op("Where", [still, both, moved])


def next_after(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    return _neighbour(b, *operands(b, x1, x2, floating=True))


def without_nan(op: str) -> Operation:
    """fmax, fmin: NaN only if both are NaN."""

    def apply(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
        x1, x2 = operands(b, x1, x2)
        if x1.dtype == "bool":
            return b.op("Or" if op == "Max" else "And", [x1, x2])
        if not is_float(x1.dtype):
            return b.op(op, [x1, x2])
        best = b.op(op, [x1, x2])
        return _choose(b, b.op("IsNaN", [x1]), x2, _choose(b, b.op("IsNaN", [x2]), x1, best))

    return apply


def truncate(b: GraphBuilder, x: Argument) -> Tensor:
    x = tensor(b, x)
    return (
        _choose(b, b.binary("Less", x, 0.0), b.op("Ceil", [x]), b.op("Floor", [x]))
        if is_float(x.dtype)
        else x
    )


def nan_to_num(
    b: GraphBuilder,
    x: Argument,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    y = tensor(b, x)
    if not is_float(y.dtype):
        return y
    largest = {"float16": 65504.0, "float32": 3.4028234663852886e38}.get(
        y.dtype, 1.7976931348623157e308
    )
    y = _choose(b, b.op("IsNaN", [y]), nan, y)
    y = _choose(
        b,
        b.op("IsInf", [y], {"positive": True, "negative": False}),
        largest if posinf is None else posinf,
        y,
    )
    return _choose(
        b,
        b.op("IsInf", [y], {"positive": False, "negative": True}),
        -largest if neginf is None else neginf,
        y,
    )


def is_close(
    b: GraphBuilder,
    x1: Argument,
    x2: Argument,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Tensor:
    x1, x2 = operands(b, x1, x2)
    return (
        _near(b, x1, x2, rtol, atol, equal_nan) if is_float(x1.dtype) else b.op("Equal", [x1, x2])
    )


def _near(
    b: GraphBuilder, x1: Tensor, x2: Tensor, rtol: float, atol: float, equal_nan: bool
) -> Tensor:
    x1, x2 = wide(b, x1), wide(b, x2)
    near = b.op(
        "LessEqual",
        [b.op("Abs", [b.op("Sub", [x1, x2])]), b.op("Abs", [x2]) * float(rtol) + float(atol)],
    )
    return (
        b.op("Or", [near, b.op("And", [b.op("IsNaN", [x1]), b.op("IsNaN", [x2])])])
        if equal_nan
        else near
    )


def all_close(
    b: GraphBuilder,
    x1: Argument,
    x2: Argument,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Tensor:
    x1, x2 = operands(b, x1, x2)
    equal = b.op("Equal", [x1, x2])
    if is_float(x1.dtype):
        finite = b.op("And", [_is_finite(b, x1), _is_finite(b, x2)])
        equal = b.op(
            "Or", [equal, b.op("And", [finite, _near(b, x1, x2, rtol, atol, equal_nan=False)])]
        )
        if equal_nan:
            equal = b.op("Or", [equal, b.op("And", [b.op("IsNaN", [x1]), b.op("IsNaN", [x2])])])
    axes = tuple(range(equal.type.rank))
    return cast(
        b, b.op("ReduceMin", [cast(b, equal, "int32")], {"axes": axes, "keepdims": False}), "bool"
    )


def absolute_float(b: GraphBuilder, x: Argument) -> Tensor:
    return b.op("Abs", [floating(b, x)])


arccos = composed("Acos")
arccosh = composed("Acosh")
arcsin = composed("Asin")
arcsinh = composed("Asinh")
arctanh = composed("Atanh")
cosh = composed("Cosh")
sinh = composed("Sinh")
tan = composed("Tan")
arctan = real(lambda b, x: b.op("Atan", [x]))
arctan2 = real(_arctangent_2, arity=2)
angle = real(_angle)
cbrt = real(_cube_root, double=True)
deg2rad = real(lambda b, x: x * (pi / 180), double=True)
rad2deg = real(lambda b, x: x * (180 / pi), double=True)
i0 = real(_bessel, double=True)
sinc = real(_sinc)
heaviside = real(_heaviside, arity=2, double=True)
hypot = real(_hypotenuse, arity=2, double=True)
logaddexp = real(log_add_exp(2.718281828459045), arity=2)
logaddexp2 = real(log_add_exp(2.0), arity=2)
ldexp = real(_scaled_by_power, arity=2)
fmax = without_nan("Max")
fmin = without_nan("Min")
isnan = truth_of_floats(lambda b, x: b.op("IsNaN", [x]), otherwise=False)
isinf = infinite()
isposinf = infinite(negative=False)
isneginf = infinite(positive=False)
isfinite = truth_of_floats(_is_finite, otherwise=True)
