"""Choose how workgroups compute products, for each class of GPUs (`plan/product_forms.py`), and
split long sums; the same for convolutions of few channels (`plan/window_forms.py`), which read
images without padded copies. A GPU that a CPU emulates keeps the call as it is.

before:
    program g
    buffer x: float32[37,1504] input
    buffer w: float32[1504,96] constant
    buffer b: float32[96] constant
    buffer y: float32[37,96]
    live y
    y: float32[37,96] = nest(x: float32[37,1504], w: float32[1504,96], b: float32[96]) @dense
      where p0 = 37; p1 = 96; p2 = 1504
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0 + in2[a1]

after:
    program g
    buffer x: float32[37,1504] input
    buffer w: float32[1504,96] constant
    buffer b: float32[96] constant
    buffer y~parts2: float32[2,37,96]
    buffer y: float32[37,96]
    live y
    device 8:
      y~parts2: float32[2,37,96] = nest(x: float32[37,1504], w: float32[1504,96]) @dense
        where p0 = 2; p1 = 37; p2 = 96; p3 = 752
        form lanes = 4; count = 4
        form workgroup = {"columns": 8, "rows": 8, "depth": 16, "staged": true}
        for a0 < p0, a1 < p1, a2 < p2
        reduce r0 < p3
        %0 = (a0 * p3) + r0
        acc0 = sum(in0[a1, %0] * in1[%0, a2])
        out0[a0, a1, a2] = acc0
      y: float32[37,96] = nest(b: float32[96], y~parts2: float32[2,37,96]) @dense
        where p0 = 37; p1 = 96; p2 = 2
        for a0 < p0, a1 < p1
        reduce r0 < p2
        acc0 = sum(in1[r0, a0, a1])
        out0[a0, a1] = acc0 + in0[a1]
    else:
      y: float32[37,96] = nest(x: float32[37,1504], w: float32[1504,96], b: float32[96]) @dense
        where p0 = 37; p1 = 96; p2 = 1504
        for a0 < p0, a1 < p1
        reduce r0 < p2
        acc0 = sum(in0[a0, r0] * in1[r0, a1])
        out0[a0, a1] = acc0 + in2[a1]
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from webkiln.ir.dim import floordiv
from webkiln.ir.types import Type
from webkiln.lower.canonicalize import canonicalize, rename_axes, without_unused_inputs
from webkiln.nest.expr import FLOAT, Expr, acc, arg, axis, load, rebuild
from webkiln.nest.nest import Accumulator, Loop, Nest, Operand, make_output
from webkiln.nest.program import Program
from webkiln.nest.steps import DeviceBranch, NestCall, Step, View, every_step
from webkiln.nest.target import Invocations, Target
from webkiln.plan.depthwise_forms import depthwise_forms
from webkiln.plan.merge_phases import merge_phases, phases_from
from webkiln.plan.merge_pixels import merge_rows
from webkiln.plan.product_forms import (
    Choice,
    Product,
    choose_forms,
    match_product,
)
from webkiln.plan.window_forms import has_few_channels, window_forms
from webkiln.plan.window_padding import in_place


def run(program: Program, target: Target) -> Program:
    """Compute each large product in the form of each class of GPUs."""
    constants = program.repackable
    uses = Counter(view.name for step in every_step(program.steps) for view in step.reads)
    uses.update(program.live_out)

    def block(steps: Sequence[Step]) -> tuple[Step, ...]:
        result: list[Step] = []
        position = 0
        while position < len(steps):
            step = steps[position]
            sliding = _sliding(steps[position : position + 2], uses, target, constants)
            calls = phases_from(steps, position)
            if sliding is not None:
                result.append(sliding)
                position += 2
                continue
            if calls:
                result += by_class(calls, target, constants)
            else:
                result.append(step if isinstance(step, DeviceBranch) else step.map_blocks(block))
            position += max(len(calls), 1)
        return tuple(result)

    return program.with_steps(block(program.steps))


def _sliding(
    steps: Sequence[Step], uses: Mapping[str, int], target: Target, constants: Collection[str]
) -> Step | None:
    """The branches that replace a copy of an image with padding, and a convolution of few channels
    that alone reads it: on each class of GPUs, that reads the image itself.
    """
    if len(steps) != 2 or target.invocations is None:
        return None
    copy, call = steps
    if (
        not isinstance(copy, NestCall)
        or not isinstance(call, NestCall)
        or call.form is not None
        or copy.outputs[0].name not in {view.name for view in call.inputs}
        or uses[copy.outputs[0].name] != 1
        or not has_few_channels(call)
    ):
        return None
    direct = in_place(copy, call)
    forms = None if direct is None else window_forms(direct, target, constants)
    if direct is None or not forms:
        return None
    choices = [(replace(direct, form=form),) for form in forms]
    (branch,) = _branches((copy, call), (), choices, target.invocations)
    return branch


def by_class(
    calls: Sequence[NestCall], target: Target, constants: Collection[str]
) -> Sequence[Step]:
    """The steps that replace a call, or calls that compute phases of the same output."""
    runs, call = target.invocations, merge_phases(calls)
    if call is None:
        return [step for item in calls for step in by_class([item], target, constants)]
    if runs is None or call.form is not None:
        return calls
    plain = canonicalize(call)
    choices = _choices(plain, target, runs, constants, sliding=has_few_channels(call))
    return _branches(tuple(calls), (plain,), choices, runs)


def _branches(
    steps: tuple[Step, ...],
    last: tuple[NestCall, ...],
    choices: Sequence[tuple[NestCall, ...]],
    runs: Invocations,
) -> tuple[Step, ...]:
    """The choice of each class of GPUs, and `steps` on others. `last` is what these compute."""
    for gpu, choice in zip(runs.classes, choices, strict=bool(choices)):
        if choice != last:
            steps = (DeviceBranch(gpu.multiprocessors, choice, steps),)
        last = choice
    return steps


def _choices(
    call: NestCall,
    target: Target,
    runs: Invocations,
    constants: Collection[str],
    *,
    sliding: bool,
) -> list[tuple[NestCall, ...]]:
    """The calls that compute a contraction on each class of GPUs; none if it has no forms.
    `sliding`: it may be a convolution of few channels.
    """
    windows = window_forms(call, target, constants) if sliding else None
    if windows is not None:
        return [(replace(call, form=form),) for form in windows]
    if (forms := depthwise_forms(call, target, constants)) is not None:
        return [(call if form is None else replace(call, form=form),) for form in forms]
    product = match_product(merge_rows(call, target, constants), target, constants)
    if product is None:
        return []
    choices = choose_forms(product, runs.classes, target.precision)
    return [in_form(product, choice) for choice in choices]


def in_form(product: Product, choice: Choice) -> tuple[NestCall, ...]:
    """The calls that compute a product in a form."""
    if choice.split == 1:
        return (replace(product.call, form=choice.form),)
    partial, total = split_sum(product.call, choice.parts)
    return (replace(partial, form=choice.form), total)


def split_sum(call: NestCall, parts: Mapping[str, int]) -> tuple[NestCall, NestCall]:
    """A call that computes parts of the sums, and one that adds them in order and stores the
    results. `parts`: how many of each loop.
    """
    loops = [Loop(f"{name}_part", arg(f"{name}_parts")) for name in parts]
    counts = {f"{name}_parts": count for name, count in parts.items()}
    lengths = {
        f"{loop.axis}_length": floordiv(call.args[loop.extent.value], parts[loop.axis])
        for loop in call.nest.reduce
        if loop.axis in parts
    }
    (view,) = call.outputs
    points = [call.args[loop.extent.value] for loop in call.nest.axes]
    name = f"{view.name}~parts{'x'.join(map(str, counts.values()))}"
    sums = View(name, Type("float32", (*counts.values(), *points)))
    args = {**call.args, **counts, **lengths}
    partial = replace(call, nest=_partial(call.nest, loops), outputs=(sums,), args=args)
    total = replace(
        call, nest=_total(call.nest, loops), inputs=(*call.inputs, sums), args=args, passes=()
    )
    return rename_axes(without_unused_inputs(partial)), rename_axes(without_unused_inputs(total))


def _partial(nest: Nest, loops: Sequence[Loop]) -> Nest:
    """The sums of each part, without the epilogue."""
    parts = {loop.axis.removesuffix("_part"): axis(loop.axis) for loop in loops}
    reduce = tuple(
        Loop(loop.axis, arg(f"{loop.axis}_length")) if loop.axis in parts else loop
        for loop in nest.reduce
    )
    lengths = {loop.axis: loop.extent for loop in reduce}

    def moved(expr: Expr) -> Expr | None:
        part = parts.get(expr.value) if expr.op == "axis" else None
        return None if part is None else part * lengths[expr.value] + expr

    body = rebuild(nest.accumulators[0].body, moved)
    index = tuple(axis(loop.axis) for loop in (*loops, *nest.axes))
    return replace(
        nest,
        axes=(*loops, *nest.axes),
        reduce=reduce,
        accumulators=(Accumulator("sum", body),),
        outputs=(make_output(Operand("float32", len(index)), [(acc(0, FLOAT), index)]),),
    )


def _total(nest: Nest, loops: Sequence[Loop]) -> Nest:
    """The sum of all parts, with the epilogue."""
    index = tuple(axis(loop.axis) for loop in (*loops, *nest.axes))
    return replace(
        nest,
        inputs=(*nest.inputs, Operand("float32", len(index))),
        reduce=tuple(loops),
        accumulators=(Accumulator("sum", load(len(nest.inputs), FLOAT, index)),),
    )
