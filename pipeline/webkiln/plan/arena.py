"""Memory layout of backends with one linear memory; addresses are byte offsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from webkiln.ir import dim
from webkiln.ir.dim import Size, known, known_shape
from webkiln.ir.notation import size_to_json
from webkiln.ir.types import itemsize
from webkiln.nest.steps import Step
from webkiln.plan.memory import align_up, assign_offsets, check, live_ranges


@dataclass(frozen=True, slots=True)
class Extent:
    """The memory of a buffer: `elements` of the dtype `storage`; the number may be symbolic.
    `lanes`: the elements of a texel. `quarters`: whether each quarter is stored in a layer of its
    own.
    """

    storage: str
    elements: Size
    lanes: int = 1
    quarters: bool = False

    @property
    def bytes(self) -> Size:
        return self.elements * itemsize(self.storage)


@dataclass(frozen=True, slots=True)
class TransientWeight:
    """A weight that is needed until the Variable `last`, a persistent one, has been computed from
    it.
    """

    name: str
    extent: Extent
    last: str


class Arena:
    """Allocates persistent buffers one after another, then an area that all other Variables share.
    Weights are decoded from a staging area, which overlaps that shared area.
    """

    def __init__(self, alignment: int) -> None:
        self.alignment = alignment
        self.offsets: dict[str, Size] = {}
        self.ends: dict[str, Size] = {}
        self.end: Size = 0
        self.arena: Size = 0
        self.loaded = 0
        self.staging = {"offset": 0, "bytes": 0}

    def reserve(self, name: str, extent: Extent) -> None:
        """Allocate a persistent buffer, unless the Variable already has one."""
        if name not in self.offsets:
            self.offsets[name] = self.end
            self.ends[name] = self.end = align_up(self.end + extent.bytes, self.alignment)

    def skip(self, name: str) -> None:
        """Note that a constant outside the arena is computed after those allocated before."""
        self.ends[name] = self.end

    def stage(self, size: int, transient: Sequence[TransientWeight]) -> None:
        """Allocate the staging area and the weights that are not retained after loading. Transient
        weights lie consecutively below the staging area, as low as possible. Each overlaps only
        Variables that are computed after its last use.
        """
        tail_bytes = [
            *accumulate(align_up(item.extent.bytes, self.alignment) for item in reversed(transient))
        ][::-1]
        ends = [
            self.end,
            *(
                self.ends[item.last] + size
                for item, size in zip(transient, tail_bytes, strict=True)
            ),
        ]
        end = max(known_shape(ends, "the memory of constants"))
        self.offsets |= {
            item.name: end - size for item, size in zip(transient, tail_bytes, strict=True)
        }
        self.staging = {"offset": end, "bytes": size}
        self.loaded = known(align_up(end + size, self.alignment), "the memory of constants")

    def allocate(
        self, steps: Sequence[Step], extents: Mapping[str, Extent], live_out: set[str]
    ) -> None:
        """Allocate the Variables that only live between launches. Those in `live_out` live to the
        end.
        """
        sizes = {name: extent.bytes for name, extent in extents.items()}
        offsets, self.arena = assign_offsets(live_ranges(steps, sizes, live_out), self.alignment)
        check(steps, {name: (offset, sizes[name]) for name, offset in offsets.items()}, live_out)
        self.offsets |= {name: self.end + offset for name, offset in offsets.items()}

    def to_json(self) -> dict[str, Any]:
        needed = dim.maximum([self.loaded, self.end + self.arena])
        return {
            "loaded": self.loaded if dim.is_symbolic(needed) else needed,
            "memory": size_to_json(needed),
            "staging": self.staging,
        }
