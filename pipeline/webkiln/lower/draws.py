"""Split calls into draws: the outputs of one draw have one shape and one index, and are no more
than there are render targets.
"""

from collections.abc import Sequence
from dataclasses import replace

from webkiln.lower.canonicalize import tidy
from webkiln.nest.expr import Expr, make, walk
from webkiln.nest.steps import NestCall


def draws(call: NestCall, targets: int) -> list[NestCall]:
    """The call, or several that compute its outputs apart."""
    groups: list[list[int]] = []
    for position in range(len(call.outputs)):
        group = next(
            (
                group
                for group in groups
                if len(group) < targets and _together(call, group[0], position)
            ),
            None,
        )
        if group is None:
            groups.append([position])
        else:
            group.append(position)
    return [call] if len(groups) == 1 else [_part(call, group) for group in groups]


def _together(call: NestCall, a: int, b: int) -> bool:
    one, other = call.outputs[a], call.outputs[b]
    return (
        one.shape == other.shape
        and one.name != other.name
        and call.nest.outputs[a].index == call.nest.outputs[b].index
    )


def _part(call: NestCall, positions: Sequence[int]) -> NestCall:
    """The call with these outputs alone, and the accumulators that they need."""
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

    kept = replace(
        nest,
        outputs=tuple(outputs),
        reduce=nest.reduce if used else (),
        accumulators=tuple(nest.accumulators[position] for position in used),
    )
    return tidy(
        replace(
            call,
            nest=kept.map(change),
            outputs=tuple(call.outputs[position] for position in positions),
        )
    )
