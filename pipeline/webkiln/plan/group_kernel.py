"""Kernels of workgroups: several nests with their schedules, one after another.

The operands of a launch are those in the arena; `shared` are the elements of the arrays in
workgroup memory, each a word. Sizes of the members are expressions over the counters `i0` (the
number of the workgroup), `i1`, ... of the repeats around them, and over the arguments `u0`, `u1`,
... of the launch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from webkiln.canonical import key
from webkiln.ir.dim import Size
from webkiln.ir.notation import size_from_json, size_to_json
from webkiln.nest.nest import Operand
from webkiln.plan import kernel as kernels
from webkiln.plan.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operand of a member lies: the number of an operand of the launch, or of an array in
    workgroup memory.
    """

    number: int
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A nest with its schedule, the places of its operands, and the values of its arguments."""

    kernel: Kernel
    places: tuple[Place, ...]
    values: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class MemberRepeat:
    """Members that run `count` times."""

    counter: str
    count: Size
    steps: tuple["MemberStep", ...]


MemberStep = Member | MemberRepeat


@dataclass(frozen=True)
class GroupKernel:
    """One launch of workgroups of `size` invocations. Iteration `i0` below `count` is computed by
    one of them. `aligned`: all vectors in the arena start at multiples of four elements, and no
    single element is stored there. `arguments` are the symbols that launches give values.
    `segments`: the binding of each operand, unless all are in the arena (`plan/segments.py`).
    """

    size: int
    count: Size
    steps: tuple[MemberStep, ...]
    operands: tuple[Operand, ...]
    shared: tuple[int, ...]
    arguments: tuple[str, ...]
    aligned: bool
    segments: tuple[int, ...] = ()

    @cached_property
    def name(self) -> str:
        return f"g_{key(to_json(self))[:16]}"

    @property
    def members(self) -> Iterator[Member]:
        return _members(self.steps)


def _members(steps: Sequence[MemberStep]) -> Iterator[Member]:
    for step in steps:
        if isinstance(step, Member):
            yield step
        else:
            yield from _members(step.steps)


def to_json(kernel: GroupKernel) -> dict[str, Any]:
    return {
        "size": kernel.size,
        "count": size_to_json(kernel.count),
        "steps": list(map(_step_to_json, kernel.steps)),
        "operands": [[operand.dtype, operand.rank] for operand in kernel.operands],
        "shared": list(kernel.shared),
        "arguments": list(kernel.arguments),
        "aligned": kernel.aligned,
        **({"segments": list(kernel.segments)} if kernel.segments else {}),
    }


def _step_to_json(step: MemberStep) -> dict[str, Any]:
    if isinstance(step, MemberRepeat):
        steps = list(map(_step_to_json, step.steps))
        return {"repeat": step.counter, "count": size_to_json(step.count), "steps": steps}
    return {
        **kernels.to_json(step.kernel),
        "places": [["shared" if place.shared else "arena", place.number] for place in step.places],
        "values": list(map(size_to_json, step.values)),
    }


def from_json(data: dict[str, Any]) -> GroupKernel:
    return GroupKernel(
        data["size"],
        size_from_json(data["count"]),
        tuple(map(_step_from_json, data["steps"])),
        tuple(Operand(dtype, rank) for dtype, rank in data["operands"]),
        tuple(data["shared"]),
        tuple(data["arguments"]),
        data["aligned"],
        tuple(data.get("segments", ())),
    )


def _step_from_json(data: dict[str, Any]) -> MemberStep:
    if "repeat" in data:
        steps = tuple(map(_step_from_json, data["steps"]))
        return MemberRepeat(data["repeat"], size_from_json(data["count"]), steps)
    places = tuple(Place(number, kind == "shared") for kind, number in data["places"])
    return Member(kernels.from_json(data), places, tuple(map(size_from_json, data["values"])))
