"""Memory planning for textures: assign Variables to numbered buffers. Variables of the same kind
reuse buffers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from webkiln.errors import InternalError
from webkiln.ir import dim
from webkiln.ir.notation import size_to_json
from webkiln.nest.steps import Copy, NestCall, Step
from webkiln.plan.arena import Buffer, TransientWeight
from webkiln.plan.memory import Range, check, flat, live_ranges

TEXEL_DTYPES = ("float32", "int32", "uint32")
"""The dtypes that a texture can contain. Shorter ones are staged packed in words."""


class Textures:
    """Allocates textures. The address of a Variable is the number of its buffer. No launch both
    reads and writes one buffer.
    """

    def __init__(self) -> None:
        self.offsets: dict[str, int] = {}
        self.buffers: list[Buffer] = []
        self.staging = 0

    def reserve(self, name: str, buffer: Buffer) -> None:
        """Allocate a persistent buffer, unless the Variable already has one."""
        if name not in self.offsets:
            self.offsets[name] = len(self.buffers)
            self.buffers.append(buffer)

    def stage(self, size: int, transient: Sequence[TransientWeight]) -> None:
        self.staging = size
        for item in transient:
            self.reserve(item.name, item.buffer)

    def staged_operand(self, start: int, size: int, dtype: str) -> Any:
        """The operand of a launch that reads `size` bytes of staging from `start`: a texture with
        their contents.
        """
        return {
            "start": start,
            "bytes": size,
            "storage": dtype if dtype in TEXEL_DTYPES else "uint32",
        }

    def allocate(
        self, steps: Sequence[Step], buffers: Mapping[str, Buffer], live_out: set[str]
    ) -> None:
        """Allocate the Variables that only live between launches. Those in `live_out` live to the
        end.
        """
        ranges = live_ranges(
            steps, {name: buffer.bytes for name, buffer in buffers.items()}, live_out
        )
        numbers, created = assign(ranges, buffers, len(self.buffers))
        widest = dim.maximum([1, *(buffer.bytes for buffer in created)])
        check(
            steps,
            {name: (number * widest, buffers[name].bytes) for name, number in numbers.items()},
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
    ranges: Sequence[Range], buffers: Mapping[str, Buffer], first: int
) -> tuple[dict[str, int], list[Buffer]]:
    """The buffer number of every Variable, counted from `first`, and the buffers. Two Variables
    share a buffer only if they are of one kind and the earlier is dead before the later is first
    mentioned.
    """
    numbers: dict[str, int] = {}
    created: list[Buffer] = []
    last: list[int] = []
    for item in sorted(ranges, key=lambda item: (item.first, item.name)):
        kind = buffers[item.name]
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
