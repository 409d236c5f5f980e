"""Functions in fixed point, step by step as gemmlowp computes them: numbers are int32, one is 2**31 less its integer bits."""

from webkiln.frontends.nodes.call import NodeCall
from webkiln.frontends.tflite.operators.integers import doubled_high, more, number, rounded_right, shifted_left, shifted_right
from webkiln.ops.builder import Tensor

MOST = (1 << 31) - 1
POWERS = {-2: 1672461947, -1: 1302514674, 0: 790015084, 1: 290630308, 2: 39332535, 3: 720401, 4: 242}
"""exp(-2**n) without integer bits, by n."""
EXP_OF_AN_EIGHTH = 1895147668
THIRD = 715827883


def saturated_left(call: NodeCall, x: Tensor, places: int) -> Tensor:
    bound = (1 << (31 - places)) - 1
    b = call.builder
    low, high = b.binary("Less", x, -bound), b.binary("Greater", x, bound)
    whole = shifted_left(call, x, places)
    return call.op("Where", [high, number(call, MOST), call.op("Where", [low, number(call, -MOST - 1), whole])])


def exponential_near_zero(call: NodeCall, a: Tensor) -> Tensor:
    """Of a number from -1/4 to 0, without integer bits: a series around -1/8."""
    x = call.op("Add", [a, number(call, 1 << 28)])
    square = doubled_high(call, x, x)
    cube, fourth = doubled_high(call, square, x), doubled_high(call, square, square)
    terms = doubled_high(call, call.op("Add", [rounded_right(call, fourth, 2), cube]), number(call, THIRD))
    rest = rounded_right(call, call.op("Add", [terms, square]), 1)
    start = number(call, EXP_OF_AN_EIGHTH)
    return call.op("Add", [start, doubled_high(call, start, call.op("Add", [x, rest]))])


def exponential_below_zero(call: NodeCall, a: Tensor, bits: int) -> Tensor:
    """Of a number that is not positive, of so many integer bits: a power for each bit of its quarters. The result has none."""
    fraction = 31 - bits
    quarter = 1 << (fraction - 2)
    within = call.op("Sub", [call.op("BitAnd", [a, number(call, quarter - 1)]), number(call, quarter)])
    y = exponential_near_zero(call, saturated_left(call, within, bits) if bits else within)
    rest = call.op("Sub", [within, a])
    for exponent, power in POWERS.items():
        if bits > exponent:
            bit = call.op("BitAnd", [rest, number(call, 1 << (fraction + exponent))])
            y = call.op("Where", [call.builder.binary("NotEqual", bit, 0), doubled_high(call, y, number(call, power)), y])
    return call.op("Where", [call.builder.binary("Equal", a, 0), number(call, MOST), y])


def reciprocal_of_one_plus(call: NodeCall, a: Tensor) -> Tensor:
    """1 / (1 + a) of a number from 0 to 1 without integer bits, by three steps of Newton's method."""
    half = call.op("Add", [call.op("ShiftRight", [a, number(call, 1)]), number(call, 1 << 30)])
    x = call.op("Add", [number(call, 1515870810), doubled_high(call, half, number(call, -1010580540))])
    for _ in range(3):
        error = call.op("Sub", [number(call, 1 << 29), doubled_high(call, half, x)])
        x = call.op("Add", [x, saturated_left(call, doubled_high(call, x, error), 2)])
    return saturated_left(call, x, 1)


def leading_zeros(call: NodeCall, x: Tensor) -> Tensor:
    """Of a positive int32: five steps of halving."""
    b, count = call.builder, number(call, 0)
    for places in (16, 8, 4, 2, 1):
        small = b.binary("Less", shifted_right(call, x, 32 - places - 1), 1)
        small = call.op("And", [small, b.binary("GreaterEqual", x, 0)])
        moved = call.op("Where", [small, number(call, places), number(call, 0)])
        x, count = call.op("ShiftLeft", [x, moved]), call.op("Add", [count, moved])
    return call.op("Add", [count, call.op("Where", [b.binary("Less", x, 0), number(call, 0), number(call, 1)])])


SQRT_HALF, SQRT_SQRT_HALF, LOG_2 = 1518500250, 1805811301, 1488522236


def logarithm_from_one(call: NodeCall, x: Tensor, bits: int, out: int) -> Tensor:
    """Of a number of at least 1, of so many integer bits; the result has `out`: a power of 2, and a quotient of polynomials of the rest."""
    b, places = call.builder, 31 - (out + 1)
    quarter = 1 << (29 - (out + 1))
    zeros = leading_zeros(call, x)
    whole = call.op("ShiftLeft", [x, call.op("Sub", [zeros, number(call, 1)])])
    first = saturated_left(call, doubled_high(call, whole, number(call, SQRT_HALF)), 1)
    first_power = more(call, shifted_left(call, call.op("Sub", [number(call, bits), zeros]), places), quarter)
    room = call.op("Sub", [leading_zeros(call, doubled_high(call, x, number(call, SQRT_HALF))), number(call, 1)])
    bound = call.op("Sub", [call.op("ShiftLeft", [number(call, 1), call.op("Sub", [number(call, 31), room])]), number(call, 1)])
    second = call.op("Where", [call.op("Greater", [x, bound]), number(call, MOST), call.op("ShiftLeft", [x, room])])
    second_power = more(call, shifted_left(call, call.op("Sub", [number(call, bits), room]), places), -quarter)
    rest, power = call.op("Min", [first, second]), call.op("Max", [first_power, second_power])
    middle = call.op("Add", [call.op("ShiftRight", [rest, number(call, 1)]), number(call, (SQRT_SQRT_HALF >> 1) + 1)])
    q = call.op("Sub", [rest, number(call, SQRT_SQRT_HALF)])
    q = call.op("Add", [q, q])
    square = doubled_high(call, q, q)
    above = call.op("Add", [doubled_high(call, q, rest), doubled_high(call, doubled_high(call, q, square), number(call, 117049297))])
    inner = call.op("Add", [call.op("Add", [number(call, 1057819769), q]), doubled_high(call, number(call, 127690142), square)])
    below = call.op("Add", [doubled_high(call, middle, inner), doubled_high(call, number(call, 638450708), q)])
    share = doubled_high(call, rounded_right(call, above, out + 1), reciprocal_of_one_plus(call, below))
    return saturated_left(call, b.op("Add", [doubled_high(call, power, number(call, LOG_2)), share]), 1)


def inverse_root(call: NodeCall, x: Tensor) -> tuple[Tensor, Tensor]:
    """1 / sqrt of an integer as a factor and a shift, by five steps of Newton's method."""
    b = call.builder
    large = b.binary("GreaterEqual", x, 1 << 29)
    small = b.binary("LessEqual", x, 1)
    value = call.op("Where", [large, shifted_right(call, x, 2), call.op("Where", [small, number(call, 2), x])])
    shift = call.op("Where", [large, number(call, 12), number(call, 11)])
    pairs = call.op("Sub", [shifted_right(call, call.op("Sub", [leading_zeros(call, value), number(call, 1)]), 1), number(call, 1)])
    shift = call.op("Sub", [shift, pairs])
    value = shifted_right(call, call.op("ShiftLeft", [value, call.op("Add", [pairs, pairs])]), 1)
    half, root = rounded_right(call, value, 1), number(call, 1 << 28)
    for _ in range(5):
        cube = saturated_left(call, doubled_high(call, doubled_high(call, root, root), root), 6)
        step = call.op("Sub", [doubled_high(call, number(call, (1 << 28) + (1 << 27)), root), doubled_high(call, half, cube)])
        root = saturated_left(call, step, 3)
    root = doubled_high(call, root, number(call, SQRT_HALF))
    root = call.op("ShiftLeft", [root, b.binary("Max", call.op("Neg", [shift]), 0)])
    down = call.op("Neg", [b.binary("Max", shift, 0)])
    return call.op("Where", [small, number(call, MOST), root]), call.op("Where", [small, number(call, 0), down])
