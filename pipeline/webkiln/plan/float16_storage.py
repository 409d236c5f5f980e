"""Storage in half precision: the Variables stored as float16, and the calls that read and write
them.

Calls still compute in float32. Stores round; values beyond the range of float16 become its largest
finite value, so that no infinity arises. Variables that are read outside kernels (inputs, outputs,
states, procedures, custom kernels) stay float32.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from webkiln.ir.types import Type
from webkiln.nest.float16 import clamp_to_float16
from webkiln.nest.nest import Operand, Output, make_output
from webkiln.nest.schedule import has_aligned_vectors
from webkiln.nest.steps import Copy, NestCall, Step, View, map_blocks, reads, writes
from webkiln.plan.memory import flat
from webkiln.plan.schedule import Choice


def float16_variables(
    steps: Sequence[Step],
    choices: Iterable[Choice],
    weights: Collection[str],
    visible: Collection[str],
    *,
    packed: bool,
) -> frozenset[str]:
    """The Variables to store as float16, including `weights`. `visible` ones stay float32.
    `packed`: two elements share a word of memory, so that only stores of full vectors can write
    them.
    """
    flattened = list(flat(steps))
    calls = [step for step in flattened if isinstance(step, NestCall)]
    copies = [{step.source.name, step.target.name} for step in flattened if isinstance(step, Copy)]
    candidates = {view.name for call in calls for view in call.outputs} | set(weights)
    candidates -= {
        view.name
        for call in calls
        for view in (*call.inputs, *call.outputs)
        if view.type.dtype != "float32"
    }
    candidates -= {
        view.name
        for step in flattened
        if not isinstance(step, NestCall | Copy)
        for view in (*reads(step), *writes(step))
    }
    candidates -= set(visible)
    if packed:
        scheduled = zip(calls, choices, strict=True)
        candidates -= {
            view.name
            for call, choice in scheduled
            if not has_aligned_vectors(choice.schedule)
            for view in call.outputs
        }
    while (
        unpaired := {name for pair in copies if not candidates >= pair for name in pair}
        & candidates
    ):
        candidates -= unpaired
    return frozenset(candidates)


def narrow_steps(
    steps: Iterable[Step], names: Collection[str], *, packed: bool
) -> tuple[Step, ...]:
    """The steps, with the Variables in `names` stored as float16."""

    def change(step: Step) -> Step:
        if isinstance(step, NestCall):
            return narrow(step, names, packed=packed)
        return map_blocks(step, lambda block: narrow_steps(block, names, packed=packed))

    return tuple(map(change, steps))


def narrow(call: NestCall, names: Collection[str], *, packed: bool) -> NestCall:
    """A call, with the Variables in `names` stored as float16. With `packed` its operands are
    float16; otherwise the memory itself converts what is read and written.
    """
    if not any(view.name in names for view in (*call.inputs, *call.outputs)):
        return call

    def narrowed_view(view: View) -> View:
        return View(view.name, Type("float16", view.shape)) if view.name in names else view

    def operand(view: View, original: Operand) -> Operand:
        return Operand("float16", original.rank) if packed and view.name in names else original

    def output(view: View, original: Output) -> Output:
        if view.name not in names:
            return original
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
