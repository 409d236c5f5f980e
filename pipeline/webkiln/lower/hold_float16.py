"""Hold float16 values as float32: calls compute in float32, and no store rounds.

Results are closer to exact ones than those of float16 arithmetic, and calls are scheduled like
those of a float32 model. Constants are stored as float32; `convert_ends` converts inputs, outputs
and states. What reinterprets bytes, and the operands of custom kernels, stay float16. Nothing
changes for targets that round float16 values, nor do caches in float16.

before:
    program g
    buffer x: float16[4] input
    buffer w: float16[4] constant
    buffer y: float16[4]
    live y
    y: float16[4] = nest(x: float16[4], w: float16[4]) @scale
      where p0 = 4
      for a0 < p0
      out0[a0] = in0[a0] * in1[a0]

after:
    program g
    buffer x: float16[4] input
    buffer w: float16[4] as float32 constant
    buffer y: float16[4] as float32
    live y
    y: float32[4] = nest(x: float32[4], w: float32[4]) @scale
      where p0 = 4
      for a0 < p0
      out0[a0] = in0[a0] * in1[a0]
"""

from dataclasses import replace

from webkiln.ir.types import Type
from webkiln.nest.program import Program
from webkiln.nest.steps import (
    Copy,
    CustomCall,
    View,
    closed_under_copies,
    every_step,
    operand_names,
)
from webkiln.nest.target import Target

HALF, SINGLE = "float16", "float32"


def run(program: Program, target: Target) -> Program:
    if not target.holds_float16:
        return program
    names = _held(program)

    def held(view: View) -> View:
        half = view.name in names and view.type.dtype == HALF
        return View(view.name, Type(SINGLE, view.shape)) if half else view

    buffers = {
        name: replace(buffer, storage=SINGLE)
        if name in names and buffer.kind == "constant"
        else buffer
        for name, buffer in program.buffers.items()
    }
    init = tuple(call.with_views(held) for call in program.init)
    changed = replace(program, buffers=buffers, init=init)
    return changed.with_steps(step.map_views(held) for step in program.steps)


def _held(program: Program) -> set[str]:
    """The buffers of float16 elements whose bytes no step depends on."""
    steps = list(every_step((*program.init, *program.steps)))
    views = [view for step in steps for view in (*step.reads, *step.writes)]
    names = {view.name for view in views if view.type.dtype == HALF} - program.caches
    for step in steps:
        if isinstance(step, CustomCall):
            names.difference_update(operand_names(step))
    copies = [(step.source, step.target) for step in steps if isinstance(step, Copy)]
    for pair in copies:
        if any(view.type.dtype != HALF for view in pair):
            names.difference_update(view.name for view in pair)
    return closed_under_copies(names, [(source.name, target.name) for source, target in copies])
