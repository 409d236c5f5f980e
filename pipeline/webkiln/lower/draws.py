"""Split calls into draws. The outputs of a draw share one shape and one index, and number at most
the render targets.

before:
    program g
    buffer x: float32[4,6] input
    buffer y: float32[4]
    buffer n: int32[4]
    live n, y
    y: float32[4]; n: int32[4] = nest(x: float32[4,6]) @largest
      where p0 = 4; p1 = 6
      for a0 < p0
      reduce r0 < p1
      acc0 = argmax(in0[a0, r0])
      out0[a0] = acc0
      out1[a0] = acc0.index

after:
    program g
    buffer x: float32[4,6] input
    buffer y: float32[4]
    buffer n: int32[4]
    live n, y
    y: float32[4] = nest(x: float32[4,6]) @largest
      where p0 = 4; p1 = 6
      for a0 < p0
      reduce r0 < p1
      acc0 = argmax(in0[a0, r0])
      out0[a0] = acc0
    n: int32[4] = nest(x: float32[4,6]) @largest
      where p0 = 4; p1 = 6
      for a0 < p0
      reduce r0 < p1
      acc0 = argmax(in0[a0, r0])
      out0[a0] = acc0.index
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from webkiln.lower.canonicalize import canonicalize
from webkiln.nest.expr import Expr, make, walk
from webkiln.nest.program import Program, map_calls
from webkiln.nest.steps import NestCall


def run(program: Program, targets: int) -> Program:
    """`targets`: the number of textures that a launch can draw to."""
    return map_calls(program, partial(split_draws, targets=targets))


def split_draws(call: NestCall, targets: int) -> list[NestCall]:
    """The call, or several calls that each compute some of its outputs."""
    groups: list[list[int]] = []
    for position in range(len(call.outputs)):
        group = next(
            (
                group
                for group in groups
                if len(group) < targets and _share_draw(call, group[0], position)
            ),
            None,
        )
        if group is None:
            groups.append([position])
        else:
            group.append(position)
    return [call] if len(groups) == 1 else [_restrict_outputs(call, group) for group in groups]


def _share_draw(call: NestCall, a: int, b: int) -> bool:
    one, other = call.outputs[a], call.outputs[b]
    return (
        one.shape == other.shape
        and one.name != other.name
        and call.nest.outputs[a].index == call.nest.outputs[b].index
    )


def _restrict_outputs(call: NestCall, positions: Sequence[int]) -> NestCall:
    """The call with only these outputs and the accumulators that they need."""
    nest = call.nest
    outputs = [nest.outputs[position] for position in positions]
    used = sorted(
        {
            expr.value
            for out in outputs
            for expr in walk([out.value])
            if expr.op in ("acc", "accindex")
        }
    )

    def change(expr: Expr) -> Expr | None:
        return (
            make(expr.op, expr.type, value=used.index(expr.value))
            if expr.op in ("acc", "accindex")
            else None
        )

    restricted = replace(
        nest,
        outputs=tuple(outputs),
        reduce=nest.reduce if used else (),
        accumulators=tuple(nest.accumulators[position] for position in used),
    )
    return canonicalize(
        replace(
            call,
            nest=restricted.map(change),
            outputs=tuple(call.outputs[position] for position in positions),
        )
    )
