"""Functions in fixed point, step by step as gemmlowp computes them: numbers are int32, one is 2**31 less its integer bits."""

from webkiln.frontends.nodes.call import NodeCall
from webkiln.frontends.tflite.operators.integers import doubled_high, number, rounded_right, shifted_left
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
