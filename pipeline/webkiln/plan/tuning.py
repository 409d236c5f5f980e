"""Which of several ways to compute a call is taken: the rule's own, one that was measured, or the
next to be measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webkiln.errors import RecipeError
from webkiln.nest.target import Target

SCHEMA = "webkiln.tuned/1"
CONVOLUTION, CONTRACTION = "convolution", "contraction"
KINDS = (CONVOLUTION, CONTRACTION)
"""What is chosen of: how a convolution is computed, and the tile of a contraction."""
Trial = tuple[int, int]
"""Which candidate is taken, of each kind in turn; a call that has fewer takes its first."""
FIRST: Trial = (0, 0)
ALGORITHMS = 3
"""Candidates for a convolution: two sizes of tiles, and directly."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to compute a call, with the milliseconds that the cost model expects."""

    name: str
    ms: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What was chosen for a kernel among candidates, of which the rule's own is the first; the
    milliseconds that were measured, by name.
    """

    key: str
    candidates: tuple[Candidate, ...]
    chosen: int
    measured: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        rows = [[item.name, item.ms, self.measured.get(item.name)] for item in self.candidates]
        return {"key": self.key, "chosen": self.candidates[self.chosen].name, "candidates": rows}


@dataclass(frozen=True, slots=True)
class Measured:
    """What a file says of one kernel."""

    chosen: str
    ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Tuning:
    """By which choices are made: those of a file, by kernel, or those of a trial."""

    kernels: Mapping[str, Measured] = field(default_factory=dict)
    trial: Trial = FIRST

    def decide(self, key: str, candidates: Sequence[Candidate]) -> Decision:
        found = self.kernels.get(key)
        if found is None:
            number = self.trial[KINDS.index(key.partition(" ")[0])]
            return Decision(key, tuple(candidates), number if number < len(candidates) else 0)
        names = [item.name for item in candidates]
        if found.chosen not in names:
            raise RecipeError(
                f"the tuned choices: {key} has no candidate {found.chosen!r}; it has"
                f" {', '.join(names)}: run webkiln tune again, or remove the entry"
            )
        return Decision(key, tuple(candidates), names.index(found.chosen), found.ms)


UNTUNED = Tuning()


def read(data: Any, backend: str) -> Tuning:
    """The choices of a file for one backend; RecipeError where it is not such a file. Kernels that
    a model lacks are in nobody's way.
    """
    if (
        not isinstance(data, dict)
        or data.get("schema") != SCHEMA
        or not isinstance(data.get("backends"), dict)
    ):
        raise RecipeError(
            f"the tuned choices: expected the schema {SCHEMA} with backends, as webkiln tune"
            " writes it"
        )
    table = data["backends"].get(backend, {"kernels": {}})
    kernels = table.get("kernels") if isinstance(table, dict) else None
    if not isinstance(kernels, dict):
        raise RecipeError(
            f"the tuned choices: backends.{backend} has no table of kernels; run webkiln tune again"
        )
    for name, entry in kernels.items():
        _check(name, entry, f"backends.{backend}.kernels")
    return Tuning({name: Measured(entry["chosen"], entry["ms"]) for name, entry in kernels.items()})


def _check(name: str, entry: Any, where: str) -> None:
    if name.partition(" ")[0] not in KINDS:
        raise RecipeError(
            f"the tuned choices: {where} has {name!r}, expected the name of a {' or '.join(KINDS)}"
        )
    times = entry.get("ms") if isinstance(entry, dict) else None
    if (
        not isinstance(times, dict)
        or set(entry) != {"chosen", "ms"}
        or not all(type(ms) in (int, float) and ms >= 0 for ms in times.values())
    ):
        raise RecipeError(
            f"the tuned choices: {where}.{name} is {entry!r}, expected a candidate as chosen and"
            " milliseconds by candidate as ms"
        )
    if entry["chosen"] not in times:
        raise RecipeError(
            f"the tuned choices: {where}.{name} has chosen {entry['chosen']!r}, which was not"
            f" measured: {', '.join(times)}"
        )


def trials(target: Target) -> list[Trial]:
    """So many programs hold each candidate of every call once at least; a convolution also each of
    its tiles. None where a backend has no choice.
    """
    tiles = (1 + max(map(len, target.candidates.values()), default=0)) * (
        2 if len(target.blocks) > 1 else 1
    )
    return (
        [
            (way, tile)
            for way in range(ALGORITHMS if target.winograd else 1)
            for tile in range(tiles)
        ]
        if tiles > 1
        else []
    )
