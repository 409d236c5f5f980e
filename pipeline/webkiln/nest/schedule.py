"""Schedules: how the loops of a nest are ordered, vectorised, tiled and parallelised. The planner
chooses one per call. There are four kinds: loops on a CPU, invocations of a compute shader,
fragments of a renderer, and kernel templates with loops around them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import lcm, prod
from typing import Any, ClassVar, Literal

MIN_TILE = 4
"""The tile on machines with fewer registers than the schedule assumes."""
Remainder = Literal["none", "vectors", "elements"]


@dataclass(frozen=True, slots=True)
class Tile:
    """The neighbours that are computed together, each with an accumulator: `lanes` on the vector
    axis, and `count` on another parallel axis. A reduction axis as the vector axis accumulates one
    partial result per lane.
    """

    vector: str | None = None
    lanes: int = 1
    axis: str | None = None
    count: int = 1

    def copies(self, axis: str) -> int:
        """The number of neighbours on an axis that are computed together."""
        return self.lanes if axis == self.vector else self.count if axis == self.axis else 1


@dataclass(frozen=True, slots=True)
class Panel:
    """A constant operand that is repacked so that the vector axis is contiguous.

    Dimension `dim` is split into blocks of `block` elements. The memory order is (block, the other
    dimensions in `order`, element in the block). `source`: the position of the input. The other
    dimensions, flattened, are in groups of `together` elements, padded: the memory order is (block,
    group, element in the block, element in the group).
    """

    source: int
    dim: int
    order: tuple[int, ...]
    block: int
    together: int = 1

    def blocks(self, shape: Sequence[int]) -> int:
        """The number of blocks of an operand."""
        return -(-shape[self.dim] // self.block)

    def groups(self, shape: Sequence[int]) -> int:
        """The number of groups of the other dimensions."""
        return -(-prod(shape[dim] for dim in self.order) // self.together)


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


@dataclass(frozen=True, slots=True)
class LoopSchedule:
    """Nested loops on a CPU."""

    order: tuple[str, ...] = ()
    """The parallel loops, outermost first."""
    tile: Tile = Tile()
    panels: tuple[Panel, ...] = ()
    """The repacked constant operands."""
    remainder: Remainder = "elements"
    """What may remain at the end of the vector axis after all chunks of `lanes` neighbours."""
    clamped: bool = False
    """A partial last tile is computed as a full one, whose surplus elements repeat the last
    element, if the tile axis has at least one full tile and more than one element is left.
    """
    block: int = 0
    """The neighbours on the tile axis that are computed for the entire vector axis before the next
    ones (cache blocking); 0: no blocking.
    """
    slide: Slide | None = None
    """How neighbours on the tile axis share loads."""
    zeros: bool = False
    """Loads with a false guard read from a shared buffer of zeros, with the strides of the others.
    """
    prefetch: bool = False
    """The panel is prefetched."""
    split: str | None = None
    """The parallel loop whose iterations are distributed over threads, in multiples of `grain`."""

    @property
    def grain(self) -> int:
        """The alignment of the parts of a split loop. No tile of any variant of the kernel crosses
        the boundary between two parts.
        """
        assert self.split is not None
        span = self.tile.copies(self.split)
        return lcm(span, MIN_TILE) if self.split == self.tile.axis else span


@dataclass(frozen=True, slots=True)
class Workgroup:
    """The invocations of a workgroup, which compute neighbouring tiles: `columns` of them on the
    vector axis and `rows` on the tile axis, times `parts` that share each sum. `local` numbers them
    with columns innermost, parts outermost.
    """

    columns: int = 1
    rows: int = 1
    parts: int = 1
    depth: int = 0
    """The iterations of the innermost reduction loop of a contraction that are computed in one
    step; of all loops with a `Window`. Several parts divide the steps of all loops among them. 0:
    several parts divide the iterations of the innermost loop.
    """
    staged: bool = False
    """The factors of a step are loaded into workgroup memory, while the step before is computed."""
    float16: bool = False
    """Staged factors are stored and multiplied as float16 if the device supports it."""
    matrices: bool = False
    """Staged factors that are float16 in memory are multiplied as subgroup matrices if the device
    supports it.
    """

    @property
    def size(self) -> int:
        """The number of invocations."""
        return self.columns * self.rows * self.parts


@dataclass(frozen=True, slots=True)
class Window:
    """How invocations compute a convolution of few channels. Neighbours on the parallel loop `axis`
    share the elements of the image that they read, and all weights of the columns of a workgroup
    are in workgroup memory.

    The innermost reduction loops have `taps` iterations, and are unrolled. The first of them slides
    along the image: an iteration moves by `gap` elements, a neighbour on `axis` by `stride`.
    """

    axis: str
    taps: tuple[int, ...]
    stride: int
    gap: int
    vectors: bool = False
    """Weights of neighbouring columns are read from memory as vectors."""


@dataclass(frozen=True, slots=True)
class Form:
    """How invocations compute a contraction: each computes `lanes` neighbours on the vector axis by
    `count` on the tile axis.
    """

    lanes: int
    count: int
    workgroup: Workgroup | None = None
    window: Window | None = None

    @property
    def group(self) -> Workgroup:
        """The workgroup, of one invocation if there is none."""
        return self.workgroup or Workgroup()

    @property
    def columns(self) -> int:
        """The neighbours on the vector axis that a workgroup computes."""
        return self.lanes * self.group.columns

    @property
    def rows(self) -> int:
        """The neighbours on the tile axis that a workgroup computes."""
        return self.count * self.group.rows


@dataclass(frozen=True, slots=True)
class InvocationSchedule:
    """Invocations of a compute shader. Each computes the points of one tile."""

    order: tuple[str, ...] = ()
    """The axes along which tiles are numbered, outermost first."""
    tile: Tile = Tile()
    panels: tuple[Panel, ...] = ()
    """The repacked constant operands."""
    whole: bool = False
    """The size of the vector axis is a multiple of the register width: no partial stores."""
    aligned: bool = False
    """In addition to `whole`, all vectors in memory start at multiples of four elements."""
    unroll: str | None = None
    """The reduction loop that is unrolled by four, with vector loads of the operand that does not
    depend on the vector axis.
    """
    workgroup: Workgroup | None = None
    window: Window | None = None
    """With it, the last axis of `order` is that of the weights. A workgroup computes `columns`
    tiles along it, and `rows` tiles of the other axes, numbered together.
    """

    @property
    def image(self) -> tuple[str, ...]:
        """The axes along which a workgroup with a window numbers tiles together."""
        return self.order[:-1] if self.window else ()

    def span(self, axis: str) -> int:
        """The number of neighbours on a parallel axis per invocation or workgroup."""
        shared = self.workgroup or Workgroup()
        if self.window:
            return self.tile.copies(axis) * (1 if axis in self.image else shared.columns)
        across = shared.columns if axis == self.tile.vector else 1
        down = shared.rows if axis == self.tile.axis else 1
        return self.tile.copies(axis) * across * down


@dataclass(frozen=True, slots=True)
class FragmentSchedule:
    """Fragments of a renderer, whose operands are textures. Each computes the points of one tile.
    Operands are numbered: inputs first, then outputs.
    """

    panels: ClassVar[tuple[Panel, ...]] = ()
    tile: Tile = Tile()
    """With `quarters`, neighbours on the tile axis are a quarter of the axis apart."""
    texels: tuple[int, ...] = ()
    """The operands that store four elements per texel."""
    vectors: tuple[int, ...] = ()
    """Those of `texels` whose loads along the vector axis and `unroll` are entire texels."""
    unroll: str | None = None
    """The reduction loop whose iterations share texels, four at a time."""
    quarters: tuple[int, ...] = ()
    """The operands that store each quarter in a layer of its own."""
    level: tuple[int, ...] = ()
    """Those inputs of `quarters` whose rows are in the same layers as those of the output."""


@dataclass(frozen=True, slots=True)
class TemplateSchedule:
    """A kernel template of `kernels/` (`nest/kernel_template.py`). Loops around it prepare blocks
    of its operands and store blocks of its results.
    """

    template: str
    panels: tuple[Panel, ...] = ()
    prepare: tuple[LoopSchedule | InvocationSchedule, ...] = ()
    store: LoopSchedule | InvocationSchedule = LoopSchedule()
    split: tuple[str, ...] = ()
    """The parallel loops along which blocks are computed, outermost first. Their iterations are
    numbered together, and distributed over threads in multiples of `grain`.
    """
    grain: int = 1
    whole: bool = False
    """The innermost loop of a sum is a multiple of the group of neighbours along the sum."""
    tile: ClassVar[Tile] = Tile()


Schedule = LoopSchedule | InvocationSchedule | FragmentSchedule | TemplateSchedule
KINDS: dict[str, type[Schedule]] = {
    "template": TemplateSchedule,
    "loops": LoopSchedule,
    "invocations": InvocationSchedule,
    "fragments": FragmentSchedule,
}
NESTED = {"tile": Tile, "slide": Slide, "workgroup": Workgroup, "window": Window}
"""The fields that are records."""


def panel_of(panels: Iterable[Panel], source: int) -> Panel | None:
    """The panel of an input, if it is repacked."""
    return next((panel for panel in panels if panel.source == source), None)


def has_aligned_vectors(schedule: Schedule) -> bool:
    """Whether all vectors in memory are known to start at multiples of four elements."""
    return isinstance(schedule, InvocationSchedule) and schedule.aligned


def to_json(schedule: Schedule | Form) -> dict[str, Any]:
    """The kind of a schedule, and the fields that differ from their defaults."""
    data: dict[str, Any] = _to_json(schedule)
    return data


def _to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(map(_to_json, value))
    if not is_dataclass(value):
        return value
    items = ((field, getattr(value, field.name)) for field in fields(value))
    kind = next((name for name, record in KINDS.items() if isinstance(value, record)), None)
    data = {} if kind is None else {"kind": kind}
    return data | {field.name: _to_json(item) for field, item in items if item != field.default}


def from_json(data: Mapping[str, Any]) -> Schedule:
    return KINDS[data["kind"]](**_fields(data))


def form_from_json(data: Mapping[str, Any]) -> Form:
    return Form(**_fields(data))


def _fields(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _from_json(name, value) for name, value in data.items() if name != "kind"}


def _from_json(name: str, value: Any) -> Any:
    if name in NESTED and value is not None:
        return NESTED[name](**_fields(value))
    if name == "store":
        return from_json(value)
    if name == "prepare":
        return tuple(map(from_json, value))
    if name == "panels":
        return tuple(Panel(**{**item, "order": tuple(item["order"])}) for item in value)
    return tuple(value) if isinstance(value, list) else value
