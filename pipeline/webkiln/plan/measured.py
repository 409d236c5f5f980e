"""What the profiles of several programs say of the candidates for each kernel."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from webkiln.plan.tuning import CONTRACTION

MARGIN = 0.02
"""A candidate takes the place of the rule's own where it is faster by this share at least: less is
noise.
"""
Times = dict[str, dict[str, float]]


def times(
    programs: Sequence[Iterable[Mapping[str, Any]]], rounds: Iterable[Sequence[Sequence[float]]]
) -> Times:
    """Kernel -> candidate -> milliseconds of one layer. `programs`: the steps of each, in the order
    of
    their numbers; `rounds`: of each round and program, the milliseconds of these steps. A
    convolution's are those with the best of the tiles that were tried for it.
    """
    sums: list[list[dict[tuple[str, str], float]]] = [
        [dict(_layer(steps, row)) for steps, row in zip(programs, each, strict=True)]
        for each in rounds
    ]
    found: dict[str, dict[str, list[float]]] = {}
    for several in zip(*sums, strict=True):
        for key, name in several[0]:
            found.setdefault(key, {}).setdefault(name, []).append(
                median(one[key, name] for one in several)
            )
    return {
        key: {
            name: round((median if key.startswith(CONTRACTION) else min)(values), 5)
            for name, values in each.items()
        }
        for key, each in found.items()
    }


def _layer(
    steps: Iterable[Mapping[str, Any]], row: Sequence[float]
) -> Iterator[tuple[tuple[str, str], float]]:
    """What each choice took in one program, on the average of the layers that it was made for."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for step, ms in zip(steps, row, strict=True):
        for item in step.get("decided", ()):
            layers = found.setdefault((item["key"], item["chosen"]), {})
            layers[step["layer"]] = layers.get(step["layer"], 0.0) + ms
    for choice, layers in found.items():
        yield choice, fmean(layers.values())


def chosen(candidates: Sequence[str], measured: Mapping[str, float]) -> str:
    """The fastest candidate, or the first, which is the rule's own, where none is clearly faster."""
    best = min((name for name in candidates if name in measured), key=lambda name: measured[name])
    own = measured.get(candidates[0])
    return candidates[0] if own is not None and measured[best] > own * (1 - MARGIN) else best
