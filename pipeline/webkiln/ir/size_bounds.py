"""Upper bounds of symbolic sizes that are polynomials themselves."""

from collections.abc import Sequence

from webkiln.ir.dim import Monomial, Size, from_terms, maximum, terms_of


def upper_bound(sizes: Sequence[Size]) -> Size:
    """An upper bound of several sizes: the polynomial of the largest coefficient of each monomial.

    If an atom may be negative, it is the exact maximum, which need not be a polynomial.
    """
    coefficients: dict[Monomial, int] = {}
    for size in sizes:
        for monomial, factor in terms_of(size).items():
            if any(atom.low is None or atom.low < 0 for atom in monomial):
                return maximum(sizes)
            coefficients[monomial] = max(coefficients.get(monomial, 0), factor)
    return from_terms(coefficients)


def round_up(size: Size, alignment: int, coefficient: int | None = None) -> Size:
    """Round up the constant term to a multiple of `alignment`, and the other coefficients to
    multiples of `coefficient` (default: `alignment`). All coefficients must be non-negative.
    """
    units = {
        monomial: coefficient or alignment if monomial else alignment
        for monomial, _ in terms_of(size).items()
    }
    return from_terms(
        {
            monomial: -(-factor // units[monomial]) * units[monomial]
            for monomial, factor in terms_of(size).items()
        }
    )
