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
    """The launches, in program order."""
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
        for item in profile["launches"]
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
    """A short time, in a suitable unit."""
    scale, unit = next(
        ((scale, unit) for scale, unit in ((1e3, "µs"), (1e6, "ns")) if ms * scale >= 1),
        (1e6, "ns"),
    )
    return f"{ms * scale:.3g} {unit}"


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
        (
            f"peak: {profile['peakGflops']:.3g} GFLOP/s, measured with a multiply-add loop in all"
            " threads"
        ),
    ]
    if short:
        found.append(
            f"{short} of {len(times)} launches take less than a clock tick each; increase --runs"
            " for better means"
        )
    return found
