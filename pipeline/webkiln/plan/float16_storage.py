"""Store intermediate values and weights as float16, and caches in their own dtype. Read weights
that arrive as float16 as such.

Calls still compute in float32. Stores round; values beyond the range of float16 become its largest
finite value, so that no infinity arises. Variables that are read outside kernels (inputs, outputs,
states, procedures, custom kernels) stay float32, and so do parts of sums, which may be larger than
their total.

before:
    program g
    buffer x: float32[4,8] input
    buffer w: float32[8,16] constant
    buffer h: float32[4,16]
    buffer y: float32[4,16]
    live y
    h: float32[4,16] = nest(x: float32[4,8], w: float32[8,16]) @dense
      where p0 = 4; p1 = 16; p2 = 8
      why 4 of a1 at a time, 4 of a0
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}; whole = true
      schedule aligned = true; unroll = "r0"
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0
    y: float32[4,16] = nest(h: float32[4,16]) @tanh
      where p0 = 4; p1 = 16
      why 4 of a1 at a time
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4}; whole = true; aligned = true
      for a0 < p0, a1 < p1
      out0[a0, a1] = tanh(in0[a0, a1])

after:
    program g
    buffer x: float32[4,8] input
    buffer w: float32[8,16] as float16 constant
    buffer h: float32[4,16] as float16
    buffer y: float32[4,16]
    live y
    h: float16[4,16] = nest(x: float32[4,8], w: float16[8,16]) @dense
      where p0 = 4; p1 = 16; p2 = 8
      why 4 of a1 at a time, 4 of a0
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}; whole = true
      schedule aligned = true; unroll = "r0"
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = min(max(acc0, neg(65504.0)), 65504.0)
    y: float32[4,16] = nest(h: float16[4,16]) @tanh
      where p0 = 4; p1 = 16
      why 4 of a1 at a time
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4}; whole = true; aligned = true
      for a0 < p0, a1 < p1
      out0[a0, a1] = tanh(in0[a0, a1])
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Protocol

from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Type
from webkiln.nest.float16 import clamp_to_float16
from webkiln.nest.kernel_template import find_template
from webkiln.nest.nest import Operand, Output, make_output
from webkiln.nest.program import Buffer, PanelLayout, Program, map_calls
from webkiln.nest.schedule import TemplateSchedule, has_aligned_vectors
from webkiln.nest.steps import (
    Copy,
    DeviceBranch,
    NestCall,
    Step,
    View,
    closed_under_copies,
    every_step,
    operand_names,
)
from webkiln.nest.target import Target
from webkiln.plan.choose_schedules import selects_elements
from webkiln.plan.schedule import plain
from webkiln.plan.split_products import PARTS
from webkiln.plan.vector_products import VECTOR_PRODUCT, match_vectors

HALF = "float16"
HALVES = "~halves"
"""Follows the name of a weight in that of its float16 copy, which real GPUs have instead of it."""
TOGETHER = 8
"""The float16 weights that a template reads at once."""


class Weights(Protocol):
    """How the weights of a bundle arrive."""

    def arrives_in_halves(self, name: str, layout: PanelLayout | None) -> bool: ...


def run(program: Program, target: Target, weights: Weights | None = None) -> Program:
    """Without a precision of float16, GPUs that no CPU emulates read those of the `weights` as
    float16 that arrive so, and that few rows are multiplied by.
    """
    packed = not target.draws
    names = _narrowed(program, packed=packed) if target.stores_float16 else set[str]()
    if weights is not None and not target.stores_float16 and (least := target.least_gpu):
        program = _for_gpus(program, least, _vector_weights(program, weights))
    dtypes = dict.fromkeys(names, HALF) | _caches(program)
    if not dtypes:
        return program

    def narrowed(call: NestCall) -> NestCall:
        """A call that stores parts of words stores them one by one, unless they are vectors."""
        changed = _in_groups(narrow(call, dtypes, packed=packed))
        stored = {dtypes[view.name] for view in call.outputs if view.name in dtypes}
        vectors = stored == {HALF} and has_aligned_vectors(call.schedule)
        if not packed or not stored or vectors:
            return changed
        kinds = " and ".join(sorted(stored))
        return replace(changed, choice=plain(call, target, f"stores {kinds} of words"))

    buffers = {
        name: replace(item, storage=dtypes.get(name, item.storage))
        for name, item in program.buffers.items()
    }
    init = tuple(map(narrowed, program.init))
    return map_calls(replace(program, buffers=buffers, init=init), lambda call: [narrowed(call)])


def _caches(program: Program) -> dict[str, str]:
    """The dtype of each cache."""
    return {
        name: program.buffers[name].type.dtype for name in program.caches if name in program.buffers
    }


def _narrowed(program: Program, *, packed: bool) -> set[str]:
    """The Variables to store as float16. `packed`: two elements share a word of memory, so that
    only stores of full vectors can write them.
    """
    steps = list(every_step(program.steps))
    candidates = {view.name for call in program.calls for view in call.outputs}
    candidates |= {
        name for name in program.constants if program.buffers[name].type.dtype == "float32"
    }
    candidates -= {
        view.name
        for call in program.calls
        for view in (*call.inputs, *call.outputs)
        if view.type.dtype != "float32"
    }
    candidates -= {
        name
        for step in steps
        if not isinstance(step, NestCall | Copy)
        for name in operand_names(step)
    }
    candidates -= program.live_out
    candidates -= {
        name for name, buffer in program.buffers.items() if buffer.kind in ("input", "state")
    }
    candidates -= {view.name for call in program.init for view in call.inputs}
    candidates -= {name for call in program.calls for name in _floats_of_template(call)}
    candidates -= {name for name in candidates if PARTS in name}
    if packed:
        candidates -= {
            view.name
            for call in program.calls
            if not has_aligned_vectors(call.schedule)
            for view in call.outputs
        }
    copies = [(step.source.name, step.target.name) for step in steps if isinstance(step, Copy)]
    return closed_under_copies(candidates, copies)


def _for_gpus(program: Program, least: int, names: Collection[str]) -> Program:
    """The program in which GPUs of at least `least` multiprocessors read these weights as float16.
    A software GPU takes 1.4 of the time to widen them.
    """
    dtypes = dict.fromkeys(names, HALF)

    def renamed(view: View) -> View:
        return replace(view, name=f"{view.name}{HALVES}") if view.name in names else view

    def block(steps: Sequence[Step], low: float, high: float) -> tuple[Step, ...]:
        """`low` and `high`: the multiprocessors of the GPUs that run these steps."""
        result: list[Step] = []
        for step in steps:
            if isinstance(step, DeviceBranch):
                blocks = (
                    block(step.then, max(low, step.least), high),
                    block(step.otherwise, low, min(high, step.least)),
                )
                result.append(step.with_blocks(blocks))
                continue
            changed = narrow(step, dtypes, packed=True) if isinstance(step, NestCall) else step
            if not isinstance(changed, NestCall) or changed is step:
                result.append(step.map_blocks(lambda inner: block(inner, low, high)))
            elif low >= least:
                result.append(_in_groups(changed).with_views(renamed))
            elif high <= least:
                result.append(step)
            else:
                own = _in_groups(changed).with_views(renamed)
                result.append(DeviceBranch(least, (own,), (step,)))
        return tuple(result)

    buffers = dict(program.buffers)
    for name in sorted(names):
        source = program.buffers[name]
        type_, copy = Type(HALF, source.type.shape), f"{name}{HALVES}"
        buffers[copy] = Buffer(copy, type_, HALF, "constant", source.layout)
    program = replace(program, buffers=buffers)
    return program.with_steps(block(program.steps, 0, inf))


def _vector_weights(program: Program, weights: Weights) -> set[str]:
    """The weights that arrive as float16, and that only templates of few rows read. Other calls may
    select elements of them.
    """
    read, others = set[str](), {view.name for call in program.init for view in call.inputs}
    constants = program.repackable
    for call in program.calls:
        multiplied = _multiplied(call)
        for position, view in enumerate(call.inputs):
            if view.name not in constants:
                continue
            if position == multiplied:
                read.add(view.name)
            elif not selects_elements(call, view):
                others.add(view.name)
    return {
        name
        for name in read - others
        if name in program.buffers
        and weights.arrives_in_halves(name, _panel_layout(program.buffers[name]))
    }


def _panel_layout(buffer: Buffer) -> PanelLayout | None:
    return buffer.layout if isinstance(buffer.layout, PanelLayout) else None


def _multiplied(call: NestCall) -> int | None:
    """The position of the float32 weights that a template multiplies few rows by, if one does."""
    schedule = call.schedule
    if (
        not isinstance(schedule, TemplateSchedule)
        or find_template(schedule.template).step != VECTOR_PRODUCT
    ):
        return None
    step = match_vectors(call.nest)
    packed = None if step is None else step.weights.packed
    floats = packed is not None and call.nest.inputs[packed].dtype == "float32"
    return packed if floats else None


def _in_groups(call: NestCall) -> NestCall:
    """A call whose template reads eight float16 weights at once, where the sum has such groups."""
    schedule, choice = call.schedule, call.choice
    if not isinstance(schedule, TemplateSchedule) or choice is None:
        return call
    step = match_vectors(call.nest)
    if step is None or call.nest.inputs[step.weights.packed].dtype != HALF:
        return call
    depth = call.args[step.byte.extent.value]
    whole = not is_symbolic(depth) and depth % TOGETHER == 0
    return replace(call, choice=replace(choice, schedule=replace(schedule, whole=whole)))


def _floats_of_template(call: NestCall) -> set[str]:
    """What the template of a product reads as float32: the rows, and the parameters of codes."""
    step = match_vectors(call.nest) if isinstance(call.schedule, TemplateSchedule) else None
    if step is None:
        return set()
    return {call.inputs[position].name for position in (step.rows, *step.weights.parameters)}


def narrow(call: NestCall, dtypes: Mapping[str, str], *, packed: bool) -> NestCall:
    """A call, with Variables stored as float16 or int8, by their names. With `packed` its operands
    have that dtype; otherwise the memory itself converts what is read and written.
    """
    if not any(view.name in dtypes for view in (*call.inputs, *call.outputs)):
        return call

    def narrowed_view(view: View) -> View:
        return View(view.name, Type(dtypes.get(view.name, view.type.dtype), view.shape))

    def operand(view: View, original: Operand) -> Operand:
        return Operand(dtypes.get(view.name, original.dtype), original.rank) if packed else original

    def output(view: View, original: Output) -> Output:
        if dtypes.get(view.name) != HALF:
            return Output(
                operand(view, original.operand), original.value, original.index, original.also
            )
        return make_output(
            operand(view, original.operand),
            [(clamp_to_float16(value), index) for value, index in original.stores],
        )

    inputs = tuple(
        operand(view, original)
        for view, original in zip(call.inputs, call.nest.inputs, strict=True)
    )
    outputs = tuple(
        output(view, original)
        for view, original in zip(call.outputs, call.nest.outputs, strict=True)
    )
    nest = replace(call.nest, inputs=inputs, outputs=outputs)
    return replace(
        call,
        nest=nest,
        inputs=tuple(map(narrowed_view, call.inputs)),
        outputs=tuple(map(narrowed_view, call.outputs)),
    )
