"""Choose the schedule of each call, for backends whose kernels are loops or invocations.

A schedule may request that a constant is repacked as a panel. All readers of a constant get the
same layout: if two request different ones, neither gets a panel. Calls that select few elements,
and those that run when the model is loaded, read any layout.

before:
    program g
    buffer x: float32[4,8] input
    buffer w: float32[8,16] constant
    buffer y: float32[4,16]
    live y
    y: float32[4,16] = nest(x: float32[4,8], w: float32[8,16]) @dense
      where p0 = 4; p1 = 16; p2 = 8
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0

after:
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
      decision key = "contraction 4x16 of 8 #f50c730cc4f3"; chosen = "6x8"
      decision 6x8 = [0.00054, null]; 4x8 = [0.00054, null]; 2x16 = [0.00054, null]
      decision 3x16 = [0.00055, null]; 6x4 = [0.00054, null]
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from math import prod

from webkiln.ir.dim import is_symbolic, known, known_shape
from webkiln.nest.choice import Choice
from webkiln.nest.program import PanelLayout, Program, map_calls
from webkiln.nest.schedule import Panel, panel_of
from webkiln.nest.steps import NestCall, View
from webkiln.nest.target import Target
from webkiln.plan.devices import tuned_devices
from webkiln.plan.schedule import choose
from webkiln.plan.tiles import tile
from webkiln.plan.tuning import UNTUNED, Tuning

FEW = 4
"""A call that reads this part of a constant, or less, selects elements."""


def run(program: Program, target: Target, tuning: Tuning = UNTUNED) -> Program:
    constants = program.repackable
    devices = tuned_devices(program.steps, target)
    tiles = [
        tile(call, target, constants, tuning, device)
        for call, device in zip(program.calls, devices, strict=True)
    ]
    found = _choices(program, [item.target for item in tiles], constants)
    decisions = (None if item.decision is None else item.decision.to_json() for item in tiles)
    chosen = (
        replace(choice, decision=decision)
        for choice, decision in zip(found, decisions, strict=True)
    )
    return map_calls(program, lambda call: [replace(call, choice=next(chosen))])


def _choices(
    program: Program, targets: Sequence[Target], packable: Collection[str]
) -> list[Choice]:
    """The choice of each call, such that readers of a constant agree on its layout."""
    choices = [
        choose(call, target, packable) for call, target in zip(program.calls, targets, strict=True)
    ]
    clashing = _clashing(zip(program.calls, choices, strict=True), program.repackable)
    return _choices(program, targets, set(packable) - clashing) if clashing else choices


def requested_layout(view: View, panel: Panel | None) -> PanelLayout | None:
    """The layout of a constant for a reader with this panel, whatever its position there."""
    return (
        None
        if panel is None
        else PanelLayout(known_shape(view.shape, view.name), replace(panel, source=0))
    )


def selects_elements(call: NestCall, view: View) -> bool:
    """Whether a call without sums reads few elements of a constant, such as the rows of a table."""
    nest = call.nest
    points = prod(call.args[loop.extent.value] for loop in nest.axes)
    loads = sum(call.inputs[item.value[0]].name == view.name for item in nest.loads)
    return (
        not nest.reduce
        and not is_symbolic(points)
        and loads * points * FEW <= known(view.type.size, view.name)
    )


def _clashing(readers: Iterable[tuple[NestCall, Choice]], constants: Collection[str]) -> set[str]:
    """The constants for which two readers request different layouts."""
    requested: dict[str, PanelLayout | None] = {}
    clashing: set[str] = set()
    for call, choice in readers:
        for position, view in enumerate(call.inputs):
            if view.name in constants and not selects_elements(call, view):
                layout = requested_layout(view, panel_of(choice.schedule.panels, position))
                if requested.setdefault(view.name, layout) != layout:
                    clashing.add(view.name)
    return clashing
