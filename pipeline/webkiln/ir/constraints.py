"""The constraints of a graph on its placeholders, and a search for values that satisfy them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webkiln.errors import ShapeError
from webkiln.ir import dim, symbols
from webkiln.ir.dim import Size
from webkiln.ir.graph import Divisibility, Graph
from webkiln.ir.guards import expand_quotients
from webkiln.ir.notation import size_from_json, size_to_json
from webkiln.ir.size_checks import Equality, guards
from webkiln.ir.verify import TypeRule

LARGEST = 128
"""The largest candidate for a size. A size with a divisibility constraint is tried up to four times
its modulus, if that is larger.
"""
MAX_TRIES = 20_000


@dataclass(frozen=True, slots=True)
class Need:
    """A constraint of `layer`: `size >= 0`, or `size == equals` if `equals` is set."""

    layer: str
    size: Size
    equals: Size | None = None

    @property
    def names(self) -> set[str]:
        return symbols.names([self.size] if self.equals is None else [self.size, self.equals])

    def holds(self, values: Mapping[str, int]) -> bool:
        size = symbols.substitute(self.size, values)
        return size >= 0 if self.equals is None else size == symbols.substitute(self.equals, values)


def needs(graph: Graph, infer: TypeRule) -> Iterator[Need]:
    """Yield the constraints of a graph, without duplicates: its guards, and the sizes that the type
    rules cannot prove to be non-negative.
    """
    graphs, seen = [graph], set[tuple[Size, Size | None]]()
    constraints = [Need(guard.layer, guard.a, guard.b) for guard in graph.constraints.guards]
    for current in graphs:
        for node in current.nodes:
            graphs += node.subgraphs()
            with guards() as unproven:
                types = infer(node, [current.type(name) for name in node.inputs])
            unproven += (
                size for type_ in types for size in type_.shape if not dim.is_at_least(size, 0)
            )
            pairs = (
                (item.a, item.b) if isinstance(item, Equality) else (item, None)
                for item in unproven
            )
            constraints += (Need(node.layer or node.name, a, b) for a, b in pairs)
    for need in constraints:
        if (need.size, need.equals) not in seen:
            seen.add((need.size, need.equals))
            yield need


def sizes_json(graph: Graph, infer: TypeRule) -> dict[str, Any]:
    """The constraints that can be checked before a run, as JSON: those without loop counters and
    data-dependent sizes.
    """
    static = [
        need
        for need in needs(graph, infer)
        if not any(
            symbols.DATA_DEPENDENT.match(name) or symbols.COUNTER.match(name) for name in need.names
        )
    ]
    return {
        "schema": "webkiln.sizes/1",
        "needs": [
            [
                need.layer,
                size_to_json(need.size),
                None if need.equals is None else size_to_json(need.equals),
            ]
            for need in static
        ],
        "divisibility": [
            [item.name, item.modulus, list(item.remainders), item.quotient, list(item.layers)]
            for item in graph.constraints.divisibility
        ],
    }


def fitting_sizes(
    data: Mapping[str, Any], preset: Mapping[str, int], preferred: int
) -> dict[str, int]:
    """Find values of the model's placeholders that satisfy the constraints of `sizes_json`.

    Values in `preset` are used as they are; the others are as close to `preferred` as possible.
    Unconstrained names are omitted. Raises ShapeError with the violated constraint, and the sizes
    to set, if no values satisfy all constraints.
    """
    constraints = [
        Need(layer, size_from_json(a), None if b is None else size_from_json(b))
        for layer, a, b in data["needs"]
    ]
    divisibility = [
        Divisibility(name, modulus, tuple(remainders), quotient, tuple(layers))
        for name, modulus, remainders, quotient, layers in data["divisibility"]
    ]
    return _Search(constraints, divisibility, preset, preferred).run()


class _Search:
    def __init__(
        self,
        constraints: Sequence[Need],
        divisibility: Sequence[Divisibility],
        preset: Mapping[str, int],
        preferred: int,
    ) -> None:
        self.divisibility = {item.name: item for item in divisibility}
        self.quotients = {item.quotient: item for item in divisibility if item.quotient}
        self.needs = {
            need: frozenset(
                self.quotients[name].name if name in self.quotients else name for name in need.names
            )
            for need in constraints
        }
        self.preset, self.preferred = preset, preferred
        self.names = sorted(
            {*self.divisibility, *(name for names in self.needs.values() for name in names)},
            key=lambda n: (n not in preset, n),
        )
        self.violations: Counter[Need] = Counter()
        self.tries = 0

    def run(self) -> dict[str, int]:
        for name in self.names:
            if name in self.preset and not self._fits(name, self.preset[name]):
                item = self.divisibility[name]
                raise ShapeError(
                    f"sample_sizes: {name} is {self.preset[name]}; layer {item.layers[0]!r} needs"
                    f" it to be {item}"
                )
        solution = self._extend({})
        if solution is None:
            raise ShapeError(self._message())
        return solution

    def _extend(self, values: dict[str, int]) -> dict[str, int] | None:
        """Extend a partial assignment to all names by backtracking; None if no extension fits."""
        if len(values) == len(self.names):
            return values
        name = self.names[len(values)]
        for size in self._candidates(name):
            self.tries += 1
            if self.tries > MAX_TRIES:
                return None
            assignment = {**values, name: size}
            bound = self._bind(assignment)
            violated = next(
                (
                    need
                    for need, names in self.needs.items()
                    if name in names <= assignment.keys() and not need.holds(bound)
                ),
                None,
            )
            if violated is not None:
                self.violations[violated] += 1
            elif (solution := self._extend(assignment)) is not None:
                return solution
        return None

    def _candidates(self, name: str) -> list[int]:
        if name in self.preset:
            return [self.preset[name]]
        last = max(LARGEST, 4 * self.divisibility[name].modulus if name in self.divisibility else 0)
        sizes = [size for size in range(1, last + 1) if self._fits(name, size)]
        return sorted(
            sizes,
            key=lambda size: (max(size, self.preferred) / min(size, self.preferred), -size),
        )

    def _fits(self, name: str, size: int) -> bool:
        item = self.divisibility.get(name)
        return item is None or (size % item.modulus in item.remainders and size > item.offset)

    def _bind(self, values: Mapping[str, int]) -> dict[str, int]:
        """Add the values of the graph's quotient placeholders."""
        quotients = {
            quotient: (values[item.name] - item.offset) // item.modulus
            for quotient, item in self.quotients.items()
            if item.name in values
        }
        return {**values, **quotients}

    def _message(self) -> str:
        ((need, _),) = self.violations.most_common(1)
        divisibility = list(self.divisibility.values())
        size, *equals = (
            dim.abbreviate(expand_quotients(part, divisibility))
            for part in (need.size, need.equals)
            if part is not None
        )
        requirement = (
            f"the sizes {size} and {equals[0]} to be equal"
            if equals
            else f"{size} not to be negative"
        )
        names = sorted(self.needs[need])
        if all(name in self.preset for name in names):
            values = ", ".join(f"{name} = {self.preset[name]}" for name in names)
            return f"sample_sizes: {values}: layer {need.layer!r} needs {requirement}"
        table = ", ".join(f"{name} = ..." for name in names)
        return (
            f"layer {need.layer!r} needs {requirement}, and the search found no such sizes; set"
            f" them in the recipe: sample_sizes = {{ {table} }}"
        )
