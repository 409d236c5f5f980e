"""Symbolic sizes: canonical integer expressions over symbols (`ir/symbols.py`).

A Dim is a polynomial with integer coefficients. Its atoms are symbols, and the operations floordiv,
max and min of other sizes. Equal polynomials are equal Dims. A result without symbols is an int, so
shape arithmetic is written once for a `Size`, which is an int or a Dim. Code that needs a number
(`range`, an allocation) narrows it, with `known` or `all_known`. Comparisons raise ShapeError if
the lower bounds of the symbols do not decide them.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd, lcm
from typing import TYPE_CHECKING, Any, Self

from webkiln.errors import ShapeError

if TYPE_CHECKING:
    from typing_extensions import TypeIs

SHOWN = 60
"""The maximum length of a size in messages."""

Monomial = tuple["Atom", ...]
Terms = Mapping[Monomial, int]


@dataclass(frozen=True, slots=True)
class Atom:
    """A symbol with its lower bound, or floordiv, max or min of two sizes.

    The hash and the text are cached, because expressions nest deeply and are dictionary keys.
    """

    op: str
    args: tuple[Any, ...]
    _hash: int = field(init=False, repr=False, compare=False)
    _text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.op, self.args)))
        call = f"{self.op}({', '.join(map(str, self.args))})"
        object.__setattr__(self, "_text", str(self.args[0]) if self.op == "name" else call)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Atom, (self.op, self.args))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self._text

    @property
    def low(self) -> int | None:
        """A lower bound, or None if none is known."""
        if self.op == "name":
            return int(self.args[1])
        lows = [lower_bound(arg) for arg in self.args]
        if self.op == "max":
            return max((low for low in lows if low is not None), default=None)
        first, second = lows
        if first is None or second is None:
            return None
        if self.op == "min":
            return min(first, second)
        return first // self.args[1] if isinstance(self.args[1], int) else min(first, 0)


class Dim:
    """A size that depends on symbols; the result of `ir/symbols.py` functions and of arithmetic."""

    __slots__ = ("_hash", "terms")

    terms: tuple[tuple[Monomial, int], ...]
    _hash: int

    def __new__(cls, terms: tuple[tuple[Monomial, int], ...]) -> Self:
        self = object.__new__(cls)
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "_hash", hash(terms))
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Dim is immutable; {name} cannot be set")

    def __reduce__(self) -> tuple[Any, ...]:
        return (Dim, (self.terms,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return render(self)

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __add__(self, other: "Size") -> "Size":
        return sum_sizes([self, other])

    __radd__ = __add__

    def __neg__(self) -> "Size":
        return multiply(self, -1)

    def __sub__(self, other: "Size") -> "Size":
        return sum_sizes([self, multiply(other, -1)])

    def __rsub__(self, other: "Size") -> "Size":
        return sum_sizes([other, -self])

    def __mul__(self, other: "Size") -> "Size":
        return multiply(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: "Size") -> "Size":
        return floordiv(self, other)

    def __rfloordiv__(self, other: "Size") -> "Size":
        return floordiv(other, self)

    def __mod__(self, other: "Size") -> "Size":
        return self - floordiv(self, other) * other

    def __rmod__(self, other: "Size") -> "Size":
        return other - floordiv(other, self) * self

    def __lt__(self, other: "Size") -> bool:
        return not self._at_least(other)

    def __ge__(self, other: "Size") -> bool:
        return self._at_least(other)

    def __gt__(self, other: "Size") -> bool:
        return self._at_least(other + 1)

    def __le__(self, other: "Size") -> bool:
        return not self._at_least(other + 1)

    def _at_least(self, other: "Size") -> bool:
        if (low := lower_bound(self - other)) is not None and low >= 0:
            return True
        if (low := lower_bound(other - self)) is not None and low > 0:
            return False
        raise ShapeError(
            f"whether {self} is at least {other} is not known before the model runs; build the"
            " model with a fixed size there"
        )


Size = int | Dim
Shape = tuple[Size, ...]


def is_symbolic(size: object) -> "TypeIs[Dim]":
    return isinstance(size, Dim)


def known(size: Size, what: str) -> int:
    """The number that a size is. Raises ShapeError, naming `what` it is, if it is symbolic."""
    if isinstance(size, Dim):
        raise ShapeError(
            f"{what} is {abbreviate(size)}, which is not known before the model runs; build the"
            " model with a fixed size there"
        )
    return size


def all_known(sizes: Iterable[Size]) -> tuple[int, ...] | None:
    """The numbers that sizes are, or None if one is symbolic."""
    numbers: list[int] = []
    for size in sizes:
        if isinstance(size, Dim):
            return None
        numbers.append(size)
    return tuple(numbers)


def known_shape(shape: Iterable[Size], what: str) -> tuple[int, ...]:
    """The numbers of a shape. Raises ShapeError, naming `what` it is the shape of, if a size is
    symbolic.
    """
    sizes = tuple(shape)
    numbers = all_known(sizes)
    if numbers is None:
        raise ShapeError(
            f"the shape of {what} is [{', '.join(map(abbreviate, sizes))}], which is not known"
            " before the model runs; build the model with fixed sizes there"
        )
    return numbers


def terms_of(size: Size) -> dict[Monomial, int]:
    return dict(size.terms) if isinstance(size, Dim) else {(): int(size)} if size else {}


def from_terms(terms: Terms) -> Size:
    nonzero = {monomial: factor for monomial, factor in terms.items() if factor}
    if not nonzero or set(nonzero) == {()}:
        return nonzero.get((), 0)
    return Dim(
        tuple(sorted(nonzero.items(), key=lambda item: (-len(item[0]), tuple(map(str, item[0])))))
    )


def sum_sizes(sizes: Iterable[Size]) -> Size:
    total: dict[Monomial, int] = {}
    for size in sizes:
        for monomial, factor in terms_of(size).items():
            total[monomial] = total.get(monomial, 0) + factor
    return from_terms(total)


def multiply(a: Size, b: Size) -> Size:
    total: dict[Monomial, int] = {}
    for left, m in terms_of(a).items():
        for right, n in terms_of(b).items():
            monomial = tuple(sorted((*left, *right), key=str))
            total[monomial] = total.get(monomial, 0) + m * n
    return from_terms(total)


def floordiv(a: Size, b: Size) -> Size:
    """a // b, rounded towards minus infinity. Terms that divide evenly leave the floordiv."""
    if not isinstance(a, Dim) and not isinstance(b, Dim):
        return a // b
    if not isinstance(b, Dim):
        if b == 0:
            raise ShapeError(f"{a} is divided by 0")
        quotient = from_terms({monomial: factor // b for monomial, factor in terms_of(a).items()})
        rest = a - quotient * b
        return quotient + (_atom("floordiv", rest, b) if isinstance(rest, Dim) else rest // b)
    if b == a:
        return 1
    common = (
        [_without(monomial, b.terms[0][0]) for monomial in terms_of(a)]
        if len(b.terms) == 1
        else [None]
    )
    if all(rest is not None for rest in common) and all(
        factor % b.terms[0][1] == 0 for factor in terms_of(a).values()
    ):
        return from_terms(
            {
                rest: factor // b.terms[0][1]
                for rest, factor in zip(common, terms_of(a).values(), strict=True)
                if rest is not None
            }
        )
    return _atom("floordiv", a, b)


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """The monomial divided by another, or None if it is not divisible."""
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _atom(op: str, *args: Size) -> Size:
    return Dim((((Atom(op, args),), 1),))


def maximum(sizes: Iterable[Size]) -> Size:
    """The maximum. Sizes that are provably dominated by another are dropped."""
    undominated: list[Size] = []
    for size in (part for item in sizes for part in _maximum_of(item)):
        if not any(is_at_least(other, size) for other in undominated):
            undominated = [*(item for item in undominated if not is_at_least(size, item)), size]
    undominated.sort(key=str)
    result, *rest = undominated or [0]
    for size in rest:
        result = _atom("max", result, size)
    return result


def _maximum_of(size: Size) -> Shape:
    """The operands of nested max atoms; the size itself if it is not a max."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        ((monomial, factor),) = size.terms
        if factor == 1 and len(monomial) == 1 and monomial[0].op == "max":
            return tuple(part for arg in monomial[0].args for part in _maximum_of(arg))
    return (size,)


def is_at_least(a: Size, b: Size) -> bool:
    """Whether a >= b is proven. False means unknown, not less."""
    low = lower_bound(a - b)
    return low is not None and low >= 0


def is_nonzero(size: Size) -> bool:
    """Whether a size is provably nonzero for all values of its symbols."""
    if not isinstance(size, Dim):
        return size != 0
    if is_at_least(size, 1) or is_at_least(-1, size):
        return True
    terms = terms_of(size)
    constant = terms.pop((), 0)
    return constant % gcd(*terms.values()) != 0


def abbreviate(size: Size) -> str:
    text = str(size)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def minimum(a: Size, b: Size) -> Size:
    if is_at_least(b, a):
        return a
    return b if is_at_least(a, b) else _atom("min", *sorted((a, b), key=str))


@lru_cache(maxsize=4096)
def lower_bound(size: Size) -> int | None:
    """A proven lower bound, or None.

    The bound is the best of two kinds: that of the atoms, and those of the expression with
    quotients replaced by linear bounds. Outer quotients are replaced before the quotients nested in
    them, because terms may cancel after each replacement.
    """
    bounds, scale = [_bound_by_atoms(size)], 1
    while quotients := _outer_quotients(size):
        multiple = lcm(*(atom.args[1] for atom in quotients))
        size, scale = _without_quotients(multiply(size, multiple), quotients), scale * multiple
        scaled = _bound_by_atoms(size)
        bounds.append(None if scaled is None else -(-scaled // scale))
    return max((bound for bound in bounds if bound is not None), default=None)


def _outer_quotients(size: Size) -> set[Atom]:
    """The floordivs by constants that are terms on their own and not nested in another one."""
    monomials = (monomial for monomial in terms_of(size) if len(monomial) == 1)
    quotients = {monomial[0] for monomial in monomials if _has_divisor(monomial[0])}
    return quotients - {inner for atom in quotients for inner in _nested(atom)}


@lru_cache(maxsize=4096)
def _nested(atom: Atom) -> frozenset[Atom]:
    """The atoms in the arguments of an atom, transitively."""
    parts = {
        part
        for arg in atom.args
        for monomial in (terms_of(arg) if isinstance(arg, Dim) else ())
        for part in monomial
    }
    return frozenset(parts.union(*map(_nested, parts)))


def _has_divisor(atom: Atom) -> bool:
    return atom.op == "floordiv" and isinstance(atom.args[1], int)


def _without_quotients(size: Size, quotients: Collection[Atom]) -> Size:
    """A lower bound without `quotients`: k * floordiv(a, b) is at least k * (a - b + 1) / b for
    positive k, and at least k * a / b for negative k. The factors are multiples of the divisors.
    """
    parts: list[Size] = []
    for monomial, factor in terms_of(size).items():
        if len(monomial) == 1 and monomial[0] in quotients:
            numerator, divisor = monomial[0].args
            parts.append(
                multiply(numerator if factor < 0 else numerator - divisor + 1, factor // divisor)
            )
        else:
            parts.append(from_terms({monomial: factor}))
    return sum_sizes(parts)


def _bound_by_atoms(size: Size) -> int | None:
    """Rewrite each atom as its lower bound plus a non-negative rest: if all coefficients are then
    positive, the constant term is a lower bound.
    """
    shifted: Size = 0
    for monomial, factor in terms_of(size).items():
        product: Size = factor
        for atom in monomial:
            if atom.low is None:
                return None
            product = multiply(product, sum_sizes([from_atom(atom), atom.low]))
        shifted = sum_sizes([shifted, product])
    terms = terms_of(shifted)
    constant = terms.pop((), 0)
    return constant if all(factor > 0 for factor in terms.values()) else None


def from_atom(atom: Atom) -> Size:
    return Dim((((atom,), 1),))


def apply(op: str, a: Size, b: Size) -> Size:
    """Apply floordiv, max or min to two sizes."""
    if op == "floordiv":
        return floordiv(a, b)
    if isinstance(a, Dim) or isinstance(b, Dim):
        return maximum([a, b]) if op == "max" else minimum(a, b)
    return max(a, b) if op == "max" else min(a, b)


def render(size: Size, prefix: str = "", functions: Mapping[str, str] | None = None) -> str:
    """Render the expression in the syntax that Python, C and JavaScript share.

    Symbols get `prefix`; `functions` maps floordiv, max and min to their names in the language.
    """
    if not isinstance(size, Dim):
        return str(size)

    def atom(item: Atom) -> str:
        if item.op == "name":
            return f"{prefix}{item.args[0]}"
        args = ", ".join(render(arg, prefix, functions) for arg in item.args)
        return f"{(functions or {}).get(item.op, item.op)}({args})"

    parts = []
    for monomial, factor in size.terms:
        factors = [atom(item) for item in monomial]
        if abs(factor) != 1 or not factors:
            factors.insert(0, str(abs(factor)))
        parts.append(("- " if factor < 0 else "+ ") + "*".join(factors))
    text = " ".join(parts)
    return text.removeprefix("+ ") if text.startswith("+") else text.replace("- ", "-", 1)
