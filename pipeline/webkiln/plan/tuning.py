"""Select among the candidates for a call: the default, a tuned choice, or the next candidate to
measure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.errors import RecipeError
from webkiln.nest.target import GPU_CLASSES, Target
from webkiln.plan.devices import EMULATED
from webkiln.plan.tuning_keys import ON, device_of, without_device

SCHEMA = "webkiln.tuned/1"
CONVOLUTION, CONTRACTION, PRODUCT = "convolution", "contraction", "product"
KINDS = (CONVOLUTION, CONTRACTION, PRODUCT)
"""The kinds of decisions: the algorithm of a convolution, the tile of a contraction, and the form
of a product or convolution on a class of GPUs.
"""
Trial = tuple[int, int]
"""The number of the candidate to use for convolutions, and for contractions and products. A call
with fewer candidates uses its first.
"""
FIRST: Trial = (0, 0)
ALGORITHMS = 3
"""Candidates for a convolution: two tile sizes, and the direct form."""
FORMS = 8
"""Candidates for the form of a product, at most."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to compute a call, with the milliseconds that the cost model predicts."""

    name: str
    ms: float


@dataclass(frozen=True, slots=True)
class Decision:
    """The candidate chosen for a kernel. The first candidate is the default. `measured`: the
    milliseconds of candidates by name, if any were measured.
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
    """The entry of one kernel in a file of tuned choices."""

    chosen: str
    ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Tuning:
    """The tuned choices by kernel, or the trial of a tuning build."""

    kernels: Mapping[str, Measured] = field(default_factory=dict)
    trial: Trial | None = None

    def entry(self, key: str) -> Measured | None:
        """The entry of a kernel. If it names a class of GPUs, one for all devices serves too."""
        return self.kernels.get(key) or self.kernels.get(without_device(key))

    def decide(self, key: str, candidates: Sequence[Candidate]) -> Decision:
        entry = self.entry(key)
        if entry is None:
            number = (self.trial or FIRST)[kind_of(key) != CONVOLUTION]
            return Decision(key, tuple(candidates), number if number < len(candidates) else 0)
        names = [item.name for item in candidates]
        if entry.chosen not in names:
            raise RecipeError(
                f"the tuned choices: {key} has no candidate {entry.chosen!r}, only"
                f" {', '.join(names)}; run webkiln tune again, or remove the entry"
            )
        return Decision(key, tuple(candidates), names.index(entry.chosen), entry.ms)


UNTUNED = Tuning()


def kind_of(key: str) -> str:
    return key.partition(" ")[0]


def read_file(path: Path, backend: str) -> Tuning:
    """The choices of a file for one backend. Raises RecipeError if it is not a valid file."""
    try:
        data = canonical.read(path)
    except ValueError as error:
        raise RecipeError(
            f"the tuned choices: not JSON ({error}); run webkiln tune again"
        ) from error
    return read(data, backend)


def read(data: Any, backend: str) -> Tuning:
    """Return the choices of a file for one backend, or raise RecipeError if it is not a valid file.
    Entries of kernels that a model does not contain are ignored.
    """
    if (
        not isinstance(data, dict)
        or data.get("schema") != SCHEMA
        or not isinstance(data.get("backends"), dict)
    ):
        raise RecipeError(
            f"the tuned choices: expected the schema {SCHEMA} with backends, as written by"
            " webkiln tune"
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
    kind, device = kind_of(name), device_of(name)
    if kind not in KINDS:
        raise RecipeError(
            f"the tuned choices: {where} has the key {name!r}, expected the name of a"
            f" {', '.join(KINDS[:-1])} or {KINDS[-1]}"
        )
    known = [gpu.name for gpu in GPU_CLASSES] if kind == PRODUCT else ["", EMULATED]
    if device not in known:
        raise RecipeError(
            f"the tuned choices: {where} has the key {name!r}, expected"
            f" {' or '.join(f'{ON.strip()} {item}' if item else 'no class' for item in known)}"
            " of GPUs; run webkiln tune again, or remove the entry"
        )
    times = entry.get("ms") if isinstance(entry, dict) else None
    if (
        not isinstance(times, dict)
        or set(entry) != {"chosen", "ms"}
        or not all(type(ms) in (int, float) and ms >= 0 for ms in times.values())
    ):
        raise RecipeError(
            f"the tuned choices: {where}.{name} is {entry!r}, expected the name of a candidate"
            " under chosen, and milliseconds by candidate under ms"
        )
    if entry["chosen"] not in times:
        raise RecipeError(
            f"the tuned choices: {where}.{name} chooses {entry['chosen']!r}, which was not"
            f" measured; measured were {', '.join(times)}"
        )


def trials(target: Target) -> list[Trial]:
    """The trials that together use each candidate of every call at least once, and for convolutions
    each of their tiles and forms too. Empty if a backend has no choice.
    """
    runs = target.invocations
    blocks = runs.blocks if runs else ()
    shapes = 1 + max(map(len, target.tiles.candidates.values()), default=0)
    tiles = shapes * (2 if len(blocks) > 1 else 1)
    if tiles == 1:
        return []
    forms = FORMS if runs and runs.classes else 1
    algorithms = ALGORITHMS if target.winograd else 1
    return list(product(range(algorithms), range(max(tiles, forms))))
