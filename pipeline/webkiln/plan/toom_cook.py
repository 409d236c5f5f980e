"""The transforms of Toom and Cook's algorithm for short correlations, on expressions: m outputs of
a
filter of k taps by m + k - 1 multiplications.

Points of evaluation are 0, pairs of a number and its negative, and infinity (Lavin and Gray, Fast
Algorithms for Convolutional Neural Networks, CVPR 2016, arXiv:1509.09308). Pairs share the even and
the odd half of what is summed for them.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from webkiln.nest.expr import FLOAT, Expr, const

POINTS = {
    4: (Fraction(1),),
    6: (Fraction(3, 4), Fraction(3, 2)),
    10: (Fraction(2, 5), Fraction(4, 5), Fraction(5, 4), Fraction(2)),
}
"""By m + k - 1: the positive one of each pair, chosen for small errors."""


def _sum(terms: Sequence[tuple[Fraction, Expr]]) -> Expr:
    """The sum of terms with factors; there is at least one."""

    def term(factor: Fraction, value: Expr) -> Expr:
        return value if factor == 1 else const(float(factor), FLOAT) * value

    (factor, value), *others = terms
    total = term(factor, value) if factor > 0 else -term(-factor, value)
    for factor, value in others:
        total = total + term(factor, value) if factor > 0 else total - term(-factor, value)
    return total


def _polynomial(squares: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the product of (x^2 - s), those of even powers, lowest first."""
    result = [Fraction(1)]
    for square in squares:
        result = [
            high - square * low
            for low, high in zip([*result, Fraction(0)], [Fraction(0), *result], strict=True)
        ]
    return result


def data(values: Sequence[Expr]) -> list[Expr]:
    """What is multiplied of m + k - 1 neighbours: at 0, at each point and its negative, at
    infinity.
    """
    points = POINTS[len(values)]
    squares = [point * point for point in points]

    def dot(coefficients: Sequence[Fraction], first: int) -> Expr:
        return _sum(
            [
                (factor, values[first + 2 * power])
                for power, factor in reversed(list(enumerate(coefficients)))
            ]
        )

    found = [dot(_polynomial(squares), 0)]
    for position, point in enumerate(points):
        rest = _polynomial(squares[:position] + squares[position + 1 :])
        even, odd = dot(rest, 2), _sum([(point, dot(rest, 1))])
        found += [even + odd, even - odd]
    return [*found, dot(_polynomial(squares), 1)]


def filters(taps: Sequence[Expr], count: int) -> list[Expr]:
    """What is multiplied of k taps, for `count` products."""
    points = [Fraction(0), *(sign * point for point in POINTS[count] for sign in (1, -1))]
    found = []
    for point in points:
        scale = prod(point - other for other in points if other != point)
        found.append(
            _sum(
                [
                    (point**power / scale, tap)
                    for power, tap in enumerate(taps)
                    if point or not power
                ]
            )
        )
    return [*found, taps[-1]]


def outputs(products: Sequence[Expr], count: int) -> list[Expr]:
    """The first `count` outputs of the products."""
    first, *pairs, last = products
    points = POINTS[len(products)]
    sums, differences = (
        [sign(pairs[2 * n], pairs[2 * n + 1]) for n in range(len(points))]
        for sign in (Expr.__add__, Expr.__sub__)
    )
    found = []
    for power in range(count):
        terms = [
            (point**power, item)
            for point, item in zip(points, differences if power % 2 else sums, strict=True)
        ]
        found.append(
            _sum(
                [
                    *([(Fraction(1), first)] if power == 0 else []),
                    *terms,
                    *([(Fraction(1), last)] if power == count - 1 else []),
                ]
            )
        )
    return found
