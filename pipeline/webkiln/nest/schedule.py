"""Schedules: how the loops of a nest are ordered, vectorised, tiled and parallelised. The planner
chooses one per backend; without a schedule, the nest is printed as plain loops.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from math import lcm
from typing import Any


@dataclass(frozen=True, slots=True)
class Panel:
    """A constant operand that is repacked so that the vector axis is contiguous.

    Dimension `dim` is split into blocks of `block` elements. The memory order is (block, the other
    dimensions in `order`, element in the block).
    """

    source: int
    """The position of the input."""
    dim: int
    order: tuple[int, ...]
    block: int

    def blocks(self, shape: Sequence[int]) -> int:
        """The number of blocks of an operand."""
        return -(-shape[self.dim] // self.block)


@dataclass(frozen=True, slots=True)
class Slide:
    """A sliding window over the tile axis: the outputs of a tile share the loads of their
    overlapping windows.
    """

    taps: int
    """The iterations of the innermost reduction loop, which is unrolled."""
    stride: int
    """The distance between the windows of neighbours on the tile axis, in taps."""
    first: int
    end: int
    """All loads are in bounds for the outputs first..end on the tile axis."""


MIN_TILE = 4
"""The tile on machines with fewer registers than the schedule assumes."""
SIDE = 8
"""The side of a square workgroup that computes a block of points, in invocations."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The schedule of one nest. Axes are named like the loops of the nest, operands are numbered:
    inputs first, then outputs.
    """

    order: tuple[str, ...]
    """The parallel loops, outermost first."""
    vector: str | None = None
    """The vectorised axis. A reduction axis accumulates one partial result per lane."""
    lanes: int = 1
    """The number of neighbours on the vector axis that are computed together."""
    tile: str | None = None
    """Another parallel axis that is tiled, with one accumulator per element of the tile."""
    count: int = 1
    """The number of neighbours on the tile axis that are computed together."""
    panels: tuple[Panel, ...] = ()
    """The repacked constant operands."""
    whole: bool = False
    """The size of the vector axis is a multiple of the register width: no partial loads or stores.
    """
    aligned: bool = False
    """In addition to `whole`, all vectors in memory start at multiples of four elements."""
    group: int = 1
    """The number of invocations that share the reduction of one point."""
    depth: int = 0
    """The iterations of the innermost reduction loop whose operands a workgroup loads into its
    shared memory at once; 0: none.
    """
    texels: tuple[int, ...] = ()
    """Textures: the operands that store four elements per texel."""
    vectors: tuple[int, ...] = ()
    """Textures: those of `texels` whose loads along `vector` and `unroll` are entire texels."""
    unroll: str | None = None
    """The reduction loop that is unrolled by four, with vector loads of the operand that does not
    depend on the vector axis.
    """
    quarters: tuple[int, ...] = ()
    """Textures: the operands that store each quarter in a layer of its own. The elements of a tile
    are then a quarter of the axis apart, one in each layer.
    """
    level: tuple[int, ...] = ()
    """Textures: those inputs of `quarters` whose rows are in the same layers as those of the
    output.
    """
    clamped: bool = False
    """A partial last tile is computed as a full one, whose surplus elements repeat the last
    element, if the tile axis has at least one full tile and more than one element is left.
    """
    zeros: bool = False
    """Loads with a false guard read from a shared buffer of zeros, with the strides of the others.
    """
    block: int = 0
    """The neighbours on the tile axis that are computed for the entire vector axis before the next
    ones (cache blocking); 0: no blocking.
    """
    split: str | None = None
    """The parallel loop whose iterations are distributed over threads, in multiples of `grain`."""
    full: bool = False
    """The size of the vector axis is a multiple of `lanes`: no remainder loop."""
    ahead: bool = False
    """The panels of constants are prefetched."""
    slide: Slide | None = None
    """How neighbours on the tile axis share loads."""
    float16: bool = False
    """With `depth`, operands are stored and multiplied as float16 if the device supports it."""

    @property
    def grain(self) -> int:
        """The alignment of the parts of a split loop. No tile of any variant of the kernel crosses
        the boundary between two parts.
        """
        assert self.split is not None
        span = self.span(self.split)
        return lcm(span, MIN_TILE) if self.split == self.tile else span

    def copies(self, axis: str) -> int:
        """The number of neighbours on a parallel axis that are computed together."""
        return self.lanes if axis == self.vector else self.count if axis == self.tile else 1

    def span(self, axis: str) -> int:
        """The number of neighbours on a parallel axis per loop iteration or workgroup."""
        shared = (
            (self.vector, self.tile) if self.depth else (self.vector,) if self.group > 1 else ()
        )
        return self.copies(axis) * (SIDE if axis in shared else 1)

    def panel(self, source: int) -> Panel | None:
        return next((panel for panel in self.panels if panel.source == source), None)


def to_json(schedule: Schedule) -> dict[str, Any]:
    return {
        "order": list(schedule.order),
        "vector": schedule.vector,
        "lanes": schedule.lanes,
        "tile": schedule.tile,
        "count": schedule.count,
        "panels": [[p.source, p.dim, list(p.order), p.block] for p in schedule.panels],
        "whole": schedule.whole,
        **({"aligned": True} if schedule.aligned else {}),
        **({"clamped": True} if schedule.clamped else {}),
        **({"zeros": True} if schedule.zeros else {}),
        **({"block": schedule.block} if schedule.block else {}),
        **({"split": schedule.split} if schedule.split else {}),
        **({"full": True} if schedule.full else {}),
        **({"ahead": True} if schedule.ahead else {}),
        **({"slide": list(astuple(schedule.slide))} if schedule.slide else {}),
        **({"group": schedule.group} if schedule.group > 1 else {}),
        **({"depth": schedule.depth} if schedule.depth else {}),
        **({"float16": True} if schedule.float16 else {}),
        **({"quarters": list(schedule.quarters)} if schedule.quarters else {}),
        **({"level": list(schedule.level)} if schedule.level else {}),
        **({"unroll": schedule.unroll} if schedule.unroll else {}),
        **(
            {"texels": list(schedule.texels), "vectors": list(schedule.vectors)}
            if schedule.texels
            else {}
        ),
    }


def from_json(data: dict[str, Any]) -> Schedule:
    panels = tuple(
        Panel(source, dim, tuple(order), block) for source, dim, order, block in data["panels"]
    )
    loops = (tuple(data["order"]), data["vector"], data["lanes"], data["tile"], data["count"])
    texels, vectors, quarters, level = (
        tuple(data.get(name, ())) for name in ("texels", "vectors", "quarters", "level")
    )
    schedule = Schedule(
        *loops,
        panels,
        data["whole"],
        data.get("aligned", False),
        data.get("group", 1),
        data.get("depth", 0),
    )
    return replace(
        schedule,
        texels=texels,
        vectors=vectors,
        unroll=data.get("unroll"),
        quarters=quarters,
        level=level,
        clamped=data.get("clamped", False),
        zeros=data.get("zeros", False),
        block=data.get("block", 0),
        float16=data.get("float16", False),
        split=data.get("split"),
        full=data.get("full", False),
        ahead=data.get("ahead", False),
        slide=Slide(*data["slide"]) if "slide" in data else None,
    )
