"""Symbolic sizes: canonical integer expressions over named placeholders.

A placeholder such as `T` is set when the model runs and is at least 1; the counter of a loop, and a
size that only the run itself finds out, are at least 0. A Dim is a polynomial with integer
coefficients, whose atoms are names and the terms floordiv, max and min of other sizes. Equal
polynomials are equal Dims; a result that depends on no name is an int, so that code that computes
with sizes need not tell them apart. What would need a number (`range`, an allocation) fails; a
comparison that the lower bounds cannot decide raises ShapeError.
"""

import keyword
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd, lcm, prod
from typing import TYPE_CHECKING, Any, Self

from webkiln.errors import ShapeError

if TYPE_CHECKING:
    _Number = int
else:
    _Number = object
"""Shapes are typed as ints: a Dim adds and multiplies like one. At run time it is none, so that
nothing takes it for a number.
"""

NAME = re.compile(r"[A-Za-z]\w*\Z", re.ASCII)
COUNTER = re.compile(r"i\d+\Z")
"""The names of the counters of loops, which placeholders cannot have."""
LATE = re.compile(r"u\d+\Z")
"""The names of sizes that a run finds out."""
UNIT = re.compile(r"\w+_by(\d+)_*\Z", re.ASCII)
"""The names of what sizes are multiples of, with how many times."""
SHOWN = 60
"""The characters of a size that a message prints."""

Monomial = tuple["Atom", ...]
Terms = Mapping[Monomial, int]


@dataclass(frozen=True, slots=True)
class Atom:
    """A name with its lower bound, or floordiv, max or min of two sizes. Its hash and text are
    kept: sizes nest deep, and are looked up often.
    """

    op: str
    args: tuple[Any, ...]
    _hash: int = field(init=False, repr=False, compare=False)
    _text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.op, self.args)))
        object.__setattr__(
            self,
            "_text",
            (
                str(self.args[0])
                if self.op == "name"
                else f"{self.op}({', '.join(map(str, self.args))})"
            ),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (Atom, (self.op, self.args))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self._text

    @property
    def low(self) -> int | None:
        if self.op == "name":
            return int(self.args[1])
        lows = [lower_bound(arg) for arg in self.args]
        if self.op == "max":
            return max((low for low in lows if low is not None), default=None)
        first, second = lows
        if first is None or second is None:
            return None
        return (
            min(first, second)
            if self.op == "min"
            else first // self.args[1]
            if isinstance(self.args[1], int)
            else min(first, 0)
        )


class Dim(_Number):
    """A size that depends on placeholders; made by `placeholder`, `counter` and arithmetic."""

    __slots__ = ("_hash", "terms")

    terms: tuple[tuple[Monomial, int], ...]
    _hash: int

    def __new__(cls, terms: tuple[tuple[Monomial, int], ...]) -> Self:
        self = object.__new__(cls)
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "_hash", hash(terms))
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Dim is a value; {name} cannot be set")

    def __reduce__(self) -> tuple[Any, ...]:
        return (Dim, (self.terms,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return rendered(self)

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __add__(self, other: int) -> int:
        return _sum([self, other])

    __radd__ = __add__

    def __neg__(self) -> int:
        return _product(self, -1)

    def __sub__(self, other: int) -> int:
        return _sum([self, _product(other, -1)])

    def __rsub__(self, other: int) -> int:
        return _sum([other, -self])

    def __mul__(self, other: int) -> int:
        return _product(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> int:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> int:
        return floordiv(other, self)

    def __mod__(self, other: int) -> int:
        return self - floordiv(self, other) * other

    def __lt__(self, other: int) -> bool:
        return not self._at_least(other)

    def __ge__(self, other: int) -> bool:
        return self._at_least(other)

    def __gt__(self, other: int) -> bool:
        return self._at_least(other + 1)

    def __le__(self, other: int) -> bool:
        return not self._at_least(other + 1)

    def _at_least(self, other: int) -> bool:
        if (low := lower_bound(self - other)) is not None and low >= 0:
            return True
        if (low := lower_bound(other - self)) is not None and low > 0:
            return False
        raise ShapeError(
            f"whether {self} is at least {other} is not known before the model runs; build it with"
            " a fixed size there"
        )


def placeholder(name: str) -> int:
    """The size called `name`, at least 1; ShapeError where a size cannot have that name."""
    if COUNTER.match(name) or LATE.match(name) or UNIT.match(name):
        raise ShapeError(
            f"{name!r} is the name of a step counter or of a size that webkiln finds out; choose"
            " another one for the size"
        )
    return _named(name, 1)


def counter(name: str) -> int:
    """The number of the current step of the loop called `name`, from 0."""
    return _named(name, 0)


def data_dependent(name: str) -> int:
    """The size called `name`, which is known only after a launch, at least 0."""
    return _named(name, 0)


def unit(name: str, multiple: int, taken: Iterable[str]) -> int:
    """A size, at least 1, that the size called `name` is to be so many times."""
    stem = f"{name}_by{multiple}"
    while stem in taken:
        stem += "_"
    return _named(stem, 1)


def named(name: str) -> int:
    """The size of that name, whichever kind it is."""
    if COUNTER.match(name) or LATE.match(name):
        return _named(name, 0)
    return _named(name, 1) if UNIT.match(name) else placeholder(name)


def _named(name: str, low: int) -> int:
    if not NAME.match(name) or keyword.iskeyword(name):
        raise ShapeError(
            f"{name!r} is not a name for a size; use a letter, then letters, digits and"
            " underscores, and no word of Python's"
        )
    return Dim((((Atom("name", (name, low)),), 1),))


def is_symbolic(size: Any) -> bool:
    return isinstance(size, Dim)


def _terms(size: int) -> dict[Monomial, int]:
    return dict(size.terms) if isinstance(size, Dim) else {(): int(size)} if size else {}


def _made(terms: Terms) -> int:
    kept = {monomial: factor for monomial, factor in terms.items() if factor}
    if not kept or set(kept) == {()}:
        return kept.get((), 0)
    return Dim(
        tuple(sorted(kept.items(), key=lambda item: (-len(item[0]), tuple(map(str, item[0])))))
    )


def _sum(sizes: Iterable[int]) -> int:
    total: dict[Monomial, int] = {}
    for size in sizes:
        for monomial, factor in _terms(size).items():
            total[monomial] = total.get(monomial, 0) + factor
    return _made(total)


def _product(a: int, b: int) -> int:
    total: dict[Monomial, int] = {}
    for left, m in _terms(a).items():
        for right, n in _terms(b).items():
            monomial = tuple(sorted((*left, *right), key=str))
            total[monomial] = total.get(monomial, 0) + m * n
    return _made(total)


def floordiv(a: int, b: int) -> int:
    """a // b rounded down; what divides evenly leaves the quotient."""
    if not isinstance(a, Dim) and not isinstance(b, Dim):
        return a // b
    if not isinstance(b, Dim):
        if b == 0:
            raise ShapeError(f"{a} is divided by 0")
        whole = _made({monomial: factor // b for monomial, factor in _terms(a).items()})
        rest = a - whole * b
        return whole + (_atom("floordiv", rest, b) if isinstance(rest, Dim) else rest // b)
    if b == a:
        return 1
    common = (
        [_without(monomial, b.terms[0][0]) for monomial in _terms(a)]
        if len(b.terms) == 1
        else [None]
    )
    if all(rest is not None for rest in common) and all(
        factor % b.terms[0][1] == 0 for factor in _terms(a).values()
    ):
        return _made(
            {
                rest: factor // b.terms[0][1]
                for rest, factor in zip(common, _terms(a).values(), strict=True)
                if rest is not None
            }
        )
    return _atom("floordiv", a, b)


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """The monomial divided by another, or None where it does not divide."""
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _atom(op: str, *args: int) -> int:
    return Dim((((Atom(op, args),), 1),))


def greatest(sizes: Iterable[int]) -> int:
    """The maximum, without those sizes that are proven to be at most another."""
    kept: list[int] = []
    for size in (part for item in sizes for part in _maximum_of(item)):
        if not any(reaches(other, size) for other in kept):
            kept = [*(other for other in kept if not reaches(size, other)), size]
    kept.sort(key=str)
    result, *rest = kept or [0]
    for size in rest:
        result = _atom("max", result, size)
    return result


def above(sizes: Sequence[int]) -> int:
    """An upper bound of some sizes, by the largest coefficient of each monomial: a polynomial,
    unlike the maximum.
    """
    kept: dict[Monomial, int] = {}
    for size in sizes:
        for monomial, factor in _terms(size).items():
            if any(atom.low is None or atom.low < 0 for atom in monomial):
                return greatest(sizes)
            kept[monomial] = max(kept.get(monomial, 0), factor)
    return _made(kept)


def _maximum_of(size: int) -> tuple[int, ...]:
    """The sizes of which a size is the maximum: itself, unless it is just that."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        ((monomial, factor),) = size.terms
        if factor == 1 and len(monomial) == 1 and monomial[0].op == "max":
            return tuple(part for arg in monomial[0].args for part in _maximum_of(arg))
    return (size,)


def reaches(a: int, b: int) -> bool:
    """Whether a >= b is proven."""
    low = lower_bound(a - b)
    return low is not None and low >= 0


def never_zero(size: int) -> bool:
    """Whether a size is 0 for no values of its names, as far as that can be proven."""
    if not isinstance(size, Dim):
        return size != 0
    if reaches(size, 1) or reaches(-1, size):
        return True
    terms = _terms(size)
    constant = terms.pop((), 0)
    return constant % gcd(*terms.values()) != 0


def shown(size: int) -> str:
    text = str(size)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def least(a: int, b: int) -> int:
    """The minimum."""
    return a if reaches(b, a) else b if reaches(a, b) else _atom("min", *sorted((a, b), key=str))


@lru_cache(maxsize=4096)
def lower_bound(size: int) -> int | None:
    """A proven lower bound, or None: by the bounds of the atoms, or of the expression with
    quotients
    replaced by linear bounds of them. Those inside others come after them, since what they are in
    sum may cancel.
    """
    bounds, scale = [_bound_by_atoms(size)], 1
    while quotients := _outer_quotients(size):
        multiple = lcm(*(atom.args[1] for atom in quotients))
        size, scale = _without_quotients(_product(size, multiple), quotients), scale * multiple
        found = _bound_by_atoms(size)
        bounds.append(None if found is None else -(-found // scale))
    return max((bound for bound in bounds if bound is not None), default=None)


def _outer_quotients(size: int) -> set[Atom]:
    """The quotients by numbers that are terms of their own and stand in no other quotient."""
    found = {
        monomial[0] for monomial in _terms(size) if len(monomial) == 1 and _has_divisor(monomial[0])
    }
    return found - {inner for atom in found for inner in _inside(atom)}


@lru_cache(maxsize=4096)
def _inside(atom: Atom) -> frozenset[Atom]:
    """The atoms that an atom is made of."""
    parts = {
        part
        for arg in atom.args
        for monomial in (_terms(arg) if isinstance(arg, Dim) else ())
        for part in monomial
    }
    return frozenset(parts.union(*map(_inside, parts)))


def _has_divisor(atom: Atom) -> bool:
    return atom.op == "floordiv" and isinstance(atom.args[1], int)


def _without_quotients(size: int, quotients: Collection[Atom]) -> int:
    """A size that is not larger: k * floordiv(a, b) is at least k * (a - b + 1) / b, and where k is
    negative at least k * a / b. The factors are multiples of the divisors.
    """
    parts: list[int] = []
    for monomial, factor in _terms(size).items():
        if len(monomial) == 1 and monomial[0] in quotients:
            numerator, divisor = monomial[0].args
            parts.append(
                _product(numerator if factor < 0 else numerator - divisor + 1, factor // divisor)
            )
        else:
            parts.append(_made({monomial: factor}))
    return _sum(parts)


def _bound_by_atoms(size: int) -> int | None:
    """Every atom is its own bound plus a number that is not negative."""
    shifted: int = 0
    for monomial, factor in _terms(size).items():
        product: int = factor
        for atom in monomial:
            if atom.low is None:
                return None
            product = _product(product, _sum([_free(atom), atom.low]))
        shifted = _sum([shifted, product])
    terms = _terms(shifted)
    constant = terms.pop((), 0)
    return constant if all(factor > 0 for factor in terms.values()) else None


def _free(atom: Atom) -> int:
    return Dim((((atom,), 1),))


def names(sizes: Iterable[int]) -> set[str]:
    """All names that some sizes mention."""
    found: set[str] = set()
    for size in sizes:
        for monomial, _ in size.terms if isinstance(size, Dim) else ():
            for atom in monomial:
                found |= {atom.args[0]} if atom.op == "name" else names(atom.args)
    return found


def at(size: int, values: Mapping[str, int]) -> int:
    """The size with names replaced by numbers or other sizes; names that `values` lacks stay."""
    if not isinstance(size, Dim):
        return size
    return _sum(
        _product(factor, prod((_atom_at(atom, values) for atom in monomial), start=1))
        for monomial, factor in size.terms
    )


def _atom_at(atom: Atom, values: Mapping[str, int]) -> int:
    return (
        values.get(atom.args[0], _free(atom))
        if atom.op == "name"
        else applied(atom.op, *(at(arg, values) for arg in atom.args))
    )


def applied(op: str, a: int, b: int) -> int:
    """floordiv, max or min of two sizes."""
    if op == "floordiv":
        return floordiv(a, b)
    if isinstance(a, Dim) or isinstance(b, Dim):
        return greatest([a, b]) if op == "max" else least(a, b)
    return max(a, b) if op == "max" else min(a, b)


def rounded_up(size: int, alignment: int, coefficient: int | None = None) -> int:
    """An upper bound whose constant term is a multiple of `alignment`, and whose other coefficients
    are multiples of `coefficient` (default: `alignment`); for non-negative coefficients.
    """
    units = {
        monomial: coefficient or alignment if monomial else alignment
        for monomial, _ in _terms(size).items()
    }
    return _made(
        {
            monomial: -(-factor // units[monomial]) * units[monomial]
            for monomial, factor in _terms(size).items()
        }
    )


def rendered(size: int, prefix: str = "", functions: Mapping[str, str] | None = None) -> str:
    """The expression in the notation that Python, C and JavaScript share; `functions` spells
    floordiv, max and min.
    """
    if not isinstance(size, Dim):
        return str(size)

    def atom(item: Atom) -> str:
        if item.op == "name":
            return f"{prefix}{item.args[0]}"
        return f"{(functions or {}).get(item.op, item.op)}({', '.join(rendered(arg, prefix, functions) for arg in item.args)})"

    parts = []
    for monomial, factor in size.terms:
        factors = [atom(item) for item in monomial]
        if abs(factor) != 1 or not factors:
            factors.insert(0, str(abs(factor)))
        parts.append(("- " if factor < 0 else "+ ") + "*".join(factors))
    text = " ".join(parts)
    return text.removeprefix("+ ") if text.startswith("+") else text.replace("- ", "-", 1)
