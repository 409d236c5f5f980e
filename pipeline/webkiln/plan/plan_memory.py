"""Give each buffer an address.

Weights, states, inputs and what is read after the run have memory of their own. All other buffers
share an area, according to their live ranges. Weights that only transformations read share it as
well. Buffers in workgroup memory have no address. On GPUs, some constants lie in segments
(`plan/segments.py`).

before:
    program g
    buffer x: float32[100] input
    buffer w: float32[100] constant
    buffer a: float32[100]
    buffer b: float32[100]
    buffer c: float32[100]
    buffer y: float32[100]
    live y
    a: float32[100] = nest(x: float32[100], w: float32[100]) @first
      where p0 = 100
      for a0 < p0
      out0[a0] = in0[a0] * in1[a0]
    b: float32[100] = nest(a: float32[100]) @second
      where p0 = 100
      for a0 < p0
      out0[a0] = in0[a0] + 1.0
    c: float32[100] = nest(b: float32[100]) @third
      where p0 = 100
      for a0 < p0
      out0[a0] = in0[a0] * 2.0
    y: float32[100] = nest(c: float32[100]) @fourth
      where p0 = 100
      for a0 < p0
      out0[a0] = max(in0[a0], 0.0)

after:
    program g
    buffer x: float32[100] input at 448
    buffer w: float32[100] constant at 0
    buffer a: float32[100] at 1344
    buffer b: float32[100] at 1792
    buffer c: float32[100] at 1344
    buffer y: float32[100] at 896
    live y
    memory {"loaded": 2240, "memory": 2240, "staging": {"offset": 448, "bytes": 0}}
    a: float32[100] = nest(x: float32[100], w: float32[100]) @first
      where p0 = 100
      for a0 < p0
      out0[a0] = in0[a0] * in1[a0]
    b: float32[100] = nest(a: float32[100]) @second
      where p0 = 100
      for a0 < p0
      out0[a0] = in0[a0] + 1.0
    c: float32[100] = nest(b: float32[100]) @third
      where p0 = 100
      for a0 < p0
      out0[a0] = in0[a0] * 2.0
    y: float32[100] = nest(c: float32[100]) @fourth
      where p0 = 100
      for a0 < p0
      out0[a0] = max(in0[a0], 0.0)
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Protocol

from webkiln.errors import InternalError
from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.notation import size_from_json
from webkiln.ir.solve import nominal_size
from webkiln.ir.types import Type
from webkiln.nest.program import Buffer, PanelLayout, Program, TexelLayout
from webkiln.nest.steps import Workgroups, every_step
from webkiln.nest.target import Target
from webkiln.plan.alignment import VECTOR
from webkiln.plan.arena import Arena, Extent, TransientWeight
from webkiln.plan.parallel_launches import separated
from webkiln.plan.segments import Segments, choose_segments
from webkiln.plan.textures import Textures


def allocator_for(target: Target) -> Arena | Textures:
    """The allocator of a backend."""
    return Textures() if target.draws else Arena(target.memory.alignment)


class Weights(Protocol):
    """The weights that are decoded, in this order, and the bytes of the largest encoded piece."""

    @property
    def types(self) -> Mapping[str, Type]: ...

    @property
    def staging(self) -> int: ...


def run(program: Program, target: Target, weights: Weights) -> Program:
    """Other constants follow the decoded weights. Raises InternalError if the largest piece exceeds
    the staging area of the target.
    """
    staging = weights.staging
    if staging > target.memory.staging:
        raise InternalError(
            f"a row of a weight has {staging} bytes; the staging area of {target.backend} has"
            f" {target.memory.staging}"
        )
    constants = {name: b.type for name, b in program.buffers.items() if b.kind == "constant"}
    decoded = {**weights.types, **constants}
    unread = {
        name: Buffer(name, type_, target.stored(type_.dtype), "constant")
        for name, type_ in decoded.items()
        if name not in program.buffers
    }
    program = replace(program, buffers={**program.buffers, **unread})
    limit = target.memory.segment
    if limit is None:
        return _placed(program, target, decoded, staging, None)
    sizes = {name: extent.bytes for name, extent in _extents(program).items()}
    alignment = target.memory.alignment
    few = choose_segments(program, sizes, limit, alignment, exceeds=False)
    placed = _placed(program, target, decoded, staging, few)
    assert placed.memory is not None
    if nominal_size(size_from_json(placed.memory["memory"])) <= limit:
        return placed
    all_ = choose_segments(program, sizes, limit, alignment, exceeds=True)
    return _placed(program, target, decoded, staging, all_)


def _extents(program: Program) -> dict[str, Extent]:
    return {name: extent_of(buffer, program.bounds) for name, buffer in program.buffers.items()}


def _placed(
    program: Program,
    target: Target,
    decoded: Collection[str],
    staging: int,
    segments: Segments | None,
) -> Program:
    """The program with the addresses of all buffers, of which `segments` contain some."""
    buffers, extents = program.buffers, _extents(program)
    transient = _transient_weights(program, extents)
    names = {item.name for item in transient}
    allocator = allocator_for(target)
    apart = segments.places if segments else {}
    for name in (
        *(state.input for state in program.states),
        *(name for name in decoded if name not in names),
        *(name for call in program.init if (name := call.outputs[0].name) not in names),
    ):
        if name in apart:
            allocator.skip(name)
        else:
            allocator.reserve(name, extents[name])
    allocator.stage(staging, transient)
    for name in (
        *(state.output for state in program.states),
        *(name for name, buffer in buffers.items() if buffer.kind == "input"),
        *sorted(program.live_out),
    ):
        allocator.reserve(name, extents[name])
    every = every_step(program.steps)
    inside = {name for step in every if isinstance(step, Workgroups) for name in step.shared}
    shared = {
        name: extents[name]
        for name in buffers
        if name not in allocator.offsets and name not in inside and name not in apart
    }
    allocator.allocate(program.steps, shared, set())
    placed = {
        name: replace(buffer, address=apart[name][1], segment=apart[name][0])
        if name in apart
        else replace(buffer, address=allocator.offsets.get(name))
        for name, buffer in buffers.items()
    }
    memory = allocator.to_json()
    if segments is not None and segments.all:
        memory["segments"] = segments.to_json()
    segments_of = {name: buffer.segment for name, buffer in placed.items()}
    steps = separated(program.steps, segments_of)
    return replace(program, steps=steps, buffers=placed, memory=memory)


def extent_of(buffer: Buffer, bounds: Mapping[str, Size]) -> Extent:
    """The memory of a buffer at the largest values of data-dependent sizes."""
    elements, lanes, quarters = buffer.type.size, 1, False
    if isinstance(buffer.layout, PanelLayout):
        elements = buffer.layout.elements
    elif isinstance(buffer.layout, TexelLayout):
        lanes, quarters = VECTOR, buffer.layout.quarter is not None
        if buffer.layout.quarter is not None:
            elements = VECTOR * buffer.layout.quarter
    return Extent(buffer.storage, symbols.substitute(elements, bounds), lanes, quarters)


def _transient_weights(program: Program, extents: Mapping[str, Extent]) -> list[TransientWeight]:
    """The weights and intermediate results that only the calls of `init` read, in the order of
    their last use.
    """
    persistent = {
        view.name for step in every_step(program.steps) for view in step.reads
    } | program.live_out
    last_uses: dict[str, str] = {}
    for call in reversed(program.init):
        (out,) = call.outputs
        last = out.name if out.name in persistent else last_uses[out.name]
        for view in call.inputs:
            last_uses.setdefault(view.name, last)
    order = [call.outputs[0].name for call in program.init]
    transient = [
        TransientWeight(name, extents[name], last)
        for name, last in last_uses.items()
        if name not in persistent
    ]
    return sorted(transient, key=lambda item: order.index(item.last))
