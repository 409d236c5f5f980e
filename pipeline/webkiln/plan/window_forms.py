"""How invocations compute convolutions of few channels, such as the first layers of networks, on a
class of GPUs: each four columns of several neighbouring pixels, whose windows overlap. Workgroup
memory contains the weights.

On an H100 under Chromium 156, 224 x 224 pixels of 3 channels by 64 filters of 7 x 7 with stride 2
took 13.9 us with four pixels an invocation and 128 invocations a workgroup, and 18.4 us where
weights were read from the cache; 32 filters of 3 x 3 took 4.5 to 4.9 us.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod

from webkiln.nest.affine import depends, stride
from webkiln.nest.expr import FLOAT, INT, Expr, axis, const, rebuild, walk
from webkiln.nest.nest import load_guard, load_index
from webkiln.nest.schedule import Form, InvocationSchedule, Tile, Window, Workgroup, panel_of
from webkiln.nest.steps import NestCall
from webkiln.nest.target import WORKGROUP_BYTES, GpuClass, Target
from webkiln.plan.alignment import fits, is_multiple
from webkiln.plan.depthwise_forms import RUNNING
from webkiln.plan.vector_axis import VectorAxis, vector_axis
from webkiln.plan.vectors import Rejection, contiguous, extent, has_known_extents, unvectorised

FLOATS = ("float32", "float16")
WIDTH = 4
"""The columns of an invocation, and its pixels."""
FEW_PIXELS = 2
"""Its pixels, where more would leave too few invocations to occupy the GPU."""
GROUP, MOST_COLUMNS = 128, 4
"""The invocations of a workgroup, and the most of them along columns."""
MOST_TERMS, MOST_TAPS = 512, 48
"""The terms of the sum, and those of them that are unrolled."""
MOST_CHANNELS = 4
MIN_PRODUCTS = 1 << 21
"""Convolutions of fewer multiplications take hardly longer than a launch in any form."""


@dataclass(frozen=True, slots=True)
class Sliding:
    """A convolution. The weights move along the parallel loop `across`, and the image along
    `window.axis`.
    """

    call: NestCall
    image: Expr
    weights: Expr
    across: str
    window: Window

    @property
    def turned(self) -> bool:
        """Whether neighbouring pixels are neighbours in the output, not neighbouring columns."""
        return contiguous(self.call.nest.outputs[0].index, self.window.axis)

    @property
    def points(self) -> int:
        return prod(extent(self.call, loop) for loop in self.call.nest.axes)

    @property
    def terms(self) -> int:
        return prod(extent(self.call, loop) for loop in self.call.nest.reduce)

    @property
    def columns(self) -> int:
        (loop,) = (loop for loop in self.call.nest.axes if loop.axis == self.across)
        return extent(self.call, loop)


def has_few_channels(call: NestCall) -> bool:
    """Whether the loops of a sum that move along dimensions of their own are short. `call` is not
    canonical: the loops over taps and channels are separate.
    """
    loads = [item for item in call.nest.loads if load_index(item)]
    channels = [
        extent(call, loop)
        for loop in call.nest.reduce
        if all(
            item is axis(loop.axis)
            for expr in loads
            for item in load_index(expr)
            if depends(item, loop.axis)
        )
    ]
    return prod(channels) <= MOST_CHANNELS


def window_forms(call: NestCall, target: Target, constants: Collection[str]) -> list[Form] | None:
    """The form for each class of GPUs, or None if a call is no such convolution, or a small one."""
    if target.invocations is None or not has_known_extents(call):
        return None
    found = match_sliding(call)
    if found is None or found.points * found.terms < MIN_PRODUCTS:
        return None
    axis = vector_axis(call, target, constants)
    if found.turned:
        if _epilogue_rejection(found, target) is not None:
            return None
    elif not isinstance(axis, VectorAxis) or axis.name != found.across:
        return None
    return [_form(found, gpu) for gpu in target.invocations.classes]


def _form(found: Sliding, gpu: GpuClass) -> Form:
    columns = MOST_COLUMNS
    while columns > 1 and (
        found.terms * columns * 4 * WIDTH > WORKGROUP_BYTES
        or (columns - 1) * WIDTH >= found.columns
    ):
        columns //= 2
    workgroup = Workgroup(columns, GROUP // columns, depth=found.terms, staged=True)
    running = found.points // (WIDTH * WIDTH)
    few = not found.turned and running < RUNNING * gpu.multiprocessors
    return Form(WIDTH, FEW_PIXELS if few else WIDTH, workgroup, found.window)


def match_sliding(call: NestCall) -> Sliding | None:
    """Match a contraction of an image that slides, and weights that one parallel loop moves."""
    nest = call.nest
    if (
        not nest.is_contraction
        or len(nest.outputs) != 1
        or nest.outputs[0].also
        or nest.accumulators[0].body.type != FLOAT
    ):
        return None
    return next(_matches(call), None)


def _matches(call: NestCall) -> Iterator[Sliding]:
    nest = call.nest
    for image, weights in permutations(nest.accumulators[0].body.args, 2):
        axes = [loop.axis for loop in nest.axes if depends(weights, loop.axis)]
        if (
            weights.op != "load"
            or load_guard(weights) is not None
            or nest.inputs[weights.value[0]].dtype not in FLOATS
            or len(axes) != 1
            or depends(image, axes[0])
            or [item for item in load_index(weights) if depends(item, axes[0])] != [axis(axes[0])]
        ):
            continue
        for loop in reversed(nest.axes):
            window = None if loop.axis in axes else _window(call, image, loop.axis)
            if window is not None:
                yield Sliding(call, image, weights, axes[0], window)


def _window(call: NestCall, image: Expr, along: str) -> Window | None:
    """How the image slides along a parallel loop."""
    loads = [item for item in walk([image]) if item.op == "load"]
    if len(loads) != 1 or not depends(image, along):
        return None
    moving = [item for item in load_index(loads[0]) if depends(item, along)]
    taps = [loop for loop in call.nest.reduce if any(depends(it, loop.axis) for it in moving)]
    if len(moving) != 1 or not taps:
        return None
    (item,), slide = moving, taps[-1]
    others = rebuild(image, lambda expr: const(0, INT) if expr is item else None)
    step, gap = (stride(item, name, call.args) for name in (along, slide.axis))
    if any(depends(others, name) for name in (along, slide.axis)):
        return None
    if step is None or gap is None or step <= 0 or gap <= 0:
        return None
    unrolled = call.nest.reduce[call.nest.reduce.index(slide) :]
    sizes = tuple(extent(call, loop) for loop in unrolled)
    terms = prod(extent(call, loop) for loop in call.nest.reduce)
    if prod(sizes) > MOST_TAPS or terms > MOST_TERMS:
        return None
    return Window(along, sizes, step, gap)


def _epilogue_rejection(found: Sliding, target: Target) -> Rejection | None:
    """Why the epilogue has no vectors of neighbouring pixels, if it has none."""
    name, nest = found.window.axis, found.call.nest
    for expr in nest.loads:
        index, guard = load_index(expr), load_guard(expr)
        if expr in walk([found.image, found.weights]) or not depends(expr, name):
            continue
        if (guard is not None and depends(guard[0], name)) or not contiguous(index, name):
            return Rejection(f"input {expr.value[0]} is not contiguous on it")
    out = nest.outputs[0]
    if out.operand.dtype not in target.vectors.dtypes:
        return Rejection(f"the output is {out.operand.dtype}")
    return unvectorised([out.value], name, target)


def schedule_window(call: NestCall, axis: VectorAxis | Rejection, form: Form) -> InvocationSchedule:
    """The schedule of a call that has a form with a window. `axis`: the vector axis of the call
    without it, whose panels are kept.
    """
    found = match_sliding(call)
    assert found is not None
    assert form.window is not None
    across, along = found.across, form.window.axis
    vector, other = (along, across) if found.turned else (across, along)
    tile = Tile(vector, form.lanes, other, form.count)
    panels = axis.panels if isinstance(axis, VectorAxis) and axis.name == across else ()
    order = (*(loop.axis for loop in call.nest.axes if loop.axis != across), across)
    sizes = {loop.axis: extent(call, loop) for loop in call.nest.axes}
    whole = sizes[vector] % WIDTH == 0
    aligned = whole and _is_aligned(found, vector)
    source, index = found.weights.value[0], load_index(found.weights)
    vectors = panel_of(panels, source) is not None or (
        contiguous(index, across)
        and (
            not aligned
            or (
                is_multiple(sizes[across])
                and fits(call, call.inputs[source], index, None, across, stored=False)
            )
        )
    )
    window = replace(form.window, vectors=vectors)
    return InvocationSchedule(order, tile, panels, whole, aligned, None, form.workgroup, window)


def _is_aligned(found: Sliding, vector: str) -> bool:
    """Whether vectors of the output and of what the epilogue reads are aligned. Elements of the
    image are read one by one.
    """
    call = found.call
    factors = walk([found.image, found.weights])
    reads = [
        (call.inputs[item.value[0]], load_index(item), False)
        for item in call.nest.loads
        if item not in factors
    ]
    stores = [(call.outputs[0], call.nest.outputs[0].index, True)]
    return all(
        fits(call, view, index, None, vector, stored=stored)
        for view, index, stored in (*reads, *stores)
    )
