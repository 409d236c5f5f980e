"""Give each constant the layout that its readers request, and schedule the calls that transform
constants for it, or that select elements of it.

before:
    program g
    buffer x: float32[4,8] input
    buffer w: float32[8,16] constant
    buffer y: float32[4,16]
    live y
    y: float32[4,16] = nest(x: float32[4,8], w: float32[8,16]) @dense
      where p0 = 4; p1 = 16; p2 = 8
      why 8 of a1 at a time, 6 of a0, w in panels of 8
      schedule kind = "loops"; order = ["a1", "a0"]
      schedule tile = {"vector": "a1", "lanes": 8, "axis": "a0", "count": 6}
      schedule panels = [{"source": 1, "dim": 1, "order": [0], "block": 8}]
      schedule remainder = "none"; clamped = true; split = "a1"
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0

after:
    program g
    buffer x: float32[4,8] input
    buffer w: float32[8,16] constant panel(8,16; 1; 0; 8)
    buffer y: float32[4,16]
    live y
    y: float32[4,16] = nest(x: float32[4,8], w: float32[8,16]) @dense
      where p0 = 4; p1 = 16; p2 = 8
      why 8 of a1 at a time, 6 of a0, w in panels of 8
      schedule kind = "loops"; order = ["a1", "a0"]
      schedule tile = {"vector": "a1", "lanes": 8, "axis": "a0", "count": 6}
      schedule panels = [{"source": 1, "dim": 1, "order": [0], "block": 8}]
      schedule remainder = "none"; clamped = true; split = "a1"
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0
"""

from collections.abc import Sequence
from dataclasses import replace

from webkiln.nest.program import PanelLayout, Program, map_calls
from webkiln.nest.schedule import Panel, panel_of
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.plan.choose_schedules import requested_layout
from webkiln.plan.panels import panelled_call, read_from_panels
from webkiln.plan.schedule import choose


def run(program: Program, target: Target) -> Program:
    layouts = {
        view.name: layout
        for call in program.calls
        for position, view in enumerate(call.inputs)
        if (layout := requested_layout(view, panel_of(call.schedule.panels, position))) is not None
    }
    buffers = {
        name: replace(buffer, layout=layouts.get(name)) for name, buffer in program.buffers.items()
    }

    def others(call: NestCall, panels: Sequence[Panel]) -> dict[int, PanelLayout]:
        """The layouts of inputs that a call reads, but does not request."""
        return {
            position: layout
            for position, view in enumerate(call.inputs)
            if (layout := layouts.get(view.name)) is not None and panel_of(panels, position) is None
        }

    def scheduled(call: NestCall) -> NestCall:
        changed = read_from_panels(call, others(call, ()))
        layout = layouts.get(call.outputs[0].name)
        stored = changed if layout is None else panelled_call(changed, layout)
        return replace(changed, choice=choose(stored, target, ()))

    def reading(call: NestCall) -> list[NestCall]:
        found = others(call, call.schedule.panels)
        if not found:
            return [call]
        changed = read_from_panels(call, found)
        return [replace(changed, choice=choose(changed, target, ()))]

    packed = replace(program, buffers=buffers, init=tuple(map(scheduled, program.init)))
    return map_calls(packed, reading)
