"""Memory planning: offsets in one arena by live ranges, and an independent checker that simulates
the steps and rejects reads of overwritten buffers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from webkiln.errors import InternalError
from webkiln.ir import dim, symbols
from webkiln.ir.size_bounds import round_up, upper_bound
from webkiln.ir.solve import nominal_size
from webkiln.nest.steps import Repeat, Step, WhileLoop, nested_blocks, reads, writes

OPEN_ALIGNMENT = 16
"""Bytes: of what is multiplied by an open size. A vector begins there; more would take several
times the memory of small elements.
"""
SAMPLES = (1, 2, 3, 17, 64, 1000)
"""Values of placeholders at which a symbolic plan is checked."""


@dataclass(frozen=True, slots=True)
class Range:
    """The live range of a buffer: from the first step that mentions it to the last, inclusive."""

    name: str
    bytes: int
    first: int
    last: int


def live_ranges(steps: Sequence[Step], sizes: Mapping[str, int], kept: set[str]) -> list[Range]:
    """One range per Variable in `sizes`; those in `kept` stay live to the end.

    What a repeat and its surroundings share is live as long as the repeat runs; what only its steps
    mention is made anew each time.
    """
    mentions = Counter(name for step in flat(steps) for name in _names(step))
    spans: dict[str, tuple[int, int]] = {}

    def visit(steps: Iterable[Step], position: int) -> tuple[int, Counter[str]]:
        found: Counter[str] = Counter()
        for step in steps:
            begin, own, within = position, Counter(_names(step)), Counter[str]()
            for block in nested_blocks(step):
                position, names = visit(block, position)
                within += names
            position = max(position, begin + 1)
            again = isinstance(step, Repeat | WhileLoop)
            crossing = [name for name in within if again and mentions[name] > within[name]]
            for name in (*own, *crossing):
                first, last = spans.get(name, (begin, begin))
                spans[name] = (min(first, begin), max(last, position - 1))
            found += own + within
        return position, found

    end, _ = visit(steps, 0)
    return [
        Range(name, sizes[name], spans[name][0], end if name in kept else spans[name][1])
        for name in sizes
        if name in spans
    ]


def _names(step: Step) -> list[str]:
    return [view.name for view in (*reads(step), *writes(step))]


def flat(steps: Iterable[Step], times: int = 1) -> Iterator[Step]:
    """The steps in the order in which they run, with as many turns of each repeat or loop and both
    branches; one that holds others comes before them (and a loop again behind them), as far as it
    reads anything itself.
    """
    for step in steps:
        if not isinstance(step, Repeat):
            yield step
        for _ in range(times if isinstance(step, Repeat | WhileLoop) else 1):
            for block in nested_blocks(step):
                yield from flat(block, times)
            if isinstance(step, WhileLoop):
                yield step


def aligned(size: int, alignment: int) -> int:
    return round_up(size, alignment, OPEN_ALIGNMENT)


def place(ranges: Sequence[Range], alignment: int) -> tuple[dict[str, int], int]:
    """Offsets and total bytes: largest first, each at the lowest gap left by those live at the same
    time (Pisarchyk & Lee 2020, greedy by size). With symbolic sizes a gap must be wide enough for
    every value of the placeholders, and large and low are meant at typical ones; what finds no gap
    lies above all others.
    """
    placed: list[tuple[int, Range]] = []
    for item in sorted(ranges, key=lambda r: (-nominal_size(r.bytes), r.first, r.name)):
        taken = [
            (offset, offset + aligned(other.bytes, alignment))
            for offset, other in placed
            if _overlap(other, item)
        ]
        starts = sorted(
            {0, *(end for _, end in taken)}, key=lambda start: (nominal_size(start), str(start))
        )
        free = (
            start
            for start in starts
            if all(
                dim.is_at_least(start, end) or dim.is_at_least(begin, start + item.bytes)
                for begin, end in taken
            )
        )
        lowest = next(free, None)
        placed.append((upper_bound([end for _, end in taken]) if lowest is None else lowest, item))
    total = dim.maximum(offset + aligned(item.bytes, alignment) for offset, item in placed)
    return {item.name: offset for offset, item in placed}, total


def _overlap(a: Range, b: Range) -> bool:
    return a.first <= b.last and b.first <= a.last


def check(steps: Sequence[Step], places: Mapping[str, tuple[int, int]], kept: set[str]) -> None:
    """Run the steps, each repeat twice, over buffers at (offset, bytes), and demand that every read
    finds what was written last to its Variable; InternalError names the two buffers. Independent of
    `live_ranges` and `place`.
    """
    names = symbols.names([size for place in places.values() for size in place])
    for sample in SAMPLES if names else SAMPLES[:1]:
        values = dict.fromkeys(names, sample)
        extents = {
            name: (symbols.substitute(offset, values), symbols.substitute(size, values))
            for name, (offset, size) in places.items()
        }
        _simulate(steps, extents, kept)


def _layer(step: Step) -> str:
    return "" if isinstance(step, Repeat) else step.layer


def _simulate(
    steps: Sequence[Step], extents: Mapping[str, tuple[int, int]], kept: set[str]
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
        for view in reads(step):
            demand(view.name, _layer(step))
        for view in writes(step):
            if view.name not in extents:
                continue
            lost = {name for name in valid if name != view.name and overlaps(name, view.name)}
            if clash := lost & {other.name for other in (*reads(step), *writes(step))}:
                raise InternalError(
                    f"memory plan: {_layer(step)} writes {view.name} over"
                    f" {', '.join(sorted(clash))}, which it also uses"
                )
            valid -= lost
            overwritten |= dict.fromkeys(lost, view.name)
            valid.add(view.name)
    for name in sorted(kept):
        demand(name, "the caller")
