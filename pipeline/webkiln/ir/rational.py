"""Floating-point numbers that are computed from symbolic sizes.

A Rational is an exact quotient of sizes, together with the floating-point computation that it
stands for. Where the number becomes an integer, or is compared, the exact result is used if the
computation in floating point gives the same one: this is tested for all sizes up to 131,072, or for
random ones if there are several symbols.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import gcd, isqrt, prod
from typing import Any, Self

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir import symbols
from webkiln.ir.dim import (
    Atom,
    Dim,
    Size,
    floordiv,
    from_terms,
    is_at_least,
    is_symbolic,
    maximum,
    minimum,
    terms_of,
)
from webkiln.ir.size_checks import require_equal
from webkiln.ir.types import Array

LARGEST = 1 << 17
"""The largest size for which results in floating point are compared with exact ones."""
ACCEPTED = 2048
"""If they differ only above this size, larger sizes are rejected when the model runs."""
SAMPLES = 1 << 14
"""The number of random sizes."""
RARE = 0.01
"""The part of the random sizes for which floating point may differ."""
Sample = Mapping[str, Array]
"""Values of symbols, one array of integers each."""
Rounded = Callable[[Sample], Any]
"""Computes an array, or a Python number, which takes the dtype of the other operand."""


def positive(size: Size) -> Size:
    """1 if a size is at least 1, else 0."""
    if is_at_least(size, 1):
        return 1
    return 0 if is_at_least(0, size) else minimum(maximum([size, 0]), 1)


def nonzero(size: Size) -> Size:
    """0 if a size is 0, else 1."""
    return positive(size) + positive(-size)


def select(condition: Size, yes: Size, no: Size) -> Size:
    """`yes` if the condition is 1, `no` if it is 0."""
    if not is_symbolic(condition):
        return yes if condition else no
    difference = yes - no
    if condition in (positive(difference), 1 - positive(-difference)):
        return maximum([yes, no])
    if condition in (positive(-difference), 1 - positive(difference)):
        return minimum(yes, no)
    return no + condition * (yes - no)


def truncated_quotient(a: Size, b: Size) -> Size:
    """a / b, rounded towards zero, for b >= 1."""
    if is_at_least(a, 0):
        return floordiv(a, b)
    return maximum([floordiv(a, b), 0]) - maximum([floordiv(-a, b), 0])


def sign_of_divisor(size: Size) -> int:
    """1 or -1. A size that may be 0 must be at least 1 when the model runs. Raise ShapeError if the
    sign is not known.
    """
    if is_at_least(size, 1):
        return 1
    if is_at_least(size, 0):
        require_equal(maximum([size, 1]), size, "a divisor must not be 0")
        return 1
    if is_at_least(-1, size):
        return -1
    raise ShapeError(f"cannot divide by {size}, which may be 0 or of either sign")


@dataclass(frozen=True, slots=True, eq=False)
class Rational:
    """`numerator / denominator`; the denominator is at least 1. `rounded` is the computation in
    floating point, of the symbols `names`. Arithmetic and comparisons accept Rationals and Python
    numbers; comparisons return 1, 0 or a size that is one of them.
    """

    numerator: Size
    denominator: Size
    rounded: Rounded
    names: frozenset[str] = frozenset()

    @classmethod
    def of_size(cls, size: Size, dtype: str) -> Self:
        names = frozenset(symbols.names([size]))
        return cls(size, 1, lambda sample: evaluate(size, sample).astype(dtype), names)

    @classmethod
    def of_float(cls, value: np.floating[Any]) -> Self:
        """A constant: the simplest fraction that is rounded to it. Raise ShapeError if it is not
        finite.
        """
        if not np.isfinite(value):
            raise ShapeError(f"cannot compute sizes with {value}")
        simplest = _simplest(value)
        return cls(simplest.numerator, simplest.denominator, lambda sample: np.asarray(value))

    @property
    def is_symbolic(self) -> bool:
        return bool(self.names)

    @property
    def value(self) -> Array:
        """The value of a number without symbols, in its dtype."""
        return np.asarray(self.rounded({}))

    def __str__(self) -> str:
        return f"({self.numerator}) / ({self.denominator})"

    def _with(self, function: Any, numerator: Size, denominator: Size, *others: "Rational") -> Self:
        numerator, denominator = _reduced(numerator, denominator)
        operands = (self.rounded, *(other.rounded for other in others))
        return type(self)(
            numerator,
            denominator,
            lambda sample: function(*(operand(sample) for operand in operands)),
            self.names.union(*(other.names for other in others)),
        )

    def __neg__(self) -> Self:
        return self._with(np.negative, -self.numerator, self.denominator)

    def __add__(self, other: "Rational | float") -> Self:
        b = _lifted(other)
        return self._with(np.add, *_sum(self, b.numerator, b.denominator), b)

    def __sub__(self, other: "Rational | float") -> Self:
        b = _lifted(other)
        return self._with(np.subtract, *_sum(self, -b.numerator, b.denominator), b)

    def __mul__(self, other: "Rational | float") -> Self:
        b = _lifted(other)
        product = (self.numerator * b.numerator, self.denominator * b.denominator)
        return self._with(np.multiply, *product, b)

    def __truediv__(self, other: "Rational | float") -> Self:
        b = _lifted(other)
        sign = sign_of_divisor(b.numerator)
        quotient = (
            self.numerator * b.denominator * sign,
            self.denominator * b.numerator * sign,
        )
        return self._with(np.divide, *quotient, b)

    def __radd__(self, other: float) -> "Rational":
        return _lifted(other) + self

    def __rsub__(self, other: float) -> "Rational":
        return _lifted(other) - self

    def __rmul__(self, other: float) -> "Rational":
        return _lifted(other) * self

    def __rtruediv__(self, other: float) -> "Rational":
        return _lifted(other) / self

    def __pow__(self, exponent: int) -> Self:
        numerator, denominator = (
            prod([size] * exponent) for size in (self.numerator, self.denominator)
        )
        return self._with(lambda x: np.power(x, exponent), numerator, denominator)

    def square_root(self) -> Self:
        """Raise ShapeError if the number is not the square of a quotient of sizes."""
        numerator, denominator = (_root(size) for size in (self.numerator, self.denominator))
        if numerator is None or denominator is None:
            raise ShapeError(f"the square root of {self} is not a quotient of sizes")
        return self._with(np.sqrt, numerator, denominator)

    def remainder(self, divisor: "Rational", method: str) -> Self:
        """What remains after division by a positive number, with the quotient rounded by `floor`
        or `trunc`.
        """
        quotient = getattr(self / divisor, method)()
        exact = self - divisor * type(self).of_size(quotient, "float64")
        function = np.mod if method == "floor" else np.fmod
        return self._with(function, exact.numerator, exact.denominator, divisor)

    def is_never(self, relation: Any) -> Size:
        """0, for a relation that holds for no quotient of sizes."""
        return verified(0, lambda sample: relation(self.rounded(sample)), self.names)

    def __abs__(self) -> Self:
        return self._with(np.abs, maximum([self.numerator, -self.numerator]), self.denominator)

    def maximum(self, other: "Rational") -> Self:
        a, b, denominator = _over_one_denominator(self, other)
        return self._with(np.maximum, maximum([a, b]), denominator, other)

    def minimum(self, other: "Rational") -> Self:
        a, b, denominator = _over_one_denominator(self, other)
        return self._with(np.minimum, minimum(a, b), denominator, other)

    def cast(self, dtype: str) -> Self:
        return self._with(lambda x: x.astype(dtype), self.numerator, self.denominator)

    def chosen(self, condition: Size, other: "Rational") -> Self:
        """This number if the condition is 1, the other one if it is 0."""
        a, b, denominator = _over_one_denominator(self, other)
        numerator, denominator = _reduced(select(condition, a, b), denominator)
        return type(self)(
            numerator,
            denominator,
            lambda sample: np.where(
                evaluate(condition, sample) != 0, self.rounded(sample), other.rounded(sample)
            ),
            self.names | other.names | symbols.names([condition]),
        )

    def integral(self, method: str) -> Self:
        """The result of `floor`, `ceil` or `rint` as a floating-point number."""
        integer = getattr(self, method)()
        return self._with(getattr(np, method), integer, 1)

    def floor(self) -> Size:
        return self._integer(floordiv(self.numerator, self.denominator), np.floor)

    def ceil(self) -> Size:
        return self._integer(-floordiv(-self.numerator, self.denominator), np.ceil)

    def trunc(self) -> Size:
        return self._integer(truncated_quotient(self.numerator, self.denominator), np.trunc)

    def rint(self) -> Size:
        """The nearest integer; halves are rounded to the even one."""
        doubled, unit = 2 * self.numerator + self.denominator, 2 * self.denominator
        nearest = floordiv(doubled, unit)
        is_half = 1 - positive(doubled - nearest * unit)
        is_odd = nearest - 2 * floordiv(nearest, 2)
        return self._integer(nearest - is_half * is_odd, np.rint)

    def _integer(self, exact: Size, rounding: Any) -> Size:
        return verified(exact, lambda sample: rounding(self.rounded(sample)), self.names)

    def is_less(self, other: "Rational") -> Size:
        """1 if this number is less than the other one, else 0."""
        a, b, _ = _over_one_denominator(self, other)
        return self._compared(positive(b - a), np.less, other)

    def is_equal(self, other: "Rational") -> Size:
        """1 if this number equals the other one, else 0."""
        a, b, _ = _over_one_denominator(self, other)
        return self._compared(1 - nonzero(a - b), np.equal, other)

    def _compared(self, exact: Size, relation: Any, other: "Rational") -> Size:
        return verified(
            exact,
            lambda sample: relation(self.rounded(sample), other.rounded(sample)),
            self.names | other.names,
        )


def _lifted(value: "Rational | float") -> Rational:
    if isinstance(value, Rational):
        return value
    exact = Fraction(value)
    return Rational(exact.numerator, exact.denominator, lambda sample: value)


def _sum(a: Rational, numerator: Size, denominator: Size) -> tuple[Size, Size]:
    if a.denominator == denominator:
        return a.numerator + numerator, denominator
    return a.numerator * denominator + numerator * a.denominator, a.denominator * denominator


def _root(size: Size) -> Size | None:
    """The root of a product of squares that is not negative."""
    if not is_symbolic(size):
        return isqrt(size) if size >= 0 and isqrt(size) ** 2 == size else None
    terms = terms_of(size)
    monomial = max(terms, key=lambda item: (len(item), str(item)))
    factor, halves = terms[monomial], monomial[::2]
    if factor < 0 or isqrt(factor) ** 2 != factor or halves != monomial[1::2]:
        return None
    lead = from_terms({halves: isqrt(factor)})
    rest = size - lead * lead
    double = 2 * lead
    root = lead + floordiv(rest, double) if is_at_least(double, 1) else lead
    return root if root * root == size and is_at_least(root, 0) else None


def _over_one_denominator(a: Rational, b: Rational) -> tuple[Size, Size, Size]:
    if a.denominator == b.denominator:
        return a.numerator, b.numerator, a.denominator
    product = a.denominator * b.denominator
    return a.numerator * b.denominator, b.numerator * a.denominator, product


def _reduced(numerator: Size, denominator: Size) -> tuple[Size, Size]:
    """The quotient in lower terms."""
    quotient = floordiv(numerator, denominator)
    if quotient * denominator == numerator:
        return quotient, 1
    factors = [*terms_of(numerator).values(), *terms_of(denominator).values()]
    common = reduce(gcd, factors)
    return _divided(numerator, common), _divided(denominator, common)


def _divided(size: Size, divisor: int) -> Size:
    """A size divided by a number that divides all its terms."""
    return from_terms({term: factor // divisor for term, factor in terms_of(size).items()})


def _simplest(value: np.floating[Any]) -> Fraction:
    """The fraction with the smallest denominator that is rounded to a number."""
    exact = Fraction(float(value))
    if exact < 0:
        return -_simplest(-value)
    infinity = type(value)(np.inf)
    low, high = (
        (exact + Fraction(float(np.nextafter(value, limit)))) / 2 for limit in (-infinity, infinity)
    )
    return _simplest_between(low, high)


def _simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """By continued fractions."""
    whole = low.numerator // low.denominator
    if whole == low:
        return Fraction(whole)
    if whole + 1 <= high:
        return Fraction(whole + 1)
    return whole + 1 / _simplest_between(1 / (high - whole), 1 / (low - whole))


def verified(exact: Size, rounded: Rounded, operands: Collection[str]) -> Size:
    """The exact result of a computation with symbols, if floating point gives the same one.

    With one symbol, larger sizes than those that agree are excluded by a guard. With several, the
    exact result stands if the others differ by 1 in less than 1 % of random sizes: these are the
    sizes at which the exact number is at the boundary of the rounding. Raise ShapeError if the
    results differ otherwise.
    """
    names = sorted(operands)
    if not names:
        return int(rounded({}))
    sample = _sample(names)
    with np.errstate(all="ignore"):
        difference = np.atleast_1d(np.abs(evaluate(exact, sample) - rounded(sample).astype(float)))
    differs = ~(difference == 0)
    is_rare = len(names) > 1 and np.mean(differs) < RARE and not (difference > 1).any()
    if not differs.any() or is_rare:
        return exact
    first = int(sample[names[0]][np.argmax(differs)])
    if len(names) > 1 or first <= ACCEPTED:
        at = ", ".join(f"{name} = {sample[name][np.argmax(differs)]}" for name in names)
        raise ShapeError(f"the size {exact} depends on rounding in floating point, as for {at}")
    size = symbols.from_name(names[0])
    require_equal(maximum([size, first - 1]), first - 1, f"{names[0]} must be less than {first}")
    return exact


def _sample(names: list[str]) -> dict[str, Array]:
    if len(names) == 1:
        return {names[0]: np.arange(1, LARGEST)}
    rng = np.random.default_rng(0)
    return {name: rng.integers(1, 2 * ACCEPTED, SAMPLES) for name in names}


def evaluate(size: Size, sample: Sample) -> Array:
    """A size for many values of its symbols."""
    if not isinstance(size, Dim):
        return np.asarray(size)
    total = np.zeros((), np.int64)
    for monomial, factor in size.terms:
        product = np.asarray(factor)
        for atom in monomial:
            product = product * _evaluate_atom(atom, sample)
        total = total + product
    return total


def _evaluate_atom(atom: Atom, sample: Sample) -> Array:
    if atom.op == "name":
        return sample[atom.args[0]]
    function = {"floordiv": np.floor_divide, "max": np.maximum, "min": np.minimum}[atom.op]
    return np.asarray(function(*(evaluate(arg, sample) for arg in atom.args)))
