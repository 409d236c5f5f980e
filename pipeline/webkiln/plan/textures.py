"""Memory planning for textures: Variables are assigned to numbered buffers, which those of one kind
reuse.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from webkiln.errors import InternalError
from webkiln.ir import dim
from webkiln.ir.notation import size_to_json
from webkiln.nest.steps import Copy, NestCall, Step, reads, writes
from webkiln.plan.memory import Range, check, flat, live_ranges
from webkiln.plan.places import Buffer, Passing

TEXELS = ("float32", "int32", "uint32")
"""What a texture can hold; everything shorter is staged packed in words."""


class Textures:
    """A Variable's place is the number of its buffer; no launch both reads and writes one."""

    def __init__(self) -> None:
        self.offsets: dict[str, int] = {}
        self.buffers: list[Buffer] = []
        self.staging = 0

    def reserve(self, name: str, buffer: Buffer) -> None:
        if name not in self.offsets:
            self.offsets[name] = len(self.buffers)
            self.buffers.append(buffer)

    def stage(self, size: int, passing: Sequence[Passing]) -> None:
        self.staging = size
        for item in passing:
            self.reserve(item.name, item.buffer)

    def staged(self, start: int, size: int, dtype: str) -> Any:
        """What a launch is given for `size` bytes of staging, from `start`: a texture that is made
        of them.
        """
        return {"start": start, "bytes": size, "storage": dtype if dtype in TEXELS else "uint32"}

    def share(self, steps: Sequence[Step], buffers: Mapping[str, Buffer], kept: set[str]) -> None:
        """Place what only lives between launches; `kept` lives to the end."""
        ranges = live_ranges(steps, {name: buffer.bytes for name, buffer in buffers.items()}, kept)
        numbers, made = assign(ranges, buffers, len(self.buffers))
        widest = dim.maximum([1, *(buffer.bytes for buffer in made)])
        check(
            steps,
            {name: (number * widest, buffers[name].bytes) for name, number in numbers.items()},
            kept,
        )
        self.offsets |= numbers
        self.buffers += made
        for step in (item for item in flat(steps) if isinstance(item, NestCall | Copy)):
            if both := {self.offsets[view.name] for view in reads(step)} & {
                self.offsets[view.name] for view in writes(step)
            }:
                raise InternalError(
                    f"{step.layer} reads and writes buffer {min(both)}, which no draw can"
                )

    def described(self) -> dict[str, Any]:
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
    ranges: Sequence[Range], buffers: Mapping[str, Buffer], taken: int
) -> tuple[dict[str, int], list[Buffer]]:
    """The number of the buffer of every Variable, counted from `taken`, and the buffers. Two share
    one
    only where they are of one kind and the earlier is not mentioned any more when the later is.
    """
    numbers: dict[str, int] = {}
    made: list[Buffer] = []
    last: list[int] = []
    for item in sorted(ranges, key=lambda item: (item.first, item.name)):
        kind = buffers[item.name]
        free = next(
            (n for n, other in enumerate(made) if other == kind and last[n] < item.first), None
        )
        if free is None:
            free = len(made)
            made.append(kind)
            last.append(item.last)
        last[free] = item.last
        numbers[item.name] = taken + free
    return numbers, made
