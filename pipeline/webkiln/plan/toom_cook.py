"""The transforms of the Toom-Cook algorithm for short correlations, on expressions: m outputs of a
filter of k taps by m + k - 1 multiplications.

The evaluation points are 0, pairs of a number and its negative, and infinity (Lavin and Gray, Fast
Algorithms for Convolutional Neural Networks, CVPR 2016, arXiv:1509.09308). A pair shares the even
and the odd part of its sums.
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
"""m + k - 1 -> the positive point of each pair, chosen for small errors."""


def _sum(terms: Sequence[tuple[Fraction, Expr]]) -> Expr:
    """The sum of terms, each scaled by a factor. There is at least one."""

    def term(factor: Fraction, value: Expr) -> Expr:
        return value if factor == 1 else const(float(factor), FLOAT) * value

    (factor, value), *others = terms
    total = term(factor, value) if factor > 0 else -term(-factor, value)
    for factor, value in others:
        total = total + term(factor, value) if factor > 0 else total - term(-factor, value)
    return total


def _polynomial(squares: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of even powers of the product of (x^2 - s), lowest first."""
    result = [Fraction(1)]
    for square in squares:
        result = [
            high - square * low
            for low, high in zip([*result, Fraction(0)], [Fraction(0), *result], strict=True)
        ]
    return result


def data(values: Sequence[Expr]) -> list[Expr]:
    """The transform of m + k - 1 neighbouring inputs: values at 0, at each point and its negative,
    and at infinity.
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

    values_at_points = [dot(_polynomial(squares), 0)]
    for position, point in enumerate(points):
        rest = _polynomial(squares[:position] + squares[position + 1 :])
        even, odd = dot(rest, 2), _sum([(point, dot(rest, 1))])
        values_at_points += [even + odd, even - odd]
    return [*values_at_points, dot(_polynomial(squares), 1)]


def filters(taps: Sequence[Expr], count: int) -> list[Expr]:
    """The transform of k taps for `count` products."""
    points = [Fraction(0), *(sign * point for point in POINTS[count] for sign in (1, -1))]
    transformed = []
    for point in points:
        scale = prod(point - other for other in points if other != point)
        transformed.append(
            _sum(
                [
                    (point**power / scale, tap)
                    for power, tap in enumerate(taps)
                    if point or not power
                ]
            )
        )
    return [*transformed, taps[-1]]


def outputs(products: Sequence[Expr], count: int) -> list[Expr]:
    """The inverse transform: the first `count` outputs."""
    first, *pairs, last = products
    points = POINTS[len(products)]
    sums, differences = (
        [sign(pairs[2 * n], pairs[2 * n + 1]) for n in range(len(points))]
        for sign in (Expr.__add__, Expr.__sub__)
    )
    results = []
    for power in range(count):
        terms = [
            (point**power, item)
            for point, item in zip(points, differences if power % 2 else sums, strict=True)
        ]
        results.append(
            _sum(
                [
                    *([(Fraction(1), first)] if power == 0 else []),
                    *terms,
                    *([(Fraction(1), last)] if power == count - 1 else []),
                ]
            )
        )
    return results
