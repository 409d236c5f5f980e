"""Fixed-point functions, computed step by step like gemmlowp. Numbers are int32; the value of one
is 2**(31 - integer bits), or based on 2**15 for width 16.
"""

from webkiln.frontends.nodes.call import NodeCall
from webkiln.frontends.tflite.operators.integers import (
    doubled_high,
    more,
    number,
    rounded_right,
    shifted_left,
    shifted_right,
)
from webkiln.ops.builder import Tensor

MOST = (1 << 31) - 1
POWERS = {
    -2: 1672461947,
    -1: 1302514674,
    0: 790015084,
    1: 290630308,
    2: 39332535,
    3: 720401,
    4: 242,
}
"""exp(-2**n) without integer bits, by n."""
EXP_OF_AN_EIGHTH = 1895147668
THIRD = 715827883


def constant(call: NodeCall, value: int, width: int = 32) -> Tensor:
    """Convert a 32-bit constant to this width."""
    return number(call, value if width == 32 else min((value + (1 << 15)) >> 16, MOST >> 16))


def doubled(call: NodeCall, a: Tensor, b: Tensor, width: int = 32) -> Tensor:
    """The upper half of the doubled product, rounded. 16-bit products fit in an int32."""
    if width == 32:
        return doubled_high(call, a, b)
    return shifted_right(call, more(call, call.op("Mul", [a, b]), 1 << 14), 15)


def saturated_left(call: NodeCall, x: Tensor, shift: int, width: int = 32) -> Tensor:
    bound, most = (1 << (width - 1 - shift)) - 1, MOST >> (32 - width)
    b = call.builder
    low, high = b.binary("Less", x, -bound), b.binary("Greater", x, bound)
    shifted = shifted_left(call, x, shift)
    return call.op(
        "Where",
        [high, number(call, most), call.op("Where", [low, number(call, -most - 1), shifted])],
    )


def exponential_near_zero(call: NodeCall, a: Tensor, width: int = 32) -> Tensor:
    """exp of a number in -1/4..0 without integer bits: a Taylor series around -1/8."""
    x = call.op("Add", [a, constant(call, 1 << 28, width)])
    square = doubled(call, x, x, width)
    cube, fourth = doubled(call, square, x, width), doubled(call, square, square, width)
    terms = doubled(
        call,
        call.op("Add", [rounded_right(call, fourth, 2), cube]),
        constant(call, THIRD, width),
        width,
    )
    rest = rounded_right(call, call.op("Add", [terms, square]), 1)
    start = constant(call, EXP_OF_AN_EIGHTH, width)
    y = call.op("Add", [start, doubled(call, start, call.op("Add", [x, rest]), width)])
    return y if width == 32 else call.builder.binary("Min", y, MOST >> 16)


def exponential_below_zero(call: NodeCall, a: Tensor, bits: int, width: int = 32) -> Tensor:
    """exp of a number <= 0 with these integer bits: a multiplication per bit of its quarters. The
    result has no integer bits.
    """
    fraction = width - 1 - bits
    quarter = 1 << (fraction - 2)
    within = call.op(
        "Sub", [call.op("BitAnd", [a, number(call, quarter - 1)]), number(call, quarter)]
    )
    y = exponential_near_zero(
        call, saturated_left(call, within, bits, width) if bits else within, width
    )
    rest = call.op("Sub", [within, a])
    for exponent, power in POWERS.items():
        if bits > exponent:
            bit = call.op("BitAnd", [rest, number(call, 1 << (fraction + exponent))])
            y = call.op(
                "Where",
                [
                    call.builder.binary("NotEqual", bit, 0),
                    doubled(call, y, constant(call, power, width), width),
                    y,
                ],
            )
    if bits > 5:
        y = call.op(
            "Where", [call.builder.binary("Less", a, -(1 << (fraction + 5))), number(call, 0), y]
        )
    return call.op("Where", [call.builder.binary("Equal", a, 0), constant(call, MOST, width), y])


def doubled_reciprocal_of_one_plus(call: NodeCall, a: Tensor, width: int = 32) -> Tensor:
    """2 / (1 + a) for a in 0..1 without integer bits, by three Newton steps. The result has two
    integer bits.
    """
    half = call.op(
        "Add", [call.op("ShiftRight", [a, number(call, 1)]), constant(call, 1 << 30, width)]
    )
    x = call.op(
        "Add",
        [
            constant(call, 1515870810, width),
            doubled(call, half, constant(call, -1010580540, width), width),
        ],
    )
    for _ in range(3):
        error = call.op("Sub", [constant(call, 1 << 29, width), doubled(call, half, x, width)])
        x = call.op("Add", [x, saturated_left(call, doubled(call, x, error, width), 2, width)])
    return x


def reciprocal_of_one_plus(call: NodeCall, a: Tensor, width: int = 32) -> Tensor:
    return saturated_left(call, doubled_reciprocal_of_one_plus(call, a, width), 1, width)


def sigmoid_16(call: NodeCall, x: Tensor) -> Tensor:
    """sigmoid of 16-bit numbers with three integer bits. The result has no integer bits."""
    b = call.builder
    y = reciprocal_of_one_plus(
        call, exponential_below_zero(call, call.op("Min", [x, call.op("Neg", [x])]), 3, 16), 16
    )
    y = call.op("Where", [b.binary("Greater", x, 0), y, b.binary("Sub", MOST >> 16, y)])
    return call.op("Where", [b.binary("Equal", x, 0), number(call, 1 << 14), y])


def tanh_16(call: NodeCall, x: Tensor, bits: int) -> Tensor:
    """tanh of 16-bit numbers with these integer bits. The result has no integer bits."""
    b = call.builder
    twice = exponential_below_zero(call, call.op("Min", [x, call.op("Neg", [x])]), bits + 1, 16)
    y = saturated_left(
        call, b.binary("Sub", doubled_reciprocal_of_one_plus(call, twice, 16), 1 << 13), 2, 16
    )
    y = call.op("Where", [b.binary("Less", x, 0), call.op("Neg", [y]), y])
    return call.op("Where", [b.binary("Equal", x, 0), number(call, 0), y])


def leading_zeros(call: NodeCall, x: Tensor) -> Tensor:
    """The number of leading zeros of a positive int32, by five halving steps."""
    b, count = call.builder, number(call, 0)
    for shift in (16, 8, 4, 2, 1):
        small = b.binary("Less", shifted_right(call, x, 32 - shift - 1), 1)
        small = call.op("And", [small, b.binary("GreaterEqual", x, 0)])
        moved = call.op("Where", [small, number(call, shift), number(call, 0)])
        x, count = call.op("ShiftLeft", [x, moved]), call.op("Add", [count, moved])
    return call.op(
        "Add", [count, call.op("Where", [b.binary("Less", x, 0), number(call, 0), number(call, 1)])]
    )


SQRT_HALF, SQRT_SQRT_HALF, LOG_2 = 1518500250, 1805811301, 1488522236


def logarithm_from_one(call: NodeCall, x: Tensor, bits: int, out: int) -> Tensor:
    """log of a number >= 1 with these integer bits. The result has `out` integer bits: a power of
    2, and a rational function of the rest.
    """
    b, shift = call.builder, 31 - (out + 1)
    quarter = 1 << (29 - (out + 1))
    zeros = leading_zeros(call, x)
    shifted = call.op("ShiftLeft", [x, call.op("Sub", [zeros, number(call, 1)])])
    first = saturated_left(call, doubled_high(call, shifted, number(call, SQRT_HALF)), 1)
    first_power = more(
        call, shifted_left(call, call.op("Sub", [number(call, bits), zeros]), shift), quarter
    )
    room = call.op(
        "Sub",
        [leading_zeros(call, doubled_high(call, x, number(call, SQRT_HALF))), number(call, 1)],
    )
    bound = call.op(
        "Sub",
        [
            call.op("ShiftLeft", [number(call, 1), call.op("Sub", [number(call, 31), room])]),
            number(call, 1),
        ],
    )
    second = call.op(
        "Where",
        [call.op("Greater", [x, bound]), number(call, MOST), call.op("ShiftLeft", [x, room])],
    )
    second_power = more(
        call, shifted_left(call, call.op("Sub", [number(call, bits), room]), shift), -quarter
    )
    rest, power = call.op("Min", [first, second]), call.op("Max", [first_power, second_power])
    share = _logarithm_of_rest(call, rest, out)
    return saturated_left(
        call, b.op("Add", [doubled_high(call, power, number(call, LOG_2)), share]), 1
    )


def _logarithm_of_rest(call: NodeCall, rest: Tensor, out: int) -> Tensor:
    """The rational function of `logarithm_from_one`: the logarithm of the rest."""
    middle = call.op(
        "Add",
        [call.op("ShiftRight", [rest, number(call, 1)]), number(call, (SQRT_SQRT_HALF >> 1) + 1)],
    )
    q = call.op("Sub", [rest, number(call, SQRT_SQRT_HALF)])
    q = call.op("Add", [q, q])
    square = doubled_high(call, q, q)
    above = call.op(
        "Add",
        [
            doubled_high(call, q, rest),
            doubled_high(call, doubled_high(call, q, square), number(call, 117049297)),
        ],
    )
    inner = call.op(
        "Add",
        [
            call.op("Add", [number(call, 1057819769), q]),
            doubled_high(call, number(call, 127690142), square),
        ],
    )
    below = call.op(
        "Add", [doubled_high(call, middle, inner), doubled_high(call, number(call, 638450708), q)]
    )
    return doubled_high(
        call, rounded_right(call, above, out + 1), reciprocal_of_one_plus(call, below)
    )


def inverse_root(call: NodeCall, x: Tensor) -> tuple[Tensor, Tensor]:
    """1 / sqrt of an integer, as a factor and a shift, by five Newton steps."""
    b = call.builder
    large = b.binary("GreaterEqual", x, 1 << 29)
    small = b.binary("LessEqual", x, 1)
    value = call.op(
        "Where", [large, shifted_right(call, x, 2), call.op("Where", [small, number(call, 2), x])]
    )
    shift = call.op("Where", [large, number(call, 12), number(call, 11)])
    pairs = call.op(
        "Sub",
        [
            shifted_right(call, call.op("Sub", [leading_zeros(call, value), number(call, 1)]), 1),
            number(call, 1),
        ],
    )
    shift = call.op("Sub", [shift, pairs])
    value = shifted_right(call, call.op("ShiftLeft", [value, call.op("Add", [pairs, pairs])]), 1)
    half, root = rounded_right(call, value, 1), number(call, 1 << 28)
    for _ in range(5):
        cube = saturated_left(call, doubled_high(call, doubled_high(call, root, root), root), 6)
        step = call.op(
            "Sub",
            [
                doubled_high(call, number(call, (1 << 28) + (1 << 27)), root),
                doubled_high(call, half, cube),
            ],
        )
        root = saturated_left(call, step, 3)
    root = doubled_high(call, root, number(call, SQRT_HALF))
    root = call.op("ShiftLeft", [root, b.binary("Max", call.op("Neg", [shift]), 0)])
    down = call.op("Neg", [b.binary("Max", shift, 0)])
    return call.op("Where", [small, number(call, MOST), root]), call.op(
        "Where", [small, number(call, 0), down]
    )
