"""Memory planning for textures: assign Variables to numbered buffers. Variables of the same kind
reuse buffers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from webkiln.errors import InternalError
from webkiln.ir import dim
from webkiln.ir.notation import size_to_json
from webkiln.nest.steps import Copy, NestCall, Step
from webkiln.plan.arena import Extent, TransientWeight
from webkiln.plan.memory import Range, check, flat, live_ranges

TEXEL_DTYPES = ("float32", "int32", "uint32")
"""The dtypes that a texture can contain. Shorter ones are staged packed in words."""


class Textures:
    """Allocates textures. The address of a Variable is the number of its buffer. No launch both
    reads and writes one buffer.
    """

    def __init__(self) -> None:
        self.offsets: dict[str, int] = {}
        self.buffers: list[Extent] = []
        self.staging = 0

    def reserve(self, name: str, extent: Extent) -> None:
        """Allocate a persistent buffer, unless the Variable already has one."""
        if name not in self.offsets:
            self.offsets[name] = len(self.buffers)
            self.buffers.append(extent)

    def skip(self, name: str) -> None:
        raise InternalError(f"{name}: textures are buffers already")

    def stage(self, size: int, transient: Sequence[TransientWeight]) -> None:
        self.staging = size
        for item in transient:
            self.reserve(item.name, item.extent)

    def allocate(
        self, steps: Sequence[Step], extents: Mapping[str, Extent], live_out: set[str]
    ) -> None:
        """Allocate the Variables that only live between launches. Those in `live_out` live to the
        end.
        """
        ranges = live_ranges(
            steps, {name: extent.bytes for name, extent in extents.items()}, live_out
        )
        numbers, created = assign(ranges, extents, len(self.buffers))
        widest = dim.maximum([1, *(extent.bytes for extent in created)])
        check(
            steps,
            {name: (number * widest, extents[name].bytes) for name, number in numbers.items()},
            live_out,
        )
        self.offsets |= numbers
        self.buffers += created
        for step in (item for item in flat(steps) if isinstance(item, NestCall | Copy)):
            if both := {self.offsets[view.name] for view in step.reads} & {
                self.offsets[view.name] for view in step.writes
            }:
                raise InternalError(
                    f"{step.layer} reads and writes buffer {min(both)}; a draw cannot do both"
                )

    def to_json(self) -> dict[str, Any]:
        return {
            "loaded": 0,
            "memory": size_to_json(sum(buffer.bytes for buffer in self.buffers)),
            "staging": {"offset": 0, "bytes": self.staging},
            "buffers": [
                {
                    "storage": b.storage,
                    "elements": size_to_json(b.elements),
                    "lanes": b.lanes,
                    "quarters": b.quarters,
                }
                for b in self.buffers
            ],
        }


def assign(
    ranges: Sequence[Range], extents: Mapping[str, Extent], first: int
) -> tuple[dict[str, int], list[Extent]]:
    """The buffer number of every Variable, counted from `first`, and the buffers. Two Variables
    share a buffer only if they are of one kind and the earlier is dead before the later is first
    mentioned.
    """
    numbers: dict[str, int] = {}
    created: list[Extent] = []
    last: list[int] = []
    for item in sorted(ranges, key=lambda item: (item.first, item.name)):
        kind = extents[item.name]
        free = next(
            (n for n, other in enumerate(created) if other == kind and last[n] < item.first), None
        )
        if free is None:
            free = len(created)
            created.append(kind)
            last.append(item.last)
        last[free] = item.last
        numbers[item.name] = first + free
    return numbers, created


def staged_texture(start: int, size: int, dtype: str) -> dict[str, Any]:
    """The operand of a launch that reads `size` bytes of encoded weights from `start`: a texture
    with their contents.
    """
    storage = dtype if dtype in TEXEL_DTYPES else "uint32"
    return {"start": start, "bytes": size, "storage": storage}
