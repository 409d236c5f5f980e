"""Memory planning: offsets in one arena by live ranges, and an independent checker that simulates
the steps and rejects reads of overwritten buffers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from webkiln.errors import InternalError
from webkiln.ir import dim, symbols
from webkiln.ir.dim import Size
from webkiln.ir.size_bounds import round_up, upper_bound
from webkiln.ir.solve import nominal_size
from webkiln.nest.steps import Step, operand_names

SYMBOLIC_ALIGNMENT = 16
"""Alignment of symbolic sizes in bytes. Vectors are aligned to it; more would multiply the memory
of small elements.
"""
SAMPLES = (1, 2, 3, 17, 64, 1000)
"""Values of placeholders at which a symbolic plan is checked."""


@dataclass(frozen=True, slots=True)
class Range:
    """The live range of a buffer: from the first step that mentions it to the last, inclusive."""

    name: str
    bytes: Size
    first: int
    last: int


def live_ranges(
    steps: Sequence[Step], sizes: Mapping[str, Size], live_out: set[str]
) -> list[Range]:
    """One range per Variable in `sizes`. Those in `live_out` stay live to the end.

    A Variable that is used inside and outside a repeat is live throughout the repeat. A Variable
    that is used only inside is written anew in each iteration. The iterations of workgroups run at
    the same time, so a Variable that is used inside is live throughout them.
    """
    mentions = Counter(name for step in flat(steps) for name in operand_names(step))
    spans: dict[str, tuple[int, int]] = {}

    def visit(steps: Iterable[Step], position: int) -> tuple[int, Counter[str]]:
        mentioned: Counter[str] = Counter()
        for step in steps:
            begin, direct, nested = position, Counter(operand_names(step)), Counter[str]()
            for block in step.blocks:
                position, names = visit(block, position)
                nested += names
            position = max(position, begin + 1)
            crossing = [
                name
                for name in nested
                if step.concurrent or (step.iterates and mentions[name] > nested[name])
            ]
            for name in (*direct, *crossing):
                first, last = spans.get(name, (begin, begin))
                spans[name] = (min(first, begin), max(last, position - 1))
            mentioned += direct + nested
        return position, mentioned

    end, _ = visit(steps, 0)
    return [
        Range(name, sizes[name], spans[name][0], end if name in live_out else spans[name][1])
        for name in sizes
        if name in spans
    ]


def flat(steps: Iterable[Step], times: int = 1) -> Iterator[Step]:
    """The steps in execution order, with `times` iterations of each repeat or loop and both
    branches. A step with nested blocks precedes them; a loop also follows each of its iterations,
    since it reads its condition again.
    """
    for step in steps:
        yield step
        for _ in range(times if step.iterates else 1):
            for block in step.blocks:
                yield from flat(block, times)
            if step.iterates:
                yield step


def align_up(size: Size, alignment: int) -> Size:
    return round_up(size, alignment, SYMBOLIC_ALIGNMENT)


def assign_offsets(ranges: Sequence[Range], alignment: int) -> tuple[dict[str, Size], Size]:
    """Return the offset of each range and the total bytes: largest first, each at the lowest gap
    between the ranges live at the same time (Pisarchyk & Lee 2020, greedy by size). A gap with
    symbolic bounds must be wide enough for all values of the placeholders; sizes and offsets are
    compared at nominal values. Without such a gap, the buffer goes above all others.
    """
    placed: list[tuple[Size, Range]] = []
    for item in sorted(ranges, key=lambda r: (-nominal_size(r.bytes), r.first, r.name)):
        occupied = [
            (offset, offset + align_up(other.bytes, alignment))
            for offset, other in placed
            if _overlap(other, item)
        ]
        starts = sorted(
            {0, *(end for _, end in occupied)}, key=lambda start: (nominal_size(start), str(start))
        )
        free = (
            start
            for start in starts
            if all(
                dim.is_at_least(start, end) or dim.is_at_least(begin, start + item.bytes)
                for begin, end in occupied
            )
        )
        lowest = next(free, None)
        placed.append(
            (upper_bound([end for _, end in occupied]) if lowest is None else lowest, item)
        )
    total = dim.maximum(offset + align_up(item.bytes, alignment) for offset, item in placed)
    return {item.name: offset for offset, item in placed}, total


def _overlap(a: Range, b: Range) -> bool:
    return a.first <= b.last and b.first <= a.last


def check(
    steps: Sequence[Step], buffers: Mapping[str, tuple[Size, Size]], live_out: set[str]
) -> None:
    """Simulate the steps, each repeat twice, over buffers at (offset, bytes). Raise InternalError,
    which names two buffers, if a read does not return the last value written to its Variable.
    Independent of `live_ranges` and `assign_offsets`.
    """
    names = symbols.names([size for buffer in buffers.values() for size in buffer])
    for sample in SAMPLES if names else SAMPLES[:1]:
        values = dict.fromkeys(names, sample)
        extents = {
            name: (symbols.evaluate(offset, values), symbols.evaluate(size, values))
            for name, (offset, size) in buffers.items()
        }
        _simulate(steps, extents, live_out)


def _simulate(
    steps: Sequence[Step], extents: Mapping[str, tuple[int, int]], live_out: set[str]
) -> None:
    valid: set[str] = set()
    overwritten: dict[str, str] = {}

    def demand(name: str, reader: str) -> None:
        if name in extents and name not in valid:
            reason = f"{overwritten[name]} overwrote" if name in overwritten else "nothing wrote"
            raise InternalError(f"memory plan: {reader} reads {name}, which {reason}")

    def overlaps(a: str, b: str) -> bool:
        (start, size), (other, width) = extents[a], extents[b]
        return size > 0 and width > 0 and start < other + width and other < start + size

    for step in flat(steps, times=2):
        for view in step.reads:
            demand(view.name, step.label)
        for view in step.writes:
            if view.name not in extents:
                continue
            lost = {name for name in valid if name != view.name and overlaps(name, view.name)}
            if clash := lost.intersection(operand_names(step)):
                raise InternalError(
                    f"memory plan: {step.label} writes {view.name} over"
                    f" {', '.join(sorted(clash))}, which it also uses"
                )
            valid -= lost
            overwritten |= dict.fromkeys(lost, view.name)
            valid.add(view.name)
    for name in sorted(live_out):
        demand(name, "the caller")
