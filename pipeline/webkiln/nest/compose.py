"""Transcendental functions as compositions of simpler operations.

Compositions give the same results on all backends, except for fused multiply-adds, and they are
vectorised like any other expression. Range reductions and polynomials follow Cephes (S. Moshier);
rational functions are minimax fits of the relative error (Lawson's algorithm). The errors are a few
float32 ulps (docs/speed.md). No composition relies on (x + c) - c, which some shader compilers
simplify to x.
"""

from collections.abc import Callable, Collection
from functools import reduce

from webkiln.nest.expr import (
    FLOAT,
    INT,
    Expr,
    apply,
    bitcast,
    cast,
    cast_in_range,
    const,
    select,
    wrap,
)
from webkiln.nest.nest import Nest

LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4


def polynomial(x: Expr, *coefficients: float) -> Expr:
    """Horner's rule, highest power first."""
    value = const(coefficients[0])
    for coefficient in coefficients[1:]:
        value = madd(value, x, coefficient)
    return value


def madd(a: Expr, b: Expr | float, c: Expr | float) -> Expr:
    return apply("madd", a, wrap(b, FLOAT), wrap(c, FLOAT))


def clamp(x: Expr, low: float, high: float) -> Expr:
    """Clamp to low..high; NaN stays NaN."""
    at_least_low = select(apply("lt", x, const(low)), const(low), x)
    return select(apply("gt", at_least_low, const(high)), const(high), at_least_low)


def power_of_two(exponent: Expr) -> Expr:
    """2**exponent for -126 <= exponent <= 127, 0 for -127 and infinity for 128."""
    return bitcast(apply("shl", exponent + 127, const(23, INT)), FLOAT)


def exp(x: Expr) -> Expr:
    x = clamp(x, -104.0, 89.0)
    count = apply("rint", x * 1.4426950408889634)
    rest = madd(count, -LN2_LOW, madd(count, -LN2_HIGH, x))
    series = polynomial(
        rest,
        1.9875691500e-4,
        1.3981999507e-3,
        8.3334519073e-3,
        4.1665795894e-2,
        1.6666665459e-1,
        5.0000001201e-1,
    )
    value = madd(series * rest, rest, rest) + 1.0
    exponent = cast_in_range(count)
    half = apply("shr", exponent, const(1, INT))
    return value * power_of_two(half) * power_of_two(exponent - half)


def logistic_quotient(a: Expr, x: Expr) -> Expr:
    """a / (1 + exp(-x)). The exponential is added to 1, so it may be inexact for results near the
    largest float32 and for subnormal results.
    """
    x = clamp(x, -89.0, 88.0)
    count = apply("rint", x * -1.4426950408889634)
    rest = madd(count, LN2_LOW, madd(count, LN2_HIGH, x))
    value = polynomial(
        rest,
        1.3843607157e-3,
        -8.3741955459e-3,
        4.1668005288e-2,
        -1.6666430235e-1,
        4.9999994040e-1,
        -1.0,
        1.0,
    )
    return a / (1.0 + value * power_of_two(cast_in_range(count)))


def log(x: Expr) -> Expr:
    small = apply("lt", x, const(1.17549435e-38))
    scaled = select(small, x * 8388608.0, x)
    bits = bitcast(scaled, INT)
    exponent = apply("shr", bits, const(23, INT)) - 127
    mantissa = bitcast(
        apply("bor", apply("band", bits, const(0x7FFFFF, INT)), const(0x3F800000, INT)), FLOAT
    )
    large = apply("gt", mantissa, const(1.4142135))
    f = select(large, mantissa * 0.5, mantissa) - 1.0
    shift = select(large, const(1.0), const(0.0)) - select(small, const(23.0), const(0.0))
    e = cast(exponent, FLOAT) + shift
    series = polynomial(
        f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )  # fmt: skip
    square = f * f
    value = f + (f * square * series + e * LN2_LOW - 0.5 * square) + e * LN2_HIGH
    infinite = select(apply("gt", x, const(3.4028235e38)), x, value)
    positive = select(apply("eq", x, const(0.0)), const(float("-inf")), infinite)
    invalid = apply("or", apply("lt", x, const(0.0)), apply("isnan", x))
    return select(invalid, const(float("nan")), positive)


def log1p(x: Expr) -> Expr:
    """2 artanh(x / (2 + x)) for |x| < 0.5, else log(1 + x)."""
    s = x / (2.0 + x)
    z = s * s
    near = 2.0 * s * polynomial(z, 1 / 13, 1 / 11, 1 / 9, 1 / 7, 1 / 5, 1 / 3, 1.0)
    return select(apply("lt", apply("abs", x), const(0.5)), near, log(1.0 + x))


def expm1(x: Expr) -> Expr:
    near = polynomial(x, 1 / 40320, 1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0) * x
    return select(apply("lt", apply("abs", x), const(0.5)), near, exp(x) - 1.0)


def tanh(x: Expr) -> Expr:
    """An odd rational function of degrees 9 and 8 on [-9, 9]. At the ends, tanh rounds to ±1 in
    float32 and the fit is slightly larger, so the result is clamped.
    """
    x = clamp(x, -9.0, 9.0)
    square = x * x
    numerator = polynomial(
        square, 1.335024898e-08, 2.061711227e-05, 3.496471490e-03, 1.338187173e-01, 9.999999811e-01
    )
    denominator = polynomial(
        square, 7.778176260e-07, 3.286822048e-04, 2.588067371e-02, 4.671518860e-01, 1.0
    )
    return clamp(x * numerator / denominator, -1.0, 1.0)


def erf(x: Expr) -> Expr:
    """An odd rational function of degrees 11 and 10 on [-3.92, 3.92]. At the ends, erf rounds to
    ±1 in float32 and the fit is slightly larger, so the result is clamped.
    """
    x = clamp(x, -3.9192059, 3.9192059)
    square = x * x
    numerator = polynomial(
        square,
        2.054815998e-06,
        2.850243445e-04,
        3.758738654e-03,
        5.272727992e-02,
        1.901983391e-01,
        1.128379146,
    )
    denominator = polynomial(
        square,
        3.815043966e-05,
        1.161470619e-03,
        1.495474374e-02,
        1.140286311e-01,
        5.018916271e-01,
        1.0,
    )
    return clamp(x * numerator / denominator, -1.0, 1.0)


def _reduce_angle(x: Expr) -> tuple[Expr, Expr, Expr]:
    """The quadrant of x, and the sine and cosine of the reduced angle, |rest| <= pi/4.

    The reduction is that of Cody & Waite in three parts. It is exact only for moderate angles, so
    `turn` first subtracts multiples of 2 pi from large ones.
    """
    x = apply("turn", x)
    count = apply("rint", x * 0.6366197723675814)
    rest = x - count * 1.5703125 - count * 4.837512969970703125e-4 - count * 7.549789948768648e-8
    square = rest * rest
    sine = (
        polynomial(square, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1) * square * rest
        + rest
    )
    cosine = (
        polynomial(square, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
        * square
        * square
        - 0.5 * square
        + 1.0
    )
    return cast(count, INT), sine, cosine


def _by_quadrant(quadrant: Expr, sine: Expr, cosine: Expr) -> Expr:
    odd = apply("ne", apply("band", quadrant, const(1, INT)), const(0, INT))
    value = select(odd, cosine, sine)
    return select(apply("ne", apply("band", quadrant, const(2, INT)), const(0, INT)), -value, value)


def sin(x: Expr) -> Expr:
    quadrant, sine, cosine = _reduce_angle(x)
    return _by_quadrant(quadrant, sine, cosine)


def cos(x: Expr) -> Expr:
    quadrant, sine, cosine = _reduce_angle(x)
    return _by_quadrant(quadrant + 1, sine, cosine)


def power(x: Expr, y: Expr) -> Expr:
    """exp(y log|x|), negated for a negative x and an odd integer y. The relative error grows with
    |y log|x||.
    """
    abs_x, abs_y = apply("abs", x), apply("abs", y)
    infinity, one, zero = const(float("inf")), const(1.0), const(0.0)
    is_integer = apply("eq", apply("trunc", y), y)
    odd = apply("ne", apply("band", cast(y, INT), const(1, INT)), const(0, INT))
    negative = apply("lt", bitcast(x, INT), const(0, INT))
    magnitude = select(apply("eq", abs_x, one), one, exp(y * log(abs_x)))
    flips = apply(
        "and",
        apply("and", negative, odd),
        apply("and", is_integer, apply("lt", abs_y, const(16777216.0))),
    )
    finite = apply("and", apply("ne", abs_x, infinity), apply("ne", abs_y, infinity))
    invalid = apply("and", apply("and", apply("lt", x, zero), apply("not", is_integer)), finite)
    is_nan = apply("or", apply("or", apply("isnan", x), apply("isnan", y)), invalid)
    value = select(is_nan, const(float("nan")), select(flips, -magnitude, magnitude))
    return select(apply("or", apply("eq", y, zero), apply("eq", x, one)), one, value)


def halves(x: Expr) -> tuple[Expr, Expr]:
    """The upper 16 bits of an int32, signed, and the lower 16 bits, unsigned."""
    return apply("shr", x, const(16, INT)), apply("band", x, const(0xFFFF, INT))


def doubling_high(a: Expr, b: Expr) -> Expr:
    """The rounded upper word of 2 a b, from products of 16-bit halves."""
    (a_high, a_low), (b_high, b_low) = halves(a), halves(b)
    lowest = a_low * b_low
    first = a_high * b_low + apply("band", apply("shr", lowest, const(16, INT)), const(0xFFFF, INT))
    second = a_low * b_high + apply("band", first, const(0xFFFF, INT))
    high = a_high * b_high + halves(first)[0] + halves(second)[0]
    middle = apply("band", second, const(0xFFFF, INT))
    last = (apply("shr", middle, const(position, INT)) for position in (15, 14))
    return reduce(lambda total, bit: total + apply("band", bit, const(1, INT)), last, high + high)


def round_to_float16(x: Expr) -> Expr:
    """Round to the nearest float16, ties to even."""
    magnitude = apply("abs", x)
    small = apply("rint", magnitude * 16777216.0) * (1 / 16777216)
    bits = bitcast(magnitude, INT)
    odd = apply("band", apply("shr", bits, const(13, INT)), const(1, INT))
    rounded = bitcast(apply("band", bits + odd + 0xFFF, const(-0x2000, INT)), FLOAT)
    finite = select(apply("lt", magnitude, const(2.0**-14)), small, rounded)
    value = select(apply("ge", magnitude, const(65520.0)), const(float("inf")), finite)
    signed = bitcast(
        apply("bor", bitcast(value, INT), apply("band", bitcast(x, INT), const(-(2**31), INT))),
        FLOAT,
    )
    return select(apply("isnan", x), x, signed)


COMPOSITIONS: dict[str, Callable[..., Expr]] = {
    "exp": exp,
    "log": log,
    "log1p": log1p,
    "expm1": expm1,
    "tanh": tanh,
    "erf": erf,
    "sin": sin,
    "cos": cos,
    "pow": power,
    "doubling_high": doubling_high,
    "filtered": lambda exact, estimate: exact,
}


def compose(nest: Nest, operations: Collection[str]) -> Nest:
    """Replace the given operations on f32 and i32 by their compositions."""
    if "exp" in operations:
        nest = nest.map(_match_logistic_quotient)
    return nest.map(
        lambda expr: (
            COMPOSITIONS[expr.op](*expr.args)
            if expr.op in operations and expr.type in (FLOAT, INT)
            else None
        )
    )


def _match_logistic_quotient(expr: Expr) -> Expr | None:
    """Rewrite a / (1 + exp(-x)) to `logistic_quotient`."""
    one = const(1.0)
    if expr.op != "div" or expr.args[1].op != "add" or one not in expr.args[1].args:
        return None
    power = next((item for item in expr.args[1].args if item is not one), one)
    return (
        logistic_quotient(expr.args[0], power.args[0].args[0])
        if power.op == "exp" and power.args[0].op == "neg" and expr.type == FLOAT
        else None
    )
