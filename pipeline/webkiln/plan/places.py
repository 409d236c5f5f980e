"""Memory layout of a backend with one linear memory; places are byte offsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from webkiln.ir import dim
from webkiln.ir.notation import size_to_json
from webkiln.ir.types import itemsize
from webkiln.nest.steps import Step
from webkiln.plan.memory import aligned, check, live_ranges, place


@dataclass(frozen=True, slots=True)
class Buffer:
    """`elements` of the dtype `storage`; a size may be symbolic. `lanes`: how many make a texel.
    `quarters`: whether each quarter lies in a layer of its own.
    """

    storage: str
    elements: int
    lanes: int = 1
    quarters: bool = False

    @property
    def bytes(self) -> int:
        return self.elements * itemsize(self.storage)


@dataclass(frozen=True, slots=True)
class Passing:
    """A weight that is needed until `last` is computed from it, a Variable that has room."""

    name: str
    buffer: Buffer
    last: str


class Arena:
    """Persistent buffers one after another, then an arena that all others share. Weights are
    decoded
    from a staging area, which overlaps the buffers that follow them.
    """

    def __init__(self, alignment: int) -> None:
        self.alignment = alignment
        self.offsets: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        self.end = 0
        self.arena = 0
        self.loaded = 0
        self.staging = {"offset": 0, "bytes": 0}

    def reserve(self, name: str, buffer: Buffer) -> None:
        if name not in self.offsets:
            self.offsets[name] = self.end
            self.ends[name] = self.end = aligned(self.end + buffer.bytes, self.alignment)

    def stage(self, size: int, passing: Sequence[Passing]) -> None:
        """Make room for what arrives, and for what is not kept after loading: one after another, as
        low as the last Variable that is computed from each allows. It lies below them, and only
        what is computed later where they lie.
        """
        behind = [
            *accumulate(aligned(item.buffer.bytes, self.alignment) for item in reversed(passing))
        ][::-1]
        end = max(
            [
                self.end,
                *(self.ends[item.last] + size for item, size in zip(passing, behind, strict=True)),
            ]
        )
        self.offsets |= {item.name: end - size for item, size in zip(passing, behind, strict=True)}
        self.staging = {"offset": end, "bytes": size}
        self.loaded = aligned(end + size, self.alignment)

    def staged(self, start: int, size: int, dtype: str) -> Any:
        """What a launch is given for `size` bytes of staging, from `start`."""
        return self.staging["offset"] + start

    def share(self, steps: Sequence[Step], buffers: Mapping[str, Buffer], kept: set[str]) -> None:
        """Place what only lives between launches; `kept` lives to the end."""
        sizes = {name: buffer.bytes for name, buffer in buffers.items()}
        places, self.arena = place(live_ranges(steps, sizes, kept), self.alignment)
        check(steps, {name: (offset, sizes[name]) for name, offset in places.items()}, kept)
        self.offsets |= {name: self.end + offset for name, offset in places.items()}

    def described(self) -> dict[str, Any]:
        needed = dim.maximum([self.loaded, self.end + self.arena])
        return {
            "loaded": self.loaded if dim.is_symbolic(needed) else needed,
            "memory": size_to_json(needed),
            "staging": self.staging,
        }
