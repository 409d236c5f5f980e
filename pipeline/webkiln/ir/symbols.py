"""The symbols of sizes.

* A placeholder such as `T` is a size that is set before a run. It is at least 1, or 0 if its name
  has the word `past` or `cache`, or if it is an element of an input (`size_at_0`).
* A counter such as `i0` is the iteration number of a loop; it is at least 0.
* A data-dependent size such as `u0` is computed during a run; it is at least 0.
* A quotient such as `H_by32` replaces the placeholder `H` if guards fix its remainder modulo 32; it
  is at least 1.
"""

import keyword
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import prod

from webkiln.errors import ShapeError
from webkiln.ir.dim import Atom, Dim, Size, apply, from_atom, known, multiply, sum_sizes

NAME = re.compile(r"[A-Za-z]\w*\Z", re.ASCII)
COUNTER = re.compile(r"i\d+\Z")
"""Names of loop counters."""
DATA_DEPENDENT = re.compile(r"u\d+\Z")
"""Names of data-dependent sizes."""
MAY_BE_ZERO = re.compile(r"(\w*_)?(past|cache)(_\w*)?\Z|\w+_at_\d+\Z", re.ASCII)
"""Names of placeholders that may be 0: a cache is empty in the first run."""
QUOTIENT = re.compile(r"\w+_by(\d+)_*\Z", re.ASCII)
"""Names of quotients, with the divisor."""


def placeholder(name: str) -> Dim:
    """The placeholder `name`. Raises ShapeError if the name is invalid or reserved."""
    if COUNTER.match(name) or DATA_DEPENDENT.match(name) or QUOTIENT.match(name):
        raise ShapeError(
            f"{name!r} is reserved for a loop counter or an internal size; choose another name for"
            " the size"
        )
    return _named(name, 0 if MAY_BE_ZERO.match(name) else 1)


def lowest(name: str) -> int:
    """The least value of the symbol `name`."""
    (((atom,), _),) = from_name(name).terms
    return int(atom.args[1])


def size_name(name: str) -> str:
    """A size's label as a name that is valid in all generated languages and that `placeholder`
    accepts.
    """
    cleaned = re.sub(r"\W", "_", name, flags=re.ASCII)
    with suppress(ShapeError):
        placeholder(cleaned)
        return cleaned
    return f"d{cleaned}"


def counter(name: str) -> Dim:
    """The iteration number of the loop `name`, from 0."""
    return _named(name, 0)


def data_dependent(name: str) -> Dim:
    """The data-dependent size `name`."""
    return _named(name, 0)


def quotient(name: str, multiple: int, reserved: Iterable[str]) -> Dim:
    """A new symbol for the placeholder `name` divided by `multiple`. Its name is not `reserved`."""
    stem = f"{name}_by{multiple}"
    while stem in reserved:
        stem += "_"
    return _named(stem, 1)


def from_name(name: str) -> Dim:
    """The symbol `name`, of whichever kind the name belongs to."""
    if COUNTER.match(name) or DATA_DEPENDENT.match(name):
        return _named(name, 0)
    return _named(name, 1) if QUOTIENT.match(name) else placeholder(name)


def _named(name: str, low: int) -> Dim:
    if not NAME.match(name) or keyword.iskeyword(name):
        raise ShapeError(
            f"{name!r} is not a valid name for a size; use a letter, then letters, digits and"
            " underscores, and no keyword of Python"
        )
    return Dim((((Atom("name", (name, low)),), 1),))


def names(sizes: Iterable[Size]) -> set[str]:
    """The names of all symbols in `sizes`."""
    result: set[str] = set()
    for size in sizes:
        for monomial, _ in size.terms if isinstance(size, Dim) else ():
            for atom in monomial:
                result |= {atom.args[0]} if atom.op == "name" else names(atom.args)
    return result


def substitute(size: Size, values: Mapping[str, Size]) -> Size:
    """Replace symbols by numbers or other sizes. Symbols that are not in `values` stay."""
    if not isinstance(size, Dim):
        return size
    return sum_sizes(
        multiply(factor, prod((_substitute_atom(atom, values) for atom in monomial), start=1))
        for monomial, factor in size.terms
    )


def evaluate(size: Size, values: Mapping[str, int]) -> int:
    """The number that a size is for `values` of all its symbols. Raises ShapeError if one is
    missing.
    """
    return known(substitute(size, values), "a size")


def _substitute_atom(atom: Atom, values: Mapping[str, Size]) -> Size:
    return (
        values.get(atom.args[0], from_atom(atom))
        if atom.op == "name"
        else apply(atom.op, *(substitute(arg, values) for arg in atom.args))
    )
