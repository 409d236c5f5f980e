"""Values of placeholders: solved from concrete shapes, or nominal values for heuristics."""

from collections.abc import Iterable

from webkiln.errors import ShapeError
from webkiln.ir.dim import Dim, Size
from webkiln.ir.symbols import QUOTIENT, evaluate, lowest, names, substitute

SAMPLE = 64
"""The nominal value of placeholders."""


def solve(declared: Iterable[Size], actual: Iterable[int], values: dict[str, int]) -> None:
    """Add the values of symbols to `values` for which the sizes `declared` equal `actual`.

    Raises ShapeError if there are none.
    """
    for size, number in zip(declared, actual, strict=True):
        rest = substitute(size, values)
        name, factor, constant = _linear(rest)
        value, remainder = divmod(number - constant, factor)
        if name and not remainder and value >= lowest(name):
            values[name] = value
        elif rest != number:
            raise ShapeError(f"expected the size {size}, got {number}")


def _linear(size: Size) -> tuple[str, int, int]:
    """Decompose a size as factor * name + constant. The name is empty if it has another form."""
    terms = dict(size.terms) if isinstance(size, Dim) else {(): size}
    constant = terms.pop((), 0)
    ((monomial, factor),) = terms.items() if len(terms) == 1 else [((), 1)]
    is_name = len(monomial) == 1 and monomial[0].op == "name"
    return (str(monomial[0].args[0]) if is_name else "", factor, constant)


def nominal_size(size: Size) -> int:
    """The size for nominal values of its symbols, for heuristics."""
    return evaluate(size, {name: nominal_value(name, SAMPLE) for name in names([size])})


def nominal_value(name: str, sample: int) -> int:
    """The nominal value of a symbol: `sample`, divided by the divisor of a quotient (`H_by32`)."""
    match = QUOTIENT.match(name)
    return max(sample // int(match[1]), 1) if match else sample
