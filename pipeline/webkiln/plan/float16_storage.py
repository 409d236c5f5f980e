"""Half precision: which Variables lie in memory as float16, and the calls that read and write them.

A call computes in float32 as before. What it stores is rounded; numbers beyond those of float16
become its largest, so that no infinity comes of them. Whoever else than kernels sees a Variable
(inputs, outputs, states, procedures, kernels of plugins) finds float32 in it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from webkiln.ir.types import Type
from webkiln.nest.float16 import clamp_to_float16
from webkiln.nest.nest import Operand, Output, make_output
from webkiln.nest.steps import Copy, NestCall, Step, View, map_blocks, reads, writes
from webkiln.plan.memory import flat
from webkiln.plan.schedule import Choice


def float16_variables(
    steps: Sequence[Step],
    choices: Iterable[Choice],
    weights: Collection[str],
    seen: Collection[str],
    *,
    packed: bool,
) -> frozenset[str]:
    """The Variables that lie so, `weights` among them. `packed`: two share a word of memory, so
    that only stores of whole vectors can write them.
    """
    flattened = list(flat(steps))
    calls = [step for step in flattened if isinstance(step, NestCall)]
    copies = [{step.source.name, step.target.name} for step in flattened if isinstance(step, Copy)]
    found = {view.name for call in calls for view in call.outputs} | set(weights)
    found -= {
        view.name
        for call in calls
        for view in (*call.inputs, *call.outputs)
        if view.type.dtype != "float32"
    }
    found -= {
        view.name
        for step in flattened
        if not isinstance(step, NestCall | Copy)
        for view in (*reads(step), *writes(step))
    }
    found -= set(seen)
    if packed:
        scheduled = zip(calls, choices, strict=True)
        found -= {
            view.name
            for call, choice in scheduled
            if not choice.schedule.aligned
            for view in call.outputs
        }
    while apart := {name for pair in copies if not found >= pair for name in pair} & found:
        found -= apart
    return frozenset(found)


def narrow_steps(
    steps: Iterable[Step], names: Collection[str], *, packed: bool
) -> tuple[Step, ...]:
    """The steps over Variables of which those in `names` lie so."""

    def change(step: Step) -> Step:
        if isinstance(step, NestCall):
            return narrow(step, names, packed=packed)
        return map_blocks(step, lambda block: narrow_steps(block, names, packed=packed))

    return tuple(map(change, steps))


def narrow(call: NestCall, names: Collection[str], *, packed: bool) -> NestCall:
    """One call. Its operands are float16 where they are `packed`; else whoever holds them converts
    what is read and written.
    """
    if not any(view.name in names for view in (*call.inputs, *call.outputs)):
        return call

    def seen(view: View) -> View:
        return View(view.name, Type("float16", view.shape)) if view.name in names else view

    def operand(view: View, own: Operand) -> Operand:
        return Operand("float16", own.rank) if packed and view.name in names else own

    def output(view: View, own: Output) -> Output:
        if view.name not in names:
            return own
        return make_output(
            operand(view, own.operand),
            [(clamp_to_float16(value), index) for value, index in own.stores],
        )

    inputs = tuple(
        operand(view, own) for view, own in zip(call.inputs, call.nest.inputs, strict=True)
    )
    outputs = tuple(
        output(view, own) for view, own in zip(call.outputs, call.nest.outputs, strict=True)
    )
    nest = replace(call.nest, inputs=inputs, outputs=outputs)
    return replace(
        call,
        nest=nest,
        inputs=tuple(map(seen, call.inputs)),
        outputs=tuple(map(seen, call.outputs)),
    )
