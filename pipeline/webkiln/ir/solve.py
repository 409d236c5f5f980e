"""Values for the placeholders of symbolic sizes: solved from concrete shapes, or typical ones for
heuristics.
"""

from collections.abc import Iterable

from webkiln.errors import ShapeError
from webkiln.ir.dim import LATE, UNIT, Dim, at, names

SAMPLE = 64
"""The value of every placeholder where a heuristic wants a concrete size."""


def solve(declared: Iterable[int], actual: Iterable[int], values: dict[str, int]) -> None:
    """Add to `values` what names must be for sizes to be those of `actual`; ShapeError where they
    cannot.
    """
    for size, number in zip(declared, actual, strict=True):
        rest = at(size, values)
        name, factor, constant = _linear(rest)
        value, odd = divmod(number - constant, factor)
        if name and not odd and value >= (0 if LATE.match(name) else 1):
            values[name] = value
        elif rest != number:
            raise ShapeError(f"a size is {size}, got {number}")


def _linear(size: int) -> tuple[str, int, int]:
    """(name, factor, constant) of a multiple of one name and a number; the name is empty where it
    is none.
    """
    terms = dict(size.terms) if isinstance(size, Dim) else {(): size}
    constant = terms.pop((), 0)
    ((monomial, factor),) = terms.items() if len(terms) == 1 else [((), 1)]
    is_name = len(monomial) == 1 and monomial[0].op == "name"
    return (str(monomial[0].args[0]) if is_name else "", factor, constant)


def sampled(size: int) -> int:
    """The size at `SAMPLE` for every placeholder, for heuristics."""
    return at(size, {name: typical(name, SAMPLE) for name in names([size])})


def typical(name: str, sample: int) -> int:
    """The value of a placeholder of that name; one that counts multiples (`H_by32`) is as many
    times smaller.
    """
    match = UNIT.match(name)
    return max(sample // int(match[1]), 1) if match else sample
