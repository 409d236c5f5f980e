"""Convert inputs and states from the dtype in which they are passed to the one in which steps read
them, and outputs back.

before:
    program g
    buffer x: float16[4] input
    buffer w: float16[4] as float32 constant
    buffer y: float16[4] as float32
    live y
    y: float32[4] = nest(x: float32[4], w: float32[4]) @scale
      where p0 = 4
      for a0 < p0
      out0[a0] = in0[a0] * in1[a0]

after:
    program g
    buffer x: float16[4] input
    buffer w: float16[4] as float32 constant
    buffer x~float32: float32[4]
    buffer y~float32: float32[4]
    buffer y: float16[4]
    live y
    x~float32: float32[4] = nest(x: float16[4]) @x
      where p0 = 4
      for a0 < p0
      out0[a0] = in0[a0]
    y~float32: float32[4] = nest(x~float32: float32[4], w: float32[4]) @scale
      where p0 = 4
      for a0 < p0
      out0[a0] = in0[a0] * in1[a0]
    y: float16[4] = nest(y~float32: float32[4]) @y
      where p0 = 4
      for a0 < p0
      out0[a0] = in0[a0]
"""

from dataclasses import replace

from webkiln.ir.types import Type
from webkiln.nest.expr import arg, axis, load
from webkiln.nest.nest import COMPUTE, Loop, Nest, Operand, Output
from webkiln.nest.program import Buffer, Program
from webkiln.nest.steps import NestCall, Step, View, every_step


def run(program: Program) -> Program:
    read = {view for step in every_step(program.steps) for view in step.reads}
    passed = {
        view.name: view.type.dtype
        for view in read
        if (buffer := program.buffers[view.name]).kind in ("input", "state")
        and view.type.dtype != buffer.storage
    }
    returned = {
        name: buffer.storage
        for name in sorted(program.live_out)
        if (buffer := program.buffers[name]).kind == "local" and buffer.storage != buffer.type.dtype
    }
    names = {name: f"{name}~{dtype}" for name, dtype in (passed | returned).items()}

    def renamed(view: View) -> View:
        return replace(view, name=names.get(view.name, view.name))

    steps: list[Step] = [
        _conversion(program.buffers[name], names[name], dtype, back=False)
        for name, dtype in sorted(passed.items())
    ]
    steps += (step.map_views(renamed) for step in program.steps)
    steps += (
        _conversion(program.buffers[name], names[name], dtype, back=True)
        for name, dtype in returned.items()
    )
    return program.with_steps(steps)


def _conversion(buffer: Buffer, other: str, dtype: str, *, back: bool) -> NestCall:
    """Copy the elements of a buffer to the buffer `other` of another dtype, or back."""
    size, outer = (buffer.type.size,), buffer.type.dtype
    views = (View(buffer.name, Type(outer, size)), View(other, Type(dtype, size)))
    source, target = views[::-1] if back else views
    value = load(0, COMPUTE[source.type.dtype], [axis("a0")])
    nest = Nest(
        (Operand(source.type.dtype, 1),),
        (Output(Operand(target.type.dtype, 1), value, (axis("a0"),)),),
        (Loop("a0", arg("p0")),),
    )
    return NestCall(nest, (source,), (target,), {"p0": buffer.type.size}, buffer.name)
