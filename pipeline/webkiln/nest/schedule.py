"""Schedules: how the loops of a nest are vectorised, tiled and distributed, chosen per backend.
Without one, the nest is printed as plain loops.
"""

from dataclasses import astuple, dataclass, replace
from math import lcm
from typing import Any


@dataclass(frozen=True, slots=True)
class Panel:
    """A constant operand repacked so that the vector axis is contiguous: dimension `dim` is cut
    into
    blocks of `block` elements, and the memory order is (block number, the other dimensions in
    `order`, element in block).
    """

    source: int
    dim: int
    order: tuple[int, ...]
    block: int


@dataclass(frozen=True, slots=True)
class Slide:
    """`turns` of the innermost reduction loop, which are printed one by one; a neighbour on the
    tile
    axis is so many of them `ahead` of the one before it, with which it shares what both read. No
    window leaves the tile axis at its places from `first` up to `end`.
    """

    turns: int
    ahead: int
    first: int
    end: int


LEAST_TILE = 4
"""Neighbours on a tile axis, where there are fewer registers than a schedule counts on."""
SIDE = 8
"""A workgroup that computes a block of points is a square of so many invocations a side."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """`order`: the parallel loops, outermost first. `vector`: the axis of which `lanes` neighbours
    are
    computed together (where it is a reduction axis: accumulated apart, then folded). `tile`:
    another parallel axis of which `count` neighbours are computed together, one named accumulator
    each. `clamped`: where the tile axis holds a tile at least, the last one repeats its last
    neighbour instead of being cut off, unless it is the only one left. `split`: the parallel loop
    whose turns several processors share, in multiples of `grain`. `block`: so many neighbours on
    the tile axis are computed for all of the vector axis before the next ones. `ahead`: the panels
    of constants are read a little before their turn. `slide`: how neighbours on the tile axis share
    what they read. `zeros`: loads whose guard is false walk over zeros as far as others do over
    their operand. `whole`: the vector axis is a multiple of a vector, so that none is loaded or
    stored in part. `full`: it is one of `lanes`, so that no fewer are computed together. `aligned`:
    besides, all vectors in memory begin at a multiple of four elements of their operand. `group`:
    the invocations that share one point, where a reduction is spread over them. `depth`: the steps
    of the innermost reduction loop for which a workgroup keeps the factors of a contraction in its
    memory, `float16`: as float16, in which it multiplies them, where the device can. `unroll`: the
    reduction loop of which four turns are done at once, for which the factor that does not move
    along the vector axis is read as a vector.

    Of textures: `texels` are the operands that lie four elements to a texel, `vectors` those of
    them of which the loads along `vector` and `unroll` are whole texels. `quarters` are those
    operands of which each quarter lies in a layer of its own; with a `tile`, its `count` neighbours
    lie a quarter of the axis apart, one in each layer; `level` are those inputs of them whose rows
    do so in the same layers.
    """

    order: tuple[str, ...]
    vector: str | None = None
    lanes: int = 1
    tile: str | None = None
    count: int = 1
    panels: tuple[Panel, ...] = ()
    whole: bool = False
    aligned: bool = False
    group: int = 1
    depth: int = 0
    texels: tuple[int, ...] = ()
    vectors: tuple[int, ...] = ()
    unroll: str | None = None
    quarters: tuple[int, ...] = ()
    level: tuple[int, ...] = ()
    clamped: bool = False
    zeros: bool = False
    block: int = 0
    split: str | None = None
    full: bool = False
    ahead: bool = False
    slide: Slide | None = None
    float16: bool = False

    @property
    def grain(self) -> int:
        """Parts of a loop begin at multiples of this, so that no tile of any variant reaches into
        the next part.
        """
        assert self.split is not None
        span = self.span(self.split)
        return lcm(span, LEAST_TILE) if self.split == self.tile else span

    def copies(self, axis: str) -> int:
        """The neighbours on a parallel axis that are computed together."""
        return self.lanes if axis == self.vector else self.count if axis == self.tile else 1

    def span(self, axis: str) -> int:
        """The neighbours on a parallel axis that one loop step or one workgroup computes."""
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
