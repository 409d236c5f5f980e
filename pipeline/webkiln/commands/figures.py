"""Times, operations and bytes of a profile's launches, one by one and by layer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

NO_LAYER = "(no layer)"
"""Copies of states and of loop-carried values."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The number of launches in a run, and their sums. `operations` and `bytes` are None if
    unknown.
    """

    layer: str
    kernel: str
    count: float
    ms: float
    flops: float | None
    bytes: float | None

    @property
    def gflops(self) -> float | None:
        """10^9 operations per second, or None."""
        return self.flops / self.ms / 1e6 if self.flops and self.ms else None

    @property
    def gigabytes(self) -> float | None:
        """10^9 bytes per second."""
        return self.bytes / self.ms / 1e6 if self.bytes and self.ms else None


def launches_of(profile: Mapping[str, Any]) -> list[Figures]:
    """The launches that ran, in program order: branches may leave some out. All if none ran."""
    launches = [item for item in profile["launches"] if item["count"]] or profile["launches"]
    return [
        Figures(
            item["layer"] or NO_LAYER,
            item["kernel"],
            item["count"],
            item["ms"],
            *(
                None if item[key] is None else item["count"] * item[key]
                for key in ("flops", "bytes")
            ),
        )
        for item in launches
    ]


def layers_of(launches: Iterable[Figures]) -> list[Figures]:
    """One entry per layer; `kernel` has its number of launches."""
    groups: dict[str, list[Figures]] = {}
    for launch in launches:
        groups.setdefault(launch.layer, []).append(launch)
    return [
        summed(group, layer, f"{len(group)} launch{'es' if len(group) > 1 else ''}")
        for layer, group in groups.items()
    ]


def summed(launches: Iterable[Figures], layer: str, kernel: str) -> Figures:
    """The totals. Operations and bytes are those that are known, or None."""
    items = list(launches)
    known = [
        [value for value in values if value is not None]
        for values in ([item.flops for item in items], [item.bytes for item in items])
    ]
    flops, moved = (sum(values) if values else None for values in known)
    return Figures(
        layer,
        kernel,
        sum(item.count for item in items),
        sum(item.ms for item in items),
        flops,
        moved,
    )


def milliseconds(ms: float, total: Figures) -> str:
    """A time, with digits that suit the sum of all times."""
    return f"{ms:.{3 if total.ms >= 1 else 5}f}"


def largest_first(figures: Iterable[Figures]) -> list[Figures]:
    return sorted(figures, key=lambda item: -item.ms)


def where(profile: Mapping[str, Any]) -> str:
    """Backend, variant and threads."""
    variant = f" ({profile['variant']})" if profile["variant"] else ""
    return (
        f"{profile['backend']}{variant}, {profile['threads']}"
        f" thread{'s' if profile['threads'] > 1 else ''}"
    )


def _short(ms: float) -> str:
    """A time in a suitable unit."""
    scale, unit = next(
        ((scale, unit) for scale, unit in ((1, "ms"), (1e3, "µs"), (1e6, "ns")) if ms * scale >= 1),
        (1e6, "ns"),
    )
    return f"{rounded(ms * scale)} {unit}"


def rounded(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def remarks(profile: Mapping[str, Any]) -> list[str]:
    """How times were measured, and the limits of their precision."""
    step, times = (
        profile["resolutionMs"],
        [item["ms"] / item["count"] for item in profile["launches"] if item["count"]],
    )
    short = sum(ms < step for ms in times)
    found = [
        (
            f"{profile['runs']} runs, of which the faster half is averaged; times by"
            f" {profile['clock']}, in steps of {_short(step)}"
        ),
        _peaks(profile),
        *_gpu_times(profile),
    ]
    if short:
        found.append(
            f"{short} of {len(times)} launches take less than a clock tick each; increase --runs"
            " for better means"
        )
    return found


def _peaks(profile: Mapping[str, Any]) -> str:
    """What the engine reached in loops of multiply-adds and of reads."""
    flops, reads = profile["peakGflops"], profile["peakGigabytes"]
    if flops is None:
        return "peak: not measured, since WebGPU has no valid timestamps here"
    loop = "in all threads" if profile["backend"] in ("wasm", "js") else "on the GPU"
    memory = f", and {rounded(reads)} GB/s with reads from memory" if reads is not None else ""
    return f"peak: {rounded(flops)} GFLOP/s, measured with a multiply-add loop {loop}{memory}"


def _gpu_times(profile: Mapping[str, Any]) -> list[str]:
    """The GPU time of a run with all launches in one pass."""
    times = profile["gpu"]
    if times is None:
        return []
    passed, kernels, empty = (_short(times[key]) for key in ("passMs", "kernelMs", "emptyMs"))
    return [
        (
            f"in one pass, {times['launches']:g} launches take {passed} of GPU time: {kernels} in"
            f" kernels, {_short(max(times['gapMs'], 0))} in gaps between them"
        ),
        (
            f"the time of each launch below includes {empty}, which a pass with an empty launch"
            " takes"
        ),
    ]
