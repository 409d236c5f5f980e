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
    decided:
      decision key = "product 37x96 of 1504 on integrated #f8051e1b7377"
      decision chosen = "staged 4x4 by 8x8 of 16 in 2 parts"
      decision staged 4x4 by 8x8 of 16 in 2 parts = [0.0628, null]
      decision direct 4x4 by 1x8x8 of 32 = [0.02284, null]
      decision staged 4x8 by 8x8 of 16 in 2 parts = [0.07653, null]
      decision staged 4x8 by 16x8 of 16 in 2 parts = [0.07653, null]
      decision staged 4x4 by 8x8 of 16 = [0.1039, null]
      decision staged 4x8 by 32x8 of 16 in 2 parts = [0.10644, null]
      decision staged 4x8 by 8x8 of 16 = [0.13137, null]
      decision staged 4x8 by 16x8 of 16 = [0.13137, null]
    device 8:
      y~parts2: float32[2,37,96] = nest(x: float32[37,1504], w: float32[1504,96]) @dense
        where p0 = 2; p1 = 37; p2 = 96; p3 = 752
        part product 37x96 of 1504 on integrated #f8051e1b7377
        form lanes = 4; count = 4
        form workgroup = {"columns": 8, "rows": 8, "depth": 16, "staged": true}
        for a0 < p0, a1 < p1, a2 < p2
        reduce r0 < p3
        %0 = (a0 * p3) + r0
        acc0 = sum(in0[a1, %0] * in1[%0, a2])
        out0[a0, a1, a2] = acc0
      y: float32[37,96] = nest(b: float32[96], y~parts2: float32[2,37,96]) @dense
        where p0 = 37; p1 = 96; p2 = 2
        part product 37x96 of 1504 on integrated #f8051e1b7377
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from webkiln.ir.dim import floordiv
from webkiln.ir.types import Type
from webkiln.lower.canonicalize import canonicalize, rename_axes, without_unused_inputs
from webkiln.nest.expr import FLOAT, Expr, acc, arg, axis, load, rebuild
from webkiln.nest.nest import Accumulator, Loop, Nest, Operand, make_output
from webkiln.nest.program import Program
from webkiln.nest.steps import DeviceBranch, NestCall, Step, View, every_step
from webkiln.nest.target import Invocations, Target
from webkiln.plan.depthwise_forms import depthwise_forms
from webkiln.plan.form_candidates import FormCandidates, form_key
from webkiln.plan.launch_groups import gathered
from webkiln.plan.matrix_forms import matrix_form
from webkiln.plan.merge_phases import merge_phases, phases_from
from webkiln.plan.merge_pixels import merge_rows
from webkiln.plan.parallel_launches import MOST
from webkiln.plan.product_forms import (
    Choice,
    Product,
    choose_forms,
    in_precision,
    match_product,
)
from webkiln.plan.tuning import UNTUNED, Decision, Tuning
from webkiln.plan.window_forms import has_few_channels, window_forms
from webkiln.plan.window_padding import in_place

PARTS = "~parts"
"""What the names of the parts of sums have after that of the result."""


@dataclass(frozen=True, slots=True)
class ClassCalls:
    """The calls that compute a contraction on a class of GPUs. `own`: whether it keeps its steps
    where those of another class are equal, since they are measured.
    """

    calls: tuple[NestCall, ...]
    decision: Decision | None = None
    own: bool = False


def run(program: Program, target: Target, tuning: Tuning = UNTUNED) -> Program:
    """Compute each large product in the form of each class of GPUs."""
    if target.invocations is None:
        return program
    forms = _Forms(program, target, target.invocations, tuning)

    def block(steps: Sequence[Step]) -> tuple[Step, ...]:
        result: list[Step] = []
        position = 0
        forms.find_groups(steps)
        while position < len(steps):
            step = steps[position]
            direct = forms.without_padding(steps[position : position + 2])
            calls = () if direct else phases_from(steps, position)
            if direct or calls:
                result += direct or forms.by_class(calls)
            else:
                result.append(step if isinstance(step, DeviceBranch) else step.map_blocks(block))
            position += 2 if direct else max(len(calls), 1)
        return tuple(result)

    steps = block(program.steps)
    return replace(program, decided={**program.decided, **forms.decided}).with_steps(steps)


class _Forms:
    """The forms of the calls of a program. `decided`: how they were chosen. `divided`: by buffer,
    how many calls with divided sums write there, as the parts of a concatenation do. `products`:
    calls with the products that they compute, and `others` with those that share their launch
    (`plan/parallel_launches.py`), by the identity of a call.
    """

    def __init__(self, program: Program, target: Target, runs: Invocations, tuning: Tuning) -> None:
        self.constants, self.target = program.repackable, target
        self.runs, self.tuning = runs, tuning
        self.decided: dict[str, Mapping[str, Any]] = {}
        self.divided = Counter[str]()
        self.products: dict[int, tuple[NestCall, Product | None]] = {}
        self.others: dict[int, tuple[tuple[int, int], ...]] = {}
        self.uses = Counter(view.name for step in every_step(program.steps) for view in step.reads)
        self.uses.update(program.live_out)

    def find_groups(self, steps: Sequence[Step]) -> None:
        """Find the products of a block that may share launches, if they have the same form."""
        for group in gathered(steps, self._may_share):
            for step in group if len(group) > 1 else ():
                products = [self._product(item) for item in group if item is not step]
                shapes = [(item.rows, item.columns) for item in products if item is not None]
                self.others[id(step)] = tuple(sorted(shapes))

    def _may_share(self, group: Sequence[Step], step: Step) -> bool:
        products = [self._product(item) for item in (group[0], step)]
        first, other = (
            None if item is None else (item.call.nest, item.aligned, item.batch, item.sums)
            for item in products
        )
        return len(group) < MOST and first is not None and first == other

    def _product(self, step: Step) -> Product | None:
        """The product that a step computes, if it has no form yet."""
        if not isinstance(step, NestCall) or step.form is not None:
            return None
        if id(step) not in self.products:
            call = merge_rows(canonicalize(step), self.target, self.constants)
            product = match_product(call, self.target, self.constants)
            self.products[id(step)] = step, product
        return self.products[id(step)][1]

    def without_padding(self, steps: Sequence[Step]) -> Sequence[Step]:
        """The branches that replace a copy of an image with padding, and a convolution of few
        channels that alone reads it: on each class of GPUs, that reads the image itself. Empty if
        the steps are others.
        """
        if len(steps) != 2:
            return ()
        copy, call = steps
        if (
            not isinstance(copy, NestCall)
            or not isinstance(call, NestCall)
            or call.form is not None
            or copy.outputs[0].name not in {view.name for view in call.inputs}
            or self.uses[copy.outputs[0].name] != 1
            or not has_few_channels(call)
        ):
            return ()
        direct = in_place(copy, call)
        forms = None if direct is None else window_forms(direct, self.target, self.constants)
        if direct is None or not forms:
            return ()
        choices = [ClassCalls((replace(direct, form=form),)) for form in forms]
        return self._branches((copy, call), (), choices)

    def by_class(self, calls: Sequence[NestCall]) -> Sequence[Step]:
        """The steps that replace a call, or calls that compute phases of the same output."""
        call = merge_phases(calls)
        if call is None:
            return [step for item in calls for step in self.by_class([item])]
        if call.form is not None:
            return calls
        plain = canonicalize(call)
        choices = self._choices(call, plain, slides=has_few_channels(call))
        return self._branches(tuple(calls), (plain,), choices)

    def _branches(
        self, steps: tuple[Step, ...], last: tuple[NestCall, ...], choices: Sequence[ClassCalls]
    ) -> tuple[Step, ...]:
        """The choice of each class of GPUs, and `steps` on others. `last` is what these compute."""
        for gpu, choice in zip(self.runs.classes, choices, strict=bool(choices)):
            if choice.own or choice.calls != last:
                steps = (DeviceBranch(gpu.multiprocessors, self._tagged(choice), steps),)
            last = choice.calls
        return steps

    def _choices(self, step: NestCall, call: NestCall, *, slides: bool) -> list[ClassCalls]:
        """The calls that compute a contraction on each class of GPUs; none if it has no forms.
        `call`: the canonical form of `step`. `slides`: it may be a convolution of few channels.
        """
        target, constants, classes = self.target, self.constants, self.runs.classes
        windows = window_forms(call, target, constants) if slides else None
        if windows is not None:
            return [ClassCalls((replace(call, form=form),)) for form in windows]
        if (pixels := depthwise_forms(call, target, constants)) is not None:
            found = (call if form is None else replace(call, form=form) for form in pixels)
            return [ClassCalls((item,)) for item in found]
        product = self._product(step)
        if product is None:
            return []
        product = replace(product, others=self.others.get(id(step), ()))
        output = call.outputs[0].name
        number, self.divided[output] = self.divided[output], self.divided[output] + 1
        matrices = matrix_form(product, target, classes[-1]) if classes else None
        if matrices is not None:
            return [ClassCalls(in_form(product, matrices, number))] * len(classes)
        forms, result = FormCandidates(product), list[ClassCalls]()
        for gpu, usual in zip(classes, choose_forms(product, classes), strict=True):
            key = form_key(call, product, constants, gpu)
            choice, decision = forms.decide(key, gpu, usual, self.tuning)
            calls = in_form(product, in_precision(product, choice, target.precision), number)
            own = self.tuning.trial is not None or bool(decision.measured)
            result.append(ClassCalls(calls, decision, own))
        return result

    def _tagged(self, choice: ClassCalls) -> tuple[NestCall, ...]:
        """The calls of a choice, marked with the decision that led to it."""
        decision = choice.decision
        if decision is None:
            return choice.calls
        self.decided[decision.key] = decision.to_json()
        first, *rest = choice.calls
        return tuple(
            replace(item, part_of=decision.key) for item in (first, *map(canonicalize, rest))
        )


def in_form(product: Product, choice: Choice, number: int) -> tuple[NestCall, ...]:
    """The calls that compute a product in a form. `number` distinguishes the products that write
    the same buffer.
    """
    if choice.split == 1:
        return (replace(product.call, form=choice.form),)
    partial, total = split_sum(product.call, choice.parts, number)
    return (replace(partial, form=choice.form), total)


def split_sum(call: NestCall, parts: Mapping[str, int], number: int) -> tuple[NestCall, NestCall]:
    """A call that computes parts of the sums, and one that adds them in order and stores the
    results. `parts`: how many of each loop. `number` is part of the name of their buffer.
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
    base = f"{view.name}~{number}" if number else view.name
    name = f"{base}{PARTS}{'x'.join(map(str, counts.values()))}"
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
