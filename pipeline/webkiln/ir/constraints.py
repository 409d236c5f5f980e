"""The constraints that a graph puts on its placeholders, and a search for values that satisfy them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webkiln.errors import ShapeError
from webkiln.ir import dim
from webkiln.ir.graph import Divisibility, Graph
from webkiln.ir.guards import said
from webkiln.ir.notation import size_from_json, size_to_json
from webkiln.ir.size_checks import Equality, guards
from webkiln.ir.verify import TypeRule

LARGEST = 128
"""The largest size that is tried; of a multiple, the largest multiple of its modulus."""
MOST_TRIES = 20_000


@dataclass(frozen=True, slots=True)
class Need:
    """A constraint of `layer`: `size` must be at least 0, or, with `equals`, the two must be equal."""

    layer: str
    size: int
    equals: int | None = None

    @property
    def names(self) -> set[str]:
        return dim.names([self.size] if self.equals is None else [self.size, self.equals])

    def holds(self, values: Mapping[str, int]) -> bool:
        size = dim.at(self.size, values)
        return size >= 0 if self.equals is None else size == dim.at(self.equals, values)


def needs(graph: Graph, infer: TypeRule) -> Iterator[Need]:
    """The guards of the graph, and the sizes that the type rules of its nodes cannot prove to be no
    less than 0, each once.
    """
    graphs, seen = [graph], set[tuple[int, int | None]]()
    wanted = [Need(guard.layer, guard.a, guard.b) for guard in graph.guards]
    for one in graphs:
        for node in one.nodes:
            graphs += (value for value in node.attrs.values() if isinstance(value, Graph))
            with guards() as found:
                types = infer(node, [one.type(name) for name in node.inputs])
            found += (size for type_ in types for size in type_.shape if not dim.reaches(size, 0))
            pairs = (
                (item.a, item.b) if isinstance(item, Equality) else (item, None) for item in found
            )
            wanted += (Need(node.layer or node.name, a, b) for a, b in pairs)
    for need in wanted:
        if (need.size, need.equals) not in seen:
            seen.add((need.size, need.equals))
            yield need


def sizes_json(graph: Graph, infer: TypeRule) -> dict[str, Any]:
    """What can be checked before a run: without sizes that only the run finds out."""
    early = [
        need
        for need in needs(graph, infer)
        if not any(dim.LATE.match(name) or dim.COUNTER.match(name) for name in need.names)
    ]
    return {
        "schema": "webkiln.sizes/1",
        "needs": [
            [
                need.layer,
                size_to_json(need.size),
                None if need.equals is None else size_to_json(need.equals),
            ]
            for need in early
        ],
        "divisibility": [
            [item.name, item.modulus, list(item.remainders), item.quotient, list(item.layers)]
            for item in graph.divisibility
        ],
    }


def fitting_sizes(data: Mapping[str, Any], given: Mapping[str, int], usual: int) -> dict[str, int]:
    """Sizes by the user's names that fit what `sizes_json` says: those that are `given`, and else
    near
    `usual`. Names that nothing is needed of are left out. ShapeError names what does not fit, and
    what to give.
    """
    found = [
        Need(layer, size_from_json(a), None if b is None else size_from_json(b))
        for layer, a, b in data["needs"]
    ]
    divisibility = [
        Divisibility(name, modulus, tuple(remainders), quotient, tuple(layers))
        for name, modulus, remainders, quotient, layers in data["divisibility"]
    ]
    return _Search(found, divisibility, given, usual).run()


class _Search:
    def __init__(
        self,
        found: Sequence[Need],
        divisibility: Sequence[Divisibility],
        given: Mapping[str, int],
        usual: int,
    ) -> None:
        self.divisibility = {item.name: item for item in divisibility}
        self.units = {item.quotient: item for item in divisibility if item.quotient}
        self.needs = {
            need: frozenset(
                self.units[name].name if name in self.units else name for name in need.names
            )
            for need in found
        }
        self.given, self.usual = given, usual
        self.names = sorted(
            {*self.divisibility, *(name for names in self.needs.values() for name in names)},
            key=lambda n: (n not in given, n),
        )
        self.refused: Counter[Need] = Counter()
        self.tries = 0

    def run(self) -> dict[str, int]:
        for name in self.names:
            if name in self.given and not self._fits(name, self.given[name]):
                item = self.divisibility[name]
                raise ShapeError(
                    f"sample_sizes: {name} is {self.given[name]}; layer {item.layers[0]!r} needs it"
                    f" to be {item}"
                )
        chosen = self._extended({})
        if chosen is None:
            raise ShapeError(self._message())
        return chosen

    def _extended(self, values: dict[str, int]) -> dict[str, int] | None:
        """The values with those of the other names, or None where none fit."""
        if len(values) == len(self.names):
            return values
        name = self.names[len(values)]
        for size in self._candidates(name):
            self.tries += 1
            if self.tries > MOST_TRIES:
                return None
            more = {**values, name: size}
            bound = self._bound(more)
            broken = next(
                (
                    need
                    for need, names in self.needs.items()
                    if name in names <= more.keys() and not need.holds(bound)
                ),
                None,
            )
            if broken is not None:
                self.refused[broken] += 1
            elif (found := self._extended(more)) is not None:
                return found
        return None

    def _candidates(self, name: str) -> list[int]:
        if name in self.given:
            return [self.given[name]]
        last = max(LARGEST, 4 * self.divisibility[name].modulus if name in self.divisibility else 0)
        sizes = [size for size in range(1, last + 1) if self._fits(name, size)]
        return sorted(
            sizes, key=lambda size: (max(size, self.usual) / min(size, self.usual), -size)
        )

    def _fits(self, name: str, size: int) -> bool:
        item = self.divisibility.get(name)
        return item is None or (size % item.modulus in item.remainders and size > item.offset)

    def _bound(self, values: Mapping[str, int]) -> dict[str, int]:
        """The values by the names of the graph."""
        units = {
            quotient: (values[item.name] - item.offset) // item.modulus
            for quotient, item in self.units.items()
            if item.name in values
        }
        return {**values, **units}

    def _message(self) -> str:
        ((need, _),) = self.refused.most_common(1)
        divisibility = list(self.divisibility.values())
        size, *equals = (
            dim.shown(said(part, divisibility))
            for part in (need.size, need.equals)
            if part is not None
        )
        wanted = (
            f"the sizes {size} and {equals[0]} to be equal"
            if equals
            else f"{size} not to be negative"
        )
        names = sorted(self.needs[need])
        if all(name in self.given for name in names):
            values = ", ".join(f"{name} = {self.given[name]}" for name in names)
            return f"sample_sizes: {values}: layer {need.layer!r} needs {wanted}"
        table = ", ".join(f"{name} = ..." for name in names)
        return (
            f"layer {need.layer!r} needs {wanted}, and no sizes that were tried fit; give some in"
            f" the recipe: sample_sizes = {{ {table} }}"
        )
