"""Segments: buffers of a GPU beside the arena, with constants that only launches read.

Many devices bind at most 128 MiB of a buffer, so that larger programs keep constants in several.
Constants that only some devices read, such as the filters of Winograd convolutions, or a weight in
another dtype, have segments that other devices neither allocate nor fill.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webkiln.ir.dim import Size, known
from webkiln.ir.solve import nominal_size
from webkiln.nest.program import Program
from webkiln.nest.steps import NestCall, Workgroups, every_step, operand_names
from webkiln.plan.devices import ALL, with_devices
from webkiln.plan.memory import align_up

SMALL = 1 << 16
"""The bytes of a constant that is not worth a binding of its own."""
BINDINGS = 7
"""The segments that a launch can use. Every device binds eight buffers, one of which is the arena.
"""

Bindings = tuple[tuple[int, ...], list[int]]
"""The binding of each operand of a launch, and the segments in the order of their bindings."""


@dataclass(slots=True)
class Segment:
    """A buffer of `bytes` that devices with these numbers of multiprocessors have."""

    devices: range
    bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        low, high = self.devices.start, self.devices.stop
        limits = ({"from": low} if low else {}) | ({"below": high} if high != ALL.stop else {})
        return {"bytes": self.bytes, **limits}


class Segments:
    """The segments of a program, and the constants in them: name -> segment and offset. `limit`:
    the bytes of a segment, unless a single constant has more.
    """

    def __init__(self, limit: int, alignment: int) -> None:
        self.limit, self.alignment = limit, alignment
        self.all: list[Segment] = []
        self.places: dict[str, tuple[int, int]] = {}

    def add(self, name: str, size: int, devices: range) -> None:
        """Allocate a constant in the last segment for the same devices, or in a new one."""
        last = max((n for n, item in enumerate(self.all) if item.devices == devices), default=-1)
        if last < 0 or self.all[last].bytes + size > self.limit:
            last = len(self.all)
            self.all.append(Segment(devices))
        segment = self.all[last]
        self.places[name] = (last, segment.bytes)
        end = align_up(segment.bytes + size, self.alignment)
        assert isinstance(end, int)
        segment.bytes = end

    def to_json(self) -> list[dict[str, Any]]:
        return [item.to_json() for item in self.all]


def choose_segments(
    program: Program, sizes: Mapping[str, Size], limit: int, alignment: int, *, exceeds: bool
) -> Segments:
    """Segments of at most `limit` bytes with constants of these `sizes` in bytes: all those beyond
    `SMALL` if the arena `exceeds` the limit, else those that only some devices read.
    """
    initial = {state.initial for state in program.states}
    readers = {
        name: devices
        for name, devices in _readers(program).items()
        if devices != ALL or (exceeds and nominal_size(sizes[name]) >= SMALL)
    }
    order = [name for name in readers if name in program.repackable - initial and sizes[name]]
    while True:
        segments = Segments(limit, alignment)
        for name in order:
            size = known(sizes[name], f"the constant {name}")
            segments.add(name, size, readers[name])
        crowded = _crowded(program, segments.places)
        if not crowded:
            return segments
        order = [name for name in order if name not in crowded]


def _readers(program: Program) -> dict[str, range]:
    """The constants that launches read, by first use, and the devices that read them."""
    found: dict[str, range] = {}

    def read(name: str, devices: range) -> None:
        other = found.get(name, devices)
        low, high = min(other.start, devices.start), max(other.stop, devices.stop)
        found[name] = range(low, high)

    for step, devices in with_devices(program.steps):
        for name in operand_names(step):
            read(name, devices)
    names = [name for name in found if name in program.constants]
    for call in reversed(program.init):
        (view,) = call.outputs
        if view.name in found:
            for operand in call.inputs:
                read(operand.name, found[view.name])
    return {name: found[name] for name in names}


def _crowded(program: Program, places: Mapping[str, tuple[int, int]]) -> set[str]:
    """The constants of the first launch that uses more segments than a device binds."""
    for step in every_step((*program.init, *program.steps)):
        if isinstance(step, Workgroups | NestCall):
            inner = every_step([step])
            names = {name for item in inner for name in operand_names(item) if name in places}
            if len({places[name][0] for name in names}) > BINDINGS:
                return names
    return set()


def bindings(numbers: Sequence[int | None]) -> Bindings:
    """The binding of each operand of a launch, by the segment that it lies in: 0 for the arena,
    then the segments in order of first use, which are also returned.
    """
    used = list(dict.fromkeys(number for number in numbers if number is not None))
    places = tuple(0 if number is None else used.index(number) + 1 for number in numbers)
    return (places if used else ()), used
