"""Where every Variable lies: one arena planned by liveness, and the checker that no two live ranges overlap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from webkiln.errors import InternalError
from webkiln.nest.build import Call


@dataclass(frozen=True, slots=True)
class Range:
    """A buffer that is live from the launch that first writes it to the last that reads it, both included."""

    name: str
    bytes: int
    first: int
    last: int


def live_ranges(calls: Sequence[Call], sizes: Mapping[str, int], kept: set[str]) -> list[Range]:
    """One range per Variable in `sizes`; those in `kept` stay live to the end."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for position, call in enumerate(calls):
        for view in (*call.inputs, *call.outputs):
            if view.name in sizes:
                first.setdefault(view.name, position)
                last[view.name] = position
    return [Range(name, sizes[name], first[name], len(calls) if name in kept else last[name]) for name in sizes if name in first]


def aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def place(ranges: Sequence[Range], alignment: int) -> tuple[dict[str, int], int]:
    """Offsets, largest first, each at the lowest gap left by those live at the same time (Pisarchyk & Lee 2020, greedy by size); total bytes."""
    placed: list[tuple[int, Range]] = []
    offsets: dict[str, int] = {}
    for item in sorted(ranges, key=lambda r: (-r.bytes, r.first, r.name)):
        start = 0
        for offset, other in sorted(((o, r) for o, r in placed if _overlap(r, item)), key=lambda pair: pair[0]):
            if start + item.bytes <= offset:
                break
            start = max(start, aligned(offset + other.bytes, alignment))
        placed.append((start, item))
        offsets[item.name] = start
    total = max((offset + item.bytes for offset, item in placed), default=0)
    check(ranges, offsets)
    return offsets, aligned(total, alignment)


def _overlap(a: Range, b: Range) -> bool:
    return a.first <= b.last and b.first <= a.last


def check(ranges: Sequence[Range], offsets: Mapping[str, int]) -> None:
    """Independently of `place`: walk the launches and demand that the buffers live at each are disjoint; InternalError names a pair."""
    for moment in range(max((item.last for item in ranges), default=-1) + 1):
        live = sorted((offsets[r.name], offsets[r.name] + r.bytes, r.name) for r in ranges if r.first <= moment <= r.last and r.bytes)
        for (_, end, name), (start, _, other) in pairwise(live):
            if start < end:
                raise InternalError(f"memory plan: {name} ends at {end}, {other} starts at {start}, both are live at launch {moment}")
