"""The passes over programs of `lower`, in order. Each is a module with `run(program)` or, if it
depends on the backend, `run(program, target)`.

The docstring of a pass contains an example program, before and after; tests run it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from webkiln.lower import (
    canonicalize,
    concat_in_place,
    convert_ends,
    defer_softmax,
    draws,
    factor_layout,
    fuse,
    hold_float16,
    row_tiles,
    tiled_products,
)
from webkiln.nest.program import Program, map_calls
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target


@dataclass(frozen=True, slots=True)
class Pass:
    """A rewrite of programs."""

    name: str
    rewrite: Callable[[Program], Program]

    def run(self, program: Program) -> Program:
        """Rewrite a program, and add the name of the pass to the calls that it changes, other than
        in their schedules.
        """
        layers: dict[str, list[NestCall]] = {}
        for call in program.calls:
            layers.setdefault(call.layer, []).append(call)

        def marked(call: NestCall) -> list[NestCall]:
            if any(_computes_same(call, other) for other in layers.get(call.layer, ())):
                return [call]
            return [replace(call, passes=(*call.passes, self.name))]

        return map_calls(self.rewrite(program), marked)


def _computes_same(call: NestCall, other: NestCall) -> bool:
    return call is other or (
        (call.outputs, call.inputs, call.args) == (other.outputs, other.inputs, other.args)
        and call.nest == other.nest
    )


def restructuring(target: Target | None) -> list[Pass]:
    """The passes that decide which calls there are."""
    found = []
    if target is not None and target.holds_float16:
        found.append(Pass("hold_float16", hold_float16.run))
    found.append(Pass("fuse", fuse.run))
    found.append(Pass("concat_in_place", lambda program: concat_in_place.run(program, target)))
    if target is not None:
        found.append(Pass("defer_softmax", defer_softmax.run))
        if target.loops:
            found.append(Pass("factor_layout", factor_layout.run))
        if target.tiled_product_bytes:
            found.append(
                Pass("tiled_products", lambda program: tiled_products.run(program, target))
            )
        if target.row_tile_bytes:
            found.append(Pass("row_tiles", lambda program: row_tiles.run(program, target)))
    return found


def finishing(target: Target | None) -> list[Pass]:
    """The passes that give equal calls equal text."""
    found = [Pass("canonicalize", canonicalize.run)]
    if target is not None and target.holds_float16:
        found.append(Pass("convert_ends", convert_ends.run))
    if target is not None and target.render_targets:
        found.append(Pass("draws", lambda program: draws.run(program, target)))
    return found


def passes(target: Target | None) -> list[Pass]:
    return [*restructuring(target), *finishing(target)]
