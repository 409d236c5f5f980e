"""Choose the encoding of each weight by measured errors.

Errors of single weights are measured with one encoding, and estimated for others by the square
error of the weight. Choices are then ordered by what they save and cost, and the last one whose
measured error is within the bound is taken.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webkiln.quantize.weights import FLOAT32

Measure = Callable[[Mapping[str, str]], float]
"""The error of a choice: an encoding by name of the weight."""


@dataclass(frozen=True, slots=True)
class Option:
    """An encoding that a weight can have: its bytes, and an estimate of the square of the error
    that it causes.
    """

    encoding: str
    bytes: int
    square_error: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A weight, and its options: the first is the largest and most exact, and each of the others
    saves more than the one before for what it costs, as on the lower convex hull.
    """

    weight: str
    layer: str
    options: tuple[Option, ...]
    measured: float = 0.0

    @classmethod
    def of(
        cls, weight: str, layer: str, options: Iterable[Option], measured: float = 0.0
    ) -> "Candidate":
        hull: list[Option] = []
        for option in sorted(options, key=lambda item: (-item.bytes, item.square_error)):
            while hull and (
                option.square_error <= hull[-1].square_error
                or (len(hull) > 1 and _price(hull[-1], option) <= _price(hull[-2], hull[-1]))
            ):
                hull.pop()
            if not hull or option.bytes < hull[-1].bytes:
                hull.append(option)
        return cls(weight, layer, tuple(hull), measured)


def _price(larger: Option, smaller: Option) -> float:
    """The error that a byte costs which `smaller` saves."""
    return (smaller.square_error - larger.square_error) / max(larger.bytes - smaller.bytes, 1)


def steps(candidates: Sequence[Candidate]) -> list[tuple[str, str]]:
    """(weight, encoding) in the order in which they should be chosen, the cheapest first."""
    found = []
    for candidate in candidates:
        price = 0.0
        for larger, smaller in zip(candidate.options, candidate.options[1:], strict=False):
            price = max(price, _price(larger, smaller))
            found.append((price, candidate.weight, smaller.encoding))
    found.sort(key=lambda item: item[0])
    return [(weight, encoding) for _, weight, encoding in found]


@dataclass(frozen=True, slots=True)
class Choice:
    """The encodings by name of the weight, and the error of the outputs with them."""

    weights: Mapping[str, str]
    error: float

    def to_json(self) -> dict[str, Any]:
        """The document choice.json (docs/formats.md). Without errors, so that a graph depends on
        what is chosen only.
        """
        return {"schema": "webkiln.choice/1", "weights": dict(sorted(self.weights.items()))}


def search(
    start: Mapping[str, str],
    changes: Sequence[tuple[str, str]],
    bound: float,
    measure: Measure,
    report: Callable[[str], None],
) -> Choice:
    """`start` with the most changes, in their order, whose error is at most `bound`; errors are
    taken to grow with the number of changes.
    """

    def choice(count: int) -> Choice:
        weights = dict(start)
        weights.update(changes[:count])
        error = measure(weights)
        report(f"{count} of {len(changes)} steps: error {error:.3g}")
        return Choice(weights, error)

    best = choice(len(changes))
    if best.error <= bound:
        return best
    low, high, best = 0, len(changes), choice(0)
    while high - low > 1:
        middle = (low + high) // 2
        found = choice(middle)
        if found.error <= bound:
            low, best = middle, found
        else:
            high = middle
    return best


def errors_json(choice: Choice, candidates: Sequence[Candidate]) -> dict[str, Any]:
    """The document errors.json (docs/formats.md)."""
    return {
        "schema": "webkiln.errors/1",
        "error": choice.error,
        "measured": [
            {
                "layer": item.layer,
                "weight": item.weight,
                "error": item.measured,
                "chosen": choice.weights.get(item.weight, FLOAT32),
            }
            for item in candidates
        ],
    }
