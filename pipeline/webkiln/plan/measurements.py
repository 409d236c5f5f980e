"""Evaluate the profiles of tuning builds: the time of each candidate of each kernel."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from webkiln.plan.devices import EMULATED
from webkiln.plan.tuning import CONVOLUTION, kind_of
from webkiln.plan.tuning_keys import device_of

MARGIN = 0.02
"""The share by which a candidate must be faster than the default to replace it. Less is noise."""
Times = dict[str, dict[str, float]]
Row = Sequence[float | None]
"""The milliseconds of the steps of a program; None for those that did not run."""


def times_of_launches(rounds: Iterable[Sequence[Mapping[str, Any]]]) -> list[list[Row]]:
    """For each round and program, the milliseconds of its steps, from its profile. GPUs measure
    each launch in a pass of its own, which takes longer to begin than a launch after others; the
    difference is subtracted.
    """
    profiles = [list(each) for each in rounds]
    passes = [item["gpu"] for each in profiles for item in each if item["gpu"]]
    counted = [item for item in passes if item["launches"]]
    alone = median(item["emptyMs"] for item in counted) if counted else 0.0
    gaps = median(item["gapMs"] / item["launches"] for item in counted) if counted else 0.0
    after_others = min(max(gaps, 0.0), alone)

    def time(launch: Mapping[str, Any]) -> float | None:
        count = launch["count"]
        return max(launch["ms"] - count * alone, 0.0) + count * after_others if count else None

    return [[list(map(time, item["launches"])) for item in each] for each in profiles]


def serves(key: str, device: str | None) -> bool:
    """Whether measurements on a class of GPUs decide a kernel: those on an emulated GPU do not if
    other GPUs run the kernel as well. `device` is None for other backends.
    """
    return device != EMULATED or device_of(key) == EMULATED


def candidate_times(
    programs: Sequence[Iterable[Mapping[str, Any]]], rounds: Iterable[Sequence[Row]]
) -> Times:
    """Kernel -> candidate -> milliseconds of one layer. `programs`: the steps of each program.
    `rounds`: for each round and program, the milliseconds of these steps. The time of a convolution
    is the one with the fastest tile that was measured for it. Steps that did not run, such as those
    for other devices, do not count.
    """
    sums: list[list[dict[tuple[str, str], float]]] = [
        [dict(_times_by_choice(steps, row)) for steps, row in zip(programs, each, strict=True)]
        for each in rounds
    ]
    samples: dict[str, dict[str, list[float]]] = {}
    for rounds_of_program in zip(*sums, strict=True):
        for key, name in rounds_of_program[0]:
            samples.setdefault(key, {}).setdefault(name, []).append(
                median(sums_of_round[key, name] for sums_of_round in rounds_of_program)
            )
    return {
        key: {
            name: round((min if kind_of(key) == CONVOLUTION else median)(values), 5)
            for name, values in each.items()
        }
        for key, each in samples.items()
    }


def _times_by_choice(
    steps: Iterable[Mapping[str, Any]], row: Row
) -> Iterator[tuple[tuple[str, str], float]]:
    """The time of each choice in one program, averaged over the layers that use it. Calls that
    share a launch count as layers of equal time.
    """
    layers_by_choice: dict[tuple[str, str], dict[str, float]] = {}
    for step, ms in zip(steps, row, strict=True):
        if ms is None:
            continue
        names = [call["layer"] for call in step.get("calls", [step])]
        for item in step.get("decided", ()):
            layers = layers_by_choice.setdefault((item["key"], item["chosen"]), {})
            for name in names:
                layers[name] = layers.get(name, 0.0) + ms / len(names)
    for choice, layers in layers_by_choice.items():
        yield choice, fmean(layers.values())


def fastest(candidates: Sequence[str], measured: Mapping[str, float]) -> str:
    """The fastest candidate, or the default, which comes first, if no candidate is faster by the
    margin.
    """
    best = min((name for name in candidates if name in measured), key=lambda name: measured[name])
    default = measured.get(candidates[0])
    return (
        candidates[0] if default is not None and measured[best] > default * (1 - MARGIN) else best
    )
